"""Grid worlds: the Gymnasium shell that holds the agent's cell, and the grid that a task file draws in letters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import gymnasium as gym
from annotated_types import Interval, Len

from errands.errors import SpecError
from errands.worlds.base import Described, FiniteWorld, Limit, Probability
from errands.worlds.env import WorldEnv
from errands.worlds.grid import ACTIONS, MOVES, GridLayout, Noise, grid_table, outcomes, positive
from errands.worlds.picture import grid_drawing, grid_text, pixels
from errands.worlds.saving import Saved

FREE, WALL, START = ".", "#", "A"
_RESERVED = {FREE: "a free cell", WALL: "a wall", START: "the start"}


class GridEnv(WorldEnv):
    """An agent on a grid: observes its cell, moves in four directions."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012 (as in gymnasium)
    action_names: ClassVar[tuple[str, ...]] = ACTIONS

    def __init__(self, layout: GridLayout, limit: int, render_mode: str | None = None) -> None:
        super().__init__(gym.spaces.Discrete(layout.cells), len(ACTIONS), limit, render_mode)
        self.layout, self.cell = layout, layout.start
        self._next, self._cumulative = outcomes(layout)

    def _begin(self) -> set[str]:
        self.cell = self.layout.start
        return set(self.layout.features_at(self.cell))

    def _move(self, action: Any) -> tuple[set[str], dict[str, float]]:
        outcome = 0
        if self._next.shape[2] > 1:
            outcome = bisect_right(self._cumulative[self.cell, action].tolist(), self.np_random.random())
        self.cell = int(self._next[self.cell, action, outcome])
        return set(self.layout.features_at(self.cell)), {}

    def _seen(self) -> int:
        return self.cell

    def render(self) -> Any:
        """The grid as text or as pixels, by render mode."""
        return self.picture()

    def picture(self, hidden: Collection[str] = ()) -> Any:
        """The same without some features."""
        if self.render_mode == "ansi":
            return grid_text(self.layout, self.cell, hidden)
        return pixels(grid_drawing(self.layout, self.cell, hidden=hidden)) if self.render_mode == "rgb_array" else None

    def _state(self) -> Saved:
        return {"cell": self.cell}

    def _put(self, saved: Saved) -> None:
        self.cell = saved["cell"]


