"""Greedy episodes of a policy: one step by step, in tables or in an environment without any; and means of many."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from errands.errors import ConfigError, TaskError
from errands.machines.stepping import State, Step, Stepper
from errands.tables import FAILURE, RUNNING, SUCCESS, Evaluation, Floats
from errands.tasks.task import Task
from errands.worlds.base import FiniteWorld, numbered
from errands.worlds.spaces import action_decoder

EPISODES = 1_000
"""Episodes of a sample that stands in for an exact evaluation."""
NORMAL = 1.959963984540054
"""95 % of a normal distribution lie within so many standard deviations."""


class Policy(Protocol):
    """Chooses by world state, agenda state and its own memory (an option in hand, a completion order, or nothing)."""

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The action, and the memory to hand back at the next step; memory is None at the start of an episode.

        machine_state is (index of the numeric state, bit mask of remaining subtasks) as in machines.Stepper.
        """


class EpisodeStep(NamedTuple):
    """One step of an episode: what was done, what it brought about, and where world and machine are then."""

    world_state: Any
    """The number of the state; in an environment that numbers none, the observation."""
    machine_state: State
    status: int
    """RUNNING, SUCCESS or FAILURE; still RUNNING where the time limit cuts an episode off."""
    action: Any = None
    """None for the start of the episode, which is the first step of all."""
    features: frozenset[str] = frozenset()
    completed: tuple[str, ...] = ()
    """The subtasks and Boolean objectives completed by the step."""
    reward: float = 0.0
    machine_step: Step | None = None
    over: bool = False
    """Whether it was the last step."""
    memory: Hashable = None
    """What the policy remembers since it acted."""


class TaskStepper:
    """A finite world and its agenda machine side by side; machine steps are remembered by state and label."""

    def __init__(self, task: Task) -> None:
        if task.finite is None:
            raise TaskError(f"the world of '{task.name}' {task.untabled}; exact evaluation needs tables")
        self.world: FiniteWorld = task.finite
        self.table = task.finite.table
        self.stepper = Stepper(task.machine)
        self._steps: dict[tuple[State, int], tuple[Step, tuple[str, ...]]] = {}

    def step(self, world_state: int, machine_state: State, action: int, outcome: int = 0) -> EpisodeStep:
        """Take an action with one of its outcomes."""
        where = (world_state, action, outcome)
        label = int(self.table.label[where])
        step, names = self._machine_step(machine_state, label)
        status = self.stepper.status[step.state[0]]
        # The world's own end is a failure unless the machine succeeds in the same step.
        if status == RUNNING and self.table.ends[where]:
            status = FAILURE
        paid = 0.0
        if step.transition is not None:
            signals = {name: float(self.table.signal[(k, *where)]) for k, name in enumerate(self.world.signals)}
            paid = step.transition.reward.paid(signals)
        there, true = int(self.table.next[where]), self.world.labels[label]
        return EpisodeStep(there, step.state, status, action, true, names, paid, step, status != RUNNING)

    def _machine_step(self, state: State, label: int) -> tuple[Step, tuple[str, ...]]:
        key = (state, label)
        if key not in self._steps:
            step = self.stepper.step(state, self.world.labels[label])
            self._steps[key] = (step, self.stepper.completed(state, step))
        return self._steps[key]


def episode(policy: Policy, task: Task, seed: int = 0, env: gym.Env[Any, Any] | None = None) -> Iterator[EpisodeStep]:
    """The start, then every step of one episode, cut off at the world's limit; chance is drawn from the seed.

    Played in the tables of a finite world, elsewhere in `env` (a fresh environment of the world if none is given, which
    is closed afterwards): whoever hands one in may look at it between steps.
    """
    return (
        _in_tables(policy, task, seed) if task.finite is not None and env is None else _in_env(policy, task, seed, env)
    )


