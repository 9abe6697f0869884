"""`errands check`: does your own environment fit a task?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from errands.cli.options import Count
from errands.cli.verbs import Answer, Positional
from errands.tasks.check import run_check


@dataclass(frozen=True)
class Arguments:
    """Check an environment and its features."""

    env: Positional[str]
    """MODULE:ENV (a class or a function that makes one), a Gymnasium id, or a catalogue task."""
    features: str | None = None
    """MODULE:FUNCTION taking (observation, action, next_observation, info) and returning a set of names."""
    task: Path | None = None
    """A task file whose machine the features are for."""
    steps: Count = 1000
    """Steps that are walked, at most 1,000,000."""


def run(arguments: Arguments) -> Answer:
    """Walk it and report what was found."""
    report = run_check(arguments.env, arguments.features, arguments.task, arguments.steps)
    findings = [asdict(f) for f in report.findings]
    lines = [f"{f.level}: {f.sentence}" for f in report.findings] or ["No findings: the environment fits."]
    failed = any(f.level == "error" for f in report.findings)
    return Answer({"env": arguments.env, "ok": not failed, "findings": findings}, "\n".join(lines), int(failed))
