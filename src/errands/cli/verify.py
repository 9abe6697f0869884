"""`errands verify`: train a part of a stored run again and compare every byte."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from errands.cli.options import Count, Quiet
from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError
from errands.runs.folder import find, find_run, open_run
from errands.runs.verify import Verdict, faults, first_step, verify_seed
from errands.terminal import counting


@dataclass(frozen=True)
class Arguments(Quiet):
    """Repeat a part of a run and compare it with what was stored; exit code 1 when something differs."""

    run: Positional[str]
    """The name of a run under runs/, its path, or 'latest'."""
    seed: int | None = None
    """Repeat this seed; default: all seeds."""
    steps: Count | None = None
    """Repeat this many steps; default: up to the first checkpoint."""


def run(arguments: Arguments) -> Answer:
    """Repeat, compare, and tell."""
    path = find(arguments.run)
    # Damage first: a difference from damaged files would say nothing about the training.
    damaged = list(faults(path))
    if damaged:
        return Answer({"run": path.name, "same": False, "damaged": damaged, "seeds": []}, "\n".join(damaged), 1)
    folder = open_run(find_run(arguments.run))
    seeds = folder.document.seeds if arguments.seed is None else [folder.known_seed(arguments.seed)]
    if arguments.steps is not None and arguments.steps < 1:
        raise ConfigError(f"--steps is {arguments.steps}; repeat at least 1 step")
    verdicts = []
    for seed in seeds:
        total = arguments.steps or first_step(folder, seed)
        with counting(f"{folder.name}, seed {seed}", total, arguments.quiet) as report:
            verdicts.append(verify_seed(folder, seed, arguments.steps, report))
    same = not any(v.differences for v in verdicts)
    document = {
        "run": folder.name,
        "same": same,
        "damaged": [],
        "seeds": [asdict(v) for v in verdicts],
        "changed_versions": folder.changes,
    }
    lines = [f"seed {v.seed}: {'; '.join(v.differences) or _words(v)}" for v in verdicts]
    lines += [f"the run was made by other versions: {'; '.join(folder.changes)}"] if folder.changes else []
    return Answer(document, "\n".join(lines), 0 if same else 1)


def _words(verdict: Verdict) -> str:
    compared = f"{verdict.evaluations} evaluations" + (" and the tables" if verdict.tables else "")
    return f"the same for {verdict.steps:,} steps ({compared})"
