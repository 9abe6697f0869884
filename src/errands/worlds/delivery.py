"""Delivery (Section 6, Figure 1): bring every box to the station, one at a time, on a random square grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from errands.errors import TaskError
from errands.worlds.base import Count, FiniteWorld, Limit, Probability, Seed, one_start
from errands.worlds.grid import GridLayout, distinct_cells, outcomes
from errands.worlds.grid_world import GridEnv, Info
from errands.worlds.places import Scattered
from errands.worlds.saving import Saved

MAX_STATES = 5_000_000


@dataclass(frozen=True, init=False)
class Delivery(Scattered):
    """Station `s`, boxes `b1`..`bN` and the start on distinct random cells; more boxes on a map only add to it.

    The grid has 10 x 10 cells up to 30 boxes, then the smallest size with four cells to a box (64 boxes: 16 x 16). The
    compact table of `finite()` has every box in place: the task layer removes what the machine completed.
    """

    kind: ClassVar[str] = "delivery"
    boxes: int
    map_seed: int
    size: int
    slip: float
    limit: int

    def __init__(
        self, boxes: Count = 2, map_seed: Seed = 0, size: Count | None = None, slip: Probability = 0.0, limit: Limit | None = None
    ) -> None:
        self.settle({"boxes": boxes}, 1, map_seed, size, slip, limit)

    @property
    def features(self) -> tuple[str, ...]:
        """The boxes b1..bN, then the station s."""
        return (*(f"b{i}" for i in range(1, self.boxes + 1)), "s")

    @cached_property
    def layout(self) -> GridLayout:
        """The plan that the map seed draws: start, station, then the boxes in order."""
        start, station, *boxes = distinct_cells(self.map_seed, self.size * self.size, self.boxes + 2)
        places = zip(self.features, (*boxes, station), strict=True)
        return GridLayout(self.size, self.size, start, tuple(places), slip=self.slip)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment in which boxes are taken and delivered."""
        return DeliveryEnv(self, render_mode)

    def expanded(self) -> FiniteWorld:
        """The exact table over (boxes left, carrying, cell), which needs no machine to know what was taken."""
        predicted = self.layout.cells << (self.boxes + 1)
        if predicted > MAX_STATES:
            raise TaskError(
                f"delivery with {self.boxes} boxes expands to {predicted:,} states and at most {MAX_STATES:,} are "
                "built; use the compact table of finite(), or fewer boxes"
            )
        return _expand(self)


def enter(delivery: Delivery, cell: int, carrying: bool, left: int) -> tuple[frozenset[str], bool, int]:
    """Delivery's rule on entering a cell: its features, whether a box is carried then, and the mask of boxes left."""
    features = delivery.layout.features_at(cell)
    if "s" in features:
        return features, False, left
    # At most one box stands on a cell. A box that is passed while another is carried is reported and stays.
    for name in features:
        bit = 1 << (int(name[1:]) - 1)
        if not left & bit:
            return frozenset(), carrying, left
        return features, True, left if carrying else left & ~bit
    return features, carrying, left


def _expand(delivery: Delivery) -> FiniteWorld:
    layout, full = delivery.layout, (1 << delivery.boxes) - 1
    cells = layout.cells
    labels = (frozenset[str](), *(frozenset({name}) for name in delivery.features))
    number = {features: i for i, features in enumerate(labels)}
    special = [cell for _, cell in layout.places]
    reached, cumulative = outcomes(layout)
    # A state is block * cells + cell, and a block is 2 * (mask of boxes left) + carrying: the first bit is the hand.
    blocks = 2 * (full + 1)
    # [block, cell]: the state in which entering this cell ends, when it is entered from this block.
    entered = np.empty((blocks, cells), np.int32)
    label = np.zeros((blocks, cells), np.int32)
    for block in range(blocks):
        entered[block] = block * cells + np.arange(cells)
        for cell in special:
            features, carrying, left = enter(delivery, cell, bool(block & 1), block >> 1)
            entered[block, cell] = (2 * left + carrying) * cells + cell
            label[block, cell] = number[features]
    shape = (blocks * cells, *reached.shape[1:])
    following, shown = entered[:, reached].reshape(shape), label[:, reached].reshape(shape)
    shares = np.broadcast_to(cumulative, (blocks, *cumulative.shape)).reshape(shape).copy()
    table = one_start(2 * full * cells + layout.start, following, shown, cumulative=shares)
    return FiniteWorld(table, labels, cell=np.tile(np.arange(cells, dtype=np.int32), blocks))


class DeliveryEnv(GridEnv):
    """The grid with Delivery's own rule: entering a box empty-handed takes it, the station receives it."""

    def __init__(self, delivery: Delivery, render_mode: str | None = None) -> None:
        super().__init__(delivery.layout, delivery.limit, render_mode)
        self.delivery = delivery
        self.observation_space = gym.spaces.Dict(
            cell=gym.spaces.Discrete(delivery.layout.cells),
            carrying=gym.spaces.Discrete(2),
            boxes=gym.spaces.MultiBinary(delivery.boxes),
        )
        self.carrying = False
        self.left = (1 << delivery.boxes) - 1

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Back to the start with every box in its place."""
        self.carrying, self.left = False, (1 << self.delivery.boxes) - 1
        return super().reset(seed=seed, options=options)

    def observe(self) -> Any:
        """The cell, whether a box is carried, and which boxes are still in their places."""
        boxes = np.array([self.left >> i & 1 for i in range(self.delivery.boxes)], np.int8)
        return {"cell": self.cell, "carrying": int(self.carrying), "boxes": boxes}

    def enter(self) -> frozenset[str]:
        """Take or deliver; a box is reported by the step that takes it and gone afterwards."""
        features, self.carrying, self.left = enter(self.delivery, self.cell, self.carrying, self.left)
        return features

    def hidden(self) -> frozenset[str]:
        """The boxes that were taken."""
        return frozenset(f"b{i + 1}" for i in range(self.delivery.boxes) if not self.left >> i & 1)

    def save(self) -> Saved:
        """The full state as plain data."""
        return {**super().save(), "carrying": self.carrying, "left": self.left}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        super().restore(saved)
        self.carrying, self.left = saved["carrying"], saved["left"]
