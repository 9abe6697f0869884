"""Bounds of the optimum among zones too many for an exact search: an order carried out exactly, and a lightest tree."""

from __future__ import annotations

import math

import numpy as np

from errands.kernels.local_search import tour
from errands.kernels.search import DONE
from errands.kernels.water import TOP
from errands.learners.scout.kernel.tour import tree_bound
from errands.oracle.certificate import Bounds
from errands.oracle.water import steps_of
from errands.tables import RandomGenerator
from errands.tasks.phrases import any_order
from errands.tasks.task import Task
from errands.worlds.zones import REACH, Zones

KICKS, ROUNDS, ROOM = 20_000, 1_000, 2_000_000_000


def tour_bounds(task: Task) -> Bounds | None:
    """Bounds of the steps to all zones in any order; None of other tasks, and where the order takes longer than the limit.

    From edge to edge of two zones the greater difference of places is covered at the top speed at best, and a tour is no
    shorter than the lightest tree of such legs.
    """
    world = task.world
    if not isinstance(world, Zones) or task.machine != any_order(*world.features):
        return None
    places = np.vstack([world.start.agent, world.start.places]).astype(np.float64)
    apart = np.abs(places[:, None] - places[None]).max(axis=2)
    radii = np.full(len(places), float(REACH))
    radii[0] = 0.0  # the agent begins at a point
    least = np.ceil(np.maximum(apart - radii[:, None] - radii, 1.0) / TOP)
    none = np.zeros(world.zones)
    order = tour(apart[0, 1:], apart[1:, 1:], none, KICKS, RandomGenerator(0))
    # A machine that waits for one zone after the other: as many states as zones, where any order has two to their number.
    chain = np.tile(np.arange(world.zones, dtype=np.int32)[:, None], (1, world.zones + 1))
    chain[np.arange(world.zones), order + 1] = [*range(1, world.zones), DONE]
    upper = steps_of(world.start, chain, world.limit, ROOM)
    if upper is None:
        return None
    lower = math.ceil(tree_bound(least[0, 1:], least[1:, 1:], none, float(upper), ROUNDS) - 1e-6)
    return Bounds(lower, upper, lower == upper, 0, "the order comes from a local search and is carried out exactly")
