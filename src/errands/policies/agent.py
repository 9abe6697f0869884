"""Agents: a learnt policy at work in an environment of the user's own, with the machine's state in its head."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from errands.errors import ConfigError, TaskError, shown_briefly
from errands.features import reading, readings
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State, Stepper
from errands.tables import RUNNING, SUCCESS, RandomGenerator
from errands.worlds.base import Observed
from errands.worlds.grid import MOVES
from errands.worlds.spaces import MASK, Form, action_of, done_form, drawn, read_mask, seen_form, unmasked

if TYPE_CHECKING:
    import gymnasium as gym

    from errands.oracle.episode import Policy
    from errands.tasks.task import Task

Info = Mapping[str, Any]
T = TypeVar("T")


RANDOM_ACTIONS = 0.05
"""The share of random actions where an agent is not asked to be deterministic."""


class EpisodeState(NamedTuple):
    """Where an episode stands between two calls of `predict`."""

    machine_state: State
    order: tuple[str, ...]
    """The subtasks and Boolean objectives as they were completed."""
    total_reward: float
    memory: Hashable
    observation: Any
    info: Info
    action: Any
    done: bool
    """Whether the machine has ended, in success or failure."""
    success: bool


class Follower:
    """Keeps the machine's state while someone acts: what both kinds of agents share."""

    def __init__(
        self, machine: NumericRM, vanishing: tuple[str, ...], policy: Policy, action: Form, gauges: Mapping[str, Any]
    ) -> None:
        self.machine, self.policy, self._stepper, self._gauges = machine, policy, Stepper(machine), gauges
        self._vanishing, self._action_form = frozenset(vanishing), action
        self.random = RandomGenerator(0)
        """What `predict` draws from where it is not deterministic."""
        self._begin(None, {})

    def _begin(self, observation: Any, info: Info) -> None:
        self.machine_state = self._stepper.start
        self.order: tuple[str, ...] = ()
        """The subtasks and Boolean objectives as they were completed."""
        self.total_reward = 0.0
        """What the machine has paid."""
        self._memory: Hashable = None
        self._observation, self._info = observation, info
        self._action: Any = None

    def reset(self, observation: Any = None, info: Info | None = None) -> None:
        """A new episode has begun; the machine does not consume what is true at its start."""
        self._begin(observation, info_of(info))

    def act(self, observation: Any) -> Any:
        """The action to take in the environment."""
        if self.done:
            raise TaskError("the task has ended; reset the agent for another episode")
        seen = self._encode(observation)
        # In a state that was never met the first action is taken, whatever it is.
        chosen, memory = (0, self._memory) if seen is None else self.policy.act(seen, self.machine_state, self._memory)
        self._take(chosen)
        self._memory, self._observation = memory, observation
        return self._action

    def _take(self, chosen: Any) -> None:
        """The action that a policy has chosen; one that the environment's mask forbids stands for an allowed one."""
        if "n" in self._action_form:
            try:
                given = self._info.get(MASK)
                mask = None if given is None else read_mask(given, int(self._action_form["n"]))
            except ValueError as fault:
                raise TaskError(f"info has {fault}") from None
            chosen = unmasked(mask, int(chosen))
        self._action = action_of(self._action_form, chosen)

    def predict(
        self, observation: Any, state: EpisodeState | None = None, deterministic: bool = True, info: Info | None = None
    ) -> tuple[Any, EpisodeState]:
        """The action for an observation, and the state to be handed back with the next one: `act` and `see` in one call.

        The agent keeps nothing between two calls, so that one agent plays any number of episodes side by side. Once the task has
        ended `state.done` is true, and the last action is repeated.

        Parameters:
            observation: what the environment shows, at the start of an episode and after each action.
            state: what the call before gave; None at the start of an episode.
            deterministic: False takes an action at random one time in twenty.
            info: what the environment said besides, where features are read off it.
        """
        if state is None:
            self.reset(observation, info)
        elif not isinstance(state, EpisodeState):
            raise TaskError(f"the state is {shown_briefly(repr, state)}; give what predict gave before, or None for a new episode")
        else:
            self.machine_state, self.order, self.total_reward, self._memory, *step, _, _ = state
            self._observation, self._info, self._action = step
            if not self.done:
                self.see(observation, info)
        if not self.done:
            self.act(observation)
            if not deterministic and self.random.random() < RANDOM_ACTIONS:
                self._take(drawn(self._action_form, self.random))
        return self._action, EpisodeState(
            self.machine_state, self.order, self.total_reward, self._memory, self._observation, self._info, self._action,
            self.done, self.success,
        )  # fmt: skip

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action."""
        raise NotImplementedError

    def _encode(self, observation: Any) -> Any:
        """The observation as the policy sees it; None for a state that nobody has met."""
        raise NotImplementedError

    def __repr__(self) -> str:
        following = ", ".join(self._stepper.alternatives(self.machine_state))
        how = "success" if self.success else "failure" if self.done else f"next {following}"
        return f"<{type(self).__name__}: {how}>"

    @property
    def done(self) -> bool:
        """Whether the machine has ended, in success or failure; an environment may end before."""
        return self._stepper.status[self.machine_state[0]] != RUNNING

    @property
    def success(self) -> bool:
        """Whether the task is done."""
        return self._stepper.status[self.machine_state[0]] == SUCCESS

    @property
    def remaining(self) -> tuple[str, ...]:
        """The subtasks that are still to be done."""
        return tuple(name for i, name in enumerate(self.machine.subtasks) if self.machine_state[1] >> i & 1)

    def _follow(self, observation: Any, info: Info, features: Any, signals: Any) -> None:
        """One step of the machine."""
        if self.done:
            raise TaskError("the task has ended; reset the agent for another episode")
        true, signals = _features(features), _signals(signals)
        true |= self._readings(true, observation, info)
        # A thing that vanishes when its subtask is done is hidden from the machine, even if the environment reports it.
        step = self._stepper.step(self.machine_state, frozenset(true - (self._vanishing - set(self.remaining))))
        self.order += tuple(self._stepper.completed(self.machine_state, step))
        if step.transition is not None:
            self.total_reward += step.transition.reward.paid(signals)
        self.machine_state = step.state
        self._observation, self._info = observation, info


    def _readings(self, true: set[str], observation: Any, info: Info) -> set[str]:
        """What a step says of the machine's gauges where no feature says it already: by what they count, or by its numbers."""
        said = {word[0] for word in map(reading, true) if word is not None}
        rules = {name: self._gauges[name] for name in self.machine.read if name not in said}
        told = info.get("numbers")
        numbers: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
        found = {}
        for name, rule in rules.items():
            if callable(rule):
                found[name] = rule(self._observation, self._action, observation)
            elif rule != MOVES and rule not in numbers:
                raise TaskError(f'info["numbers"] has no \'{rule}\', which the gauge \'{name}\' reads; give it with every step')
            elif rule != MOVES:
                found[name] = numbers[rule]
        return {*readings(found), *(f"{name}-1" for name, rule in rules.items() if rule == MOVES)}


