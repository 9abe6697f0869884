"""Random tasks for Scout, and a judge that shares no code with it: plain breadth-first search over sets of names."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from errands.errors import SpecError
from errands.machines import NumericRM
from errands.tables import WorldTable
from errands.tasks import Task
from errands.tasks.phrases import any_order, avoid, sequence
from errands.worlds import FiniteWorld
from errands.worlds.base import Described

NAMES = "abcdefgh"


@dataclass(frozen=True)
class Maze(Described):
    """A world that is nothing but its table."""

    world: FiniteWorld
    features: tuple[str, ...]
    limit: int = 80
    kind: str = "maze"
    signals: tuple[str, ...] = ()

    def env(self, render_mode: str | None = None) -> Any:
        raise NotImplementedError("a maze is a table only")

    def finite(self) -> FiniteWorld:
        return self.world


def maze(draw: random.Random, fatal: bool, single: bool) -> Maze:
    """A grid with walls, one-way doors, jumps, features on several cells unless single, and steps that end the world."""
    width, height = draw.randint(3, 6), draw.randint(3, 5)
    cells = width * height
    following = np.zeros((cells, 4, 1), np.int32)
    ends = np.zeros((cells, 4, 1), np.bool_)
    one_way, walls = draw.choice([0, 0, 0.1]), draw.choice([0, 0.1, 0.2])
    closed = {(c, a) for c in range(cells) for a in (0, 1) if draw.random() < walls}
    for c in range(cells):
        for a, (dx, dy) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
            x, y = c % width + dx, c // width + dy
            there = y * width + x if 0 <= x < width and 0 <= y < height else c
            shut = (c, a) in closed or (there, (a + 2) % 4) in closed or draw.random() < one_way
            following[c, a, 0] = c if shut else there
            if draw.random() < one_way / 3:
                following[c, a, 0] = draw.randrange(cells)
            ends[c, a, 0] = fatal and draw.random() < 0.03
    on: list[set[str]] = [set() for _ in range(cells)]
    for name in NAMES:
        for _ in range(1 if single else draw.choice([1, 1, 2, 3])):
            spots = [spot for spot in on if not spot] if draw.random() < 0.9 else []
            draw.choice(spots or on).add(name)
    sets = list(dict.fromkeys([frozenset(), *map(frozenset, on)]))
    label = np.array([sets.index(frozenset(names)) for names in on], np.int32)
    start = draw.randrange(cells)
    table = WorldTable(
        starts=np.array([start], np.int32),
        start_cumulative=np.ones(1),
        start_label=label[[start]],
        next=following,
        cumulative=np.ones(following.shape),
        label=label[following],
        ends=ends,
        signal=np.zeros((0, *following.shape)),
    )
    return Maze(FiniteWorld(table, tuple(sets)), tuple(NAMES))


def phrase(draw: random.Random) -> NumericRM:
    """Groups one after the other, with before and after, perhaps with something to avoid."""
    names = draw.sample(NAMES, len(NAMES))
    parts: list[Any] = []
    for _ in range(draw.randint(1, 3)):
        items = draw.sample(names[:6], draw.randint(1, 4))
        others = [n for n in names if n not in items]
        before = draw.choice([None, None, others[0]])
        after = draw.choice([None, None, others[1], others[0]])
        parts.append(any_order(*items, before=before, after=after) if draw.random() < 0.8 else items[0])
    whole = sequence(*parts)
    return avoid(names[7], whole) if draw.random() < 0.4 else whole


def wild(draw: random.Random) -> NumericRM:
    """A machine of random transitions with negations and cycles."""
    while True:
        lines = []
        for u in range(3):
            for guard in draw.sample([f"a & ~{draw.choice('bc')}", "b & ~a", "c & ~a & ~b", "~d & e & ~a & ~b & ~c"], 2):
                lines.append(f"u{u} -> u{draw.choice([v for v in range(5) if v != u])} : {guard} ; {draw.choice([0, 1])}")
        try:
            return NumericRM.of("u0", ["u3"], lines, ["u4"] if any("u4" in line for line in lines) else [])
        except SpecError:
            continue


def task(seed: int, single: bool = False) -> Task:
    """The random task of a seed; single: every feature stands on one cell."""
    draw = random.Random(seed)
    machine = wild(draw) if seed % 5 == 4 else phrase(draw)
    return Task(f"maze-{seed}", maze(draw, seed % 2 == 1, single), machine)


def ordered(seed: int) -> tuple[Task, list[str], list[tuple[str, str]]]:
    """A random task whose subtasks have predecessors, with its items in declared order and the pairs (before, after)."""
    draw = random.Random(f"ordered {seed}")
    items = draw.sample(NAMES, draw.randint(3, 6))
    ranks = draw.sample(range(len(items)), len(items))
    pairs = [(a, b) for i, a in enumerate(items) for j, b in enumerate(items) if ranks[i] < ranks[j] and draw.random() < 0.4]
    lines = ["u0 -> u0 : n↓ ; 0", "u0 -> u1 : n⤓ ; 1"]
    machine = NumericRM.of("u0", ["u1"], lines, numeric={"n": items}, before=pairs)
    return Task(f"ordered-{seed}", maze(draw, False, False), machine), items, pairs


def shortest_ordered(given: Task, items: list[str], pairs: list[tuple[str, str]]) -> float:
    """Fewest steps to success by plain search over (cell, items done): a step does the first open item that is true."""
    world = given.finite
    assert world is not None
    first: tuple[int, frozenset[str]] = (int(world.table.starts[0]), frozenset())
    queue, seen = deque([(first, 0)]), {first}
    while queue:
        (s, done), steps = queue.popleft()
        for a in range(world.actions):
            true = world.labels[world.table.label[s, a, 0]]
            ready = [i for i in items if i in true and i not in done and all(p in done for p, q in pairs if q == i)]
            node = (int(world.table.next[s, a, 0]), done | set(ready[:1]))
            if len(node[1]) == len(items):
                return steps + 1
            if not world.table.ends[s, a, 0] and node not in seen:
                seen.add(node)
                queue.append((node, steps + 1))
    return float("inf")


def shortest(given: Task) -> float:
    """Fewest steps to success, by the machine's own definition and a search that knows nothing of Scout."""
    world = given.finite
    assert world is not None
    table, machine = world.table, given.machine
    first = (int(table.starts[0]), machine.initial, tuple(names for _, names in machine.numeric))
    queue, seen = deque([(first, 0)]), {first}
    while queue:
        (s, u, left), steps = queue.popleft()
        for a in range(world.actions):
            features = world.labels[table.label[s, a, 0]]
            state, rest = after(machine, u, left, features)
            if state in machine.success:
                return steps + 1
            node = (int(table.next[s, a, 0]), state, rest)
            if state not in machine.failure and not table.ends[s, a, 0] and node not in seen:
                seen.add(node)
                queue.append((node, steps + 1))
    return float("inf")


def after(machine: NumericRM, u: str, left: tuple[tuple[str, ...], ...], features: frozenset[str]) -> tuple[str, Any]:
    """The machine after one step, counts kept as tuples of names."""
    from errands.features import Change, holds

    names = [name for name, _ in machine.numeric]
    changes = {n: Change.UNCHANGED if rest else Change.REACHED for n, rest in zip(names, left, strict=True)}
    for v, name in enumerate(names):
        done = [n for n in left[v] if n in features] if name in machine.completing[u] else []
        if done:
            left = (*left[:v], tuple(n for n in left[v] if n != done[0]), *left[v + 1 :])
            changes[name] = Change.DECREASED if left[v] else Change.REACHED
            break
    chosen = next((t for t in machine.leaving[u] if holds(t.guard, features, changes)), None)
    return (chosen.target if chosen else u), left
