"""The world a tabular learner steps in: tables, or a Gymnasium environment asked one outcome at a time."""

from __future__ import annotations

import json
import warnings
from collections.abc import Set
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.tables import WorldTable
from errands.tasks.task import Task
from errands.worlds.base import numbered
from errands.worlds.plain import plain, rich

UNKNOWN = -1


class Tables:
    """A finite world whose tables are known to the loop that steps it (never to the learner)."""

    def __init__(self, task: Task) -> None:
        finite = task.finite
        if finite is None:
            raise TaskError(f"the world of '{task.name}' publishes no tables; a tabular learner needs a finite world")
        self.table = finite.table
        self.labels: list[Set[str]] = list(finite.labels)
        self.signals = finite.signals
        self.limit = task.world.limit

    @property
    def states(self) -> int:
        """The number of world states."""
        return int(self.table.next.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.table.next.shape[1])


class Asked(Tables):
    """A Gymnasium environment with Discrete spaces: each row of its table is asked for, used and forgotten."""

    def __init__(self, task: Task, seed: int) -> None:
        self.env: gym.Env[Any, Any] = numbered(task.world)
        spaces = gym.spaces
        if not isinstance(self.env.observation_space, spaces.Discrete) or not isinstance(
            self.env.action_space, spaces.Discrete
        ):
            raise TaskError(
                f"the world of '{task.name}' has observations {self.env.observation_space} and actions "
                f"{self.env.action_space}; a tabular learner needs both to be Discrete"
            )
        self.base = int(self.env.observation_space.start)
        self.first = int(self.env.action_space.start)
        self.labels = [frozenset()]
        self.signals = task.world.signals
        self.limit = task.world.limit
        shape = (int(self.env.observation_space.n), int(self.env.action_space.n), 1)
        self.table = WorldTable(
            starts=np.zeros(1, np.int32),
            start_cumulative=np.ones(1),
            start_label=np.zeros(1, np.int32),
            next=np.full(shape, UNKNOWN, np.int32),
            cumulative=np.ones(shape),
            label=np.zeros(shape, np.int32),
            ends=np.zeros(shape, np.bool_),
            signal=np.zeros((max(1, len(self.signals)), *shape)),
        )
        self.asked: tuple[int, int] | None = None
        self.truncated = False
        self.reset(seed)

    def save(self) -> NDArray[np.uint8]:
        """The environment's state as bytes; empty where it cannot be stored."""
        env: Any = self.env
        try:
            text = json.dumps({"start": int(self.table.starts[0]), "env": plain(env.save())})
        except (TaskError, AttributeError, TypeError, ValueError):
            return np.zeros(0, np.uint8)
        return np.frombuffer(text.encode(), np.uint8).copy()

    def restore(self, saved: NDArray[np.uint8] | None) -> bool:
        """Put the environment back; False, with a warning, where that cannot be done."""
        env: Any = self.env
        try:
            state = json.loads(saved.tobytes()) if saved is not None and len(saved) else None
            if state is not None:
                env.reset(seed=0)
                env.restore(rich(state["env"]))
                start = int(state["start"])
                if not 0 <= start < self.states:
                    raise StoreError(f"the stored episode began in state {start}, and there are {self.states:,}")
                self.table.starts[0] = start
                return True
            reason = "its state cannot be stored"
        except TaskError as fault:
            reason = str(fault)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
            raise StoreError(f"the environment's stored state is damaged ({type(fault).__name__}: {fault})") from None
        warnings.warn(
            f"the environment starts a new episode, so this run will differ from one without interruption: {reason}",
            stacklevel=2,
        )
        return False

    def reset(self, seed: int | None = None) -> int:
        """Start an episode and return its state."""
        observation, _ = self.env.reset(seed=seed)
        self.table.starts[0] = self._state(observation)
        return int(self.table.starts[0])

    def _state(self, observation: Any) -> int:
        """The state of an observation; one outside the space would make compiled loops read foreign memory."""
        if observation not in self.env.observation_space:
            raise TaskError(f"the environment observed {observation}, which is not in its {self.env.observation_space}")
        return int(observation) - self.base

    def ask(self, s: int, a: int) -> bool:
        """Take action a in state s and write its outcome into the table; True when it showed a new label."""
        self.forget()
        observation, _, terminated, self.truncated, info = self.env.step(a + self.first)
        features = frozenset(info.get("features", ()))
        known = features in self.labels
        if not known:
            self.labels.append(features)
        self.table.next[s, a, 0] = self._state(observation)
        self.table.label[s, a, 0] = self.labels.index(features)
        self.table.ends[s, a, 0] = terminated
        for i, name in enumerate(self.signals):
            self.table.signal[i, s, a, 0] = info.get("signals", {}).get(name, 0.0)
        self.asked = (s, a)
        return not known

    def forget(self) -> None:
        """Make the last row unknown again: the next visit asks the environment anew."""
        if self.asked is not None:
            self.table.next[self.asked[0], self.asked[1], 0] = UNKNOWN
            self.asked = None


def world_of(task: Task, seed: int) -> Tables:
    """Tables where the world has them, else its environment asked step by step."""
    return Tables(task) if task.finite is not None else Asked(task, seed)
