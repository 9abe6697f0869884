"""Environments from an id, a function that makes them, or one to be copied; their spaces and their own limit."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from errands.errors import SpecError, shown_briefly, words_of
from errands.worlds.gymnasium.guard import Wrong, guarded, spaces_of
from errands.worlds.imports import check_id, maker_of, module_of
from errands.worlds.saving import choose_gl

_DEFAULT_LIMIT = 1000
OURS = {
    "render_mode": "leave it out: what draws asks for pictures",
    "max_episode_steps": "give limit instead",
    "disable_env_checker": "leave it out",
}
"""Settings of an environment that are no task's to choose."""
Source = str | Callable[..., gym.Env[Any, Any]] | gym.Env[Any, Any]
"""An id, `module:id`, `module:function`, a function that makes environments, or an environment to be copied."""


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
