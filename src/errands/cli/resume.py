"""`errands resume`: go on with a run or sweep that was stopped, killed or lost its disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from errands.cli import sweep, train
from errands.cli.options import Count, InParallel
from errands.cli.verbs import Answer, Positional, Repeated
from errands.errors import ConfigError
from errands.runs.folder import SWEEP, find, open_run, open_sweep
from errands.runs.further import extended, kept_schedules
from errands.terminal import say


@dataclass(frozen=True)
class Arguments(InParallel):
    """Go on where a run or sweep was left, to the end that was asked for, or train a run further (--steps)."""

    run: Positional[str]
    """The name of a run or sweep under runs/, its path, or 'latest'."""
    steps: Count | None = None
    """Train a run further, to so many steps in all."""
    set: Repeated[tuple[str, ...]] = ()
    """With --steps: a setting that changes from here on, such as another schedule of epsilon; may be repeated."""
    stop_when: Repeated[tuple[str, ...]] = ()
    """With --steps: what ends a seed before them, as for 'errands train'; may be repeated."""
    log: Literal["tensorboard", "wandb"] | None = None
    """Also log evaluations for TensorBoard or Weights & Biases, those of before included; of a run, not of a sweep."""


def run(arguments: Arguments) -> Answer:
    """Find it, finish it, and print what `train` prints."""
    path = find(arguments.run)
    if (path / SWEEP).is_file():
        for option in ("log", "steps", "set", "stop_when"):
            if getattr(arguments, option):
                raise ConfigError(f"{path.name} is a sweep, and --{option.replace('_', '-')} is for a run; resume a run with it")
        return sweep.finish(open_sweep(path), arguments)
    if arguments.seconds is not None:
        raise ConfigError(f"{path.name} is a run, and --seconds is for sweeps; stop a run with Ctrl-C, its checkpoint is kept")
    folder = extended(open_run(path), arguments.steps, arguments.set, arguments.stop_when or None)
    if arguments.steps is not None:
        say(kept_schedules(folder), arguments.quiet)
    return train.finish(folder, arguments.jobs, arguments.quiet, log=arguments.log)
