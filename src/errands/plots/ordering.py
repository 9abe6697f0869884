"""The order of the slots of each column, top to bottom, so that few lines of a picture cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from itertools import pairwise

from errands.plots.layering import Layers

_Order = list[list[int]]
_Ends = dict[int, list[tuple[int, float, float]]]
"""For each slot the slots linked to it on one side, with the member's place there and here as a fraction."""


def order(layers: Layers, sweeps: int = 16) -> _Order:
    """The best order found by sweeping to and fro with barycentres and then exchanging neighbours."""
    ends = _ends(layers)
    columns = [list(column) for column in layers.columns]
    best, fewest = columns, _crossings(columns, ends[0])
    for sweep in range(sweeps):
        rightward = sweep % 2 == 0
        columns = _sweep(columns, ends[0 if rightward else 1], rightward)
        _exchange(columns, ends)
        crossings = _crossings(columns, ends[0])
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    return best


def _ends(layers: Layers) -> tuple[_Ends, _Ends]:
    left: _Ends = defaultdict(list)
    right: _Ends = defaultdict(list)
    for link in layers.links:
        here, there = _fraction(layers, link.left, link.left_member), _fraction(layers, link.right, link.right_member)
        right[link.left].append((link.right, there, here))
        left[link.right].append((link.left, here, there))
    return left, right


def _fraction(layers: Layers, slot: int, member: int) -> float:
    block = layers.slots[slot].block
    return 0.0 if block is None else member / len(layers.blocks[block])


def _sweep(columns: _Order, ends: _Ends, rightward: bool) -> _Order:
    """Each column sorted by the mean place of what it is linked to in the column before it."""
    result = [list(column) for column in columns]
    path = range(1, len(result)) if rightward else range(len(result) - 2, -1, -1)
    for c in path:
        place = _places(result[c - 1 if rightward else c + 1])
        own = _places(result[c])
        keys = {}
        for slot in result[c]:
            linked = [place[other] + there - here for other, there, here in ends[slot]]
            keys[slot] = sum(linked) / len(linked) if linked else own[slot]
        result[c].sort(key=lambda slot: (keys[slot], own[slot]))
    return result


def _places(column: list[int]) -> dict[int, float]:
    return {slot: float(i) for i, slot in enumerate(column)}


def _exchange(columns: _Order, ends: tuple[_Ends, _Ends]) -> None:
    """Swap neighbours in place as long as a swap removes crossings, at most a few rounds."""
    places = [_places(column) for column in columns]
    for _ in range(4):
        improved = False
        for c, column in enumerate(columns):
            for i in range(len(column) - 1):
                if _gain(column[i], column[i + 1], c, places, ends) > 0:
                    column[i], column[i + 1] = column[i + 1], column[i]
                    places[c][column[i]], places[c][column[i + 1]] = float(i), float(i + 1)
                    improved = True
        if not improved:
            return


def _gain(upper: int, lower: int, c: int, places: list[dict[int, float]], ends: tuple[_Ends, _Ends]) -> int:
    """How many crossings disappear when two neighbours of column c change places."""
    gain = 0
    for side, other in ((0, c - 1), (1, c + 1)):
        if 0 <= other < len(places):
            above = [places[other][slot] + there for slot, there, _ in ends[side][upper]]
            below = [places[other][slot] + there for slot, there, _ in ends[side][lower]]
            gain += sum((a > b) - (a < b) for a in above for b in below)
    return gain


def _crossings(columns: _Order, left: _Ends) -> int:
    """The number of pairs of links that cross, over all pairs of neighbouring columns."""
    total = 0
    for before, column in pairwise(columns):
        place = _places(before)
        ends = ((i, end) for i, slot in enumerate(column) for end in left[slot])
        pairs = sorted((i + here, place[other] + there) for i, (other, there, here) in ends)
        seen: list[float] = []
        for _, left_end in pairs:
            total += len(seen) - bisect_right(seen, left_end)
            insort(seen, left_end)
    return total
