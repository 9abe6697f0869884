"""Grids as pure rules (Section 6): cells, walls, slipping moves, what follows what; and maps drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errands.errors import SpecError
from errands.features import readings
from errands.tables import Floats, Ints
from errands.worlds.base import FiniteWorld, one_start

UP, RIGHT, DOWN, LEFT = range(4)
ACTIONS = ("up", "right", "down", "left")
MOVES = "moves"
_WORD = (1 << 64) - 1
_DEFAULT_SIZE = 10
MAX_CELLS = 5_000_000
"""Cells of a grid: a table takes about 70 bytes for each."""
_DEFAULT_PLACES = 30


@dataclass(frozen=True)
class Noise:
    """How moves go astray: first a delay may hold the agent, then the move may go another way."""

    sides: float = 0.0
    """Probability that a move goes to one of its two sides instead, half to each."""
    other: float = 0.0
    """Probability that it goes one of the three other ways, a third to each."""
    delay: float = 0.0
    """Probability that the agent stays where it is; the other two hold for the moves that are left."""
    blocked: str = "slip"
    """What a move does that is meant into a wall: it may `slip` like any other, or it surely `wait`s."""

    def __post_init__(self) -> None:
        for name in ("sides", "other", "delay"):
            share = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share < 1.0:
                raise SpecError(f"slip is {share!r}{f' in {name}' * (name != 'sides')}, and must be at least 0 and below 1")
        if self.sides + self.other >= 1.0:
            raise SpecError(f"slip is {self.sides} to the sides and {self.other} to other ways; together they must be below 1")
        if self.blocked not in ("slip", "wait"):
            raise SpecError(f"blocked is {self.blocked!r:.40}; a move into a wall may 'slip' or must 'wait'")

    @staticmethod
    def of(slip: float | Mapping[str, float | str]) -> Noise:
        """The noise of a task file: a number is that of the two sides."""
        if not isinstance(slip, Mapping):
            return Noise(slip)
        known = ("sides", "other", "delay", "blocked")
        for name in slip:
            if name not in known:
                raise SpecError(f"slip has no '{name:.40}'; it has {', '.join(known)}")
        return Noise(**slip)  # type: ignore[arg-type]


@dataclass(frozen=True)
class GridLayout:
    """The plan of a grid: cells are numbered row by row from the top left; a feature may stand on several cells."""

    width: int
    height: int
    start: int
    places: tuple[tuple[str, int], ...] = ()
    """Pairs (feature, cell), in declared order."""
    blocked: frozenset[int] = frozenset()
    """Cells that cannot be entered."""
    walls: frozenset[tuple[int, int]] = frozenset()
    """Pairs (lower cell, higher cell) of neighbours with a wall between them."""
    slip: float | Noise = 0.0
    """How moves go astray; a number is the probability that one goes to one of its two sides instead."""
    signs: tuple[tuple[str, str], ...] = ()
    """Pairs (feature, short sign to draw instead of its name)."""
    wraps: bool = False
    """Whether who leaves the grid on one side enters it on the other: a torus."""
    numbers: tuple[tuple[str, str], ...] = ()
    """Numbers for gauges: pairs (name, `moves`), which falls by one each move, or (name, the feature it is the distance from)."""

    def __post_init__(self) -> None:
        inside = range(self.cells)
        if self.cells > MAX_CELLS:
            raise SpecError(
                f"a grid of {self.width:,} x {self.height:,} cells has {self.cells:,}, and at most {MAX_CELLS:,} are built; "
                "make it smaller"
            )
        if self.width < 1 or self.height < 1:
            raise SpecError(f"a grid of {self.width} x {self.height} cells is empty; it needs at least one cell")
        _ = self.noise
        if self.start not in inside or self.start in self.blocked:
            raise SpecError(
                f"the start, cell {self.start}, is not a free cell of the {self.width} x {self.height} grid"
            )
        for name, cell in self.places:
            if cell not in inside or cell in self.blocked:
                raise SpecError(f"'{name}' stands on cell {cell}, which is not a free cell of the grid")
        for low, high in self.walls:
            beside = high - low == self.width or (high - low == 1 and high % self.width)
            if not (low in inside and high in inside and beside):
                raise SpecError(f"the wall ({low}, {high}) is not between two neighbouring cells, lower number first")
        for name, rule in self.numbers:
            if rule not in (MOVES, *self.features):
                raise SpecError(f"the number '{name}' is {rule!r}; it is {MOVES!r}, or the distance from a feature of the grid")

    @property
    def noise(self) -> Noise:
        """How moves go astray."""
        return self.slip if isinstance(self.slip, Noise) else Noise(self.slip)

    @property
    def cells(self) -> int:
        """The number of cells, blocked ones included."""
        return self.width * self.height

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all features on the grid, each once, in declared order."""
        return tuple(dict.fromkeys(name for name, _ in self.places))

    def features_at(self, cell: int) -> frozenset[str]:
        """The features that hold on a cell."""
        return self._by_cell.get(cell, frozenset()) | self.readings_at(cell)

    def readings_at(self, cell: int) -> frozenset[str]:
        """What a step to a cell says of the numbers."""
        far = {name: int(steps[cell]) for name, steps in self._far.items() if steps[cell] >= 0}
        return readings(far) | {f"{name}-1" for name, rule in self.numbers if rule == MOVES}

    @cached_property
    def _far(self) -> dict[str, Ints]:
        """For each number that is a distance the steps from the feature's nearest cell, by cell."""
        far = {}
        for name, rule in self.numbers:
            if rule != MOVES:
                each = np.array([distances(self, cell) for feature, cell in self.places if feature == rule])
                far[name] = np.where(each < 0, self.cells, each).min(axis=0)
                far[name][far[name] == self.cells] = -1
        return far

    @cached_property
    def _by_cell(self) -> dict[int, frozenset[str]]:
        names: dict[int, set[str]] = {}
        for name, cell in self.places:
            names.setdefault(cell, set()).add(name)
        return {cell: frozenset(there) for cell, there in names.items()}

    def sign(self, feature: str) -> str:
        """What is drawn for a feature: its short sign where it has one, else its name."""
        return dict(self.signs).get(feature, feature)

    @cached_property
    def moves(self) -> Ints:
        """[cells, 4] where moves without slip lead; a wall, a blocked cell or the border (of no torus) means staying."""
        cells = np.arange(self.cells, dtype=np.int32)
        table = np.repeat(cells[:, None], len(ACTIONS), axis=1)
        plan, shaped = cells.reshape(self.height, self.width), table.reshape(self.height, self.width, len(ACTIONS))
        shaped[1:, :, UP], shaped[:-1, :, DOWN] = plan[:-1], plan[1:]
        shaped[:, 1:, LEFT], shaped[:, :-1, RIGHT] = plan[:, :-1], plan[:, 1:]
        if self.wraps:
            shaped[0, :, UP], shaped[-1, :, DOWN] = plan[-1], plan[0]
            shaped[:, 0, LEFT], shaped[:, -1, RIGHT] = plan[:, -1], plan[:, 0]
        # On a grid one cell wide the cell below is the next number, too: only there is a wall between n and n + 1 level.
        for low, high in self.walls:
            ahead, back = (RIGHT, LEFT) if high - low == 1 and high % self.width else (DOWN, UP)
            table[low, ahead], table[high, back] = low, high
        # Nobody enters a blocked cell, and nobody leaves one.
        closed = np.zeros(self.cells, np.bool_)
        closed[list(self.blocked)] = True
        return np.where(closed[table] | closed[:, None], cells[:, None], table)


