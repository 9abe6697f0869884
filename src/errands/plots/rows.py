"""The heights of the slots of a picture: lines as straight as the order and the room of each slot allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pull:
    """A line to a slot further right that wants both level: y[left] + left_offset = y[right] + right_offset."""

    left: int
    right: int
    weight: float
    firm: bool = False
    """Whether the line is the only one at both of its ends."""
    left_offset: float = 0.0
    right_offset: float = 0.0


def rows(
    columns: Sequence[Sequence[int]], room: Sequence[tuple[float, float]], pulls: Sequence[Pull], sweeps: int = 44
) -> list[float]:
    """The height of each slot: least squares for balance first, then medians, which make lines exactly straight.

    Every column is solved exactly while the others rest: `room` (above, below) of neighbours never overlaps.
    In the sweeps with medians firm lines coming from behind pull hardest, which carries a level through a whole chain.
    """
    height = _stacked(columns, room)
    for sweep in range(sweeps):
        rightward, balancing = sweep % 2 == 0, sweep < sweeps - 13
        wants = _wants(len(room), pulls, rightward, 1.0 if balancing else 20.0)
        centre = _mean if balancing else _median
        for column in columns if rightward else reversed(columns):
            gaps = _depths(column, room)
            wanted = [[(height[o] + d - gap, w) for o, d, w in wants[s]] for s, gap in zip(column, gaps, strict=True)]
            current = [height[s] - gap for s, gap in zip(column, gaps, strict=True)]
            for slot, gap, y in zip(column, gaps, _pool(wanted, current, centre), strict=True):
                height[slot] = y + gap
    return height


def _wants(count: int, pulls: Sequence[Pull], rightward: bool, lead: float) -> list[list[tuple[int, float, float]]]:
    """For each slot the slots it wants to be level with, by how much apart, and how strongly."""
    wants: list[list[tuple[int, float, float]]] = [[] for _ in range(count)]
    for pull in pulls:
        apart = pull.right_offset - pull.left_offset
        ahead, behind = pull.weight, pull.weight * (lead if pull.firm else 1.0)
        wants[pull.left].append((pull.right, apart, ahead if rightward else behind))
        wants[pull.right].append((pull.left, -apart, behind if rightward else ahead))
    return wants


def _depths(column: Sequence[int], room: Sequence[tuple[float, float]]) -> list[float]:
    """How far each slot lies under the first one when all of them touch."""
    depths, depth = [], 0.0
    for i, slot in enumerate(column):
        depth += room[slot][0] + room[column[i - 1]][1] if i else 0.0
        depths.append(depth)
    return depths


def _stacked(columns: Sequence[Sequence[int]], room: Sequence[tuple[float, float]]) -> list[float]:
    height = [0.0] * len(room)
    for column in columns:
        depths = _depths(column, room)
        for slot, depth in zip(column, depths, strict=True):
            height[slot] = depth - depths[-1] / 2
    return height


_Wanted = list[tuple[float, float]]
"""Heights that a slot is pulled to, with their weights."""
_Centre = Callable[[_Wanted, float], float]


def _pool(wanted: list[_Wanted], current: list[float], centre: _Centre) -> list[float]:
    """Isotonic regression by pooling: the non-decreasing heights nearest to the wanted ones."""
    pools: list[tuple[float, _Wanted, list[float]]] = []
    for wish, now in zip(wanted, current, strict=True):
        pool = (centre(wish, now), wish, [now])
        while pools and pools[-1][0] > pool[0]:
            _, earlier, places = pools.pop()
            joined, places = earlier + pool[1], places + pool[2]
            pool = (centre(joined, sum(places) / len(places)), joined, places)
        pools.append(pool)
    return [y for y, _, places in pools for _ in places]


def _mean(wanted: _Wanted, now: float) -> float:
    total = sum(weight for _, weight in wanted)
    return sum(y * weight for y, weight in wanted) / total if total else now


def _median(wanted: _Wanted, now: float) -> float:
    """The weighted median; where a whole interval is optimal, the point of it nearest to where the slot is now."""
    half = sum(weight for _, weight in wanted) / 2
    seen = 0.0
    low: float | None = None
    for y, weight in sorted(wanted):
        seen += weight
        if low is None and seen >= half - 1e-9:
            low = y
        if seen > half + 1e-9:
            return now if low is None else min(max(now, low), y)
    return now
