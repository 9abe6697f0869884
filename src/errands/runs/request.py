"""From what was asked for to the document of a run folder, and the folder: defaults, settings, versions, names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path

from errands.errors import ConfigError
from errands.learners import default_learner, entry_of, home_of, is_finite, machine_of
from errands.learners.base import LearnerConfig, memory
from errands.learners.presets import CUSTOM, Settings, as_document, config_of
from errands.runs.documents import RunDocument
from errands.runs.files import digest
from errands.runs.folder import RUNS, RunFolder, at_free_name, create
from errands.runs.provenance import computer, git_state, versions
from errands.tasks.task import Task
from errands.worlds.imports import NAMELESS, allowed, registrar

CHECKPOINT_SECONDS = 10.0
SCOUT_STEPS, STEPS = 20_000, 1_000_000
TEAMS = "errands.learners.deep.learner:DeepLearner"
"""The learner whose seeds can be trained in teams."""
LARGEST_TEAM, ROW = 64, 500
"""Seeds of a team at most, and bytes that one remembered step takes, reckoned generously."""


def prepare(
    task: Task,
    learner: str | None = None,
    machine: str | None = None,
    preset: str = "tuned",
    settings: Settings = (),
    steps: int | None = None,
    seeds: Sequence[int] = (0,),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    git: dict[str, str] | None = None,
    config: LearnerConfig | None = None,
) -> RunDocument:
    """The document of a run; whatever cannot be trained is refused here, before anything is written."""
    name = learner or default_learner(task)
    entry_of(name)
    if not seeds:
        raise ConfigError("no seed was asked for; train at least one")
    if any(not 0 <= seed < 2**63 for seed in seeds):
        raise ConfigError(f"seed {next(s for s in seeds if not 0 <= s < 2**63)} was asked for; seeds are 0 or more")
    if len(set(seeds)) < len(seeds):
        raise ConfigError("a seed was asked for more than once; the same seed gives the same run")
    if not 0 < checkpoint_seconds < math.inf:
        raise ConfigError(f"checkpoints every {checkpoint_seconds} seconds were asked for; give a positive number")
    chosen, label = configured(task, name, preset, settings, config)
    return RunDocument(
        task=task.name,
        task_sha256=digest(task.stored_text().encode()),
        learner=name,
        machine=machine_of(name, machine),
        preset=label,
        config=as_document(chosen),
        steps=for_steps(steps if steps is not None else SCOUT_STEPS if name == "scout" else STEPS, chosen),
        seeds=list(seeds),
        team=_team(task, name, chosen, len(seeds)),
        checkpoint_seconds=float(checkpoint_seconds),
        imports=imports_of(task),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(task.world.kind, not is_finite(task)),
        git=git_state(Path.cwd()) if git is None else git,
        computer=computer(),
    )


def imports_of(task: Task) -> list[str]:
    """The modules to be imported before the task can be read again: those allowed, and those whose functions it names."""
    own = getattr(task.world, "settings", None)
    keys = own(strict=False) if own else {}
    values = [value for item in keys.values() for value in (item.values() if isinstance(item, Mapping) else [item])]
    named = {value.partition(":")[0] for value in values if isinstance(value, str) and ":" in value}
    return sorted((named | _registrar(str(keys.get("id", "")))) - {NAMELESS} | set(allowed()))


def _registrar(name: str) -> set[str]:
    """The package whose import registers an id, where that is neither Gymnasium nor errands: that of its entry point."""
    return {registrar(name).partition(".")[0]} - {"", "__main__", "builtins", "errands", "gymnasium"}


def _team(task: Task, learner: str, config: LearnerConfig, seeds: int) -> int:
    """How many seeds train side by side: deep learners do, as many as half of the memory holds; 0 where each is alone."""
    if seeds < 2 or home_of(task, learner) != TEAMS:
        return 0
    replay = ROW * getattr(config, "capacity", 0)
    return max(1, min(seeds, LARGEST_TEAM, int(memory() / 2 / max(replay, 1))))


def for_steps(steps: int, config: LearnerConfig | None = None) -> int:
    """The number of steps itself, when it can be trained for (with these settings)."""
    if not isinstance(steps, Real):
        raise ConfigError(f"steps is {steps!r}; give a whole number")
    if not 1 <= steps < 2**53:
        wanted = "train for at least 1 step" if steps < 1 else "at most 2^53 - 1 can be counted"
        raise ConfigError(f"steps is {steps}; {wanted}")
    if config is not None and steps % config.together:
        each = config.together
        raise ConfigError(
            f"{steps} steps cannot be shared by {each} environments; let steps be a multiple of envs, such as "
            f"{-(-int(steps) // each) * each}"
        )
    return int(steps)


def configured(
    task: Task, learner: str, preset: str, settings: Settings, config: LearnerConfig | None
) -> tuple[LearnerConfig, str]:
    """The settings of a learner and what they are called: a preset with `settings` on top, or a whole custom `config`."""
    if config is None:
        return config_of(learner, preset, task, settings), preset
    if settings:
        raise ConfigError("both config and settings were given; give the settings alone, or inside the config")
    return config, CUSTOM


def created(document: RunDocument, task: Task, name: str | None = None, runs: Path = RUNS) -> RunFolder:
    """The new folder of a run; without a name it is called by task, learner, date and time."""
    if name is not None:
        return create(runs / name, document, task)
    machine = f"-{document.machine}" if document.machine == "boolean" else ""
    stem = f"{plain(document.task)}-{document.learner}{machine}-{datetime.now():%Y%m%d-%H%M%S}"
    return at_free_name(stem, lambda path: create(path, document, task), runs)


def plain(text: str) -> str:
    """A text as part of a folder's name."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)
    return safe.strip("-.")[:50] or "task"
