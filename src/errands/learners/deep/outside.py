"""Environments of many seeds side by side on the host, with the machine stepped from the same tables."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.learners.deep.machine import Listed
from errands.learners.deep.spaces import senses_of
from errands.tables import RUNNING, SUCCESS
from errands.worlds.saving import Restorable


class Seen(NamedTuple):
    """What the environments answered to one action each."""

    observation: NDArray[np.float32]
    label: NDArray[np.int32]
    ends: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    signals: NDArray[np.float32]
    fresh: NDArray[np.float32]
    """The first observation of a new episode where this one is over, else the same observation."""


class Outside:
    """One environment per seed; it knows the machine state only to tell when an episode is over."""

    def __init__(self, machine: Listed, seeds: tuple[int, ...]) -> None:
        self.machine = machine
        world = machine.task.world
        self.signals = world.signals
        self.limit = world.limit
        self.envs = [world.env() for _ in seeds]
        self.senses = senses_of(self.envs[0], len(self.signals))
        self.seeds = seeds
        self.sent = np.zeros((len(seeds), 0), np.float32)
        self.state = np.zeros(len(seeds), np.int32)
        self.time = np.zeros(len(seeds), np.int32)

    def reset(self) -> NDArray[np.float32]:
        """Begin the first episode of every seed."""
        self.state[:], self.time[:] = 0, 0
        rows = [self.senses.see(env.reset(seed=s)[0]) for env, s in zip(self.envs, self.seeds, strict=True)]
        return np.stack(rows)

    def step(self, actions: NDArray[np.float32]) -> Seen:
        """One step of every environment; episodes that are over begin anew."""
        self.send(actions)
        return self.receive()

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the actions over; environments that can go on by themselves do."""
        self.sent = actions

    def receive(self) -> Seen:
        """What the environments answered to the actions sent."""
        steps = [self._one(i, action) for i, action in enumerate(self.sent)]
        return Seen(*(np.stack(part) for part in zip(*steps, strict=True)))

    def _one(self, i: int, action: NDArray[np.float32]) -> tuple[Any, ...]:
        env, table = self.envs[i], self.machine.table
        observation, _, ends, truncated, info = env.step(self.senses.do(action))
        row = self.senses.see(observation)
        label = self._label(info.get("features", frozenset()))
        signals = np.array([info["signals"][name] for name in self.signals], np.float32)
        if not np.isfinite(signals).all():
            raise TaskError("a signal that the machine pays is not a finite number; mend the environment")
        self.state[i] = table.next[self.state[i], label]
        self.time[i] += 1
        over = ends or truncated or table.status[self.state[i]] != RUNNING or self.time[i] >= self.limit
        fresh = row
        if over:
            fresh = self.senses.see(env.reset()[0])
            self.state[i], self.time[i] = 0, 0
        return row, np.int32(label), np.bool_(ends), np.bool_(truncated), signals, fresh

    def _label(self, features: Any) -> int:
        known = frozenset(features) & frozenset(self.machine.task.machine.features)
        try:
            return self.machine.numbers[known]
        except KeyError:
            shown = ", ".join(sorted(known))
            raise TaskError(f"the world reports {{{shown}}} at once, which its own tables do not list") from None

    def save(self) -> NDArray[np.uint8]:
        """All environments as JSON."""
        parts = []
        for env in self.envs:
            if not isinstance(env, Restorable):
                raise StoreError("this environment cannot save its state; give it save() and restore() to make runs resumable")
            parts.append(env.save())
        text = json.dumps({"envs": parts, "state": self.state.tolist(), "time": self.time.tolist()})
        return np.frombuffer(text.encode(), np.uint8)

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""
        parts = json.loads(bytes(saved))
        for env, part in zip(self.envs, parts["envs"], strict=True):
            env.restore(part)  # type: ignore[attr-defined]
        self.state[:], self.time[:] = parts["state"], parts["time"]


def outside_of(machine: Listed, seeds: tuple[int, ...]) -> Outside:
    """The environments of a task."""
    if machine.task.world.kind == "cheetah":
        from errands.learners.deep.robots import Robots

        return Robots(machine, seeds)
    return Outside(machine, seeds)


class Episode(NamedTuple):
    """How a greedy episode of each seed went."""

    length: NDArray[np.int32]
    total: NDArray[np.float32]
    success: NDArray[np.bool_]
    order: NDArray[np.int32]


class Count:
    """Adds up greedy episodes of many seeds that do not end together."""

    def __init__(self, machine: Listed, seeds: int) -> None:
        self.machine = machine
        room = 4 * len(machine.objectives) + 4
        self.episode = Episode(
            np.zeros(seeds, np.int32), np.zeros(seeds, np.float32), np.zeros(seeds, np.bool_), np.full((seeds, room), -1, np.int32)
        )
        self.over = np.zeros(seeds, np.bool_)
        self.state = np.zeros(seeds, np.int32)
        self.since = np.zeros(seeds, np.int32)

    def add(self, seen: Seen, limit: int) -> None:
        """Take one step of those that are not over."""
        table, episode = self.machine.table, self.episode
        label, here = seen.label, self.state
        factor, signal = table.reward[here, label], table.signal[here, label]
        padded = np.concatenate([np.ones((len(here), 1), np.float32), seen.signals], axis=1)
        reward = factor * np.take_along_axis(padded, signal[:, None] + 1, axis=1)[:, 0]
        reached = table.next[here, label]
        on = ~self.over
        for i in np.flatnonzero(on & (self.machine.completed[here, label] >= 0)):
            free = np.flatnonzero(episode.order[i] < 0)
            episode.order[i, free[:1]] = self.machine.completed[here[i], label[i]]
        episode.length[on] += 1
        episode.total[on] += reward[on]
        episode.success[on] = table.status[reached][on] == SUCCESS
        self.since = np.where(reached == here, self.since + 1, 0)
        self.state = np.where(on, reached, here).astype(np.int32)
        self.over |= (table.status[reached] != RUNNING) | seen.ends | seen.truncated | (episode.length >= limit)