def outcomes(layout: GridLayout) -> tuple[Ints, Floats]:
    """Cells reached and cumulative probabilities, both [cells, 4, outcomes]: as meant, left, right, back, not at all."""
    straight, noise = layout.moves, layout.noise
    if noise.sides == noise.other == noise.delay == 0.0:
        return straight[:, :, None], np.ones((layout.cells, 4, 1))
    # Actions go round clockwise (up, right, down, left), so the neighbours of an action are its two sides.
    reached, side = [np.roll(straight, by, axis=1) for by in (0, 1, -1)], noise.sides / 2 + noise.other / 3
    shares = [1.0 - noise.sides - noise.other, side, side]
    if noise.other:
        reached.append(np.roll(straight, 2, axis=1))
        shares.append(noise.other / 3)
    stay = np.broadcast_to(np.arange(layout.cells, dtype=np.int32)[:, None], straight.shape)
    if noise.delay:
        reached, shares = [*reached, stay], [*((1.0 - noise.delay) * share for share in shares), noise.delay]
    cells = np.stack(reached, axis=2)
    if noise.blocked == "wait":
        cells = np.where((straight == stay)[:, :, None], stay[:, :, None], cells)
    cumulative = np.array([1.0 - sum(shares[i + 1 :]) for i in range(len(shares))])
    return cells, np.broadcast_to(cumulative, cells.shape).copy()


