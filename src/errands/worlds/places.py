"""Random places on a grid (ours): Visit has N in any order, Pickup and Taxi N pairs, from one cell to another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from errands.errors import SpecError
from errands.worlds.grid import GridLayout, distinct_cells, grid_limit, grid_size, positive
from errands.worlds.grid_world import OnGrid

TAXI_SIDE = 5
TAXI_WALLS = frozenset({(1, 2), (6, 7), (15, 16), (20, 21), (17, 18), (22, 23)})
"""Between neighbouring cells, as on the map of Gymnasium's Taxi: in the upper streets one, in the lower ones two each."""


@dataclass(frozen=True, init=False)
class Visit(OnGrid):
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

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: the start, then the places in order."""
        start, *cells = distinct_cells(self.map_seed, self.size * self.size, self.places + 1)
        return GridLayout(self.size, self.size, start, tuple(zip(self.features, cells, strict=True)), slip=self.slip)


@dataclass(frozen=True, init=False)
class Pickup(OnGrid):
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

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: the start, then the places pair by pair."""
        start, *cells = distinct_cells(self.map_seed, self.size * self.size, 2 * self.pairs + 1)
        return GridLayout(self.size, self.size, start, tuple(zip(self.features, cells, strict=True)), slip=self.slip)


@dataclass(frozen=True)
class Taxi(OnGrid):
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

    @cached_property
    def layout(self) -> GridLayout:
        """The streets, with the start, then each passenger's two cells as the map seed draws them."""
        start, *cells = distinct_cells(self.map_seed, TAXI_SIDE * TAXI_SIDE, 2 * self.passengers + 1)
        places = tuple(zip(self.features, cells, strict=True))
        return GridLayout(TAXI_SIDE, TAXI_SIDE, start, places, walls=TAXI_WALLS, slip=self.slip)


def paired(count: int) -> tuple[str, ...]:
    """The names of `count` pairs: p1, d1, p2, d2 and so on."""
    return tuple(f"{letter}{i}" for i in range(1, count + 1) for letter in "pd")
