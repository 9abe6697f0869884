"""Any Gymnasium environment as a world: features by rules or a function, numbers of `info` as signals, states numbered."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from errands.errors import SpecError, TaskError, shown_briefly, words_of
from errands.features import readings
from errands.worlds.base import Described, FiniteWorld, Observed
from errands.worlds.grid import MOVES, positive
from errands.worlds.gymnasium.guard import T, Wrong, close, feature_set, guarded, number, spaces_of
from errands.worlds.gymnasium.rules import Entry, Rule, entries_of, numbers_of, read_rule
from errands.worlds.gymnasium.shell import FeatureWrapper, NumberedEnv, StateNumbers
from errands.worlds.gymnasium.tables import (
    NO_INFO,
    BadTable,
    InfoNeeded,
    contradicted,
    enumerate_states,
    finite_from_p,
    masked,
    wrapper_around,
)
from errands.worlds.imports import check_id, function_of, maker_of, module_of, nameless, reference_to
from errands.worlds.saving import choose_gl
from errands.worlds.spaces import MASK

_DEFAULT_LIMIT = 1000
OURS = {
    "render_mode": "leave it out: what draws asks for pictures",
    "max_episode_steps": "give limit instead",
    "disable_env_checker": "leave it out",
}
"""Settings of an environment that are no task's to choose."""
Source = str | Callable[..., gym.Env[Any, Any]] | gym.Env[Any, Any]
"""An id, `module:id`, `module:function`, a function that makes environments, or an environment to be copied."""
Info = dict[str, Any]
Features = Callable[[Any, Any, Any, Info], Set[str]]
"""features(observation, action, next_observation, info); observation and action are None for the initial state."""
Signal = str | Callable[[Any, Any, Any], float]
"""A number of `info` by its name, or a function of (observation, action, next_observation)."""
Number = Signal
"""Where a gauge's number comes from: the same, with `moves` for one that falls by one each step."""


class Given(Described):
    """A world that is what it was made of, functions being the same by their names."""

    features: tuple[str, ...]
    limit: int
    given: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and type(other) is type(self) and plainly(self.given) == plainly(other.given)

    def __hash__(self) -> int:
        return hash((self.features, self.limit))

    def settings(self, strict: bool = True) -> dict[str, Any]:
        """The keys of the [world] table."""
        told = {key: value for key, value in self.given.items() if callable(value) or isinstance(value, gym.Env) or value}
        return {key: setting(key, value, strict) for key, value in told.items()}


