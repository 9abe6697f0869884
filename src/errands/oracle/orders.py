"""How many orders of subtasks are optimal: words of the shortest-episode graph, each counted once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from errands.kernels.search import DEAD, DONE
from errands.oracle.product import Product
from errands.oracle.values import least_steps
from errands.tables import Floats

MOST_SUBTASKS = 8
MOST_STATES = 200_000


def optimal_steps(product: Product, togo: Floats, here: int) -> Iterator[tuple[int, int]]:
    """The shortest ways on from a product state in a certain world: (next product state or DONE, subtask bit or -1)."""
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


def _completed(product: Product, m: int, label: int) -> int:
    machine = product.task.agenda_table
    hit = int(machine.label_bits[label] & machine.active[product.u[m]] & product.masks[m])
    return (hit & -hit).bit_length() - 1


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
    first = frozenset({origin})
    layers: list[dict[frozenset[int], int]] = [{first: 1}]
    total = 0
    while layers[-1]:
        following: dict[frozenset[int], int] = {}
        for places, words in layers[-1].items():
            ended, by_subtask = _next_subtasks(product, togo, places)
            total += words * ended
            for reached in by_subtask:
                following[reached] = following.get(reached, 0) + words
        layers.append(following)
    return total


def _next_subtasks(product: Product, togo: Floats, places: frozenset[int]) -> tuple[int, list[frozenset[int]]]:
    """The number of ways to end the word with at most one more subtask, and the places after each next subtask."""
    seen, stack = set(places), list(places)
    after: dict[int, set[int]] = {}
    endings: set[int] = set()
    while stack:
        for there, bit in optimal_steps(product, togo, stack.pop()):
            if there == DONE:
                endings.add(bit)
            elif bit >= 0:
                after.setdefault(bit, set()).add(there)
            elif there not in seen:
                seen.add(there)
                stack.append(there)
    return len(endings), [frozenset(reached) for reached in after.values()]
