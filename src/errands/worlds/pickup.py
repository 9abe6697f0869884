"""Pickup and Taxi: N things to be picked up on one cell and put down on another, on an open grid or in Taxi's streets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym

from errands.errors import SpecError
from errands.worlds.base import FiniteWorld
from errands.worlds.grid import GridLayout, distinct_cells, grid_limit, grid_size, grid_table, positive
from errands.worlds.grid_world import GridEnv

TAXI_SIDE = 5
TAXI_WALLS = frozenset({(1, 2), (6, 7), (15, 16), (20, 21), (17, 18), (22, 23)})
"""Between neighbouring cells, as on the map of Gymnasium's Taxi: in the upper streets one, in the lower ones two each."""


@dataclass(frozen=True, init=False)
class Pickup:
    """Pick-up places `p1`..`pN`, drop-off places `d1`..`dN` and the start on distinct random cells of an open grid."""

    pairs: int
    map_seed: int
    size: int
    slip: float
    limit: int

    def __init__(
        self, pairs: int = 2, map_seed: int = 0, size: int | None = None, slip: float = 0.0, limit: int | None = None
    ) -> None:
        positive("pairs", pairs)
        side = grid_size(2 * pairs, size)
        steps = grid_limit(2 * pairs, side, limit)
        vars(self).update(pairs=pairs, map_seed=map_seed, size=side, slip=slip, limit=steps)
        _ = self.layout

    @property
    def kind(self) -> str:
        """The word of task files: pickup."""
        return "pickup"

    @property
    def features(self) -> tuple[str, ...]:
        """p1, d1, p2, d2 and so on."""
        return paired(self.pairs)

    @property
    def signals(self) -> tuple[str, ...]:
        """None: the grid reports features only."""
        return ()

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: the start, then the places pair by pair."""
        start, *cells = distinct_cells(self.map_seed, self.size * self.size, 2 * self.pairs + 1)
        return GridLayout(self.size, self.size, start, tuple(zip(self.features, cells, strict=True)), slip=self.slip)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this grid."""
        return GridEnv(self.layout, self.limit, render_mode)

    def finite(self) -> FiniteWorld:
        """The grid as flat tables, one state to a cell."""
        return grid_table(self.layout)


@dataclass(frozen=True)
class Taxi:
    """The streets of Gymnasium's Taxi (5 x 5 cells, its walls) with N passengers: `p1`..`pN` wait, `d1`..`dN` are aims."""

    passengers: int = 2
    map_seed: int = 0
    slip: float = 0.0
    limit: int = 1000

    def __post_init__(self) -> None:
        positive("limit", self.limit)
        most = (TAXI_SIDE * TAXI_SIDE - 1) // 2
        if not 1 <= self.passengers <= most:
            raise SpecError(f"passengers is {self.passengers}, and must be from 1 to {most}: each needs two cells")
        _ = self.layout

    @property
    def kind(self) -> str:
        """The word of task files: taxi."""
        return "taxi"

    @property
    def features(self) -> tuple[str, ...]:
        """p1, d1, p2, d2 and so on."""
        return paired(self.passengers)

    @property
    def signals(self) -> tuple[str, ...]:
        """None: the streets report features only."""
        return ()

    @cached_property
    def layout(self) -> GridLayout:
        """The streets, with the start, then each passenger's two cells as the map seed draws them."""
        start, *cells = distinct_cells(self.map_seed, TAXI_SIDE * TAXI_SIDE, 2 * self.passengers + 1)
        places = tuple(zip(self.features, cells, strict=True))
        return GridLayout(TAXI_SIDE, TAXI_SIDE, start, places, walls=TAXI_WALLS, slip=self.slip)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of these streets."""
        return GridEnv(self.layout, self.limit, render_mode)

    def finite(self) -> FiniteWorld:
        """The streets as flat tables, one state to a cell."""
        return grid_table(self.layout)


def paired(count: int) -> tuple[str, ...]:
    """The names of `count` pairs: p1, d1, p2, d2 and so on."""
    return tuple(f"{letter}{i}" for i in range(1, count + 1) for letter in "pd")
