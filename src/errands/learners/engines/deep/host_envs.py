"""Environments of many seeds side by side on the host: what a learner sees and drives there, and greedy episodes in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import cpu_count
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.learners.base import stacked
from errands.learners.diary import Diary
from errands.learners.engines.deep.machine import MachineArrays
from errands.machines.rewards import Reward
from errands.tables import RUNNING, SUCCESS
from errands.worlds.cheetah import BACKWARD, CONTROL_COST, FORWARD
from errands.worlds.saving import Restorable, from_json, to_json
from errands.worlds.spaces import action_decoder, finite, observation_encoder


@dataclass(frozen=True)
class Spaces:
    """What a learner sees and does: lengths of observations and actions, and how many signals there are."""

    observation: int
    actions: int
    """How many discrete actions, or numbers in a continuous one."""
    continuous: bool
    signals: int
    image: tuple[int, int, int] | None = None
    """Height, width and channels, where observations are pictures."""


@dataclass(frozen=True)
class Senses:
    """How observations become rows of numbers and numbers become actions."""

    spaces: Spaces
    see: Callable[[Any], NDArray[np.float32]]
    do: Callable[[NDArray[np.float32]], Any]
    """The action behind a learner's row: the number of a choice, or numbers between -1 and 1."""


def senses_of(env: gym.Env[Any, Any], signals: int) -> Senses:
    """The senses for an environment; spaces that cannot be driven are refused in a sentence."""
    sight, drive = observation_encoder(env.observation_space), action_decoder(env.action_space)
    spaces = Spaces(sight.size, drive.count, drive.continuous, signals, sight.image)
    return Senses(spaces, sight.read, drive.make if drive.continuous else lambda action: drive.make(action[0]))


class HostStep(NamedTuple):
    """What the environments answered to one action each, and where the next step is taken."""

    observation: NDArray[np.float32]
    """[seeds, inputs]."""
    label: NDArray[np.int32]
    """[seeds]."""
    ends: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    signals: NDArray[np.float32]
    """[seeds, signals]."""
    fresh: NDArray[np.float32]
    """The first observation of a new episode where this one is over, else the same observation."""


@dataclass(frozen=True)
class Reader:
    """Reads what an environment reports; it goes along to other processes, so it knows only what it needs."""

    numbers: Mapping[frozenset[str], int]
    """The label of each set of features that the machine looks at."""
    features: frozenset[str]
    signals: tuple[str, ...]
    functions: tuple[Reward, ...] = ()

    def senses(self, env: gym.Env[Any, Any]) -> Senses:
        """The senses for an environment."""
        return senses_of(env, len(self.signals) + len(self.functions))

    def step(self, env: gym.Env[Any, Any], senses: Senses, action: NDArray[np.float32]) -> tuple[Any, ...]:
        """One step: row, label, whether the world ends, whether it was cut off, signals."""
        observation, _, ends, truncated, info = env.step(senses.do(action))
        row = senses.see(observation)
        label = self.label(info.get("features", frozenset()))
        signals = with_functions([info["signals"][name] for name in self.signals], self.signals, self.functions)
        if not np.isfinite(signals).all():
            raise TaskError("a signal that the machine pays is not a finite number; fix the environment")
        return row, np.int32(label), np.bool_(ends), np.bool_(truncated), signals

    def label(self, features: Any) -> int:
        """The number of a set of features."""
        # Features that the machine does not look at cannot change what it does.
        known = frozenset(features) & self.features
        try:
            return self.numbers[known]
        except KeyError:
            shown = ", ".join(sorted(known))
            raise TaskError(f"the world reports {{{shown}}} at once, which its own tables do not list") from None


def with_functions(values: Sequence[float], names: Sequence[str], functions: Sequence[Reward]) -> NDArray[np.float32]:
    """[signals + functions] the signals of a step, then what functions of them give."""
    named = dict(zip(names, values, strict=True)) if functions else {}
    return np.array([*values, *(reward.paid(named) for reward in functions)], np.float32)


