"""Places on a grid: Delivery and Office of the paper (Section 6), the latter one map of twelve rooms with 17 doors; and ours.

Visit has N places in any order, Pickup and Taxi have N pairs, from one cell to another. Letters are on a torus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Interval

from errands.errors import SpecError
from errands.worlds.base import Count, Limit, Probability, Seed
from errands.worlds.grid import GridLayout, distances, distinct_cells, grid_limit, grid_size, positive, shuffled, words
from errands.worlds.grid_world import OnGrid

if TYPE_CHECKING:
    from errands.worlds.families import MapFamily

OFFICE_WIDTH, OFFICE_HEIGHT, ROOM = 12, 9, 3
OFFICE_START = (2, 1)
OFFICES = ((4, 4), (7, 4), (1, 7), (10, 7), (10, 1), (1, 1))
COFFEE = ((3, 6), (8, 2))
DECORATIONS = ((1, 4), (10, 4), (4, 7), (4, 1), (7, 7), (7, 1))
TAXI_SIDE = 5
TAXI_WALLS = frozenset({(1, 2), (6, 7), (15, 16), (20, 21), (17, 18), (22, 23)})
"""Between neighbouring cells, as on the map of Gymnasium's Taxi: in the upper streets one, in the lower ones two each."""


@dataclass(frozen=True, init=False)
class Scattered(OnGrid):
    """What worlds of random places share: a square grid; its side and limit follow the number of places unless given."""

    map_seed: int
    size: int
    slip: float
    limit: int

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the places, in the order in which they are drawn."""
        raise NotImplementedError

    def settle(
        self, count: dict[str, int], each: int, map_seed: int, size: int | None, slip: float, limit: int | None
    ) -> None:
        """Set all fields: `count` is the field that says how many there are, each of them has so many places."""
        ((name, number),) = count.items()
        positive(name, number)
        side = grid_size(each * number, size)
        steps = grid_limit(each * number, side, limit)
        vars(self).update(count, map_seed=map_seed, size=side, slip=slip, limit=steps)
        _ = self.layout  # drawn at once: a map that cannot be is refused here

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: the start, then the places in order."""
        start, *cells = distinct_cells(self.map_seed, self.size * self.size, len(self.features) + 1)
        return GridLayout(self.size, self.size, start, tuple(zip(self.features, cells, strict=True)), slip=self.slip)


@dataclass(frozen=True, init=False)
class Delivery(Scattered):
    """Station `s`, boxes `b1`..`bN` and the start on distinct random cells; more boxes on a map only add to it.

    The grid has 10 x 10 cells up to 30 boxes, then the smallest size with four cells to a box (64 boxes: 16 x 16). That one
    box is carried at a time is the machine's affair; one that it has completed is gone.
    """

    kind: ClassVar[str] = "delivery"
    boxes: int

    def __init__(
        self, boxes: Count = 2, map_seed: Seed = 0, size: Count | None = None, slip: Probability = 0.0, limit: Limit | None = None
    ) -> None:
        self.settle({"boxes": boxes}, 1, map_seed, size, slip, limit)

    @property
    def features(self) -> tuple[str, ...]:
        """The boxes b1..bN, then the station s."""
        return (*self.taken, "s")

    @property
    def taken(self) -> tuple[str, ...]:
        """The boxes."""
        return tuple(f"b{i}" for i in range(1, self.boxes + 1))

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: start, station, then the boxes in order."""
        start, station, *boxes = distinct_cells(self.map_seed, self.size * self.size, self.boxes + 2)
        places = zip(self.features, (*boxes, station), strict=True)
        return GridLayout(self.size, self.size, start, tuple(places), slip=self.slip)


@dataclass(frozen=True, init=False)
class Visit(Scattered):
    """Places `v1`..`vN` and the start on distinct random cells; sizes as in Delivery (100 places: 20 x 20)."""

    kind: ClassVar[str] = "visit"
    places: int

    def __init__(
        self, places: Count = 5, map_seed: Seed = 0, size: Count | None = None, slip: Probability = 0.0, limit: Limit | None = None
    ) -> None:
        self.settle({"places": places}, 1, map_seed, size, slip, limit)

    @property
    def features(self) -> tuple[str, ...]:
        """The places v1..vN."""
        return tuple(f"v{i}" for i in range(1, self.places + 1))


@dataclass(frozen=True, init=False)
class Pickup(Scattered):
    """Pick-up places `p1`..`pN`, drop-off places `d1`..`dN` and the start on distinct random cells of an open grid."""

    kind: ClassVar[str] = "pickup"
    pairs: int

    def __init__(
        self, pairs: Annotated[int, Interval(ge=1, le=500)] = 2, map_seed: Seed = 0, size: Count | None = None,
        slip: Probability = 0.0, limit: Limit | None = None,
    ) -> None:
        self.settle({"pairs": pairs}, 2, map_seed, size, slip, limit)

    @property
    def features(self) -> tuple[str, ...]:
        """p1, d1, p2, d2 and so on."""
        return paired(self.pairs)


@dataclass(frozen=True)
class Taxi(OnGrid):
    """The streets of Gymnasium's Taxi (5 x 5 cells, its walls) with N passengers: `p1`..`pN` wait, `d1`..`dN` are aims."""

    kind: ClassVar[str] = "taxi"
    passengers: Annotated[int, Interval(ge=1, le=12)] = 2
    map_seed: Seed = 0
    slip: Probability = 0.0
    limit: Limit = 1000

    def __post_init__(self) -> None:
        positive("limit", self.limit)
        most = (TAXI_SIDE * TAXI_SIDE - 1) // 2
        if not 1 <= self.passengers <= most:
            raise SpecError(f"passengers is {self.passengers}, and must be from 1 to {most}: each needs two cells")
        _ = self.layout

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