def _in_tables(policy: Policy, task: Task, seed: int) -> Iterator[EpisodeStep]:
    task_stepper = TaskStepper(task)
    table, rng = task_stepper.table, np.random.Generator(np.random.PCG64(seed))
    start = draw(table.start_cumulative, rng)
    s, state = int(table.starts[start]), task_stepper.stepper.start
    memory: Hashable = None
    # Features of the start are shown, but the machine reads features from the first step on.
    yield EpisodeStep(s, state, RUNNING, features=task_stepper.world.labels[int(table.start_label[start])])
    for left in reversed(range(task.world.limit)):
        action, memory = policy.act(s, state, memory)
        moved = task_stepper.step(s, state, action, draw(table.cumulative[s, action], rng))
        s, state = moved.world_state, moved.machine_state
        yield moved._replace(over=moved.over or left == 0, memory=memory)
        if moved.over:
            return


def _in_env(policy: Policy, task: Task, seed: int, given: gym.Env[Any, Any] | None) -> Iterator[EpisodeStep]:
    env = numbered(task.world) if given is None else given
    tabled = task.finite.states if task.finite is not None and task.tried else None
    try:
        steps = _stepped(task, seed, env)
        moved, memory = next(steps), None
        yield moved
        while not moved.over:
            action, memory = policy.act(moved.world_state, moved.machine_state, memory)
            moved = steps.send(action)._replace(memory=memory)
            if tabled is not None and moved.world_state >= tabled and not moved.over:  # nothing was learnt about such a state
                moved = moved._replace(status=FAILURE, over=True)
            yield moved
    finally:
        if given is None:
            env.close()


def _stepped(task: Task, seed: int, env: gym.Env[Any, Any]) -> Generator[EpisodeStep, Any, None]:
    """An episode in an environment, which is sent the action of each step, until `over`."""
    stepper = Stepper(task.machine)
    # Policies count actions from 0, and give numbers between -1 and 1 for bounded Boxes.
    decode = action_decoder(env.action_space).make
    observation, info = env.reset(seed=seed)
    state = stepper.start
    action = yield EpisodeStep(_state_of(env, observation), state, RUNNING, features=frozenset(info.get("features", ())))
    for left in reversed(range(task.world.limit)):
        observation, _, terminated, truncated, info = env.step(decode(action))
        features = frozenset(info.get("features", ()))
        step = stepper.step(state, features)
        completed = stepper.completed(state, step)
        reward = step.transition.reward.paid(info.get("signals")) if step.transition else 0.0
        state, status = step.state, stepper.status[step.state[0]]
        if status == RUNNING and terminated:
            status = FAILURE
        over = status != RUNNING or truncated or left == 0
        action = yield EpisodeStep(
            world_state=_state_of(env, observation), machine_state=state, status=status, action=action, features=features,
            completed=completed, reward=reward, machine_step=step, over=over,
        )  # fmt: skip


def _state_of(env: gym.Env[Any, Any], observation: Any) -> Any:
    """The observation as policies see it: numbers count from 0."""
    space = env.observation_space
    return int(observation) - int(space.start) if isinstance(space, gym.spaces.Discrete) else observation


def draw(cumulative: Floats, rng: np.random.Generator) -> int:
    """Which outcome happens; draws a number only where there is more than one."""
    # Without the last entry: a sum that rounds to just below 1 cannot lead past the last outcome.
    return 0 if len(cumulative) == 1 else int(np.searchsorted(cumulative[:-1], rng.random(), side="right"))


@dataclass(frozen=True)
class Walk:
    """One episode as a whole, cut off at the world's limit."""

    order: tuple[str, ...]
    """The subtasks and Boolean objectives as they were completed."""
    path: tuple[Any, ...]
    """World states, the start first."""
    actions: tuple[Any, ...]
    rewards: tuple[float, ...]
    success: bool
    completed_at: tuple[int, ...] = ()
    """After how many steps each entry of `order` was completed."""

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.actions)