APART = 15_485_863
"""What lies between the seeds of two environments of one seed; a prime far from those of neighbouring seeds."""


class HostEnvs:
    """`each` environments per seed, seed by seed; they know the machine state only to tell when an episode is over."""

    def __init__(self, machine: MachineArrays, seeds: tuple[int, ...], each: int = 1) -> None:
        self.machine = machine
        world, rm = machine.task.world, machine.task.machine
        self.limit = world.limit
        self.reader = Reader(machine.numbers, frozenset(rm.features), world.signals, rm.functions)
        self.each = each
        self.seeds = tuple(seed + APART * number for seed in seeds for number in range(each))
        self.envs = self._made()
        # Machine state and time are kept here too, besides those on the device: whether an episode is over must be
        # known before the device is told, since the first observation of the next one travels with the answer.
        count = len(self.seeds)
        self.sent = np.zeros((count, 0), np.float32)
        self.state = np.zeros(count, np.int32)
        self.time = np.zeros(count, np.int32)
        self.diaries = [Diary(machine.task.machine) for _ in self.seeds]

    def _made(self) -> list[gym.Env[Any, Any]]:
        """The environments, and `senses` for them."""
        envs = [self.machine.task.world.env() for _ in self.seeds]
        self.senses = self.reader.senses(envs[0])
        return envs

    def reset(self, number: int = 0) -> NDArray[np.float32]:
        """Begin the first episode of every seed, or that of another number."""
        self.state[:], self.time[:] = 0, 0
        # Another number, another start. The product keeps neighbouring seeds from meeting in each other's episodes.
        seeds = [(seed + 1_000_003 * number) % 2**31 for seed in self.seeds]
        return self._start(seeds)

    def env(self, number: int) -> gym.Env[Any, Any]:
        """One of the environments as it stands; whoever resets it or puts it elsewhere says so by `moved`."""
        return self.envs[number]

    def moved(self, number: int) -> None:
        """Take note of where an environment is now."""

    def _start(self, seeds: list[int]) -> NDArray[np.float32]:
        """Reset all environments by seeds."""
        return np.stack([self._begun(i, seed) for i, seed in enumerate(seeds)])

    def _begun(self, number: int, seed: int | None = None) -> NDArray[np.float32]:
        """What an environment shows at the beginning of a new episode."""
        row = self.senses.see(self.env(number).reset(seed=seed)[0])
        self.moved(number)
        return row

    def step(self, actions: NDArray[np.float32]) -> HostStep:
        """One step of every environment; episodes that are over begin anew."""
        self.send(actions)
        return self.receive()

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the actions over; environments that can go on by themselves do."""
        self.sent = actions

    def receive(self) -> HostStep:
        """What the environments answered to the actions sent; episodes that are over begin anew."""
        answer, table = self.answers(), self.machine.table
        self.state = table.next[self.state, answer.label]
        self.time += 1
        cut = answer.truncated | (self.time >= self.limit)
        over = answer.ends | cut | (table.status[self.state] != RUNNING)
        # `observation` stays what the step led to, which is what is learnt from; only `fresh` is of the new episode.
        for diary, label, ended, late in zip(self.diaries, answer.label.tolist(), answer.ends.tolist(), cut.tolist(), strict=True):
            diary.note(self.machine.labels[label], ended, late)
        self.state[over], self.time[over] = 0, 0
        return answer._replace(fresh=self._renewed(answer.observation, over))

    def _renewed(self, rows: NDArray[np.float32], over: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The rows, with the first observations of new episodes where the old ones are over."""
        rows = rows.copy()
        for i in np.flatnonzero(over):
            # Without a seed: the environment goes on with its own generator, seeded by the first reset.
            rows[i] = self._begun(int(i))
        return rows

    def answers(self) -> HostStep:
        """What the environments answered, whatever the machine makes of it."""
        steps = [self.reader.step(env, self.senses, action) for env, action in zip(self.envs, self.sent, strict=True)]
        observation, label, ends, truncated, signals = (np.stack(part) for part in zip(*steps, strict=True))
        return HostStep(observation, label, ends, truncated, signals, fresh=observation)

    def save(self) -> NDArray[np.uint8]:
        """The environments as rows of JSON, one for each seed: of each its state, machine state, time and diary."""
        diaries = [diary.save() for diary in self.diaries]
        rows = list(zip(self._saved(), self.state.tolist(), self.time.tolist(), diaries, strict=True))
        texts = (json.dumps(rows[i : i + self.each]).encode() for i in range(0, len(rows), self.each))
        return stacked([np.frombuffer(text, np.uint8)[None] for text in texts])

    def _saved(self) -> list[Any]:
        """The environments as plain data."""
        parts = []
        for env in map(self.env, range(len(self.envs))):
            if not isinstance(env, Restorable):
                raise StoreError(UNSAVED)
            parts.append(to_json(env.save()))
        return parts

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""
        try:
            rows = [row for document in saved for row in json.loads(bytes(document))]
            if len(rows) != len(self.seeds):
                raise ValueError(f"{len(rows)} environments instead of {len(self.seeds)}")
            envs, states, times, diaries = zip(*rows, strict=True)
            state, time = np.array(states, np.int32), np.array(times, np.int32)
            if not ((state >= 0) & (state < len(self.machine.rm)) & (time >= 0)).all():
                raise ValueError("a machine state or a time is out of range")
            for diary, part in zip(self.diaries, diaries, strict=True):
                diary.restore(part)
            self._put(list(envs))
            self.state[:], self.time[:] = state, time
        except Exception as fault:  # noqa: BLE001 (whatever an environment raises when it is handed nonsense)
            raise StoreError(
                f"the saved environments cannot be taken back ({type(fault).__name__}: {str(fault)[:100]})"
            ) from None

    def _put(self, parts: list[Any]) -> None:
        """Bring every environment to its saved state."""
        for i, part in enumerate(parts):
            self.envs[i].restore(from_json(part))  # type: ignore[attr-defined]
            self.moved(i)


