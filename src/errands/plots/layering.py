"""Layers of a machine's drawing: which column a state stands in, and in which order the states of a column."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from errands.machines.graph import MachineGraph


@dataclass(frozen=True)
class Arrow:
    """All edges from one state to another one, drawn as one line with their labels stacked."""

    source: int
    target: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Slot:
    """One place in a column: a block of states, the label of an arrow, or (neither) a line passing by."""

    column: int
    block: int | None = None
    arrow: int | None = None


@dataclass(frozen=True)
class Link:
    """A piece of line between slots of neighbouring columns; a member is the place of a state in its block."""

    left: int
    right: int
    left_member: int = 0
    right_member: int = 0


@dataclass(frozen=True)
class Layers:
    """Blocks of states, slots in columns (even ones hold states, odd ones labels) and each arrow's way through them."""

    blocks: tuple[tuple[int, ...], ...]
    arrows: tuple[Arrow, ...]
    loops: dict[int, tuple[str, ...]]
    slots: tuple[Slot, ...]
    columns: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...]
    routes: tuple[tuple[int, ...], ...]
    """For each arrow the slots from its source to its target."""


def layers(graph: MachineGraph) -> Layers:
    """Cut a machine into columns; arrows that close a cycle run from right to left."""
    arrows, loops = _merge(graph)
    blocks = _blocks(graph, arrows)
    home = {node: (b, m) for b, block in enumerate(blocks) for m, node in enumerate(block)}
    starts = [b for b, block in enumerate(blocks) if any(graph.nodes[node].initial for node in block)]
    ranks = _ranks(len(blocks), [(home[a.source][0], home[a.target][0]) for a in arrows], starts)
    slots = [Slot(2 * rank, block=b) for b, rank in enumerate(ranks)]
    trunks: dict[tuple[int, int, int], int] = {}
    links: dict[Link, None] = {}
    routes = []
    for number, arrow in enumerate(arrows):
        (source, first), (target, last) = home[arrow.source], home[arrow.target]
        step = 1 if ranks[source] < ranks[target] else -1
        route = [source, len(slots)]
        slots.append(Slot(2 * ranks[source] + step, arrow=number))
        # Long arrows into one state share their line: the labels stand where they still differ.
        for column in range(2 * ranks[source] + 2 * step, 2 * ranks[target], step):
            route.append(trunks.setdefault((arrow.target, step, column), len(slots)))
            if route[-1] == len(slots):
                slots.append(Slot(column))
        route.append(target)
        stops = zip(route, [first] + [0] * (len(route) - 2) + [last], strict=True)
        for (a, i), (b, j) in pairwise(stops):
            links[Link(a, b, i, j) if step > 0 else Link(b, a, j, i)] = None
        routes.append(tuple(route))
    width = max((slot.column for slot in slots), default=-1) + 1
    columns = tuple(tuple(i for i, slot in enumerate(slots) if slot.column == c) for c in range(width))
    return Layers(blocks, arrows, loops, tuple(slots), columns, tuple(links), tuple(routes))


def _merge(graph: MachineGraph) -> tuple[tuple[Arrow, ...], dict[int, tuple[str, ...]]]:
    labels: dict[tuple[int, int], list[str]] = defaultdict(list)
    for edge in graph.edges:
        labels[edge.source, edge.target].append(f"⟨{edge.guard}; {edge.reward}⟩")
    arrows = tuple(Arrow(s, t, tuple(texts)) for (s, t), texts in labels.items() if s != t)
    return arrows, {s: tuple(texts) for (s, t), texts in labels.items() if s == t}


def _blocks(graph: MachineGraph, arrows: Iterable[Arrow]) -> tuple[tuple[int, ...], ...]:
    """Coupled groups as one block each, other states alone; a group with arrows inside cannot be stacked."""
    group = [node.group for node in graph.nodes]
    tangled = {group[a.source] for a in arrows if group[a.source] == group[a.target]}
    blocks: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for index, name in enumerate(group):
        alone = name is None or name in tangled
        blocks[alone, index if name is None or alone else name].append(index)
    return tuple(tuple(block) for block in blocks.values())


def _ranks(count: int, edges: Iterable[tuple[int, int]], starts: Iterable[int]) -> list[int]:
    """The longest way from a start to each block once arrows that close a cycle are turned round."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in dict.fromkeys(edges):
        following[source].append(target)
    done: dict[int, None] = {}
    forward: list[list[int]] = [[] for _ in range(count)]
    for root in [*starts, *range(count)]:
        _explore(root, following, forward, done)
    ranks = [0] * count
    # The order in which a depth-first search leaves blocks, reversed, is a topological one: when a block passes its
    # rank on, that is final.
    for block in reversed(done):
        for target in forward[block]:
            ranks[target] = max(ranks[target], ranks[block] + 1)
    return ranks


def _explore(root: int, following: list[list[int]], forward: list[list[int]], done: dict[int, None]) -> None:
    """Depth-first search that writes each edge into `forward`, turned round if it meets a block still open."""
    if root in done:
        return
    # The blocks still open, in order: a stack that can also be asked quickly who is on it.
    path = {root: iter(following[root])}
    while path:
        block, ways = next(reversed(path.items()))
        target = next(ways, None)
        if target is None:
            done[block] = None
            del path[block]
        elif target in path:
            forward[target].append(block)
        else:
            forward[block].append(target)
            if target not in done:
                path[target] = iter(following[target])


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
            # The place that would make the link level, its ends being members at some height within their blocks.
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
            # Links by their right end: each crosses those before it whose left end lies further down.
            total += len(seen) - bisect_right(seen, left_end)
            insort(seen, left_end)
    return total
