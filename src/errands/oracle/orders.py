"""How many orders of subtasks are optimal: words of the shortest-episode graph, each counted once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from errands.kernels.search import DEAD, DONE
from errands.kernels.stepping import advance
from errands.oracle.product import Product
from errands.oracle.values import least_steps
from errands.tables import Floats

MOST_SUBTASKS = 8
MOST_STATES = 200_000


Word = tuple[int, ...]
Place = tuple[int, Word]
"""A product state (or DONE), and the subtasks that the step which led there completed and that are still to be told."""


def optimal_steps(product: Product, togo: Floats, here: int) -> Iterator[Place]:
    """The shortest ways on from a product state in a certain world: (next product state or DONE, subtasks completed)."""
    table, count = product.world.table, product.world.states
    m, s = divmod(here, count)
    for a in range(product.world.actions):
        label = table.label[s, a, 0]
        target = int(product.following[m, label])
        if target == DONE:
            if togo[here] == 1:
                yield DONE, _completed(product, m, label)
        elif target != DEAD and not table.ends[s, a, 0]:
            there = target * count + int(table.next[s, a, 0])
            if togo[there] == togo[here] - 1:
                yield there, _completed(product, m, label)


def _completed(product: Product, m: int, label: int) -> Word:
    """The bits of the subtasks that a step completes, in declared order."""
    done = int(advance(product.task.agenda_table, int(product.u[m]), product.masks[m], label)[2])
    return tuple(i for i in range(done.bit_length()) if done >> i & 1)


def count_orders(product: Product) -> int | None:
    """The number of orders in which shortest episodes complete the subtasks; None where there is too much to count.

    A subset construction: places that the same order can have led to are one node, so that no order counts twice.
    """
    if len(product.task.machine.subtasks) > MOST_SUBTASKS or len(product) > MOST_STATES:
        return None
    togo, _ = least_steps(product)
    origin = product.starts[0][0]
    if not np.isfinite(togo[origin]):
        return 0
    first: frozenset[Place] = frozenset({(origin, ())})
    layers: list[dict[frozenset[Place], int]] = [{first: 1}]
    total = 0
    while layers[-1]:
        following: dict[frozenset[Place], int] = {}
        for places, words in layers[-1].items():
            ended, by_subtask = _next_subtasks(product, togo, places)
            total += words * ended
            for reached in by_subtask:
                following[reached] = following.get(reached, 0) + words
        layers.append(following)
    return total


def _next_subtasks(product: Product, togo: Floats, places: frozenset[Place]) -> tuple[int, list[frozenset[Place]]]:
    """Whether the word can end here (1 or 0), and the places after each next subtask."""
    seen, stack = set(places), list(places)
    after: dict[int, set[Place]] = {}
    ended = False
    while stack:
        here, word = stack.pop()
        if word:
            after.setdefault(word[0], set()).add((here, word[1:]))
        elif here == DONE:
            ended = True
        else:
            fresh = set(optimal_steps(product, togo, here)) - seen
            seen |= fresh
            stack += fresh
    return int(ended), [frozenset(reached) for reached in after.values()]
