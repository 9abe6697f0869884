"""A world of the user's own pure JAX functions: batched on the device, stepped on the host, and as tables where it can be."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from errands.errors import SpecError, shown_briefly
from errands.worlds.base import FiniteWorld, one_start
from errands.worlds.batched import BatchedStep, BatchedWorld
from errands.worlds.env import WorldEnv
from errands.worlds.grid import positive
from errands.worlds.gymnasium.guard import MAX_NUMBERED, guarded
from errands.worlds.gymnasium.world import Given
from errands.worlds.imports import function_of
from errands.worlds.saving import Saved

Code = Callable[..., Any] | str
"""A function, or its `module:name`."""
Told = Code | Mapping[str, Code]
"""A function to a mapping from names to values, or a mapping from names to functions; of (state) or (before, action, state)."""
MAX_PAIRS, MAX_BYTES, MAX_CALLS = 50_000, 2**26, 2_000
"""Pairs of a state and an action, and bytes of states, that tables are made of at most, and calls in which they are found."""
BATCH = 512
"""States from which every action is taken in one call."""


@dataclass(frozen=True, init=False, eq=False)
class JaxWorld(Given):
    """A world of two pure functions, `reset(key)` and `step(state, action, key)`, and of what is told of its states.

    A state is a tree of arrays; a key that is not needed may be left out. `features` tells Booleans, `signals` numbers.
    `observe(state)` is what networks see; where it is None they see all numbers of the state, and a world without chance whose
    states can be counted has tables.
    """

    kind: ClassVar[str] = "jax"
    features: tuple[str, ...]
    signals: tuple[str, ...]
    limit: int
    given: Mapping[str, Any] = field(repr=False)
    """What it was made of."""
    device: BatchedWorld = field(repr=False)
    like: Any = field(repr=False)
    """The shapes and types of a state."""
    starting: Callable[[Any], set[str]] = field(repr=False)
    """The features of a state in which an episode begins: those that are told of a state alone."""
    chance: bool = field(repr=False)
    """Whether `reset` or `step` uses its key."""

    def __init__(
        self,
        reset: Code,
        step: Code,
        features: Told,
        actions: int,
        observe: Code | None = None,
        signals: Told | None = None,
        limit: int = 1_000,
    ) -> None:
        if (actions := positive("actions", actions)) > MAX_NUMBERED["action_space"]:
            raise SpecError(f"actions is {actions:,}; at most {MAX_NUMBERED['action_space']:,} can be chosen from")
        (first, inputs), (following, takes) = _function(reset, "reset", 1, 0), _function(step, "step", 3, 2)
        look = _numbers_of if observe is None else _function(observe, "observe", 1)[0]

        def begin(key: Any) -> Any:
            return first(*(key,)[:inputs])

        def move(state: Any, action: Any, key: Any) -> Any:
            return following(*(state, action, key)[:takes])

        key, action = jax.random.PRNGKey(0), jnp.int32(0)
        state, chance = _traced("reset", begin, key)
        _check_state(state, state)
        after, more_chance = _traced("step", move, state, action, key)
        _check_state(state, after)
        tell, names, lasting = _telling("features", features, "b", state, action)
        report, reported, _ = _telling("signals", signals or {}, "biuf", state, action)
        if not names:
            raise SpecError("features tells nothing; give at least one, such as {'goal': lambda state: state == 3}")
        seen, _ = _traced("observe", look, state)
        if not isinstance(seen, jax.ShapeDtypeStruct) or not seen.size or seen.dtype.kind not in "biuf":
            raise SpecError(f"observe gives {_shown(seen)}; it must give an array of numbers")

        def plain(tree: Any) -> Any:
            """Every leaf as an array of the state's own type."""
            return jax.tree.map(lambda leaf, like: jax.lax.convert_element_type(leaf, like.dtype), tree, state)

        def observed(now: Any) -> Any:
            return jnp.ravel(jnp.asarray(look(now), jnp.float32))

        def stepped(before: Any, action: Any, key: Any) -> BatchedStep:
            now = plain(move(before, action, key))
            flags, numbers = tell(before, action, now), report(before, action, now)
            signals = jnp.array([numbers[name] for name in reported], jnp.float32)
            return BatchedStep(now, observed(now), jnp.array([flags[name] for name in names]), jnp.bool_(False), signals)

        given = {
            "reset": reset, "step": step, "features": features, "actions": actions, "observe": observe, "signals": signals,
            "limit": positive("limit", limit),
        }  # fmt: skip
        device = BatchedWorld(seen.size, actions, names, lambda key: plain(begin(key)), stepped, observed, len(reported))
        first_true = jax.jit(lambda state: [tell(state, action, state)[name] for name in lasting])
        vars(self).update(
            features=names, signals=reported, limit=limit, given=given, device=device, like=state, chance=chance or more_chance,
            starting=lambda state: {name for name, holds in zip(lasting, first_true(state), strict=True) if holds},
        )  # fmt: skip

    @property
    def batched(self) -> BatchedWorld:
        """The functions, for one state."""
        return self.device

    @property
    def certain(self) -> bool:
        """Whether nothing is left to chance."""
        return not self.chance

    @property
    def untabled(self) -> str:
        """Why there are no tables."""
        if self.chance:
            return "is left to chance: reset or step uses its key"
        if self.given["observe"] is not None:
            return "is seen through observe"
        return "has too many states to be counted"

    @cached_property
    def host(self) -> tuple[Callable[..., Any], Callable[..., BatchedStep]]:
        """`reset` and `step`, compiled for one state."""
        return jax.jit(self.device.reset), jax.jit(self.device.step)

    def packed(self, states: Any) -> np.ndarray:
        """[states, bytes] the bytes of states, whose arrays have one more axis in front."""
        leaves = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(states)]
        return np.concatenate([leaf.reshape(len(leaf), -1).view(np.uint8) for leaf in leaves], axis=1)

    def unpacked(self, rows: np.ndarray) -> Any:
        """The states behind bytes."""
        shapes = jax.tree.leaves(self.like)
        parts = np.split(rows, np.cumsum([like.size * like.dtype.itemsize for like in shapes])[:-1], axis=1)
        leaves = [p.copy().view(like.dtype).reshape(-1, *like.shape) for p, like in zip(parts, shapes, strict=True)]
        return jax.tree.unflatten(jax.tree.structure(self.like), leaves)

    def bytes_of(self, state: Any) -> bytes:
        """The bytes of one state."""
        return self.packed(jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)).tobytes()

    @cached_property
    def counted(self) -> tuple[FiniteWorld, Mapping[bytes, int]] | None:
        """The tables, and the number of each state by its bytes; None where there are none."""
        if self.chance or self.given["observe"] is not None:
            return None
        key, moves = jax.random.PRNGKey(0), np.arange(self.device.actions)
        look = jax.jit(jax.vmap(jax.vmap(lambda state, action: self.device.step(state, action, key), (None, 0)), (0, None)))
        start = self.host[0](key)
        numbers, looked = {self.bytes_of(start): 0}, list[tuple[Any, ...]]()
        waiting = list(numbers)
        while waiting:
            new, waiting = waiting[BATCH:], waiting[:BATCH]
            # Always so many states: another number would be compiled anew.
            filled = waiting + waiting[:1] * (BATCH - len(waiting))
            step = look(self.unpacked(np.frombuffer(b"".join(filled), np.uint8).reshape(BATCH, -1)), moves)
            step = jax.tree.map(lambda leaf: np.asarray(leaf)[: len(waiting)], step)  # noqa: B023 (called here and now)
            rows = self.packed(jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), step.state))
            reached = np.empty(len(rows), np.int32)
            for i, state in enumerate(row.tobytes() for row in rows):
                if state not in numbers:
                    numbers[state] = len(numbers)
                    new.append(state)
                reached[i] = numbers[state]
            looked.append((reached.reshape(-1, len(moves)), step.features, step.signals))
            waiting = new
            size = len(numbers) * max(len(moves) / MAX_PAIRS, rows.shape[1] / MAX_BYTES)
            if size > 1 or len(looked) > MAX_CALLS:
                return None
        following, flags, signals = map(np.concatenate, zip(*looked, strict=True))
        first = np.isin(self.features, list(self.starting(start)))[None]
        kinds, label = np.unique(np.concatenate([first, flags.reshape(-1, flags.shape[-1])]), axis=0, return_inverse=True)
        labels = tuple(frozenset(np.array(self.features)[kind].tolist()) for kind in kinds)
        each, signal = label.reshape(-1)[1:].reshape(*following.shape, 1), np.moveaxis(signals, -1, 0)[..., None]
        start_label = int(label.reshape(-1)[0])
        table = one_start(0, following[..., None], each.astype(np.int32), start_label, signal=signal.astype(np.float64))
        return FiniteWorld(table, labels, self.signals), numbers

    def finite(self) -> FiniteWorld | None:
        """The world as tables, where nothing is left to chance and its states can be counted: exact, for pure functions."""
        return None if self.counted is None else self.counted[0]

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment, which observes the state's number where there are tables."""
        return JaxEnv(self)


