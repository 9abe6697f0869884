"""`errands resume`: go on with a run or sweep that was stopped, killed or lost its disk."""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from errands.cli.answer import Answer


@dataclass(frozen=True)
class Arguments:
    """Go on where a run or sweep was left; the end is the same as if nothing had happened."""

    run: tyro.conf.Positional[str]
    """The name of a run or sweep under runs/, its path, or 'latest'."""
    jobs: int | None = None
    """How many seeds are trained at the same time; all cores unless said otherwise."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Find it, finish it, and print what `train` prints."""
    from errands.cli.trained import finish
    from errands.results.finding import find
    from errands.results.run_folder import open_run

    return finish(open_run(find(arguments.run)), arguments.jobs, arguments.quiet)
