"""Visit: N random cells to visit in any order, a travelling-salesman path on the grid that tests ordering (ours)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym

from errands.worlds.base import FiniteWorld
from errands.worlds.grid import GridLayout, distinct_cells, grid_limit, grid_size, grid_table, positive
from errands.worlds.grid_world import GridEnv


@dataclass(frozen=True, init=False)
class Visit:
    """Places `v1`..`vN` and the start on distinct random cells; sizes as in Delivery (100 places: 20 x 20)."""

    places: int
    map_seed: int
    size: int
    slip: float
    limit: int

    def __init__(
        self,
        places: int = 5,
        map_seed: int = 0,
        size: int | None = None,
        slip: float = 0.0,
        limit: int | None = None,
    ) -> None:
        positive("places", places)
        side = grid_size(places, size)
        steps = grid_limit(places, side, limit)
        vars(self).update(places=places, map_seed=map_seed, size=side, slip=slip, limit=steps)
        _ = self.layout

    @property
    def kind(self) -> str:
        """The word of task files: visit."""
        return "visit"

    @property
    def features(self) -> tuple[str, ...]:
        """The places v1..vN."""
        return tuple(f"v{i}" for i in range(1, self.places + 1))

    @property
    def signals(self) -> tuple[str, ...]:
        """None: the grid reports features only."""
        return ()

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: the start, then the places in order."""
        start, *cells = distinct_cells(self.map_seed, self.size * self.size, self.places + 1)
        return GridLayout(self.size, self.size, start, tuple(zip(self.features, cells, strict=True)), slip=self.slip)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this grid."""
        return GridEnv(self.layout, self.limit, render_mode)

    def finite(self) -> FiniteWorld:
        """The grid as flat tables, one state to a cell."""
        return grid_table(self.layout)