class JaxEnv(WorldEnv):
    """The user's functions on the host; keys come from the environment's own random numbers."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in gymnasium)

    def __init__(self, world: JaxWorld) -> None:
        self.world, self.state = world, None
        self.observation: Any = None
        self.numbers = None if world.counted is None else world.counted[1]
        row = gym.spaces.Box(-np.inf, np.inf, (world.device.inputs,), np.float32)
        super().__init__(
            row if self.numbers is None else gym.spaces.Discrete(len(self.numbers)), world.device.actions, world.limit
        )

    def _begin(self) -> set[str]:
        self.state, self.observation = self.world.host[0](self._key()), None
        return self.world.starting(self.state)

    def _move(self, action: Any) -> tuple[set[str], dict[str, float]]:
        step = self.world.host[1](self.state, np.int32(action), self._key())
        self.state, self.observation = step.state, step.observation
        features = {name for name, holds in zip(self.world.features, np.asarray(step.features), strict=True) if holds}
        return features, dict(zip(self.world.signals, np.asarray(step.signals).tolist(), strict=True))

    def _key(self) -> Any:
        return self.np_random.integers(2**32, size=2, dtype=np.uint32)

    def _seen(self) -> Any:
        if self.numbers is not None:
            return self.numbers[self.world.bytes_of(self.state)]
        return np.asarray(self.world.device.observe(self.state) if self.observation is None else self.observation)

    def _state(self) -> Saved:
        return {"state": self.world.bytes_of(self.state)}

    def _put(self, saved: Saved) -> None:
        states = self.world.unpacked(np.frombuffer(saved["state"], np.uint8)[None])
        self.state, self.observation = jax.tree.map(lambda leaf: leaf[0], states), None


def _numbers_of(state: Any) -> Any:
    return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(state)])


def _function(code: Any, what: str, *counts: int) -> tuple[Callable[..., Any], int]:
    """The function behind a setting, and with how many arguments it is called: one of `counts`."""
    function = function_of(code) if isinstance(code, str) else code
    if not callable(function):
        raise SpecError(f"{what} is {_shown(function)}; it must be a function")
    given = inspect.signature(function).parameters.values()
    needed = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given)
    if needed not in counts:
        calls = {"reset": ("key",), "step": ("state, action", "state, action, key"), "observe": ("state",)}
        wanted = calls.get(what, ("state", "before, action, state"))
        raise SpecError(f"{what} takes {needed} arguments; it is called with {' or '.join(f'({call})' for call in wanted)}")
    return function, needed


def _traced(what: str, function: Callable[..., Any], *given: Any) -> tuple[Any, bool]:
    """The shapes of what a function gives, and whether the last of its arguments has a part in that."""
    (program, shape), (again, _) = (
        guarded(
            # A function of its own each time: JAX remembers what it has traced.
            lambda: jax.make_jaxpr(lambda *now: function(*now), return_shape=True)(*given), lambda: f"{what} of the world",
            "it must be a pure function that JAX can trace", error=SpecError,
        )
        for _ in range(2)
    )  # fmt: skip
    texts = [re.sub("0x[0-9a-f]+", "", str(one)) for one in (program, again)]
    if texts[0] != texts[1] or not all(map(np.array_equal, program.consts, again.consts)):
        raise SpecError(f"{what} does something else when it is asked again; it must be pure, and draw by its key alone")
    inner = program.jaxpr
    used = [*inner.outvars, *(one for equation in inner.eqns for one in equation.invars)]
    return shape, any(one is inner.invars[-1] for one in used)


def _check_state(state: Any, after: Any) -> None:
    """A sentence where `reset` gives no state of arrays, or `step` one of another form."""
    known, found = (jax.tree_util.tree_leaves_with_path(part) for part in (state, after))
    tree, other = map(str, (jax.tree.structure(state), jax.tree.structure(after)))
    if not known:
        raise SpecError(f"reset gives {_shown(state)}; a state is an array, or a tuple, list or dictionary of arrays")
    if tree != other:
        raise SpecError(f"step must give a state like that of reset: {tree[:200]} after reset, {other[:200]} after a step")
    for (path, one), (_, then) in zip(known, found, strict=True):
        where = f" at {place}" if (place := jax.tree_util.keystr(path)) else ""
        if jnp.issubdtype(one.dtype, jax.dtypes.extended):
            raise SpecError(f"the state holds a random key{where}; leave it out, step is given one")
        if (one.shape, one.dtype) != (then.shape, then.dtype):
            said = ", ".join(f"{s.dtype}{list(s.shape)} after {when}" for s, when in ((one, "reset"), (then, "a step")))
            raise SpecError(f"step must give a state like that of reset{where}: {said}")


def _telling(
    what: str, told: Any, kinds: str, state: Any, action: Any
) -> tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]:
    """A function of (before, action, state) to values by name; the names, and those that are told of a state alone."""
    whole = not isinstance(told, Mapping)
    places = {what: told} if whole else {f"{what}.{name}": code for name, code in told.items()}
    functions = {place: _function(code, place, 3, 1) for place, code in places.items()}

    def tell(*step: Any) -> Any:
        values = [function(*step[-takes:]) for function, takes in functions.values()]
        return values[0] if whole else dict(zip(told, values, strict=True))

    shapes, _ = _traced(what, tell, state, action, state)
    if not isinstance(shapes, Mapping) or not all(isinstance(name, str) for name in shapes):
        raise SpecError(f"{what} gives {_shown(shapes)}; it must give a dictionary of names and values")
    for name, one in shapes.items():
        came = f"{one.dtype}{list(one.shape)}" if isinstance(one, jax.ShapeDtypeStruct) else _shown(one)
        if came != f"{getattr(one, 'dtype', '')}[]" or one.dtype.kind not in kinds:
            raise SpecError(f"{what} gives {came} for '{name}'; it must be one {'bool' if kinds == 'b' else 'number'}")
    names = tuple(shapes) if whole else tuple(told)
    counts = [takes for _, takes in functions.values()] * (len(names) if whole else 1)
    return tell, names, tuple(name for name, takes in zip(names, counts, strict=True) if takes == 1)


def _shown(value: Any) -> str:
    return shown_briefly(repr, value)
