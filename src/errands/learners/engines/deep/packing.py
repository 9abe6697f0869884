"""How a tree of arrays travels in and out of compiled calls: large arrays as they are, small ones side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

SMALL = 4096
"""Numbers of a seed up to which an array is small: copying them costs less than handing them over one by one."""
Packed = list[Array]
"""The large arrays of a tree in their order, then one array for each type of the small ones."""


# A call of a compiled function costs one to two microseconds for each array that goes in and comes out, and what a seed has
# learnt is 50 to 90 of them, most of them biases, counts and the memory of the high level.
@dataclass(frozen=True, eq=False)
class Layout:
    """Which arrays of a tree, [seeds, ...] each, travel alone and which together; pure functions of what is handed in."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]

    @staticmethod
    def of(tree: Any) -> Layout:
        """The layout for trees like this one."""
        leaves, structure = jax.tree.flatten(tree)
        return Layout(structure, tuple(leaf.shape for leaf in leaves), tuple(str(leaf.dtype) for leaf in leaves))

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the small leaves, by type."""
        groups: dict[str, list[int]] = {}
        for i, name in enumerate(self.types):
            if self._size(i) <= SMALL:
                groups.setdefault(name, []).append(i)
        return tuple(map(tuple, groups.values()))

    @cached_property
    def large(self) -> tuple[int, ...]:
        """The numbers of the leaves that travel alone."""
        return tuple(sorted(set(range(len(self.shapes))) - {i for group in self.groups for i in group}))

    def _size(self, leaf: int) -> int:
        """How many numbers of a seed a leaf has."""
        return math.prod(self.shapes[leaf][1:])

    def pack(self, tree: Any) -> Packed:
        """A tree as it travels."""
        leaves = jax.tree.leaves(tree)
        return [*(leaves[i] for i in self.large), *_joined([[leaves[i] for i in group] for group in self.groups])]

    def unpack(self, arrays: Sequence[Array]) -> Any:
        """The tree of what `pack` gave."""
        leaves = dict(zip(self.large, arrays, strict=False))
        for group, parts in zip(self.groups, _parted(self, list(arrays[len(self.large) :])), strict=True):
            leaves |= dict(zip(group, parts, strict=True))
        return jax.tree.unflatten(self.structure, [leaves[i] for i in range(len(self.shapes))])

    def parts(self, group: tuple[int, ...], joined: Array) -> list[Array]:
        """The leaves of a group."""
        ends = np.cumsum([self._size(i) for i in group])
        columns = jnp.split(joined, ends[:-1], axis=1)
        return [part.reshape(self.shapes[i]) for i, part in zip(group, columns, strict=True)]


# Compiled, because they are called outside of compiled functions too, and there every operation would be sent alone.
@jax.jit
def _joined(groups: list[list[Array]]) -> list[Array]:
    return [jnp.concatenate([leaf.reshape(len(leaf), -1) for leaf in group], axis=1) for group in groups]


@partial(jax.jit, static_argnums=0)
def _parted(layout: Layout, joined: list[Array]) -> list[list[Array]]:
    return [layout.parts(group, one) for group, one in zip(layout.groups, joined, strict=True)]