class TaskAgent(Follower):
    """Acts greedily and follows the machine: `reset`, then `act` and `see` in turn until it is `done`.

    The environment is the one that the task is about, without errands around it. Features are read as the task says,
    or from `info["features"]` where the environment reports them. `env` is needed only where the task's `features` or
    `state` function looks at the environment itself.

    >>> import errands
    >>> task = errands.load("figure-1")
    >>> agent, env = errands.train(task, "qcorm", steps=5_000).agent(), task.world.env()
    >>> observation, info = env.reset(seed=0)
    >>> agent.reset(observation, info)
    >>> while not agent.done:
    ...     observation, _, terminated, truncated, info = env.step(agent.act(observation))
    ...     agent.see(observation, info)
    >>> agent.success, agent.order
    (True, ('b2', 's', 'b1', 's'))
    """

    def __init__(self, task: Task, policy: Policy, env: gym.Env[Any, Any] | None = None) -> None:
        import gymnasium as gym

        if env is not None and not isinstance(env, gym.Env):
            raise ConfigError(f"env is {shown_briefly(repr, env)}; give the Gymnasium environment to act in, or nothing")
        observations, actions = spaces_of(task)
        super().__init__(task.machine, task.vanishing, policy, done_form(actions), task.world.gauges)
        self.task, self.env = task, env
        self._numbering = numbering_of(task, policy, observations)
        self._form = observation_form(observations, self._numbering)

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action."""
        known = info_of(info)
        self._follow(observation, known, self._features(observation, known), self._signals(observation, known))

    def _features(self, observation: Any, info: dict[str, Any]) -> Any:
        if "features" in info:
            return info["features"]
        world = Observed.of(self.task.world)
        if world is None:
            raise TaskError(
                f"info has no 'features', and the world '{self.task.world.kind}' reads none off observations; act in "
                "task.world.env(), which reports them"
            )
        if world.function_of_env:
            self._needs_env("features")
        else:
            check_observation(self._form, observation)
        before, action = self._observation, self._action
        return self._guarded(lambda: world.features_of(observation, before, action, info, self.env), "features function")

    def _signals(self, observation: Any, info: dict[str, Any]) -> Any:
        if not self.task.machine.signals:
            return {}
        world = Observed.of(self.task.world)
        if "features" in info or world is None:
            return info.get("signals", {})
        return self._guarded(lambda: world.signals_of(self._observation, self._action, observation, info), "signals")

    def _guarded(self, call: Callable[[], T], what: str) -> T:
        """What a function of the task's author gives."""
        from errands.worlds.gymnasium.guard import guarded

        return guarded(call, lambda: f"the {what} of '{self.task.name}'")

    def _needs_env(self, function: str) -> None:
        if self.env is None:
            raise TaskError(f"the task's {function} function looks at the environment itself; give it to the agent: run.agent(env)")

    def _encode(self, observation: Any) -> Any:
        world: Any = Observed.of(self.task.world)
        if world is not None and self._numbering is not None and "states" in self._numbering:
            if world.state_of_env:
                self._needs_env("state")
            # Looked up and not numbered: whoever acts must not make the table of states grow.
            numbers = world.numbers.number
            return self._guarded(lambda: numbers.get(world.state_of(self.env, observation, self._info)), "state function")
        return encode(self._form, self._numbering, observation)


