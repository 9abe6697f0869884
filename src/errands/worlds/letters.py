"""LetterWorld (Vaezipoor et al., 2021) by the rules of DeepLTL (Jackermeier and Abate, 2025): twelve letters twice on a torus.

An agent that leaves the 7 x 7 cells on one side enters them on the other. It begins on the first cell of the first row.
On a map all cells can be reached without passing a letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from errands.worlds.base import Limit, Probability, Seed
from errands.worlds.grid import GridLayout, distances, positive, words
from errands.worlds.grid_world import OnGrid

if TYPE_CHECKING:
    from errands.worlds.families import MapFamily

SIDE = 7
LETTERS = tuple("abcdefghijkl")
_EACH = 2
_EMPTY = GridLayout(SIDE, SIDE, 0, wraps=True)


@dataclass(frozen=True)
class Letters(OnGrid):
    """Letters `a` to `l`, each on two cells of a 7 x 7 torus, none on the agent's first cell and none in the way of another."""

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
        places = zip([letter for letter in LETTERS for _ in range(_EACH)], cells, strict=True)
        return GridLayout(SIDE, SIDE, 0, tuple(places), slip=self.slip, wraps=True)

    @property
    def family(self) -> MapFamily | None:
        """The same with a new map at every start, where moves are certain."""
        from errands.worlds.families import letters_family

        cells = cells_of(self.map_seed)
        return None if self.slip else letters_family(tuple(zip(cells[::_EACH], cells[1::_EACH], strict=True)))


def cells_of(map_seed: int) -> tuple[int, ...]:
    """The cells of all letters in order on the map of a seed."""
    return next(filter(_open, _draws(map_seed)))


def _draws(seed: int) -> Iterator[tuple[int, ...]]:
    """Cells for all letters in order, without end: the first entries of shuffles of all cells but the agent's first."""
    stream, count = words(seed), len(LETTERS) * _EACH
    while True:
        cells = list(range(1, SIDE * SIDE))
        for i in range(count):
            # The high word of the product is below the number of cells that are left.
            j = i + ((next(stream) * (len(cells) - i)) >> 64)
            cells[i], cells[j] = cells[j], cells[i]
        yield tuple(cells[:count])


def _open(letters: tuple[int, ...]) -> bool:
    """Whether every cell can be reached from the first without passing a letter."""
    free = distances(_EMPTY, 0, letters) >= 0
    free[list(letters)] = free[_EMPTY.moves[list(letters)]].any(axis=1)
    return bool(free.all())
