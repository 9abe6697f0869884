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
from errands.worlds.plain import plain, rich
from errands.worlds.saving import Restorable


class Heard(NamedTuple):
    """What the environments answered to one action each."""

    observation: NDArray[np.float32]
    label: NDArray[np.int32]
    ends: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    signals: NDArray[np.float32]


class Seen(NamedTuple):
    """The same, and where the next step is taken."""

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
        self.resting = np.zeros(len(seeds), np.bool_)
        """The environments that are not stepped."""

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
        """What the environments answered to the actions sent; episodes that are over begin anew."""
        heard, table = self.answers(), self.machine.table
        self.state = table.next[self.state, heard.label]
        self.time += 1
        over = heard.ends | heard.truncated | (table.status[self.state] != RUNNING) | (self.time >= self.limit)
        fresh = heard.observation.copy()
        for i in np.flatnonzero(over):
            fresh[i] = self.senses.see(self.envs[i].reset()[0])
            self.state[i], self.time[i] = 0, 0
        return Seen(*heard, fresh)

    def answers(self) -> Heard:
        """What the environments answered, whatever the machine makes of it; those at rest answer nothing."""
        steps = [self._one(i, action) for i, action in enumerate(self.sent)]
        return Heard(*(np.stack(part) for part in zip(*steps, strict=True)))

    def _one(self, i: int, action: NDArray[np.float32]) -> tuple[Any, ...]:
        if self.resting[i]:
            spaces = self.senses.spaces
            row, signals = (np.zeros(n, np.float32) for n in (spaces.observation, spaces.signals))
            return row, np.int32(0), np.False_, np.False_, signals
        observation, _, ends, truncated, info = self.envs[i].step(self.senses.do(action))
        row = self.senses.see(observation)
        label = self._label(info.get("features", frozenset()))
        signals = np.array([info["signals"][name] for name in self.signals], np.float32)
        if not np.isfinite(signals).all():
            raise TaskError("a signal that the machine pays is not a finite number; mend the environment")
        return row, np.int32(label), np.bool_(ends), np.bool_(truncated), signals

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
            parts.append(plain(env.save()))
        text = json.dumps({"envs": parts, "state": self.state.tolist(), "time": self.time.tolist()})
        return np.frombuffer(text.encode(), np.uint8)

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""
        parts = json.loads(bytes(saved))
        for env, part in zip(self.envs, parts["envs"], strict=True):
            env.restore(rich(part))  # type: ignore[attr-defined]
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
        for i, j in np.argwhere(on[:, None] & (self.machine.completed[here, label] >= 0)):
            free = np.flatnonzero(episode.order[i] < 0)
            episode.order[i, free[:1]] = self.machine.completed[here[i], label[i], j]
        episode.length[on] += 1
        episode.total[on] += reward[on]
        episode.success[on] = table.status[reached][on] == SUCCESS
        self.since = np.where(reached == here, self.since + 1, 0)
        self.state = np.where(on, reached, here).astype(np.int32)
        self.over |= (table.status[reached] != RUNNING) | seen.ends | seen.truncated | (episode.length >= limit)
