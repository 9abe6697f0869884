"""What is asked for: task, learner, machine, settings, steps and seeds as one value, and run.json as what is stored of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

from errands.errors import ConfigError
from errands.learners import default_learner, form_of, is_finite, machine_of, make_learner, method_of
from errands.learners.base import Learner, LearnerConfig, memory
from errands.learners.presets import CUSTOM, Settings, as_document, config_of, stored_config
from errands.runs.documents import RunDocument, grouped
from errands.runs.files import digest
from errands.runs.provenance import computer, git_state, versions
from errands.tasks.task import Task
from errands.worlds.imports import NAMELESS, allowed, registrar

CHECKPOINT_SECONDS = 10.0
MAX_TEAM, ROW_BYTES = 64, 500
"""Seeds of a team at most, and bytes that one remembered step takes, reckoned generously."""


@dataclass(frozen=True)
class Request:
    """What is to be trained: made once by whoever asks (Python, a command, a plan, the page, a folder) and passed whole."""

    task: Task
    learner: str
    machine: str | None
    preset: str
    config: LearnerConfig
    steps: int
    seeds: tuple[int, ...]
    team: int
    """How many seeds train side by side in one process; their bytes depend on it. 0: each trains alone."""
    stop_when: tuple[str, ...] = ()
    """What ends a seed before its steps, such as plateau=5; of a team, when it holds for all."""
    start: str = ""
    """What it knew before its first step, where that came from another run; its own request cannot repeat it then."""
    video_every: int = 0
    """Steps between two films of a greedy episode; 0: none."""

    @classmethod
    def of(
        cls,
        task: Task,
        learner: str | None = None,
        machine: str | None = None,
        preset: str = "tuned",
        settings: Settings = (),
        steps: int | None = None,
        seeds: Sequence[int] = (0,),
        config: LearnerConfig | None = None,
    ) -> Request:
        """The request with defaults filled in; whatever cannot be trained is refused here, before anything is written."""
        name = learner or default_learner(task)
        method = method_of(name)
        if not seeds:
            raise ConfigError("no seed was asked for; train at least one")
        for seed in seeds:
            if isinstance(seed, bool) or not isinstance(seed, SupportsIndex) or not 0 <= index(seed) < 2**63:
                raise ConfigError(f"seed {seed!r} was asked for; seeds are whole numbers, 0 or more")
        if len(set(seeds)) < len(seeds):
            raise ConfigError("a seed was asked for more than once; the same seed gives the same run")
        chosen = machine_of(name, machine)
        if config is not None and not isinstance(config, LearnerConfig):
            raise ConfigError(f"config is {config!r:.60}; give settings=..., or an object of the learner's settings")
        if config is not None and settings:
            raise ConfigError("both config and settings were given; give the settings alone, or inside the config")
        wanted = method.steps_by_default(task) if steps is None else for_steps(steps)
        whole = config_of(name, preset, task, settings, wanted) if config is None else config
        number = for_steps(wanted, whole)
        team = _team(task, name, whole, len(seeds))
        return cls(task, name, chosen, preset if config is None else CUSTOM, whole, number, tuple(map(index, seeds)), team)

    @classmethod
    def stored(cls, document: RunDocument, task: Task) -> Request:
        """What a run.json asks for; a StoreError where its settings are those of another version."""
        config = stored_config(document.learner, task, document.config)
        seeds = tuple(document.seeds)
        return cls(
            task, document.learner, document.machine, document.preset, config, document.steps, seeds, document.team,
            tuple(document.stop_when), document.start, document.video_every,
        )  # fmt: skip

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The seeds that train together: teams, or each alone."""
        return grouped(self.seeds, self.team)

    def new_learner(self, seed: int) -> Learner:
        """The untrained learner of a seed that trains alone."""
        return make_learner(self.task, self.learner, seed, self.machine, self.config)

    def document(
        self, task_sha256: str, checkpoint_seconds: float = CHECKPOINT_SECONDS, git: dict[str, str] | None = None
    ) -> RunDocument:
        """What is stored of it, with the versions and the machine of now."""
        if not 0 < checkpoint_seconds < math.inf:
            raise ConfigError(f"checkpoints every {checkpoint_seconds} seconds were asked for; give a positive number")
        config = as_document(self.config)
        decisive: dict[str, Any] = {
            "task": task_sha256, "learner": self.learner, "machine": self.machine, "config": config, "seeds": self.seeds,
            # Who shares its steps out before it begins trains in another way for every number of them.
            **({"start": self.start} if self.start else {}),
            "team": self.team, "steps": self.steps if method_of(self.learner).evaluated_at_end else None,
        }  # fmt: skip
        return RunDocument(
            id=digest(json.dumps(decisive, sort_keys=True).encode()),
            task=self.task.name,
            task_sha256=task_sha256,
            learner=self.learner,
            machine=self.machine,
            preset=self.preset,
            config=config,
            steps=self.steps,
            seeds=list(self.seeds),
            team=self.team,
            checkpoint_seconds=float(checkpoint_seconds),
            stop_when=list(self.stop_when),
            imports=imports_of(self.task),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=versions(self.task.world.kind, not is_finite(self.task)),
            git=git_state(Path.cwd()) if git is None else git,
            computer=computer(),
            start=self.start,
            video_every=self.video_every,
        )


def imports_of(task: Task) -> list[str]:
    """The modules to be imported before the task can be read again: those allowed, and those whose functions it names."""
    keys = task.world.settings(strict=False)
    values = [value for item in keys.values() for value in (item.values() if isinstance(item, Mapping) else [item])]
    named = {value.partition(":")[0] for value in values if isinstance(value, str) and ":" in value}
    # The package whose import registers the id of an environment is that of its entry point.
    registers = {registrar(str(keys.get("id", ""))).partition(".")[0]} - {"", "__main__", "builtins", "errands", "gymnasium"}
    return sorted((named | registers) - {NAMELESS} | set(allowed()))


def _team(task: Task, learner: str, config: LearnerConfig, seeds: int) -> int:
    """How many seeds train side by side: deep learners do, as many as half of the memory holds; 0 where each is alone."""
    if seeds < 2 or not form_of(task, learner).team:
        return 0
    replay = ROW_BYTES * int(as_document(config).get("capacity", 0))
    return max(1, min(seeds, MAX_TEAM, int(memory() / 2 / max(replay, 1))))


def for_steps(steps: int, config: LearnerConfig | None = None) -> int:
    """The number of steps itself, when it can be trained for (with these settings)."""
    if not isinstance(steps, Real) or steps % 1:
        raise ConfigError(f"steps is {steps!r}; give a whole number")
    if not 1 <= steps < 2**53:
        wanted = "train for at least 1 step" if steps < 1 else "at most 2^53 - 1 can be counted"
        raise ConfigError(f"steps is {steps}; {wanted}")
    if config is not None and steps % config.step_multiple:
        each = config.step_multiple
        raise ConfigError(
            f"{steps} steps cannot be shared by {each} environments; let steps be a multiple of envs, such as "
            f"{-(-int(steps) // each) * each}"
        )
    return int(steps)
