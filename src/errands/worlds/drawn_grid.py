"""The drawn grid of a task file: rows of letters and a legend, checked and turned into a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium as gym

from errands.errors import SpecError
from errands.worlds.base import FiniteWorld
from errands.worlds.grid import GridLayout, grid_table
from errands.worlds.grid_env import GridEnv
from errands.worlds.maps import positive

FREE, WALL, START = ".", "#", "A"
_RESERVED = {FREE: "a free cell", WALL: "a wall", START: "the start"}


@dataclass(frozen=True)
class GridWorld:
    """A grid drawn in letters, top row first: '.' free, '#' wall, 'A' start, any other letter by the legend."""

    rows: Sequence[str]
    legend: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The feature behind each letter."""
    slip: float = 0.0
    limit: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "legend", dict(self.legend))
        problems = [*_row_problems(self.rows), *_legend_problems(self.rows, self.legend)]
        if problems:
            raise SpecError("; ".join(problems), problems)
        positive("limit", self.limit)
        _ = self.layout

    @property
    def kind(self) -> str:
        """The word of task files: grid."""
        return "grid"

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the legend, each once, in its order."""
        return tuple(dict.fromkeys(self.legend.values()))

    @property
    def signals(self) -> tuple[str, ...]:
        """None: a grid reports features only."""
        return ()

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the letters draw."""
        width = len(self.rows[0])
        letters = dict(enumerate("".join(self.rows)))
        return GridLayout(
            width=width,
            height=len(self.rows),
            start=next(cell for cell, letter in letters.items() if letter == START),
            places=tuple(
                (name, cell) for key, name in self.legend.items() for cell, letter in letters.items() if letter == key
            ),
            blocked=frozenset(cell for cell, letter in letters.items() if letter == WALL),
            slip=self.slip,
        )

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this grid."""
        return GridEnv(self.layout, self.limit, render_mode)

    def finite(self) -> FiniteWorld:
        """The grid as flat tables, one state to a cell."""
        return grid_table(self.layout)


def _row_problems(rows: Sequence[str]) -> list[str]:
    if not rows or not rows[0]:
        return ["a grid needs at least one row with at least one letter"]
    width = len(rows[0])
    problems = [
        f"row {i} of the grid, '{row}', has {len(row)} letters and the first has {width}; make all rows equally long"
        for i, row in enumerate(rows, 1)
        if len(row) != width
    ]
    starts = sum(row.count(START) for row in rows)
    if starts == 0:
        problems.append("the grid has no start; write one 'A' where the agent begins")
    elif starts > 1:
        problems.append(f"the grid has {starts} starts; write exactly one 'A'")
    return problems


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