UNSAVED = "this environment cannot save its state; give it save() and restore() to make runs resumable"


def host_envs_of(machine: MachineArrays, seeds: tuple[int, ...], each: int = 1, apart: bool = False) -> HostEnvs:
    """The environments of a task, `each` per seed; `apart` gives every one of several a process of its own."""
    if machine.task.world.batched_physics and _has_batches() and not (apart and each > 1):
        return HalfCheetahEnvs(machine, seeds, each)
    if apart and each > 1:
        # Here, because that module imports this one.
        from errands.learners.engines.deep.vector_envs import VectorEnvs

        return VectorEnvs(machine, seeds, each)
    return HostEnvs(machine, seeds, each)


def _has_batches() -> bool:
    """Whether MuJoCo is there and steps many robots in one call, as it does since its version 4."""
    return find_spec("mujoco") is not None and find_spec("mujoco.batch") is not None


class EpisodeCounter:
    """Adds up greedy episodes of many seeds that do not end together."""

    def __init__(self, machine: MachineArrays, seeds: int) -> None:
        self.machine = machine
        room = 4 * len(machine.objectives) + 4
        self.length, self.total = np.zeros(seeds, np.int32), np.zeros(seeds, np.float32)
        self.success, self.order = np.zeros(seeds, np.bool_), np.full((seeds, room), -1, np.int32)
        self.over = np.zeros(seeds, np.bool_)
        self.state = np.zeros(seeds, np.int32)
        self.since = np.zeros(seeds, np.int32)

    def add(self, seen: HostStep, limit: int) -> None:
        """Take one step of those that are not over."""
        table = self.machine.table
        label, here = seen.label, self.state
        # [seeds, 1 + signals]: the 1 takes the constant part of what is paid, the others are the signals themselves.
        padded = np.concatenate([np.ones((len(here), 1), np.float32), seen.signals], axis=1)
        reward = (self.machine.pays[here, label] * padded).sum(axis=1)
        reached = table.next[here, label]
        # Episodes of seeds end at different steps; one that is over is not counted further.
        on = ~self.over
        for i, j in np.argwhere(on[:, None] & (self.machine.completed[here, label] >= 0)):
            free = np.flatnonzero(self.order[i] < 0)
            self.order[i, free[:1]] = self.machine.completed[here[i], label[i], j]
        self.length[on] += 1
        self.total[on] += reward[on]
        self.success[on] = table.status[reached][on] == SUCCESS
        self.since = np.where(reached == here, self.since + 1, 0)
        self.state = np.where(on, reached, here).astype(np.int32)
        self.over |= (table.status[reached] != RUNNING) | seen.ends | seen.truncated | (self.length >= limit)


