"""Tasks with rules between their parts: the exact optimum against a search of its own, over cells and what remains."""

from __future__ import annotations

import random
from collections import deque

import pytest

from errands.errors import SpecError
from errands.learners import make_learner
from errands.oracle.certificate import certificate
from errands.oracle.one_policy import one_policy_per_subtask
from errands.oracle.optimum import optimum
from errands.tasks import Task

from ..probes import grid

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
TWO, THREE = (("a", "b"), ("c", "d")), (("a", "b"), ("c", "d"), ("e", "f"))
PHRASES = {
    "pairs": ("any_order(sequence(a, b), sequence(c, d))", TWO, None, None),
    "three pairs": ("any_order(sequence(a, b), sequence(c, d), sequence(e, f))", THREE, None, None),
    "one at a time": ("any_order(sequence(a, b), sequence(c, d), one_at_a_time=true)", TWO, 1, None),
    "two at once": ("any_order(sequence(a, b), sequence(c, d), sequence(e, f), capacity=2)", THREE, 2, None),
    "choose": ("any_order(a, b, c, d, choose=2)", (("a",), ("b",), ("c",), ("d",)), None, 2),
    "either": ("either(sequence(a, b), sequence(c, d))", TWO, None, 1),
}
"""A phrase, and what it means: parts that are lists to be done in order, how many may be begun, how many are enough."""


def drawn(chance: random.Random, phrase: str, letters: str = "abcdef") -> tuple[list[str], Task]:
    """A random map with every letter somewhere, and the task on it."""
    height, width = chance.randint(3, 4), chance.randint(3, 5)
    cells = ["#" if chance.random() < 0.15 else "." for _ in range(height * width)]
    for letter, at in zip("A" + letters, chance.sample(range(height * width), 1 + len(letters)), strict=True):
        cells[at] = letter
    rows = ["".join(cells[y * width : (y + 1) * width]) for y in range(height)]
    return rows, grid(rows, {x: x for x in letters}, phrase)


def by_hand(
    rows: list[str], parts: tuple[tuple[str, ...], ...], capacity: int | None, choose: int | None
) -> int | None:
    """The fewest steps by breadth-first search over the cell and how far each part is; no machine is used."""
    width, height = len(rows[0]), len(rows)
    start = next((y, x) for y in range(height) for x in range(width) if rows[y][x] == "A")
    queue, seen = deque([(start, (0,) * len(parts), 0)]), {(start, (0,) * len(parts))}
    while queue:
        (y, x), done, steps = queue.popleft()
        for dy, dx in MOVES:
            there = (y + dy, x + dx)
            if not (0 <= there[0] < height and 0 <= there[1] < width) or rows[there[0]][there[1]] == "#":
                there = (y, x)
            after = advanced(done, rows[there[0]][there[1]], parts, capacity)
            if sum(d == len(p) for d, p in zip(after, parts, strict=True)) >= (choose or len(parts)):
                return steps + 1
            if (there, after) not in seen:
                seen.add((there, after))
                queue.append((there, after, steps + 1))
    return None


def advanced(
    done: tuple[int, ...], letter: str, parts: tuple[tuple[str, ...], ...], capacity: int | None
) -> tuple[int, ...]:
    begun = sum(0 < d < len(p) for d, p in zip(done, parts, strict=True))
    for i, (d, part) in enumerate(zip(done, parts, strict=True)):
        if d < len(part) and part[d] == letter and (d > 0 or capacity is None or begun < capacity):
            return (*done[:i], d + 1, *done[i + 1 :])
    return done


@pytest.mark.parametrize("name", PHRASES)
def test_the_optimum_is_that_of_a_search_over_cells_and_parts(name: str) -> None:
    """6 x 100 random maps; some 500 have no letter behind walls."""
    phrase, parts, capacity, choose = PHRASES[name]
    chance = random.Random(name)
    solved = 0
    for _ in range(100):
        try:
            rows, task = drawn(chance, phrase, "".join(x for part in parts for x in part))
        except SpecError:  # a letter behind walls is refused when the task is made
            continue
        expected = by_hand(rows, parts, capacity, choose)
        assert optimum(task, orders=False).length == expected
        solved += expected is not None
    assert solved >= 40


def test_separate_visits_leave_the_cell_in_between() -> None:
    """a, out, a, out, a: 1 + 2 + 2 steps; with b two cells beyond, b is one of the ways out: 1 + 2 + 2 + ..."""
    assert optimum(grid(["Aa."], {"a": "a"}, "repeat(a, 3)")).length == 5
    assert optimum(grid(["Aa."], {"a": "a"}, "any_order(repeat(a, 3))")).length == 5
    assert optimum(grid(["Aab"], {"a": "a", "b": "b"}, "any_order(repeat(a, 2), b)")).length == 3
    assert optimum(grid(["Aab"], {"a": "a", "b": "b"}, "any_order(repeat(a, 3), b)")).length == 5


LEARNERS = {
    "qrm": 40_000,
    "crm": 20_000,
    "hrm": 60_000,
    "qcorm": 40_000,
    "qcorm-plus": 8_000,
    "scout": 4_000,
    "dirl": 60_000,
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("phrase", "length"),
    [
        ("any_order(sequence(a, b), sequence(c, d))", 6),
        ("any_order(sequence(a, b), sequence(c, d), one_at_a_time=true)", 6),
        ("any_order(a, b, c, d, choose=2)", 2),
        ("any_order(repeat(a, 2), c)", 5),
    ],
)
def test_every_learner_does_tasks_with_rules(learner: str, phrase: str, length: int) -> None:
    task = grid(["b.d", "aAc"], {x: x for x in "abcd"}, phrase)
    best = optimum(task)
    assert best.length == length
    trained = make_learner(task, learner)
    trained.advance(LEARNERS[learner])
    proof = certificate(trained.policy, task, claim=trained.claim if learner == "scout" else None)
    assert proof.success == 1.0
    assert proof.length >= best.length
    if learner in ("scout", "qcorm-plus", "crm"):
        assert proof.length == best.length


def test_one_policy_per_subtask_is_solved_with_rules() -> None:
    task = grid(["b.d", "aAc"], {x: x for x in "abcd"}, "any_order(sequence(a, b), sequence(c, d))")
    found = one_policy_per_subtask(task)
    assert found.length == optimum(task).length