@dataclass(frozen=True, init=False, eq=False)
class GymnasiumWorld(Given, Observed):
    """An environment with its settings and its features; `limit` is the environment's own where none is given.

    `features` maps names to rules (see observed.py), or is a function of (observation, action, next_observation, info), or
    of `env`, the environment itself; its names are told by `names`. `state` is a function to a hashable state: of the
    observation, of (observation, info), or of `env`; with it the world is finite, its states numbered as they are met.
    `step_seconds` bounds the time of one step. `told` says where the numbers of gauges come from.
    """

    kind: ClassVar[str] = "gymnasium"
    id: str
    features: tuple[str, ...]
    limit: int
    kwargs: Mapping[str, Any]
    signals: tuple[str, ...]
    rules: tuple[Rule, ...] = field(repr=False)
    step_seconds: float | None
    given: Mapping[str, Any] = field(repr=False)
    """What it was made of."""
    make: Callable[[str | None], gym.Env[Any, Any]] = field(repr=False)
    space: gym.Space[Any] = field(repr=False)
    actions: gym.Space[Any] = field(repr=False)
    function: Features | None = field(repr=False)
    function_of_env: bool = field(repr=False)
    read_state: Callable[[Any, Any, Mapping[str, Any]], Hashable] | None = field(repr=False)
    state_of_env: bool = field(repr=False)
    reports: Mapping[str, Signal] = field(repr=False)
    numbers: StateNumbers | None = field(repr=False)
    told: Mapping[str, Number] = field(repr=False)

    def __init__(
        self,
        id: Source,  # noqa: A002 (Gymnasium's own word)
        features: Mapping[str, Any] | Features | str,
        kwargs: Mapping[str, Any] | None = None,
        limit: int | None = None,
        state: Callable[..., Hashable] | str | None = None,
        signals: Sequence[str] | Mapping[str, Signal] = (),
        names: Sequence[str] = (),
        step_seconds: float | None = None,
        numbers: Sequence[str] | Mapping[str, Number | str] = (),
    ) -> None:
        if isinstance(id, gym.vector.VectorEnv):
            raise SpecError(f"{type(id).__name__} is {id.num_envs} environments at once; give one, or a function that makes one")
        if isinstance(signals, str):
            raise SpecError(f"signals is the text '{signals[:40]}'; give a list of names, or a mapping from names to functions")
        if isinstance(numbers, str):
            raise SpecError(f"numbers is the text '{numbers[:40]}'; give a list of names, or a mapping from names")
        told = numbers if isinstance(numbers, Mapping) else {name: name for name in numbers}
        settings = dict(kwargs or {})
        make = maker(id, settings)
        base = make(None)
        place = f"looking at '{name_of(id)}'"
        seen, done, own = guarded(lambda: read_env(name_of(id), base, state is not None), place.__str__, error=SpecError)
        function: Features | None = None
        rules: tuple[Rule, ...] = ()
        if isinstance(features, Mapping):
            if not features:
                raise SpecError(f"the world '{name_of(id)}' names no feature; give at least one, for example goal = [15]")
            names, rules = tuple(features), tuple(read_rule(n, spec, seen) for n, spec in features.items())
        elif isinstance(features, str) or callable(features):
            function = function_of(features) if isinstance(features, str) else features
            if not _can_be_called(function, *(None,) if _asks_env(function) else (None, None, None, {})):
                raise SpecError(
                    f"the features function takes {inspect.signature(function)}; it is called with (observation, action, "
                    "next_observation, info), or with the environment where its one argument is called env"
                )
        else:
            raise SpecError(f"features are a {type(features).__name__}; give a function, or a mapping from names to rules")
        reported = signals if isinstance(signals, Mapping) else {name: name for name in signals}
        read_state = function_of(state) if isinstance(state, str) else state
        vars(self).update(
            id=name_of(base) if name_of(id) == "<lambda>" else name_of(id),
            features=tuple(names),
            limit=positive("limit", own if limit is None else limit),
            kwargs=settings,
            signals=("reward", *(name for name in reported if name != "reward")),
            rules=rules,
            step_seconds=step_seconds,
            given={
                "id": id, "kwargs": settings, "features": features, "state": state, "signals": signals, "limit": limit,
                "step_seconds": step_seconds, "numbers": numbers,
            },
            make=make,
            space=seen,
            actions=done,
            function=function,
            function_of_env=function is not None and _asks_env(function),
            read_state=_state_function(read_state),
            state_of_env=read_state is not None and _asks_env(read_state),
            reports={n: function_of(v) if isinstance(v, str) and ":" in v else v for n, v in reported.items()},
            numbers=None if state is None else StateNumbers(),
            told={name: _number_rule(name, rule, seen) for name, rule in told.items()},
        )  # fmt: skip
        if not isinstance(id, gym.Env):
            close(base)

    # Frozen, and its numbers of states must be one table for all copies of an environment.
    def __deepcopy__(self, memo: object) -> GymnasiumWorld:
        return self

    @property
    def gauges(self) -> Mapping[str, Number]:
        """Where the numbers that were asked for come from."""
        return self.told

    @property
    def discrete(self) -> bool:
        """Whether states, as observed or by the state function, and actions are numbered."""
        return isinstance(self.actions, gym.spaces.Discrete) and not self.numberable

    @property
    def numberable(self) -> bool:
        """Whether actions are numbered, and no states."""
        states = isinstance(self.space, gym.spaces.Discrete) or self.numbers is not None
        return isinstance(self.actions, gym.spaces.Discrete) and not states

    @property
    def continuous_actions(self) -> bool:
        """Whether actions are a Box."""
        return isinstance(self.actions, gym.spaces.Box)

    @property
    def untabled(self) -> str:
        """What was seen when every action was tried, or that nothing is published."""
        if self.numbers is not None and self.numbers.untabled:
            return f"has numbered states, but no table of them: it {self.numbers.untabled}"
        if self.discrete:
            return "has numbered states, but publishes no whole table of its moves (Gymnasium's P, with no wrapper around it)"
        if self.numberable and not isinstance(self.space, gym.spaces.Box):
            return "has observations that number no states (a state function would)"
        return "is continuous"

    def fresh(self) -> GymnasiumWorld:
        """The same world with no state numbered yet."""
        return GymnasiumWorld(**{**self.given, "names": self.features})

    def features_of(
        self,
        observation: Any,
        before: Any = None,
        action: Any = None,
        info: Info | None = None,
        env: gym.Env[Any, Any] | None = None,
    ) -> Set[str]:
        """The features of a step, as `_features_of` tells them, with the readings of its numbers."""
        true = self._features_of(observation, before, action, info, env)
        if not self.told or not isinstance(true, Set):
            return true
        moved = {f"{name}-1" for name, rule in self.told.items() if rule == MOVES and action is not None}
        return {*true, *moved, *readings(self.numbers_of(before, action, observation, info))}

    def numbers_of(self, before: Any, action: Any, observation: Any, info: Info | None) -> dict[str, Any]:
        """The numbers that a step tells of gauges."""
        found: dict[str, Any] = {}
        for name, rule in self.told.items():
            if isinstance(rule, str) and rule != MOVES:
                if info is None or info is NO_INFO:
                    raise InfoNeeded
                if not isinstance(given := info.get("numbers"), Mapping) or rule not in given:
                    raise Wrong(f'told no info["numbers"]["{rule}"], which the gauge \'{name}\' reads')
                found[name] = given[rule]
            elif not isinstance(rule, str):
                found[name] = rule(before, action, observation)
        try:
            readings(found)
        except TaskError as fault:
            raise Wrong(f"told what no gauge reads: {fault}") from None
        return found

    def _features_of(
        self, observation: Any, before: Any, action: Any, info: Info | None, env: gym.Env[Any, Any] | None
    ) -> Set[str]:
        """The features that hold in an observation, or what the function tells of a step or of the environment, unchecked."""
        function: Callable[..., Any] | None = self.function
        if function is not None and self.function_of_env:
            if env is None:
                raise InfoNeeded
            return function(env.unwrapped)  # type: ignore[no-any-return]
        if function is not None:
            return function(before, action, observation, {} if info is None else info)  # type: ignore[no-any-return]
        discrete = isinstance(self.space, gym.spaces.Discrete)
        numbers = observation if discrete else numbers_of(self.space, observation)
        return {name for name, rule in zip(self.features, self.rules, strict=True) if rule.holds(numbers)}

    def signals_of(self, before: Any, action: Any, observation: Any, info: Info, reward: float = 0.0) -> dict[str, float]:
        """The declared signals of a step: numbers of `info` (0 where it has none), the reward, or what functions give."""
        numbers = {"reward": reward, **info}
        return {
            name: number(value(before, action, observation) if callable(value) else numbers.get(value, 0.0), name)
            for name, value in self.reports.items()
        }

    def state_of(self, env: gym.Env[Any, Any] | None, observation: Any, info: Mapping[str, Any]) -> Hashable:
        """The hashable state behind an observation."""
        if self.read_state is None:
            raise SpecError(f"the world '{self.id}' has no state function")
        return self.read_state(None if env is None else env.unwrapped, observation, info)

    def number_of(self, env: gym.Env[Any, Any] | None, observation: Any, info: Mapping[str, Any]) -> int:
        """The number of the state behind an observation, a new one where it was never met."""
        state = self.state_of(env, observation, info)
        return 0 if self.numbers is None else self.numbers.of(state)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh environment, which reports features and signals besides what it always did."""
        return FeatureWrapper(self.make(render_mode), self)

    def numbered(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """The environment as tabular learners see it: with the number of the state for an observation."""
        env = FeatureWrapper(self.make(render_mode), self)
        return env if self.numbers is None else NumberedEnv(env, self.numbers)

    def finite(self) -> FiniteWorld | None:
        """The world as tables: published (P), or found by trying every action in every numbered state."""
        if self.numbers is not None:
            return enumerate_states(self, self.numbers) if self.discrete else None
        return guarded(self._published, lambda: f"the table P of '{self.id}'")

    def _published(self) -> FiniteWorld | None:
        base = self.make(None)
        inner = base.unwrapped
        published, initial = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
        # A fickle passenger of Taxi changes his mind outside of P, so P is not the whole truth then; nor is it in a wrapper.
        whole = not getattr(inner, "fickle_passenger", False) and wrapper_around(base) is None
        seen, done, mask = inner.observation_space, inner.action_space, getattr(inner, MASK, None)
        close(base)
        if published is None or initial is None or not whole:
            return None
        if not isinstance(seen, gym.spaces.Discrete) or not isinstance(done, gym.spaces.Discrete) or seen.start or done.start:
            return None
        if any(isinstance(value, str) and name != "reward" for name, value in self.reports.items()):
            return None  # numbers of `info`, of which P says nothing
        try:
            finite = finite_from_p(published, initial, self._published_features, self._published_signals())
            if (finite.states, finite.actions) != (seen.n, done.n):
                raise BadTable(f"P has {finite.states} states and {finite.actions} actions, but the spaces are {seen} and {done}")
            if callable(mask):
                if not _can_be_called(mask, 0):
                    return None  # a mask of the state that it is in, which no table knows
                finite = masked(finite, mask)
        except InfoNeeded:
            return None
        except BadTable as fault:
            raise SpecError(f"the table that '{self.id}' publishes cannot be right: {fault}; fix the environment") from None
        return None if contradicted(self.env(), finite) else finite

    def _published_features(self, before: int, action: int, after: int) -> set[str]:
        def told() -> set[str]:
            return feature_set(self.features_of(after, before, action, NO_INFO))

        return self._of_step("features function", told, before, action)

    def _published_signals(self) -> dict[str, Callable[..., float] | str]:
        def told(name: str, function: Callable[..., Any]) -> Callable[..., float]:
            return lambda s, a, t: self._of_step(f"signal '{name}'", lambda: number(function(s, a, t), name), s, a)

        return {name: told(name, value) if callable(value) else value for name, value in self.reports.items()}

    def _of_step(self, what: str, call: Callable[[], T], before: int, action: int) -> T:
        """What a function of the user's gives for a step that no environment takes."""
        place = partial("the {} of '{}', asked for the step from state {} by action {},".format, what, self.id, before, action)
        return guarded(call, place, seconds=self.step_seconds)


