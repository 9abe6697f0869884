"""Values of every product state against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import ConfigError
from errands.oracle.product import product
from errands.oracle.values import best_return, check_discount, least_steps, most_success


def test_least_steps_of_a_slippery_corridor_grow_by_the_same_amount_a_cell(grid):
    steps, best = least_steps(product(grid(["Ag..."], "g", slip=0.5)))
    assert steps[[0, 2, 3, 4]] == pytest.approx([2, 2, 4, 6], rel=1e-9)
    assert best[[0, 2, 3, 4]].tolist() == [1, 3, 3, 3]


def test_no_steps_lead_out_of_a_closed_room(grid):
    steps, _ = least_steps(product(grid(["Ag#."], "g")))
    assert np.isinf(steps[3])


def test_the_best_return_is_worth_a_risk_when_the_safe_way_is_long(grid):
    # Along the lava the safe move takes 3 / h steps for two cells; walking on succeeds with (0.8 / 0.9)^2.
    crossed = product(grid(["A.g", "XXX"], "avoid(X, g)", slip=0.2))
    ahead = 0.8 * 0.9 / (1 - 0.1 * 0.9)
    assert best_return(crossed, 0.9)[0] == pytest.approx(ahead**2 / 0.9, rel=1e-8)


def test_success_is_as_probable_as_its_steps(grid):
    crossed = product(grid(["XXXX", "A..g", "XXXX"], "avoid(X, g)", slip=0.1))
    assert most_success(crossed)[[4, 5, 6]] == pytest.approx([0.9**3, 0.9**2, 0.9])


@pytest.mark.parametrize("gamma", [0.0, 1.0, -0.5, float("nan")])
def test_a_discount_lies_between_zero_and_one(gamma):
    with pytest.raises(ConfigError, match="gamma is"):
        check_discount(gamma)