def grid_table(layout: GridLayout) -> FiniteWorld:
    """The grid as flat tables; the label of a step is the feature set of the cell it ends in."""
    cells = range(layout.cells) if layout.numbers else sorted({cell for _, cell in layout.places})
    sets = {cell: layout.features_at(cell) for cell in cells}
    labels = tuple(dict.fromkeys([frozenset[str](), *sets.values()]))
    number = {features: i for i, features in enumerate(labels)}
    label_of = np.zeros(layout.cells, np.int32)
    label_of[list(sets)] = [number[features] for features in sets.values()]
    reached, cumulative = outcomes(layout)
    return FiniteWorld(one_start(layout.start, reached, label_of[reached], label_of[layout.start], cumulative), labels)


def distances(layout: GridLayout, source: int, avoid: Iterable[int] = ()) -> Ints:
    """Steps from a cell to every cell, -1 where there is no way; no way leads through a cell of `avoid`."""
    steps = np.full(layout.cells, -1, np.int32)
    never = layout.cells  # larger than any distance: a cell that is not entered
    steps[list(avoid)] = never
    steps[source] = 0
    border = np.array([source])
    while len(border):
        ahead = layout.moves[border].ravel()
        following = np.unique(ahead[steps[ahead] < 0])
        steps[following] = steps[border[0]] + 1
        border = following
    steps[steps == never] = -1
    return steps


def unreachable_features(layout: GridLayout) -> tuple[str, ...]:
    """The features none of whose cells can be reached from the start."""
    steps = distances(layout, layout.start)
    near = {name for name, cell in layout.places if steps[cell] >= 0}
    return tuple(name for name in layout.features if name not in near)


def words(seed: int) -> Iterator[int]:
    """The endless splitmix64 stream of a seed: 64 random bits at a time."""
    # Plain integers, so a seed draws the same map on every machine and with every version of NumPy.
    state = seed & _WORD
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)


def units(seed: int) -> Iterator[float]:
    """The endless stream of a seed as numbers in [0, 1)."""
    return ((word >> 11) * 2.0**-53 for word in words(seed))


def distinct_cells(seed: int, cells: int, count: int) -> tuple[int, ...]:
    """The first `count` entries of the seed's permutation of the cells; a larger count only adds to them."""
    return shuffled(words(seed), cells, count)


def shuffled(stream: Iterator[int], cells: int, count: int) -> tuple[int, ...]:
    """The first entries of a permutation that random words draw."""
    moved: dict[int, int] = {}  # entries of the permutation that are not their own index: no list of all cells
    for i in range(count):
        # A shuffle (Fisher and Yates), cut off after `count` entries; the high word of the product is below cells - i.
        j = i + ((next(stream) * (cells - i)) >> 64)
        moved[i], moved[j] = moved.get(j, j), moved.get(i, i)
    return tuple(moved[i] for i in range(count))


def grid_size(places: int, size: int | None = None) -> int:
    """The side of a square grid: 10 up to 30 places, then the smallest side with four cells to a place."""
    if size is not None:
        if size * size < places + 2:
            raise SpecError(f"a grid of {size} x {size} cells cannot hold {places} places and a start; make it larger")
        return size
    if places <= _DEFAULT_PLACES:
        return _DEFAULT_SIZE
    chosen = _DEFAULT_SIZE
    while chosen * chosen < 4 * places:
        chosen += 1
    return chosen


def grid_limit(places: int, size: int, limit: int | None = None) -> int:
    """Steps before truncation: the limit asked for, or 1000, or ten sides of the grid to a place where that is more."""
    chosen = max(1000, 10 * places * size) if limit is None else limit
    return positive("limit", chosen)


def positive(name: str, number: int) -> int:
    """The number itself where it is at least 1; otherwise a SpecError that names it."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise SpecError(f"{name} is {number!r}, and must be a whole number")
    if number < 1:
        raise SpecError(f"{name} is {number}, and must be at least 1")
    return int(number)
