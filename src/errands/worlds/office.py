"""Office (Section 6): twelve rooms joined by 17 doors, coffee at two places, six offices, decorations to avoid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from errands.errors import SpecError
from errands.worlds.grid import GridLayout, positive
from errands.worlds.grid_world import OnGrid

WIDTH, HEIGHT, ROOM = 12, 9, 3
START = (2, 1)
OFFICES = ((4, 4), (7, 4), (1, 7), (10, 7), (10, 1), (1, 1))
COFFEE = ((3, 6), (8, 2))
DECORATIONS = ((1, 4), (10, 4), (4, 7), (4, 1), (7, 7), (7, 1))


@dataclass(frozen=True)
class Office(OnGrid):
    """The one Office map; all six offices are on it, `offices` says how many of them the catalogue task visits."""

    offices: int = 6
    slip: float = 0.0
    limit: int = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.offices <= len(OFFICES):
            raise SpecError(f"offices is {self.offices}, and must be from 1 to {len(OFFICES)}")
        positive("limit", self.limit)
        _ = self.layout

    @property
    def kind(self) -> str:
        """The word of task files: office."""
        return "office"

    @property
    def features(self) -> tuple[str, ...]:
        """The offices o1..o6, then coffee and decoration; that a decoration is fatal is the machine's affair."""
        return self.layout.features

    @property
    def layout(self) -> GridLayout:
        """The plan of the rooms."""
        return office_layout(self.slip)



@cache
def office_layout(slip: float = 0.0) -> GridLayout:
    """The plan of the paper's figure, from coordinates (x, y) counted from the bottom left."""
    offices = ((f"o{i}", place) for i, place in enumerate(OFFICES, 1))
    places = (*offices, *(("coffee", place) for place in COFFEE), *(("decoration", place) for place in DECORATIONS))
    return GridLayout(
        width=WIDTH,
        height=HEIGHT,
        start=_cell(*START),
        places=tuple((name, _cell(*place)) for name, place in places),
        walls=frozenset(_walls()),
        slip=slip,
        signs=(("coffee", "f"), ("decoration", "*")),
    )


def _cell(x: int, y: int) -> int:
    # The figure counts y upwards, layouts number rows from the top.
    return (HEIGHT - 1 - y) * WIDTH + x


def _walls() -> list[tuple[int, int]]:
    """The walls around every room, open in the middle, where the doors are."""
    upright = [
        (_cell(x - 1, y), _cell(x, y)) for x in range(ROOM, WIDTH, ROOM) for y in range(HEIGHT) if y % ROOM != ROOM // 2
    ]
    # Lower cell number first, which is the upper cell.
    level = [
        (_cell(x, y), _cell(x, y - 1)) for y in range(ROOM, HEIGHT, ROOM) for x in range(WIDTH) if x % ROOM != ROOM // 2
    ]
    return upright + level