def walk(policy: Policy, task: Task, seed: int = 0, env: gym.Env[Any, Any] | None = None) -> Walk:
    """Let the policy act for one episode; where moves are random, their outcomes are drawn from the seed."""
    start, *steps = episode(policy, task, seed, env)
    order = [(name, t) for t, step in enumerate(steps, 1) for name in step.completed]
    return Walk(
        order=tuple(name for name, _ in order),
        path=(start.world_state, *(step.world_state for step in steps)),
        actions=tuple(step.action for step in steps),
        rewards=tuple(step.reward for step in steps),
        success=bool(steps) and steps[-1].status == SUCCESS,
        completed_at=tuple(t for _, t in order),
    )


def play(policy: Policy, task: Task, seed: int, env: gym.Env[Any, Any] | None = None) -> tuple[int, float, bool]:
    """Length, total reward and success of one episode, nothing of it kept."""
    length, total, status = -1, 0.0, RUNNING
    for step in episode(policy, task, seed, env):
        length, total, status = length + 1, total + step.reward, step.status
    return length, total, status == SUCCESS


def strayed(policy: Policy, task: Task, walks: int = 100, steps: int = 10_000) -> str:
    """Where the environment leaves a table that was found by trying when the policy walks in it; empty where it does not."""
    if not task.tried:
        return ""
    env, taken = numbered(task.world), 0
    told = list(_in_tables(policy, task, 0))
    try:
        for number in range(walks):
            for step, (expected, moved) in enumerate(zip(told, _in_env(policy, task, number, env), strict=False)):
                if moved._replace(machine_step=None) != expected._replace(machine_step=None):
                    return (
                        f"the environment is not what its table says, {task.tried}: walk {number + 1} of this policy left it in "
                        f"step {step}, so the state function does not tell all that matters, or chance plays a part"
                    )
            taken += len(told)
            if taken >= steps:
                break
    finally:
        env.close()
    return ""


LANES = 32
"""Environments in which episodes of a policy that acts in many at once are played side by side."""


@runtime_checkable
class ManyPolicy(Protocol):
    """A policy whose actions in many episodes cost little more than in one: a network."""

    def act_many(
        self, world_states: Sequence[Any], machine_states: Sequence[State], memories: Sequence[Hashable]
    ) -> list[tuple[Any, Hashable]]:
        """What `Policy.act` answers in each of these situations."""


@dataclass
class _Lane:
    """One environment and the episode that is under way in it."""

    env: gym.Env[Any, Any]
    number: int
    steps: Generator[EpisodeStep, Any, None]
    moved: EpisodeStep
    memory: Hashable = None
    length: int = 0
    total: float = 0.0


def play_many(policy: ManyPolicy, task: Task, seeds: Sequence[int]) -> list[tuple[int, float, bool]]:
    """Length, total reward and success of an episode for each seed, LANES of them at a time."""
    results: dict[int, tuple[int, float, bool]] = {}
    waiting = iter(enumerate(seeds))
    envs = [numbered(task.world) for _ in range(min(LANES, len(seeds)))]

    def begun(env: gym.Env[Any, Any]) -> Iterator[_Lane]:
        for number, seed in islice(waiting, 1):
            steps = _stepped(task, seed, env)
            yield _Lane(env, number, steps, next(steps))

    try:
        lanes = [lane for env in envs for lane in begun(env)]
        while lanes:
            answers = policy.act_many(
                [lane.moved.world_state for lane in lanes],
                [lane.moved.machine_state for lane in lanes],
                [lane.memory for lane in lanes],
            )
            following: list[_Lane] = []
            for lane, (action, memory) in zip(lanes, answers, strict=True):
                lane.moved, lane.memory = lane.steps.send(action), memory
                lane.length, lane.total = lane.length + 1, lane.total + lane.moved.reward
                if lane.moved.over:
                    results[lane.number] = lane.length, lane.total, lane.moved.status == SUCCESS
                following += begun(lane.env) if lane.moved.over else (lane,)
            lanes = following
    finally:
        for env in envs:
            env.close()
    return [results[number] for number in range(len(seeds))]