def spaces_of(task: Task) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """The spaces of observations and actions of a task's world, of an environment that is closed again."""
    env = task.world.env()
    env.close()
    return env.observation_space, env.action_space


def numbering_of(task: Task, policy: Any, space: gym.Space[Any]) -> dict[str, Any] | None:
    """How an observation becomes the number of a state; None for a network that reads observations themselves."""
    from gymnasium import spaces

    world = Observed.of(task.world)
    if getattr(policy, "see", None) is not None:
        return None
    if world is not None and world.numbers is not None:  # by a function of the user's
        _ = task.finite  # a world that can be a table is numbered by being made one
        return {"states": list(world.numbers.number)}
    return {} if isinstance(space, spaces.Discrete) else None


def observation_form(space: gym.Space[Any], numbering: Mapping[str, Any] | None) -> Form:
    """What observations are checked and read by; nothing where a function numbers states of a space that no network could see."""
    try:
        return seen_form(space)
    except TaskError:
        if numbering is None or "states" not in numbering:
            raise
        return {}


def encode(form: Form, numbering: Mapping[str, Any] | None, observation: Any) -> Any:
    """The number of the state that an observation shows, where spaces number states; else the observation, checked."""
    check_observation(form, observation)
    if numbering is None:
        return observation
    return int(np.ravel(observation)[0]) - int(np.ravel(form["starts"])[0])


def check_observation(form: Form, observation: Any) -> None:
    """A sentence about what is wrong with an observation, if anything is."""
    for key, part in form.get("parts", ()):
        try:
            inner = observation[key]
        except (TypeError, KeyError, IndexError):
            raise TaskError(f"the observation has no part {key!r}; give what the environment gave") from None
        check_observation(part, inner)
    if not form or "parts" in form:
        return
    counts, starts = np.ravel(form.get("counts", 0)), np.ravel(form.get("starts", 0))
    size = len(counts) if "counts" in form else int(form["size"])
    try:
        numbers = np.ravel(observation)
    except ValueError:  # rows of different lengths
        numbers = np.array([None])
    whole = "counts" in form
    if numbers.dtype.kind not in ("biu" if whole else "biuf") or len(numbers) != size:
        wanted = f"give what the environment gave: {'whole numbers' if whole else 'numbers'}, {size} in all"
        raise TaskError(f"the observation is {shown_briefly(repr, observation)}; {wanted}")
    if whole and not ((numbers >= starts) & (numbers < starts + counts)).all():
        last = f"from {int(starts[0])} to {int(starts[0] + counts[0]) - 1}" if size == 1 else "within its space"
        raise TaskError(f"the observation is {shown_briefly(repr, observation)}; it must be {last}")
    if not whole and not np.isfinite(numbers).all():
        raise TaskError("the observation has numbers that are not finite; fix the environment")


def info_of(info: Any) -> dict[str, Any]:
    """What an environment said besides, as a dictionary of its own."""
    if info is not None and not isinstance(info, Mapping):
        raise TaskError(f"info is {shown_briefly(repr, info)}; give the dictionary that the environment gave")
    return dict(info or {})


def _features(features: Any) -> set[str]:
    if isinstance(features, str) or not isinstance(features, Collection) or not all(isinstance(name, str) for name in features):
        given = shown_briefly(repr, features)
        raise TaskError(f"the features are {given}; give the names of those that are true, such as {{'key', 'door'}}")
    return set(features)


def _signals(signals: Any) -> dict[str, float]:
    if not isinstance(signals, Mapping):
        raise TaskError(f"the signals are {shown_briefly(repr, signals)}; give a number by name")
    for name, value in signals.items():
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise TaskError(f"the signal {shown_briefly(repr, name)} is {shown_briefly(repr, value)}; give a finite number")
    return {name: float(value) for name, value in signals.items()}
