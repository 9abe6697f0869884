"""The cross product of an environment and a machine (Section 3), as a Gymnasium environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal, NamedTuple, cast, get_args

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError, UnknownName
from errands.features import readings
from errands.machines import KINDS, AgendaRM, BooleanRM, CoupledRM, Machine, Stepper, unfold_agenda
from errands.machines.counting import objectives
from errands.machines.numeric import numeric_of
from errands.machines.stepping import State
from errands.machines.unfolding import Ordered, Position, agenda_state, landed, reached
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.task import Task
from errands.worlds.grid_world import GridEnv

Info = dict[str, Any]
Features = Callable[[Any, Any, Any, Info], Set[str]]
"""features(observation, action, next_observation, info); observation and action are None for the initial state."""

Observation = Literal["auto", "flat", "dict", "index"]
MAX_CODES = 4_096
"""A numeric machine with more agenda states than this is coded by numeric state and remaining subtasks."""
MAX_NUMBERED = 65_536
"""States of a listed agenda machine behind a Gymnasium id: half a second's work."""
Code = NDArray[np.int8]


class ProductEnv(gym.Env[Any, Any]):
    """World and machine side by side: the agent observes both, and is paid and stopped by the machine."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        machine: Machine,
        features: Features | None = None,
        *,
        observation: Observation = "auto",
        removed: Iterable[str] = (),
    ) -> None:
        if isinstance(env, gym.vector.VectorEnv):
            raise TaskError(
                f"{type(env).__name__} is {env.num_envs} environments at once, and a product is made of one: make the "
                "product first, then many of it: gymnasium.vector.SyncVectorEnv([lambda: product(env(), machine)] * 8)"
            )
        self.env = env
        self.walker = Walker(machine)
        self.crossing = Crossing(env.observation_space, self.walker.count, self.walker.width, observation)
        self.features = features
        self.removed = frozenset(removed)
        self.observation_space = self.crossing.space
        self.action_space = env.action_space
        self.metadata = dict(env.metadata)
        self.render_mode = env.render_mode
        self.position: Position = self.walker.start
        self.over = True
        self._world: Any = None

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """A new episode; the features of the initial state are reported, the machine does not consume them."""
        super().reset(seed=seed)
        self._world, info = self.env.reset(seed=seed, options=options)
        self.position, self.over = self.walker.start, False
        true = read_features(self.features, None, None, self._world, info, self.walker.numeric.read)
        return self._joined(), self._report(info, true, _signals(info, 0.0), False)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """One step of the world and one of the machine; the world's own end ends the episode too."""
        if self.over:
            raise gym.error.ResetNeeded("the episode has not begun or has ended; call reset() before step()")
        before, (self._world, base, ended, truncated, info) = self._world, self.env.step(action)
        # Removed features go by the machine state before this step: the step that completes a subtask still sees it.
        true = read_features(self.features, before, action, self._world, info, self.walker.numeric.read) - self._gone()
        signals = _signals(info, float(base))
        was = self.walker.index(self.position)
        self.position, reward, terminal, success = self.walker.step(self.position, true, signals)
        self.over = bool(terminal or ended)
        info = self._report(info, true, signals, success) | {
            "machine_state_before": was,
            "world_terminated": bool(ended),
        }
        return self._joined(), float(reward), self.over, bool(truncated), info

    def _gone(self) -> frozenset[str]:
        return self.removed - set(self.walker.remaining(self.position))

    def _joined(self) -> Any:
        return self.crossing.join(self._world, self.walker.index(self.position), self.walker.code(self.position))

    def _report(self, info: Info, true: set[str], signals: Mapping[str, float], success: bool) -> Info:
        return {
            **info,
            "features": true,
            "signals": dict(signals),
            "machine_state": self.walker.index(self.position),
            "label": self.walker.label(self.position),
            "remaining": self.walker.remaining(self.position),
            "success": success,
        }

    def render(self) -> Any:
        """The world's own picture; on grids without what the machine has completed and the task removes."""
        inner = self.env.unwrapped
        if self.removed and isinstance(inner, GridEnv):
            return inner.picture(self._gone())
        return self.env.render()

    def close(self) -> None:
        """Close the world."""
        self.env.close()


