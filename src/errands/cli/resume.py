"""`errands resume`: go on with a run or sweep that was stopped, killed or lost its disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from errands.cli.options import Seconds
from errands.cli.summary import Answer
from errands.cli.verbs import Positional
from errands.errors import ConfigError


@dataclass(frozen=True)
class Arguments:
    """Go on where a run or sweep was left; the end is the same as if nothing had happened."""

    run: Positional[str]
    """The name of a run or sweep under runs/, its path, or 'latest'."""
    jobs: int | None = None
    """How many seeds are trained at the same time; default: all cores."""
    engine: Literal["local", "ray"] = "local"
    """Where a sweep goes on: in processes of this machine, or on a Ray cluster."""
    address: str | None = None
    """Where the Ray cluster is: host:port or auto."""
    log: Literal["tensorboard"] | None = None
    """Also log evaluations for TensorBoard, those of before included; of a run, not of a sweep."""
    seconds: Seconds | None = None
    """Stop a sweep after so many seconds, each cell having had an equal part of them."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Find it, finish it, and print what `train` prints."""
    from errands.cli import sweep, train
    from errands.runs.folder import SWEEP, find, open_run, open_sweep

    path = find(arguments.run)
    if (path / SWEEP).is_file():
        if arguments.log is not None:
            raise ConfigError(f"{path.name} is a sweep, and --log is for a run; resume one of its runs with it")
        return sweep.finish(
            open_sweep(path), arguments.jobs, arguments.quiet, arguments.engine, arguments.address, arguments.seconds
        )
    if arguments.seconds is not None:
        raise ConfigError(f"{path.name} is a run, and --seconds is for sweeps; stop a run with Ctrl-C, its checkpoint is kept")
    return train.finish(open_run(path), arguments.jobs, arguments.quiet, log=arguments.log)