def _number_rule(name: str, rule: Any, space: gym.Space[Any]) -> Number:
    """Where a number comes from: `moves` and names of `info["numbers"]` as they are, an entry of observations, a function."""
    if isinstance(rule, Mapping) and set(rule) == {"index"} and type(rule["index"]) is int:
        if not 0 <= (index := rule["index"]) < entries_of(space):
            raise SpecError(f"the number '{name}' is entry {index}; observations have entries 0 to {entries_of(space) - 1}")
        return Entry(index, space)
    if isinstance(rule, str):
        return function_of(rule) if ":" in rule else rule
    if not callable(rule):
        raise SpecError(f"the number '{name}' is {rule!r:.40}; give moves, a name in info, {{ index = 0 }} or a function")
    return rule  # type: ignore[no-any-return]


def with_reward(
    signals: Sequence[str] | Mapping[str, Signal], asked: Collection[str]
) -> Sequence[str] | Mapping[str, Signal]:
    """The signals of a world, with the environment's reward where a machine asks for it: tables then hold it, too."""
    if "reward" not in asked or isinstance(signals, str) or "reward" in signals:
        return signals
    return {**signals, "reward": "reward"} if isinstance(signals, Mapping) else [*signals, "reward"]


def setting(key: str, value: Any, strict: bool) -> Any:
    """A setting as a task file can hold it: functions by `module:name`; marks for objects without one, unless `strict`."""
    if isinstance(value, Mapping):
        return {str(name): setting(f"{key}.{name}", item, strict) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [setting(key, item, strict) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    reference = reference_to(value) if callable(value) and not isinstance(value, gym.Env) else None
    if reference is None and strict:
        raise SpecError(
            f"{key} is a Python object without a name that a task file could hold; put it into a module of its own "
            "as a function, and import that"
        )
    return reference or nameless(value)


def plainly(value: Any) -> Any:
    """What a world was made of with functions by name, where they have one: the same in Python and in a file."""
    if isinstance(value, Mapping):
        return {key: plainly(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plainly(item) for item in value]
    return reference_to(value) or value if callable(value) else value


def _can_be_called(function: Callable[..., Any], *given: Any) -> bool:
    """Whether a function takes these arguments; one that is written in C may."""
    try:
        inspect.signature(function).bind(*given)
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def _asks_env(function: Callable[..., Any]) -> bool:
    try:
        return list(inspect.signature(function).parameters) == ["env"]
    except (TypeError, ValueError):
        return False


def _state_function(function: Callable[..., Hashable] | None) -> Callable[[Any, Any, Mapping[str, Any]], Hashable] | None:
    """One signature for all: (env, observation, info)."""
    if function is None:
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
        # `tuple` and the like have no argument that must be given.
        names = [p.name for p in parameters if p.default is p.empty] or [p.name for p in parameters][:1]
    except (TypeError, ValueError):
        names = ["observation"]
    if _asks_env(function):
        return lambda env, observation, info: function(env)
    if len(names) == 1:
        return lambda env, observation, info: function(observation)
    if len(names) == 2:
        return lambda env, observation, info: function(observation, info)
    raise SpecError(
        f"the state function takes {', '.join(names) or 'nothing'}; it is called with the observation, with (observation, "
        "info), or with the environment where its one argument is called env"
    )


# Environments from an id, a function that makes them, or one to be copied


def read_env(name: str, env: gym.Env[Any, Any], finite: bool) -> tuple[gym.Space[Any], gym.Space[Any], int]:
    """The spaces and the limit of an environment; refuse one whose actions are not numbered and that is to be `finite`."""
    seen, done = spaces_of(name, env, finite)
    if finite and not isinstance(done, gym.spaces.Discrete):
        raise SpecError(
            f"a state function makes the world finite, but the actions of '{name}' are {done}, not Discrete; "
            "leave it out and train a deep learner, or wrap the environment so that its actions are numbered"
        )
    return seen, done, _own_limit(env)


def name_of(source: Source) -> str:
    """What an environment is called: its id, its function's name, or its class."""
    if isinstance(source, str):
        return source
    if isinstance(source, gym.Env):
        return source.spec.id if source.spec is not None else type(source.unwrapped).__name__
    return getattr(source, "__name__", type(source).__name__)


def _own_limit(env: gym.Env[Any, Any]) -> int:
    """The environment's own limit: of a TimeLimit around it, of its registration, or MiniGrid's attribute."""
    layer = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.wrappers.TimeLimit):
            return int(layer._max_episode_steps)
        layer = layer.env
    registered = None
    if env.spec is not None:  # ids are made without their limit: look it up where they are registered
        known = gym.registry.get(env.spec.id)
        registered = env.spec.max_episode_steps if known is None else known.max_episode_steps
    return int(registered or getattr(env.unwrapped, "max_steps", None) or _DEFAULT_LIMIT)


def maker(source: Source, kwargs: Mapping[str, Any]) -> Callable[[str | None], gym.Env[Any, Any]]:
    """A function from a render mode to a fresh environment."""
    for key, instead in OURS.items():
        if key in kwargs:
            raise SpecError(f"kwargs say {key} = {shown_briefly(repr, kwargs[key])}, which errands chooses itself; {instead}")
    if isinstance(source, gym.Env):
        return lambda mode: _copied(source)
    if callable(source):
        return lambda mode: _built(source, kwargs, mode)
    if not isinstance(source, str):
        raise SpecError(
            f"the environment is a {type(source).__name__}; give a Gymnasium id, a function that makes environments, or one to copy"
        )
    _, colon, name = source.partition(":")
    if not colon:
        return lambda mode: _registered(source, kwargs, mode)
    if ":" in name:  # Gymnasium would import what stands before it
        raise SpecError(f"'{source[:80]}' has two colons; write MODULE:ID or MODULE:NAME")
    if name in vars(module_of(source)) and name not in gym.registry:
        factory = maker_of(source)
        return lambda mode: _built(factory, kwargs, mode)
    check_id(name)
    return lambda mode: _registered(name, kwargs, mode)


def _copied(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    advice = "give a function that makes one instead: Task.from_env(lambda: ..., ...)"
    name = type(env.unwrapped).__name__
    return guarded(lambda: copy.deepcopy(env), lambda: f"{name} cannot be copied:", advice, error=SpecError, raised="")


def _built(factory: Callable[..., Any], kwargs: Mapping[str, Any], mode: str | None) -> gym.Env[Any, Any]:
    def built() -> gym.Env[Any, Any]:
        drawn = mode is not None and "render_mode" in inspect.signature(factory).parameters and _draws(factory, mode)
        env = factory(**({**kwargs, "render_mode": mode} if drawn else kwargs))
        if not isinstance(env, gym.Env):
            raise Wrong(f"it is a {type(env).__name__}; it must be a Gymnasium environment")
        return env

    return guarded(built, lambda: f"{name_of(factory)} cannot make an environment:", error=SpecError, raised="")


def _draws(factory: Callable[..., Any], mode: str) -> bool:
    """Whether an environment's class says that it draws in this mode; functions that make environments may always be asked."""
    metadata = getattr(factory, "metadata", None)
    return not isinstance(metadata, Mapping) or mode in metadata.get("render_modes", ())


def _registered(name: str, kwargs: Mapping[str, Any], mode: str | None) -> gym.Env[Any, Any]:
    try:
        spec = gym.spec(name)
        if mode == "rgb_array" and ".mujoco" in str(spec.entry_point):
            choose_gl()
        entry = spec.entry_point
        creator: Any = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        shown = {} if mode is None or not _draws(creator, mode) else {"render_mode": mode}
        # Without Gymnasium's own time limit (-1): our wrapper truncates at the world's.
        env: gym.Env[Any, Any] = gym.make(spec, max_episode_steps=-1, disable_env_checker=True, **shown, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a foreign constructor raises
        given = f" with {dict(kwargs)}" if kwargs else ""
        said = shown_briefly(str, error, 300) if isinstance(error, gym.error.Error | ImportError) else words_of(error)
        missing = isinstance(error, gym.error.NameNotFound | gym.error.NamespaceNotFound)
        hint = " Where a package registers it, name that: --import PACKAGE, in Python errands.allow('PACKAGE')" if missing else ""
        raise SpecError(f"gymnasium cannot make '{name}'{given}: {said}{hint}") from error
    return env