def product(
    env: gym.Env[Any, Any],
    machine: Machine,
    features: Features | None = None,
    *,
    observation: Observation = "auto",
    removed: Iterable[str] = (),
) -> ProductEnv:
    """Any Gymnasium environment crossed with a machine; without a function the world's own info["features"] is read.

    Parameters:
        env: one environment, not a vector of them.
        machine: any of the four machines.
        features: a function (observation, action, next_observation, info) that returns a set of names.
        observation: how world and machine are joined: a number, a vector or a dictionary; `auto` takes what fits.
        removed: subtasks whose feature is gone once they are completed.

    >>> import errands, gymnasium
    >>> def features(observation, action, next_observation, info):
    ...     return {"goal"} if next_observation == 15 else set()
    >>> env = product(gymnasium.make("FrozenLake-v1", is_slippery=False), errands.sequence("goal"), features)
    >>> env.reset(seed=0)[1]["label"]
    '0{}goal'
    """
    return ProductEnv(env, machine, features, observation=observation, removed=removed)


def task_env(task: Task, machine: str = "agenda", render_mode: str | None = None) -> ProductEnv:
    """The product environment of a task, its machine numeric, boolean, agenda or coupled."""
    if machine not in KINDS:
        raise UnknownName("machine", machine, KINDS)
    return ProductEnv(task.world.env(render_mode), KINDS[machine](task.machine), removed=task.vanishing)


def registered_task(
    task: str, machine: str = "agenda", map_seed: int = 0, render_mode: str | None = None
) -> gym.Env[Any, Any]:
    """The entry point of ids such as `errands/office-6`: the product of a catalogue task.

    An agenda machine of more than MAX_NUMBERED states is not listed: the product steps the same states, and observes
    each as its numeric state and a bit for every remaining subtask instead of by number.
    """
    from errands.tasks.catalogue import load

    chosen = load(task, map_seed)
    if machine == "agenda":
        try:
            agenda: Machine = unfold_agenda(chosen.machine, MAX_NUMBERED)
        except TaskError:
            agenda = chosen.machine
        return ProductEnv(chosen.world.env(render_mode), agenda, removed=chosen.vanishing)
    return task_env(chosen, machine, render_mode)


def read_features(
    features: Features | None, observation: Any, action: Any, following: Any, info: Info, gauges: Sequence[str] = ()
) -> set[str]:
    """The features of a step, by the function or the world, with what it says of gauges; an error where they are no names."""
    if features is None:
        if "features" not in info:
            raise TaskError(
                'the environment reports no info["features"]; pass features=function to the product, or to errands check '
                "--features MODULE:FUNCTION"
            )
        true, origin = info["features"], 'info["features"]'
    else:
        true, origin = features(observation, action, following, info), "the features function's result"
    if not isinstance(true, Set) or not all(isinstance(name, str) for name in true):
        raise TaskError(
            f"{origin} is {str(true)[:60]!r} ({type(true).__name__}); it must be a set of names, such as {{'goal'}}"
        )
    numbers = info.get("numbers")
    return {*true, *readings({name: numbers[name] for name in gauges if isinstance(numbers, Mapping) and name in numbers})}


def _signals(info: Info, reward: float) -> dict[str, float]:
    return {"reward": reward, **info.get("signals", {})}


class Crossing:
    """Joins observations of a space with one of `count` numbers, or with codes of `width` where count is None."""

    def __init__(self, world: gym.Space[Any], count: int | None, width: int, observation: Observation = "auto") -> None:
        if observation not in get_args(Observation):
            raise UnknownName("kind of product observation", str(observation), get_args(Observation))
        self.world = world
        self.count = count
        self.kind = _kind(world, count) if observation == "auto" else observation
        self.space: gym.Space[Any]
        if self.kind == "index":
            if not isinstance(world, gym.spaces.Discrete) or count is None:
                came = f"the world's is {world}" if count else "the machine's states are too many to be numbered"
                raise TaskError(f"observation='index' joins two numbers, but {came}; use observation='dict' or 'flat'")
            self.space = gym.spaces.Discrete(int(world.n) * count)
        elif self.kind == "dict":
            machine = gym.spaces.MultiBinary(width) if count is None else gym.spaces.Discrete(count)
            self.space = gym.spaces.Dict(world=world, machine=machine)
        else:
            self.space = _flat_space(world, width)

    def join(self, observation: Any, index: int, code: Code) -> Any:
        """The product observation."""
        if self.kind == "index":
            # World state first: number = (world state) * (machine states) + machine state.
            return (int(observation) - int(self.world.start)) * int(self.count or 0) + index  # type: ignore[attr-defined]
        if self.kind == "dict":
            return {"world": observation, "machine": code if self.count is None else index}
        flat = np.asarray(gym.spaces.flatten(self.world, observation))
        return np.concatenate([flat, code]).astype(self.space.dtype)

    def world_of(self, joined: Any) -> Any:
        """The world's part of a product observation."""
        if self.kind == "index":
            return int(joined) // int(self.count or 1) + int(self.world.start)  # type: ignore[attr-defined]
        if self.kind == "dict":
            return joined["world"]
        return gym.spaces.unflatten(self.world, joined[: gym.spaces.flatdim(self.world)])


