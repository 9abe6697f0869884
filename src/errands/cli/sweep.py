"""`errands sweep`: many tasks, learners and seeds, planned, predicted, trained and kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from errands.cli.options import Count, InParallel, Seconds
from errands.cli.summary import sweep_summary
from errands.cli.verbs import Answer, Positional, Repeated
from errands.errors import ConfigError
from errands.learners.base import cores
from errands.runs.engines import require_ray
from errands.runs.folder import RUNS, SweepFolder, check_name, create_unique
from errands.runs.interrupts import resumable
from errands.runs.plan import Block, make_block, read_plan, spread
from errands.runs.sweep import begin, forecast, planned, rows, train_sweep, write_table
from errands.tasks.catalogue import read_text
from errands.terminal import say


@dataclass(frozen=True)
class Arguments(InParallel):
    """Train every combination of lists and ranges; a killed sweep goes on with 'errands resume NAME'."""

    plan: Positional[str | None] = None
    """A plan file (TOML with the same names as these options); options given here replace its values."""
    task: str | None = None
    """Tasks, such as delivery-2..8,office-3 or a task file."""
    learner: str | None = None
    """Learners, such as qcorm,crm,hrm."""
    machine: str | None = None
    """Machines of qrm, crm and hrm: agenda, boolean or both; other learners have their own."""
    preset: str | None = None
    """Presets: tuned, paper or both."""
    map_seed: str | None = None
    """Seeds of random maps, such as 0..9."""
    seeds: int | None = None
    """Seeds 0 to SEEDS-1 of each; default: 10."""
    steps: Count | None = None
    """Training steps of each seed; default: as for 'errands train'."""
    eval_every: Count | None = None
    """Training steps between two evaluations."""
    set: Repeated[tuple[str, ...]] = ()
    """A setting for all, such as --set alpha=0.1; may be repeated."""
    vary: Repeated[tuple[str, ...]] = ()
    """A setting with several values, such as --vary alpha=0.1,0.5; may be repeated."""
    name: str | None = None
    """The name of the folder under runs/; default: 'sweep', date and time."""
    checkpoint_every: Seconds = 10.0
    """Seconds between two checkpoints of a seed."""
    dry_run: bool = False
    """Show the plan with its predicted time and memory, and stop."""


def run(arguments: Arguments) -> Answer:
    """Plan, predict, train, and tell."""

    if not arguments.checkpoint_every > 0:
        raise ConfigError(f"--checkpoint-every is {arguments.checkpoint_every}; give a positive number of seconds")
    blocks, stem = _blocks(arguments), f"sweep-{datetime.now():%Y%m%d-%H%M%S}"
    if arguments.dry_run:
        # The folder of a dry run is never made: nothing may appear under runs/.
        planned_only = SweepFolder(RUNS / f"{stem}-dry", planned(blocks, arguments.checkpoint_every))
        expected = forecast(planned_only, arguments.jobs or cores())
        cells = [cell.model_dump(exclude={"folder"}) for cell, _ in expected.waiting]
        return Answer({"predicted": expected.document(), "cells": cells}, expected.table())
    if arguments.engine == "ray":
        require_ray()  # before a folder is made
    if arguments.name is not None:
        sweep = begin(blocks, RUNS / check_name(arguments.name), arguments.checkpoint_every)
    else:
        sweep = create_unique(stem, lambda path: begin(blocks, path, arguments.checkpoint_every))
    return finish(sweep, arguments)


def _blocks(arguments: Arguments) -> list[Any]:
    """The blocks of the plan file, or one, with what was given as options."""
    names = ("task", "learner", "machine", "preset", "map_seed", "seeds", "steps", "eval_every")
    given: dict[str, Any] = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.set:
        given["set"] = list(arguments.set)
    for word in arguments.vary:
        name, equals, values = word.partition("=")
        if not equals or not spread(values):
            raise ConfigError(f"--vary {word[:100]} varies nothing; write it as --vary alpha=0.1,0.5")
        given.setdefault("vary", {})[name.strip()] = spread(values)
    if arguments.plan is None:
        if missing := [f"--{name}" for name in ("task", "learner") if name not in given]:
            raise ConfigError(f"a sweep needs a plan file, or --task and --learner; missing: {' and '.join(missing)}")
        return [make_block(given)]
    blocks: list[Block] = read_plan(read_text(Path(arguments.plan), "a plan"))
    return [make_block({**block.model_dump(), **given}) for block in blocks]


def finish(sweep: SweepFolder, how: InParallel) -> Answer:
    """Predict and train what is left of a sweep, and tell what came out; when interrupted, say how to go on."""
    expected = forecast(sweep, how.jobs or cores())
    say(expected.summary(), how.quiet or not expected.runs)
    with resumable(f"errands resume {sweep.path.name}"):
        train_sweep(sweep, expected.workers, how.quiet, how.engine, how.address, how.seconds, expected.costs)
    results = rows(sweep)
    write_table(sweep, results)
    return sweep_summary(sweep, results, expected.document())