class HalfCheetahEnvs(HostEnvs):
    """Robots that MuJoCo steps all in one call, on a few threads outside of Python: the same numbers as one by one."""

    # The states of the robots are rows of the batch. The environments are where episodes begin and what is saved: `env`
    # brings one up to date, `moved` takes over what became of it.
    def __init__(self, machine: MachineArrays, seeds: tuple[int, ...], each: int = 1, threads: int = 0) -> None:
        super().__init__(machine, seeds, each)
        from mujoco import batch, mjtState

        self.robots: list[Any] = [*self.envs]
        self.kind = int(mjtState.mjSTATE_INTEGRATION)
        count = len(self.robots)
        # Ten robots gain little from more than five (`robots` of benchmarks/deep.py).
        threads = threads or max(1, min(count // 2, (cpu_count() or 1) - 1, 5))
        self.batch = batch.Batch(self.robots[0].model, count, threads)
        # Views of the rows: they always show the present state, and what is written into them is it.
        self.controls, self.places, self.speeds = (self.batch.bind(name) for name in ("ctrl", "qpos", "qvel"))
        self.origins, self.steps = np.zeros(count), np.zeros(count, np.int64)
        bounds = dict(BACKWARD) | dict(FORWARD)
        names = machine.task.machine.features
        self.bounds = np.array([bounds[name] for name in names])
        self.signs = np.array([-1.0 if name in dict(BACKWARD) else 1.0 for name in names])

    def env(self, number: int) -> gym.Env[Any, Any]:
        """A robot's environment as its row has it."""
        from mujoco import mj_setState

        robot = self.robots[number]
        mj_setState(robot.model, robot.data, self.batch.state[number], self.kind)
        robot.steps = int(self.steps[number])
        return super().env(number)

    def moved(self, number: int) -> None:
        """Take a robot's row from its environment."""
        from mujoco import mj_getState

        robot = self.robots[number]
        mj_getState(robot.model, robot.data, self.batch.state[number], self.kind)
        self.origins[number], self.steps[number] = robot.origin, robot.steps

    def answers(self) -> HostStep:
        """Push every robot; where they are after that."""
        pushes = np.asarray(self.senses.do(self.sent), np.float32)
        self.controls[:] = pushes
        self.steps += 1
        self.batch.step(nstep=self.robots[0].frame_skip)
        rows = np.concatenate([self.places, self.speeds], axis=1)
        # Positions count from where the episode began.
        rows[:, 0] -= self.origins
        # A label is the bit pattern of the features, in the order in which the machine names them.
        holds = self.signs * (rows[:, :1] - self.bounds) > 0
        label = (holds << np.arange(len(self.bounds))).sum(axis=1).astype(np.int32)
        costs = CONTROL_COST * np.square(pushes).sum(axis=1, keepdims=True)
        signals = np.stack([with_functions(cost, self.reader.signals, self.reader.functions) for cost in costs])
        late = self.steps >= self.limit
        observation, never = finite(rows), np.zeros(len(late), np.bool_)
        return HostStep(
            observation=observation, label=label, ends=never, truncated=late, signals=signals, fresh=observation
        )
