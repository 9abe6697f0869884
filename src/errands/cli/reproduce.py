"""`errands reproduce`: the paper's panels, measured, drawn and judged in one command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from errands.cli.options import Count, InParallel
from errands.cli.verbs import Answer, Positional, typed
from errands.errors import ConfigError
from errands.learners.base import cores
from errands.runs.interrupts import resumable
from errands.runs.sweep import forecast, train_sweep
from errands.terminal import say

if TYPE_CHECKING:

    from errands.paper.claims import Judged
    from errands.paper.panels import Profile
    from errands.paper.report import Report
    from errands.paper.reproduction import Reproduction


@dataclass(frozen=True)
class Arguments(InParallel):
    """Reproduce the paper's results."""

    figures: Positional[tuple[str, ...]] = ()
    """Panels (delivery-8) or groups: delivery, office (default: both), water, cheetah; paper: all fifteen, a to o; or unordered."""
    profile: Literal["quick", "full"] = "quick"
    """quick: 3 seeds of 100,000 steps (with networks: 2 short runs); full: 10 seeds of 1,000,000 steps, as in the paper."""
    methods: tuple[str, ...] = ()
    """Only these methods, by the names of the report: qcorm, "crm agenda", ..."""
    presets: tuple[Literal["tuned", "paper"], ...] = ()
    """Only these presets; default: both."""
    boolean_large: bool = False
    """Also run CRM and HRM on Boolean machines of seven and eight boxes: about 40 minutes of one core with ten seeds."""
    seeds: int | None = None
    """Another number of seeds."""
    steps: Count | None = None
    """Another number of steps."""
    width: int | None = None
    """Other hidden layers on Water and HalfCheetah: so many units each."""
    output: Path | None = None
    """The folder of runs and report; default: reproduction-PROFILE. What it holds is not measured again."""
    dry_run: bool = False
    """Only say what would be run, and how long it would take."""


def run(arguments: Arguments) -> Answer:
    """Plan, predict, train, judge, draw and write the report."""
    from errands.paper.report import write
    from errands.paper.reproduction import prices

    profile = _profile(arguments)
    output = arguments.output or Path(f"reproduction-{profile.name}")
    wanted, report = _prepared(arguments, profile, output)
    for each in wanted.skipped:
        say(f"not run: {each.method} on {each.task}: {each.reason}", arguments.quiet)
    cells = len(wanted.sweep.document.cells)
    say(f"{cells} cells; what {output} holds is not measured again; predicting", arguments.quiet)
    expected = forecast(wanted.sweep, arguments.jobs or cores())
    costs = prices(wanted, expected)
    say("\n".join([*costs, expected.summary()] if not arguments.dry_run else [expected.summary()]), arguments.quiet)
    document: dict[str, Any] = {"profile": profile.name, "cells": cells, "forecast_seconds": round(expected.seconds, 1)}
    if arguments.dry_run:
        return Answer(document | {"panels": costs}, "\n".join([*costs, f"{cells} cells, {expected.summary()}"]))
    with resumable(typed("reproduce", arguments)):
        where = (arguments.engine, arguments.address)
        train_sweep(wanted.sweep, expected.workers, arguments.quiet, *where, arguments.seconds, expected.costs)
    # The command in the report has only what changes its numbers, not where or in how many sittings they were made.
    again = dataclasses.replace(
        arguments, output=None, jobs=None, quiet=False, seconds=None, engine="local", address=None
    )
    outcome = report(wanted, typed("reproduce", again))
    page = write(outcome, output)
    document |= {"report": str(page), "claims": {claim.name: claim.verdict for claim in outcome.claims}}
    document["not_run"] = [dataclasses.asdict(each) for each in wanted.skipped]
    unfinished = [note for note in outcome.notes if note.startswith("Not at the end")]
    return Answer(document, "\n".join([*_claim_lines(outcome.claims), *unfinished, f"wrote {page}"]), int(bool(outcome.errors)))


def _prepared(arguments: Arguments, profile: Profile, output: Path) -> tuple[Reproduction, Callable[[Reproduction, str], Report]]:
    """What is to be run, and what reports of it: for the paper's panels, or for the benchmark of unordered tasks."""
    from errands.paper import reproduction
    from errands.paper.panels import Choice, chosen
    from errands.unordered import gaps, plan

    choice = Choice(arguments.methods, arguments.presets)
    if any(name.startswith("unordered") for name in arguments.figures):
        return plan.prepare(arguments.figures, profile, output, arguments.dry_run, choice), gaps.report
    panels, left = chosen(arguments.figures, arguments.profile == "quick")
    wanted = reproduction.prepare(panels, profile, output, arguments.boolean_large, left, arguments.dry_run, choice)
    return wanted, reproduction.report


def _claim_lines(claims: Sequence[Judged]) -> list[str]:
    """A line for each claim that was judged, and one for all others."""
    from errands.paper.claims import UNKNOWN

    judged = [claim for claim in claims if claim.verdict != UNKNOWN]
    readings = (f" [{claim.reading}]" if claim.reading else "" for claim in judged)
    lines = [f"{claim.verdict:15} {claim.where:15} {claim.text}{reading}" for claim, reading in zip(judged, readings, strict=True)]
    rest = len(claims) - len(judged)
    return [*lines, f"{UNKNOWN:15} {rest} about what these runs do not show"] if rest else lines


def _profile(arguments: Arguments) -> Profile:
    from errands.paper.panels import PROFILES

    if any(value is not None and value < 1 for value in (arguments.seeds, arguments.steps, arguments.width, arguments.jobs)):
        raise ConfigError("--seeds, --steps, --width and --jobs must be at least 1")
    if arguments.seconds is not None and not arguments.seconds > 0:
        raise ConfigError(f"--seconds is {arguments.seconds:g}; give a time above 0, or leave it out to run to the end")
    amounts: dict[str, Any] = {}
    if arguments.seeds is not None:
        amounts |= dict.fromkeys(("seeds", "deep_seeds"), arguments.seeds)
    if arguments.steps is not None:
        amounts |= dict.fromkeys(("steps", "water_steps", "cheetah_steps"), arguments.steps)
    if arguments.width is not None:
        amounts["width"] = arguments.width
    return dataclasses.replace(PROFILES[arguments.profile], **amounts)