def _kind(world: gym.Space[Any], count: int | None) -> Observation:
    """Flat for vectors, one number for numbers; images and everything else keep their shape in a Dict."""
    if isinstance(world, gym.spaces.Box) and len(world.shape) <= 1:
        return "flat"
    return "index" if isinstance(world, gym.spaces.Discrete) and count is not None else "dict"


def _flat_space(world: gym.Space[Any], width: int) -> gym.spaces.Box:
    flat = gym.spaces.flatten_space(world)
    if not isinstance(flat, gym.spaces.Box):
        raise TaskError(f"observation='flat' cannot flatten {world}, whose size varies; use observation='dict'")
    dtype = np.float64 if flat.dtype == np.float64 else np.float32
    low = np.concatenate([flat.low.astype(dtype), np.zeros(width, dtype)])
    high = np.concatenate([flat.high.astype(dtype), np.ones(width, dtype)])
    return gym.spaces.Box(low, high, dtype=dtype)


class ProductStep(NamedTuple):
    """What one step on a machine did."""

    position: Position
    reward: float
    terminal: bool
    success: bool


class Walker:
    """Walks on a machine without keeping a position itself, so that one walker serves every copy of an environment."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.boolean = machine if isinstance(machine, BooleanRM) else None
        self.coupled = machine if isinstance(machine, CoupledRM) else None
        self.agenda = _agenda(machine)
        self.numeric = numeric_of(machine)
        self.stepper = Stepper(self.numeric)
        self.start: Position = (self.stepper.start[0], ()) if self.boolean else self.stepper.start
        self._reachable: dict[Position, tuple[Position, ...]] = {}

    @property
    def count(self) -> int | None:
        """How many positions there are; None where they are too many to be numbered."""
        listed = self.boolean or self.agenda
        return None if listed is None else len(listed)

    @property
    def width(self) -> int:
        """The length of a code."""
        if self.coupled:
            return len(self.coupled)
        return self.count or len(self.stepper.status) + len(self.numeric.subtasks)

    def agenda_state(self, position: Position) -> State:
        """The numeric state and the mask of remaining subtasks."""
        return agenda_state(self.stepper, position)

    def step(self, position: Position, true: Set[str], signals: Mapping[str, float] | None = None) -> ProductStep:
        """One step with the features that are true."""
        target, chosen, completed = self.stepper.step(self.agenda_state(position), true)
        reward = chosen.reward.paid(signals) if chosen else 0.0
        status = self.stepper.status[target[0]]
        there = landed(self.stepper, position, target, completed)
        return ProductStep(there, reward, status != RUNNING, status == SUCCESS)

    def index(self, position: Position) -> int:
        """The number of a position; unique also where positions are not listed."""
        if self.boolean:
            return self.boolean.index[cast(Ordered, position)]
        if self.agenda:
            return self.agenda.index[cast(State, position)]
        u, mask = cast(State, position)
        # Not listed: a whole number as long as it needs to be, which `position` takes apart again.
        return mask * len(self.stepper.status) + u

    def position(self, index: int) -> Position:
        """The position of a number."""
        listed: Any = self.boolean or self.agenda
        if listed is None:
            return (index % len(self.stepper.status), index // len(self.stepper.status))
        if not 0 <= index < len(listed):
            raise TaskError(f"the machine state {index} does not exist; states are numbered 0 to {len(listed) - 1}")
        position: Position = listed.states[index]
        return position

    def code(self, position: Position) -> Code:
        """One-hot of the position (coupled: of all occupied), or of the numeric state, followed by remaining bits."""
        code = np.zeros(self.width, np.int8)
        if self.coupled:
            # Several ones at a time: the agent occupies all coupled states of its group (Definition 4).
            code[list(self.coupled.groups[self.index(position)])] = 1
        elif self.count is not None:
            code[self.index(position)] = 1
        else:
            u, mask = self.agenda_state(position)
            code[u] = 1
            code[len(self.stepper.status) :] = [mask >> i & 1 for i in range(len(self.numeric.subtasks))]
        return code

    def label(self, position: Position) -> str:
        """How the position is called: the paper's label, or the numeric state with what remains or the order so far."""
        if self.agenda:
            return str(self.agenda.labels[self.index(position)])
        u, rest = position
        name = self.stepper.name(u)
        if not isinstance(rest, int):
            return f"{name}({','.join(self.numeric.subtasks[i] for i in rest)})"
        objectives = self.stepper.alternatives((u, rest))
        shown = f"{{{','.join(objectives)}}}" if len(objectives) > 1 else "".join(objectives)
        return f"{name}{{{','.join(self.remaining(position))}}}{shown}"

    def remaining(self, position: Position) -> tuple[str, ...]:
        """The names of the subtasks that remain, and the values of the gauges."""
        return self.stepper.remaining(self.agenda_state(position))

    # Where completed things are removed from the world, experience imagined in a state that lies behind would be wrong
    # (Section 3): then only states that can still be reached are asked for.
    def running(self, source: Position | None = None) -> tuple[Position, ...]:
        """The positions in which the task goes on: all, or those that can still be reached from `source` on."""
        start = self.start if source is None else source
        if start not in self._reachable:
            if self.count is None:
                raise TaskError(
                    f"the machine has too many states to go through them all (more than {MAX_CODES:,}); "
                    "use kind='coupled', or unfold_agenda(machine) if its states do fit into memory"
                )
            seen = reached(self.stepper, start)
            self._reachable[start] = tuple(p for p in seen if self.stepper.status[p[0]] == RUNNING)
        return self._reachable[start]