@dataclass(frozen=True)
class Estimate:
    """A mean with the interval that has it with 95 % confidence."""

    mean: float
    low: float
    high: float
    exact: bool = False
    """Whether there is nothing to estimate: then the interval is a point."""

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if self.exact else f"{self.mean:.6g} ({self.low:.6g} to {self.high:.6g})"


@dataclass(frozen=True)
class Sample:
    """What a number of greedy episodes came to, each cut off at the world's limit."""

    episodes: int
    """1 where one episode says everything: then nothing is estimated."""
    length: Estimate
    """Steps of all episodes, successful or not."""
    success: Estimate
    """Share of the episodes that succeeded."""
    total_reward: Estimate

    def evaluation(self, step: int) -> Evaluation:
        """The same as the evaluation of a policy after so many steps."""
        length, success = self.length, self.success
        return Evaluation(
            step=step, episode_length=length.mean, total_reward=self.total_reward.mean, success=success.mean,
            episodes=self.episodes, length_low=length.low, length_high=length.high, success_low=success.low,
            success_high=success.high,
        )  # fmt: skip


def sampled(play: Callable[[int], tuple[int, float, bool]], episodes: int = EPISODES, seed: int = 0) -> Sample:
    """The means of `episodes` episodes, with intervals: `play` takes a seed and gives length, total reward, success.

    The interval of the success rate is Wilson's; those of the others are normal, cut off at the smallest and greatest
    values seen. In a world without tables: sampled(lambda seed: play(policy, task, seed)), with episode.play.
    """
    if episodes < 2:
        raise ConfigError(f"episodes is {episodes}; an interval needs at least 2")
    lengths, totals, successes = map(np.array, zip(*(play(seed + k) for k in range(episodes)), strict=True))
    success = Estimate(float(successes.mean()), *wilson(int(successes.sum()), episodes))
    return Sample(episodes, _estimate(lengths), success, _estimate(totals))


def evaluated(
    policy: Policy, task: Task, episodes: int, seed: int = 0, report: Callable[[int], None] = lambda done: None
) -> Sample:
    """Success and length of a policy over so many episodes, begun from the seeds `seed`, `seed` + 1 and so on.

    An environment of a user's is stepped itself, so that a false table shows; our own worlds are what their tables say.
    Where starts and moves are certain one episode says everything. `report` is told how many have been played.
    """
    own = task.world.kind == "gymnasium"
    certain = task.certain and not task.tried
    if certain and not own:
        return exactly(*play(policy, task, seed))
    played: list[tuple[int, float, bool]] = []
    wanted = range(seed, seed + (1 if certain else episodes))
    with closing(numbered(task.world)) if own and task.finite is not None else nullcontext() as env:
        while left := wanted[len(played) :]:
            if isinstance(policy, ManyPolicy) and task.finite is None:
                played += play_many(policy, task, left[: 4 * LANES])
            else:
                played.append(play(policy, task, left[0], env))
            report(len(played))
    return exactly(*played[0]) if certain else sampled(lambda number: played[number], episodes)


def exactly(length: int, total_reward: float, success: bool) -> Sample:
    """The one episode of a world of certain moves and one start: nothing is estimated."""
    return Sample(1, *(Estimate(float(x), float(x), float(x), exact=True) for x in (length, success, total_reward)))


def wilson(successes: int, attempts: int, z: float = NORMAL) -> tuple[float, float]:
    """Wilson's score interval of a probability; everything is possible when nothing was tried."""
    if attempts == 0:
        return 0.0, 1.0
    rate, part = successes / attempts, z**2 / attempts
    middle, half = (rate + part / 2) / (1 + part), math.sqrt(rate * (1 - rate) * part + part * part / 4) / (1 + part)
    return middle - half if successes else 0.0, middle + half if successes < attempts else 1.0


def _estimate(values: np.ndarray) -> Estimate:
    mean = float(values.mean())
    half = NORMAL * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, max(mean - half, float(values.min())), min(mean + half, float(values.max())))
