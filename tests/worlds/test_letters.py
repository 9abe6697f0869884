"""LetterWorld: the published rules, and optima of the published formulas by a search that knows nothing of machines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import errands
from errands.worlds import Letters
from errands.worlds.grid import GridLayout
from errands.worlds.picture import grid_text, strands

Walk = Callable[..., dict[str, int]]


def neighbours(row: int, column: int) -> list[tuple[int, int]]:
    """Up, right, down, left, as the actions are numbered."""
    return [((row + down) % 7, (column + right) % 7) for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1))]


def letters_of(world: Letters) -> dict[tuple[int, int], str]:
    return {(cell // 7, cell % 7): name for name, cell in world.layout.places}


@pytest.mark.parametrize("seed", range(30))
def test_a_map_has_twelve_letters_twice_and_no_letter_is_in_the_way_of_any_cell(seed: int) -> None:
    at = letters_of(Letters(seed))
    assert sorted(at.values()) == sorted("abcdefghijkl" * 2)
    reached, ends = {(0, 0)}, [(0, 0)]
    for place in ends:  # grows while it is gone through
        if place not in at:
            new = [there for there in neighbours(*place) if there not in reached]
            reached.update(new)
            ends += new
    assert len(reached) == 49
    assert (0, 0) not in at


def test_maps_differ_and_every_letter_comes_to_every_cell() -> None:
    maps = [letters_of(Letters(seed)) for seed in range(300)]
    assert len({tuple(sorted(at.items())) for at in maps}) == 300
    counts = np.zeros((7, 7), int)
    for at in maps:
        for place, name in at.items():
            counts[place] += name == "a"
    # Two of each letter on 48 cells: 12.5 on each; a cell's count is hardly ever outside of 12.5 ± 5 standard deviations.
    assert counts[0, 0] == 0
    assert (counts.ravel()[1:] > 0).all()
    assert counts.max() < 31


def test_who_leaves_the_torus_on_one_side_enters_it_on_the_other(walk: Walk) -> None:
    world = Letters(2)
    for cell in range(49):
        assert [divmod(there, 7) for there in world.layout.moves[cell].tolist()] == neighbours(*divmod(cell, 7))
    seen = walk(world.env(), world.finite(), int, draws=False, steps=5_000)
    assert seen["episodes"] == 1 + 5_000 // 75
    assert seen["labels"] > 1_000
    walk(Letters(2, slip=0.2).env(), Letters(2, slip=0.2).finite(), int, draws=False, steps=5_000)


Formula = tuple[Any, ...] | str | bool
A, B, C, D, E, F, G, H, K = "abcdefghk"


def ever(f: Formula) -> Formula:
    return ("until", True, f)


def join(sign: str, parts: set[Formula]) -> Formula:
    """A conjunction or a disjunction without what changes nothing."""
    neutral = sign == "and"
    flat = {q for p in parts for q in (p[1] if isinstance(p, tuple) and p[0] == sign else {p})} - {neutral}
    if (not neutral) in flat:
        return not neutral
    return next(iter(flat)) if len(flat) == 1 else (sign, frozenset(flat)) if flat else neutral


@cache
def after(f: Formula, letter: str) -> Formula:
    """What is left of a formula when a step has shown one letter, or none ("")."""
    if isinstance(f, bool):
        return f
    if isinstance(f, str):
        return f == letter
    match f:
        case ("not", p):
            return not after(p, letter)
        case ("until", p, q):
            return join("or", {after(q, letter), join("and", {after(p, letter), f})})
        case (sign, parts):
            return join(sign, {after(p, letter) for p in parts})
    raise ValueError(f)


def both(*parts: Formula) -> Formula:
    return join("and", set(parts))


def one_of(*parts: Formula) -> Formula:
    return join("or", set(parts))


def until(first: Formula, then: Formula) -> Formula:
    return ("until", first, then)


PUBLISHED = {
    "F (a & (!b U c)) & F d": both(ever(both(A, until(("not", B), C))), ever(D)),
    "(F d) & (!f U (d & F b))": both(ever(D), until(("not", F), both(D, ever(B)))),
    "(F ((a | c | j) & F b)) & (F (c & F d)) & F k": both(ever(both(one_of(A, C, "j"), ever(B))), ever(both(C, ever(D))), ever(K)),
    "!a U (b & (!c U (d & (!e U f))))": until(("not", A), both(B, until(("not", C), both(D, until(("not", E), F))))),
    "((a | b | c | d) => F (e & (F (f & F g)))) U (h & F i)": until(
        one_of(("not", one_of(A, B, C, D)), ever(both(E, ever(both(F, ever(G)))))), both(H, ever("i"))
    ),
}  # fmt: skip


def shortest(world: Letters, formula: Formula) -> int | None:
    """Breadth first over places and what is left of the formula."""
    at = letters_of(world)
    seen, border, steps = {((0, 0), formula)}, [((0, 0), formula)], 0
    while border:
        steps, following = steps + 1, []
        for place, left in border:
            for there in neighbours(*place):
                then = after(left, at.get(there, ""))
                if then is True:
                    return steps
                if then is not False and (there, then) not in seen:
                    seen.add((there, then))
                    following.append((there, then))
        border = following
    return None


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_optima_of_deepltls_formulas_are_those_of_a_search_over_the_formula_itself(text: str) -> None:
    machine = errands.from_ltlf(text)
    for seed in range(25):
        best = errands.optimum(errands.Task("formula", Letters(seed), machine), orders=False)
        assert best.length == shortest(Letters(seed), PUBLISHED[text])


def test_six_letters_in_any_order_are_six_eventualities() -> None:
    assert [errands.optimum(errands.load("letters-6", seed)).length for seed in range(5)] == [
        shortest(Letters(seed), both(*map(ever, "abcdef"))) for seed in range(5)
    ]


def test_ways_over_the_edge_are_drawn_half_a_cell_out_and_in_again() -> None:
    layout = GridLayout(7, 7, 0, wraps=True)
    assert strands(layout, [1, 0, 6, 48]) == [
        [(1.5, 0.5), (0.5, 0.5), (0.0, 0.5)], [(7.0, 0.5), (6.5, 0.5), (6.5, 0.0)], [(6.5, 7.0), (6.5, 6.5)]
    ]  # fmt: skip
    assert strands(GridLayout(3, 1, 0), [0, 1, 2]) == [[(0.5, 0.5), (1.5, 0.5), (2.5, 0.5)]]
    assert grid_text(GridLayout(2, 2, 0, wraps=True), 0) == "+...+\n:@ .:\n:. .:\n+...+\n"
