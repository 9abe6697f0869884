"""What a world promises: features it can report, a Gymnasium environment, and flat tables where it is finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from errands.tables import WorldTable


@dataclass(frozen=True)
class FiniteWorld:
    """A finite world as tables, with the names behind the numbers."""

    table: WorldTable
    labels: tuple[frozenset[str], ...]
    """The feature set behind each label index; features are positions, nothing is removed here."""
    signals: tuple[str, ...] = ()
    """The name behind each row of `table.signal`."""

    @property
    def states(self) -> int:
        """The number of world states."""
        return int(self.table.next.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.table.next.shape[1])

    @property
    def certain(self) -> bool:
        """Whether every move has one outcome and every episode one start."""
        return self.table.next.shape[2] == 1 and len(self.table.starts) == 1


@runtime_checkable
class World(Protocol):
    """A frozen description of a world, from which environments and tables are made; it knows no machine."""

    @property
    def kind(self) -> str:
        """The word used in task files: grid, delivery, office, visit, water, cheetah, gymnasium."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all Boolean features that the world can report."""
        ...

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the numbers it reports in `info["signals"]`."""
        ...

    @property
    def limit(self) -> int:
        """Steps after which an episode is truncated."""
        ...

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this world."""
        ...

    def finite(self) -> FiniteWorld | None:
        """The world as flat tables; None where it is not finite."""
        ...