class OnGrid(Described):
    """What worlds on a grid share: their layout's shell and table, one state to a cell, and no signals."""

    limit: int
    action_names: ClassVar[tuple[str, ...]] = ACTIONS
    signals: ClassVar[tuple[str, ...]] = ()

    @property
    def layout(self) -> GridLayout:
        """The plan of the grid."""
        raise NotImplementedError

    @property
    def gauges(self) -> dict[str, str]:
        """The numbers of the layout; only the grid itself knows distances."""
        return {name: rule if rule == MOVES else name for name, rule in self.layout.numbers}

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this grid."""
        return GridEnv(self.layout, self.limit, render_mode)

    def finite(self) -> FiniteWorld:
        """The grid as flat tables."""
        return grid_table(self.layout)


@dataclass(frozen=True)
class GridWorld(OnGrid):
    """A grid drawn in letters, top row first: '.' free, '#' wall, 'A' start, any other letter by the legend."""

    kind: ClassVar[str] = "grid"
    rows: Annotated[Sequence[str], Len(1, 1000)]
    legend: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The feature behind each letter."""
    slip: Probability | Mapping[str, Probability | str] = field(default=0.0, hash=False)
    """How moves go astray: to one of their sides with this probability, or by the rules of `Noise`."""
    walls: Literal["drawn"] | Sequence[Annotated[Sequence[int], Len(2, 2)]] = ()
    """Walls between neighbouring cells: `drawn` between the letters as '|' and '-', or pairs of cells, numbered row by row."""
    start: Annotated[int, Interval(ge=0)] | None = None
    """The cell of the start, numbered row by row from 0, where no 'A' is drawn because something else stands there."""
    limit: Limit = 1000
    numbers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Numbers for gauges: `fuel = "moves"` falls by one each move, `distance = "x"` is the number of moves from x."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "legend", dict(self.legend))
        object.__setattr__(self, "numbers", dict(self.numbers))
        if self.walls != "drawn":
            pairs = self.walls if isinstance(self.walls, list | tuple) else [self.walls]
            if strange := [p for p in pairs if not isinstance(p, list | tuple) or [type(n) for n in p] != [int, int]]:
                raise SpecError(f"walls has {strange[0]!r:.60}; it is 'drawn', or a list of pairs of cell numbers")
            object.__setattr__(self, "walls", tuple(tuple(pair) for pair in pairs))
        problems = [*_row_problems(self.rows), *(_wall_problems(self.rows) if self.walls == "drawn" and self.rows else ())]
        problems += [*_start_problems(self.letters, self.start), *_legend_problems(self.letters, self.legend)] if self.rows else []
        if problems:
            raise SpecError("; ".join(problems), problems)
        positive("limit", self.limit)
        _ = self.layout

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the legend, each once, in its order."""
        return tuple(dict.fromkeys(self.legend.values()))

    @property
    def letters(self) -> Sequence[str]:
        """The rows of cells, without what is drawn between them."""
        return [row[::2] for row in self.rows[::2]] if self.walls == "drawn" else self.rows

    def _walls(self, width: int) -> frozenset[tuple[int, int]]:
        if self.walls != "drawn":
            return frozenset((min(a, b), max(a, b)) for a, b in self.walls)
        beside = ((y * width + x, 1) for y, row in enumerate(self.rows[::2]) for x, sign in enumerate(row[1::2]) if sign != " ")
        below = ((y * width + x, width) for y, row in enumerate(self.rows[1::2]) for x, sign in enumerate(row[::2]) if sign != " ")
        return frozenset((cell, cell + on) for cell, on in (*beside, *below))

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the letters draw."""
        width = len(self.letters[0])
        cells: dict[str, list[int]] = {}
        for cell, letter in enumerate("".join(self.letters)):
            if letter != FREE:
                cells.setdefault(letter, []).append(cell)
        return GridLayout(
            width=width,
            height=len(self.letters),
            start=cells[START][0] if self.start is None else self.start,
            places=tuple((name, cell) for key, name in self.legend.items() for cell in cells[key]),
            blocked=frozenset(cells.get(WALL, ())),
            walls=self._walls(width),
            slip=Noise.of(self.slip),
            numbers=tuple(self.numbers.items()),
        )


def _row_problems(rows: Sequence[str]) -> list[str]:
    if not rows or not rows[0]:
        return ["a grid needs at least one row with at least one letter"]
    width = len(rows[0])
    return [
        f"row {i} of the grid, '{row}', has {len(row)} letters and the first has {width}; make all rows equally long"
        for i, row in enumerate(rows, 1)
        if len(row) != width
    ]


def _wall_problems(rows: Sequence[str]) -> list[str]:
    problems = []
    if len(rows) % 2 == 0 or len(rows[0]) % 2 == 0:
        problems.append(
            "between two cells of a grid with drawn walls is a place for one, so rows and their signs are odd in number; "
            f"this one has {len(rows)} rows of {len(rows[0])}"
        )
    for y, row in enumerate(rows):
        between = row[1::2] if y % 2 == 0 else row
        if strange := [sign for sign in between if sign not in " |-+"]:
            problems.append(f"row {y + 1} of the grid has '{strange[0]}' where only a wall ('|', '-', '+') or ' ' can stand")
    return problems


def _start_problems(rows: Sequence[str], start: int | None) -> list[str]:
    starts = sum(row.count(START) for row in rows)
    if start is not None:
        return [f"the start is cell {start} and is drawn as well; remove one of the two"] if starts else []
    if starts == 0:
        return ["the grid has no start; write one 'A' where the agent begins"]
    return [f"the grid has {starts} starts; write exactly one 'A'"] if starts > 1 else []


def _legend_problems(rows: Sequence[str], legend: Mapping[str, str]) -> list[str]:
    problems = []
    for key, name in legend.items():
        if len(key) != 1:
            problems.append(f"the legend key '{key}' has {len(key)} characters; a key is exactly one")
        elif key in _RESERVED:
            problems.append(f"the legend key '{key}' is reserved for {_RESERVED[key]}; use another letter for '{name}'")
        elif not any(key in row for row in rows):
            problems.append(f"the legend entry {key} = '{name}' is never used in the rows; draw it or remove it")
    for letter in dict.fromkeys("".join(rows)):
        if letter not in _RESERVED and letter not in legend:
            problems.append(f"the letter '{letter}' in the rows is not in the legend; add it there or use '.'")
    return problems
