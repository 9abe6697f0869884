"""Features of a foreign environment, told without code: a set of states, or a bound on one entry of the observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import SpecError

_KEYS = {"index", "above", "below"}


@dataclass(frozen=True)
class InStates:
    """Holds in these states of a Discrete observation."""

    states: frozenset[int]

    def holds(self, observation: Any) -> bool:
        """Whether the observation is one of the states."""
        return int(observation) in self.states


@dataclass(frozen=True)
class Between:
    """Holds where one entry of a Box observation is above and below the given bounds, both exclusive."""

    index: int
    above: float = -float("inf")
    below: float = float("inf")

    def holds(self, observation: Any) -> bool:
        """Whether that entry of the flattened observation lies between the bounds."""
        return self.above < float(np.ravel(observation)[self.index]) < self.below


Rule = InStates | Between


def read_rule(name: str, spec: Any, space: gym.Space[Any]) -> Rule:
    """The rule that a task file gives for a feature: `goal = [15]` or `C = { index = 0, above = 2.0 }`."""
    if isinstance(spec, Mapping):
        return _read_between(name, spec, space)
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        return _read_states(name, spec, space)
    raise SpecError(
        f"feature '{name}' is {spec!r}; give a list of states such as [15], or {{ index = 0, above = 2.0 }}"
    )


def _read_states(name: str, spec: Sequence[Any], space: gym.Space[Any]) -> InStates:
    if not isinstance(space, gym.spaces.Discrete):
        raise SpecError(
            f"feature '{name}' lists states, but observations are {space}; give {{ index = ..., above = ... }}"
        )
    for state in spec:
        if isinstance(state, bool) or not isinstance(state, int) or not space.contains(state):
            last = int(space.start + space.n - 1)
            raise SpecError(f"feature '{name}' lists {state!r}; states are whole numbers from {space.start} to {last}")
    if not spec:
        raise SpecError(f"feature '{name}' lists no state and could never hold; name at least one")
    return InStates(frozenset(spec))


def _read_between(name: str, spec: Mapping[str, Any], space: gym.Space[Any]) -> Between:
    if not isinstance(space, gym.spaces.Box):
        raise SpecError(f"feature '{name}' bounds an entry, but observations are {space}; give a list of states")
    if "index" not in spec or len(spec) < 2 or not set(spec) <= _KEYS:
        raise SpecError(f"feature '{name}' has the keys {sorted(spec)}; give index, and above or below or both")
    size = int(np.prod(space.shape))
    index = spec["index"]
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < size:
        raise SpecError(f"feature '{name}' has index {index!r}; observations have entries 0 to {size - 1}")
    for key in ("above", "below"):
        if key in spec and (isinstance(spec[key], bool) or not isinstance(spec[key], int | float)):
            raise SpecError(f"feature '{name}' has {key} = {spec[key]!r}; give a number")
    rule = Between(index, float(spec.get("above", -np.inf)), float(spec.get("below", np.inf)))
    if not rule.above < rule.below:
        raise SpecError(f"feature '{name}' asks for above {rule.above} and below {rule.below}, which nothing is")
    return rule
