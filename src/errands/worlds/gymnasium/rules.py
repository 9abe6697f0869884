"""Features of a foreign environment, told without code: states, bounds, boxes and discs over its observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import SpecError

if TYPE_CHECKING:
    import gymnasium as gym

_BOUNDS, _DISC = {"index", "above", "below"}, {"index", "centre", "radius"}
_FORMS = (
    "{ index = 0, above = 2.0 }, { index = [0, 1], above = [0.0, 0.0], below = [1.0, 1.0] } or "
    "{ index = [0, 1], centre = [0.5, 0.5], radius = 0.1 }"
)


@dataclass(frozen=True)
class InStates:
    """Holds in these states of a Discrete observation."""

    states: frozenset[int]

    def holds(self, observation: Any) -> bool:
        """Whether the observation is one of the states."""
        return int(observation) in self.states


@dataclass(frozen=True)
class Between:
    """An entry of the flattened observation between bounds, both exclusive."""

    index: int
    above: float = -float("inf")
    below: float = float("inf")


@dataclass(frozen=True)
class InBox:
    """Holds where entries of the flattened observation lie between their bounds."""

    sides: tuple[Between, ...]

    def holds(self, numbers: NDArray[Any]) -> bool:
        """Whether every entry lies between its bounds."""
        flat = np.ravel(numbers)
        return all(side.above < float(flat[side.index]) < side.below for side in self.sides)


@dataclass(frozen=True)
class InDisc:
    """Holds where several entries of the flattened observation, as a point, are nearer than `radius` to the centre."""

    index: tuple[int, ...]
    centre: tuple[float, ...]
    radius: float

    def holds(self, numbers: NDArray[Any]) -> bool:
        """Whether the point is inside the disc."""
        flat = np.ravel(numbers)
        return sum((float(flat[i]) - c) ** 2 for i, c in zip(self.index, self.centre, strict=True)) < self.radius**2


Rule = InStates | InBox | InDisc


@dataclass(frozen=True)
class Entry:
    """The number that stands in one place of a flattened observation."""

    index: int
    space: gym.Space[Any]

    def __call__(self, before: Any, action: Any, observation: Any) -> Any:
        """The number in an observation."""
        return numbers_of(self.space, observation)[self.index].item()


def numbers_of(space: gym.Space[Any], observation: Any) -> NDArray[Any]:
    """An observation as one row of numbers, in the order of gymnasium.spaces.flatten; a Box as it is."""
    import gymnasium as gym

    if isinstance(space, gym.spaces.Box):
        return np.ravel(observation)
    return np.asarray(gym.spaces.flatten(space, observation))


def entries_of(space: gym.Space[Any]) -> int:
    """How many numbers a flattened observation has; 0 where it cannot be flattened."""
    import gymnasium as gym

    try:
        return int(gym.spaces.flatdim(space)) if space.is_np_flattenable else 0
    except NotImplementedError:  # a space of somebody's own, such as MiniGrid's missions
        return 0


def read_rule(name: str, spec: Any, space: gym.Space[Any]) -> Rule:
    """The rule that a task file gives for a feature: `goal = [15]` or `C = { index = 0, above = 2.0 }`."""
    spec = _plainly(spec)
    if isinstance(spec, Mapping):
        return _read_region(name, spec, space)
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        return _read_states(name, spec, space)
    if callable(spec):
        raise SpecError(f"feature '{name}' is a function; give one function for all features, or rules: [15], or {_FORMS}")
    raise SpecError(f"feature '{name}' is {spec!r}; give a list of states such as [15], or a region: {_FORMS}")


def _plainly(spec: Any) -> Any:
    """A rule of Python's own numbers and lists, where numpy's were given."""
    if isinstance(spec, Mapping):
        return {key: _plainly(value) for key, value in spec.items()}
    if isinstance(spec, set | frozenset | range):
        return sorted(_plainly(value) for value in spec)
    if isinstance(spec, list | tuple):
        return [_plainly(value) for value in spec]
    return spec.tolist() if isinstance(spec, np.generic | np.ndarray) else spec


def _read_states(name: str, spec: Sequence[Any], space: gym.Space[Any]) -> InStates:
    import gymnasium as gym

    if not isinstance(space, gym.spaces.Discrete):
        raise SpecError(f"feature '{name}' lists states, but observations are {_shown(space)}; {_advice(space)}")
    for state in spec:
        if isinstance(state, bool) or not isinstance(state, int) or not space.contains(state):
            last = int(space.start + space.n - 1)
            raise SpecError(f"feature '{name}' lists {state!r}; states are whole numbers from {space.start} to {last}")
    if not spec:
        raise SpecError(f"feature '{name}' lists no state and could never hold; name at least one")
    return InStates(frozenset(spec))


def _shown(space: gym.Space[Any]) -> str:
    plain = f"{type(space).__name__} of shape {space.shape}" if space.shape else type(space).__name__
    return str(space) if len(str(space)) <= 60 else plain


def _advice(space: gym.Space[Any]) -> str:
    """What features of such observations can be: regions of the flattened numbers where there are any, else code."""
    import gymnasium as gym

    code = 'a features function: features = "MODULE:FUNCTION", or Task.from_env(env, function, ...)'
    size = entries_of(space)
    if not size:
        return f"they cannot be flattened to numbers; write {code}"
    parts = ""
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        named = space.items() if isinstance(space, gym.spaces.Dict) else enumerate(space)
        first = 0
        pieces = []
        for key, part in named:
            count = int(gym.spaces.flatdim(part))
            pieces.append(f"{key} {first}" if count == 1 else f"{key} {first} to {first + count - 1}")
            first += count
        parts = f" (entries: {', '.join(pieces)})"
    return f"give a region of their {size} numbers{parts}: {_FORMS}; or {code}"


def _read_region(name: str, spec: Mapping[str, Any], space: gym.Space[Any]) -> Rule:
    import gymnasium as gym

    if isinstance(space, gym.spaces.Discrete):
        raise SpecError(f"feature '{name}' bounds an entry, but observations are {space}; give a list of states")
    size = entries_of(space)
    if not size:
        raise SpecError(f"feature '{name}' bounds an entry, but observations are {_shown(space)}; {_advice(space)}")
    if "index" not in spec or len(spec) < 2 or not (set(spec) <= _BOUNDS or set(spec) == _DISC):
        raise SpecError(f"feature '{name}' has the keys {sorted(spec)}; give {_FORMS}")
    several = isinstance(spec["index"], list)
    index = spec["index"] if several else [spec["index"]]
    for entry in index:
        if isinstance(entry, bool) or not isinstance(entry, int) or not 0 <= entry < size:
            raise SpecError(f"feature '{name}' has index {entry!r}; observations have entries 0 to {size - 1}")
    if not index or len(set(index)) < len(index):
        raise SpecError(f"feature '{name}' has index {index}; name each entry once, and at least one")
    if "centre" in spec:
        centre = _numbers(name, "centre", spec["centre"], len(index), several)
        (radius,) = _numbers(name, "radius", spec["radius"], 1, False)
        if not radius > 0:
            raise SpecError(f"feature '{name}' has radius = {radius}; a disc needs a positive one")
        return InDisc(tuple(index), centre, radius)
    lowest, highest = ([-np.inf] * len(index), [np.inf] * len(index)) if several else (-np.inf, np.inf)
    above = _numbers(name, "above", spec.get("above", lowest), len(index), several)
    below = _numbers(name, "below", spec.get("below", highest), len(index), several)
    sides = tuple(Between(*side) for side in zip(index, above, below, strict=True))
    for side in sides:
        if not side.above < side.below:
            raise SpecError(f"feature '{name}' asks for above {side.above} and below {side.below}, which nothing is")
    return InBox(sides)


def _numbers(name: str, key: str, value: Any, count: int, several: bool) -> tuple[float, ...]:
    """The numbers of a key: a list of `count` where several entries are meant, else one."""
    values = value if isinstance(value, list) else [value]
    good = isinstance(value, list) == several and len(values) == count
    if not good or any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        wanted = f"a list of {count} numbers" if several else "a number"
        raise SpecError(f"feature '{name}' has {key} = {value!r}; give {wanted}")
    return tuple(float(v) for v in values)
