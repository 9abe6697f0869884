"""Exact values of world x agenda by value iteration: least steps, best return, greatest chance of success."""

from __future__ import annotations

import numpy as np

from errands.errors import ConfigError
from errands.kernels.search import Payment, iterate, surely
from errands.oracle.product import Product
from errands.tables import Floats, Ints

TOLERANCE = 1e-10
"""Relative error of least steps; error of returns in units of the largest reward; last change of a chance."""
_NO_FACTOR, _NO_SIGNAL, _EVERYWHERE = np.empty((0, 0)), np.empty((0, 0), np.int32), np.empty(0, np.bool_)


def check_discount(gamma: float) -> None:
    """Refuse a discount that leaves endless returns without a value."""
    if not 0.0 < gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; exact discounted returns need a number between 0 and 1, both excluded")


def least_steps(product: Product) -> tuple[Floats, Ints]:
    """The least expected steps to success of each product state among policies that succeed surely, and their actions.

    Infinite where no policy succeeds surely. Sweeps rise from 0 and stop when none adds more than d = 1e-10; the
    values V then satisfy V <= optimum <= V / (1 - d), because V / (1 - d) is more than the greedy policy needs.
    Where moves are certain the values are whole and exact.
    """
    world, chance = product.world.table, product.chance
    inside = surely(world, chance, product.following)
    pay = Payment(-1.0, _NO_FACTOR, _NO_SIGNAL, 0.0, 1.0)
    value, best = iterate(world, chance, product.following, pay, inside, TOLERANCE)
    return np.where(inside, -value, np.inf), best


def best_return(product: Product, gamma: float) -> Floats:
    """The optimal discounted return of each product state under the machine's rewards, failures included."""
    table = product.task.agenda_table
    factor, signal = table.reward[product.entry], table.signal[product.entry]
    signals = product.world.table.signal
    largest = np.abs(factor).max() * (max(1.0, np.abs(signals).max()) if signals.size and signal.max() >= 0 else 1.0)
    pay = Payment(0.0, factor, signal, 0.0, gamma)
    tolerance = TOLERANCE * (1.0 - gamma) * max(float(largest), 1e-300)
    return iterate(product.world.table, product.chance, product.following, pay, _EVERYWHERE, tolerance)[0]


def most_success(product: Product) -> Floats:
    """The greatest probability of success of each product state, however long it may take; approached from below."""
    pay = Payment(0.0, _NO_FACTOR, _NO_SIGNAL, 1.0, 1.0)
    return iterate(product.world.table, product.chance, product.following, pay, _EVERYWHERE, TOLERANCE / 100)[0]
