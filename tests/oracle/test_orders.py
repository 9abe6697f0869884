"""Optimal orders against trying out every permutation."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import factorial

from errands.oracle.optimum import optimum
from errands.oracle.orders import count_orders
from errands.oracle.product import product
from errands.tasks import load
from errands.worlds.grid import distances


def test_optimal_orders_are_counted_once_each():
    for seed in range(12):
        task = load("visit-4", seed)
        cells = [cell for _, cell in task.layout.places]
        steps = {c: distances(task.layout, c) for c in [task.layout.start, *cells]}
        # Going straight may touch a cell early; an order counts only if it is the order in which cells are touched.
        best = optimum(task)
        fitting = set()
        for order in permutations(range(4)):
            stops = [task.layout.start, *(cells[i] for i in order)]
            if sum(steps[a][b] for a, b in pairwise(stops)) == best.length and _unspoilt(task, stops):
                fitting.add(order)
        assert best.orders == len(fitting)


def _unspoilt(task, stops) -> bool:
    layout = task.layout
    for i, (here, there) in enumerate(pairwise(stops)):
        if distances(layout, here, avoid=stops[i + 2 :])[there] != distances(layout, here)[there]:
            return False
    return True


def test_in_delivery_only_the_first_box_matters():
    task = load("delivery-5")
    places = dict(task.layout.places)
    station, start = distances(task.layout, places["s"]), distances(task.layout, task.layout.start)
    gains = [start[places[f"b{i + 1}"]] - station[places[f"b{i + 1}"]] for i in range(5)]
    assert count_orders(product(task)) <= gains.count(min(gains)) * factorial(4)


def test_more_than_eight_subtasks_are_not_counted():
    assert count_orders(product(load("visit-9"))) is None