def _agenda(machine: Machine) -> AgendaRM | None:
    if isinstance(machine, AgendaRM):
        return machine
    if isinstance(machine, CoupledRM):
        return machine.agenda
    if isinstance(machine, BooleanRM):
        return None
    try:
        return unfold_agenda(machine, MAX_CODES)
    except TaskError:
        return None


# Counterfactual (CRM) and coupled (lifted, grounding) transitions of a step, for other libraries' replay buffers

Kind = Literal["counterfactual", "coupled"]


class ReplayTransition(NamedTuple):
    """One transition for a replay buffer; `terminated` is never a truncation."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    of: int | str
    """The machine state that it was imagined in (counterfactual), or the objective (coupled)."""


class RewardMachineReplay:
    """Turns one step of the world into the transitions that every machine state, or every open objective, learns from.

    Counterfactual transitions have the product's observations. Coupled ones are for one policy per objective: world and
    number of the objective; they end when the objective is completed, with `full_reward`.

    Parameters:
        machine: the machine that the agent trains on.
        kind: "counterfactual" (one transition for each machine state) or "coupled" (one for each objective).
        space: the observation space of the world.
        observation: how world and machine are joined, as for `errands.product`.
        reachable_only: leave out machine states that no trace reaches.
        full_reward: what completing an objective pays (coupled).

    >>> import errands, gymnasium
    >>> agenda = errands.unfold_agenda(errands.any_order("a", "b"))
    >>> replay = RewardMachineReplay(agenda, space=gymnasium.spaces.Discrete(4))
    >>> len(list(replay.transitions(0, 1, 2, {"a"})))
    3
    """

    def __init__(
        self,
        machine: Machine,
        kind: Kind = "counterfactual",
        *,
        space: gym.Space[Any],
        observation: Observation = "auto",
        reachable_only: bool = False,
        full_reward: float = 1.0,
    ) -> None:
        if kind not in get_args(Kind):
            raise UnknownName("kind of replay", str(kind), get_args(Kind))
        self.kind = kind
        self.walker = Walker(machine)
        self.reachable_only = reachable_only
        self.full_reward = full_reward
        self.objectives = objectives(self.walker.numeric)
        self.product = Crossing(space, self.walker.count, self.walker.width, observation)
        self.crossing = self.product
        if kind == "coupled":
            self.crossing = Crossing(space, len(self.objectives), len(self.objectives), observation)
        else:
            self.walker.running()

    @staticmethod
    def of(
        env: ProductEnv, kind: Kind = "counterfactual", *, reachable_only: bool | None = None
    ) -> RewardMachineReplay:
        """The replay of a product environment; where things are removed, only for states still to come."""
        only = bool(env.removed) if reachable_only is None else reachable_only
        space, observation = env.env.observation_space, env.crossing.kind
        return RewardMachineReplay(env.walker.machine, kind, space=space, observation=observation, reachable_only=only)

    def transitions(
        self,
        observation: Any,
        action: Any,
        next_observation: Any,
        features: Set[str],
        signals: Mapping[str, float] | None = None,
        terminated: bool = False,
        machine_state: int | None = None,
    ) -> list[ReplayTransition]:
        """The transitions of one step; observations and `terminated` are the world's, `machine_state` from before."""
        position = None if machine_state is None else self.walker.position(machine_state)
        if position is None and (self.kind == "coupled" or self.reachable_only):
            raise TaskError(
                f"{self.kind} transitions depend on where the machine is; pass machine_state= from before the step"
            )
        step = ReplayTransition(observation, action, 0.0, next_observation, terminated, 0)
        if self.kind == "counterfactual":
            # CRM: the same step of the world, replayed in every machine state in which the task goes on.
            imagined = self.walker.running(position if self.reachable_only else None)
            return [self._counterfactual(step, features, signals, there) for there in imagined]
        return self._coupled(step, features, signals, self.walker.agenda_state(position or self.walker.start))

    def of_step(
        self, observation: Any, action: Any, next_observation: Any, info: Mapping[str, Any]
    ) -> list[ReplayTransition]:
        """The transitions of one step of the product environment: its own observations, and its info after the step."""
        world = self.product.world_of
        told = (info[key] for key in ("features", "signals", "world_terminated", "machine_state_before"))
        return self.transitions(world(observation), action, world(next_observation), *told)

    def choices(self, observation: Any, machine_state: int) -> dict[str, Any]:
        """The observation of each objective open in a machine state, from which a coupled agent chooses."""
        state = self.walker.agenda_state(self.walker.position(machine_state))
        return {name: self._lifted(observation, name) for name in self.walker.stepper.alternatives(state)}

    def _product(self, observation: Any, position: Position) -> Any:
        return self.crossing.join(observation, self.walker.index(position), self.walker.code(position))

    def _lifted(self, observation: Any, objective: str) -> Any:
        k = self.objectives.index(objective)
        code = np.zeros(len(self.objectives), np.int8)
        code[k] = 1
        return self.crossing.join(observation, k, code)

    def _counterfactual(
        self, world: ReplayTransition, true: Set[str], signals: Mapping[str, float] | None, position: Position
    ) -> ReplayTransition:
        after, reward, terminal, _ = self.walker.step(position, true, signals)
        before, following = self._product(world.observation, position), self._product(world.next_observation, after)
        ended = terminal or world.terminated
        return ReplayTransition(before, world.action, reward, following, ended, self.walker.index(position))

    def _coupled(
        self, world: ReplayTransition, true: Set[str], signals: Mapping[str, float] | None, state: State
    ) -> list[ReplayTransition]:
        stepper = self.walker.stepper
        open_ = stepper.alternatives(state)
        step = stepper.step(state, true)
        failed = stepper.status[step.state[0]] == FAILURE
        done = () if failed else stepper.completed(state, step)
        if done:
            # What the others would have been paid for this step, had nothing been completed.
            step = stepper.step(state, set(true) - set(open_))
        paid = step.transition.reward.paid(signals) if step.transition else 0.0
        # An objective that is not completed is paid for waiting or for a failure only; a move that is not its own
        # pays it nothing.
        going_on = failed or step.state == state
        return [
            ReplayTransition(
                observation=self._lifted(world.observation, name),
                action=world.action,
                reward=self.full_reward if name in done else paid if going_on else 0.0,
                next_observation=self._lifted(world.next_observation, name),
                terminated=failed or name in done or world.terminated,
                of=name,
            )
            for name in open_
        ]