@dataclass(frozen=True)
class Office(OnGrid):
    """The one Office map; all six offices are on it, `offices` says how many of them the catalogue task visits."""

    kind: ClassVar[str] = "office"
    offices: Annotated[int, Interval(ge=1, le=6)] = 6
    slip: Probability = 0.0
    limit: Limit = 1000
    numbers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Numbers for gauges, as of a drawn grid."""

    def __post_init__(self) -> None:
        if not 1 <= self.offices <= len(OFFICES):
            raise SpecError(f"offices is {self.offices}, and must be from 1 to {len(OFFICES)}")
        positive("limit", self.limit)
        _ = self.layout

    @property
    def features(self) -> tuple[str, ...]:
        """The offices o1..o6, then coffee and decoration; that a decoration is fatal is the machine's affair."""
        return self.layout.features

    @property
    def layout(self) -> GridLayout:
        """The plan of the rooms."""
        return replace(office_layout(self.slip), numbers=tuple(self.numbers.items())) if self.numbers else office_layout(self.slip)


@cache
def office_layout(slip: float = 0.0) -> GridLayout:
    """The plan of the paper's figure, from coordinates (x, y) counted from the bottom left."""
    offices = ((f"o{i}", place) for i, place in enumerate(OFFICES, 1))
    places = (*offices, *(("coffee", place) for place in COFFEE), *(("decoration", place) for place in DECORATIONS))
    return GridLayout(
        width=OFFICE_WIDTH,
        height=OFFICE_HEIGHT,
        start=_cell(*OFFICE_START),
        places=tuple((name, _cell(*place)) for name, place in places),
        walls=frozenset(_walls()),
        slip=slip,
        signs=(("coffee", "f"), ("decoration", "*")),
    )


def _cell(x: int, y: int) -> int:
    # The figure counts y upwards, layouts number rows from the top.
    return (OFFICE_HEIGHT - 1 - y) * OFFICE_WIDTH + x


def _walls() -> list[tuple[int, int]]:
    """The walls around every room, open in the middle, where the doors are."""
    upright = [
        (_cell(x - 1, y), _cell(x, y))
        for x in range(ROOM, OFFICE_WIDTH, ROOM)
        for y in range(OFFICE_HEIGHT)
        if y % ROOM != ROOM // 2
    ]
    # Lower cell number first, which is the upper cell.
    level = [
        (_cell(x, y), _cell(x, y - 1))
        for y in range(ROOM, OFFICE_HEIGHT, ROOM)
        for x in range(OFFICE_WIDTH)
        if x % ROOM != ROOM // 2
    ]
    return upright + level


LETTER_SIDE = 7
LETTERS = tuple("abcdefghijkl")
_LETTER_CELLS = 2
_NO_LETTERS = GridLayout(LETTER_SIDE, LETTER_SIDE, 0, wraps=True)


@dataclass(frozen=True)
class Letters(OnGrid):
    """LetterWorld (Vaezipoor et al., 2021) by the rules of DeepLTL (Jackermeier and Abate, 2025): twelve letters twice on a torus.

    An agent that leaves the 7 x 7 cells on one side enters them on the other. It begins on the first cell of the first row.
    On a map all cells can be reached without passing a letter.
    """

    kind: ClassVar[str] = "letters"
    map_seed: Seed = 0
    slip: Probability = 0.0
    limit: Limit = 75
    features: ClassVar[tuple[str, ...]] = LETTERS

    def __post_init__(self) -> None:
        positive("limit", self.limit)
        _ = self.layout

    @cached_property
    def layout(self) -> GridLayout:
        """The first map drawn from the seed on which every cell can be reached without passing a letter."""
        cells = cells_of(self.map_seed)
        places = zip([letter for letter in LETTERS for _ in range(_LETTER_CELLS)], cells, strict=True)
        return GridLayout(LETTER_SIDE, LETTER_SIDE, 0, tuple(places), slip=self.slip, wraps=True)

    @property
    def family(self) -> MapFamily | None:
        """The same with a new map at every start, where moves are certain."""
        from errands.worlds.families import letters_family

        cells = cells_of(self.map_seed)
        return None if self.slip else letters_family(tuple(zip(cells[::_LETTER_CELLS], cells[1::_LETTER_CELLS], strict=True)))


def cells_of(map_seed: int) -> tuple[int, ...]:
    """The cells of all letters in order on the map of a seed."""
    return next(filter(_open, _draws(map_seed)))


def _draws(seed: int) -> Iterator[tuple[int, ...]]:
    """Cells for all letters in order, without end: the first entries of shuffles of all cells but the agent's first."""
    stream = words(seed)
    while True:
        yield tuple(1 + cell for cell in shuffled(stream, LETTER_SIDE * LETTER_SIDE - 1, len(LETTERS) * _LETTER_CELLS))


def _open(letters: tuple[int, ...]) -> bool:
    """Whether every cell can be reached from the first without passing a letter."""
    free = distances(_NO_LETTERS, 0, letters) >= 0
    free[list(letters)] = free[_NO_LETTERS.moves[list(letters)]].any(axis=1)
    return bool(free.all())
