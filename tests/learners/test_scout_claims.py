"""What Scout claims under chance: intervals by hand, the optimum inside, laws that are rejected, starts."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from errands.learners.scout.claim import interval, over_starts, unmet
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.certificate import Bounds
from errands.oracle.optimum import optimum
from errands.tasks import Task


def benchmark() -> ModuleType:
    """The worlds and the judge of benchmarks/claims.py, which knows nothing of Scout's models."""
    spec = importlib.util.spec_from_file_location("claims_benchmark", Path(__file__).parents[2] / "benchmarks" / "claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


claims = benchmark()


def test_an_interval_of_two_tries_by_hand() -> None:
    """Beta(1, 8) pays 8/9 * 9/10 for two misses: shares p with (1 - p)^2 below 0.05 * 4/5 are out; 1/9 * 2/10 for two hits."""
    low, high = interval(0, 2, 0.05)
    assert low == 0.0
    assert high == pytest.approx(1.0 - math.sqrt(0.05 * 4 / 5))
    assert interval(2, 2, 0.05) == (pytest.approx(math.sqrt(0.05 / 45)), 1.0)
    assert interval(0, 0, 0.05) == (0.0, 1.0)


def test_an_interval_holds_at_all_times() -> None:
    """400 gamblers look after every one of 1,000 tries; one in ten may ever be misled."""
    rng, misled = np.random.default_rng(0), 0
    for _ in range(400):
        hits = np.cumsum(rng.random(1_000) < 0.1)
        looks = [interval(int(hits[n - 1]), n, 0.1) for n in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)]
        misled += any(not low <= 0.1 <= high for low, high in looks)
    assert misled <= 0.1 * 400


@pytest.mark.parametrize("kind", ["one law", "random tables", "law broken"])
@pytest.mark.parametrize("number", [0, 1])
def test_the_optimum_and_the_policy_lie_where_the_claim_says(kind: str, number: int) -> None:
    task = claims.KINDS[kind](number)
    judge, scout = claims.Judge(task), Scout(task, ScoutConfig(), number)
    for _ in range(4):
        scout.advance(1_000)
        claim = scout.claim
        assert not claim.proved
        assert claim.delta == 0.05
        if kind == "law broken" and "not rejected by" in claim.conditional_on:
            continue  # a claim about another world, and it says so
        assert claim.lower <= judge.value(scout) + 1e-9
        assert judge.value(scout) <= judge.best + 1e-9 <= claim.upper + 2e-9


def test_with_one_law_a_claim_is_sharp_after_four_thousand_steps_and_without_one_it_is_wide() -> None:
    task = claims.slippery("visit-4", 0)
    one, none = (Scout(task, ScoutConfig(law=law), 0) for law in ("test", "none"))
    for scout in (one, none):
        scout.advance(4_000)
    assert one.claim.epsilon < 0.03
    best = optimum(task, 0.99).discounted
    assert best == pytest.approx(claims.Judge(task).best)
    assert best is not None
    assert one.claim.lower < best < one.claim.upper
    assert "as this world promises" in one.claim.conditional_on
    assert none.claim.epsilon > 0.5
    assert "odds of its own" in none.claim.conditional_on


CORRIDOR = """
name = "corridor"
[world]
kind = "grid"
limit = {limit}
rows = ["A....g"]
legend = {{ g = "g" }}
slip = 0.1
[machine]
phrase = "g"
"""


@pytest.mark.parametrize("law", ["test", "one"])
@pytest.mark.parametrize("drawn", [True, False])
def test_a_claim_in_a_corridor_is_true_though_the_sides_cannot_be_told_apart(law: str, drawn: bool) -> None:
    """Of each step 0.1 stays: E[0.99^T] = (0.891 / 0.901)^5. Nobody ever slips back, so moves go to two sides, not to three."""
    task = Task.from_toml(CORRIDOR.format(limit=1_000))
    assert task.finite is not None
    if not drawn:  # the same tables, which promise nothing
        task = Task("tables", claims.Tables(task.finite, ("g",)), task.machine)
    scout = Scout(task, ScoutConfig(law=law), 0)
    for steps in (200, 200, 7_600):
        scout.advance(steps)
        # Few tries would leave it open whether there are three ways; a drawn grid has said that there are two.
        assert not drawn or "two sides" in scout.claim.conditional_on
    assert scout.claim.lower <= (0.891 / 0.901) ** 5 / 0.99 <= scout.claim.upper  # returns do not discount the first step
    assert "3 other ways" not in scout.claim.conditional_on
    assert ("as this world promises" in scout.claim.conditional_on) == drawn


def test_a_claim_obeys_the_time_limit_or_says_that_it_was_left_out() -> None:
    """Within 6 steps 5 succeed at once with 0.9^5, or after one slip with 5 * 0.1 * 0.9^5: far less than the claim of all time."""
    scout = Scout(Task.from_toml(CORRIDOR.format(limit=6)), ScoutConfig(), 0)
    scout.advance(8_000)
    assert scout.claim.lower > 0.9**5 * 0.99**5 + 0.5 * 0.9**5 * 0.99**6
    assert scout.claim.conditional_on.endswith("and episodes go on after the limit of 6 steps")
    long = Bounds(0.5, 0.6, False, 10, gamma=0.99, delta=0.05, conditional_on="one law").within(1_000)
    assert (long.lower, long.conditional_on) == (pytest.approx(0.5 - 0.99**1_000), "one law")


def test_a_law_that_some_cells_break_is_rejected() -> None:
    scout = Scout(claims.lawless(0), ScoutConfig(), 0)
    scout.advance(8_000)
    assert "slip to" not in scout.claim.conditional_on


def test_a_claim_survives_saving() -> None:
    task = claims.lawful(0)
    scout = Scout(task, ScoutConfig(), 0)
    scout.advance(3_000)
    again = Scout(task, ScoutConfig(), 0)
    again.restore(scout.save())
    assert again.claim == scout.claim
    scout.advance(1_000)
    again.advance(1_000)
    assert again.claim == scout.claim


def test_the_mean_over_one_start_is_exact_and_over_several_it_is_drawn() -> None:
    assert over_starts(np.array([0.6]), np.array([0.7]), np.array([9.0]), 0.05) == (0.6, 0.7, "")
    values = np.array([0.2, 0.6])
    low, high, starts = over_starts(values, values, np.array([5_000.0, 5_000.0]), 0.05)
    assert 0.25 < low < 0.4 < high < 0.45
    assert "2 were met" in starts


def test_what_starts_not_met_come_to_is_bounded() -> None:
    """Of 400 worlds with 30 starts of unequal odds hardly any has more unmet than the bound says, after 200 episodes."""
    rng, beyond = np.random.default_rng(1), 0
    for _ in range(400):
        odds = rng.dirichlet(np.full(30, 0.3))
        times = np.bincount(rng.choice(30, 200, p=odds), minlength=30)
        beyond += odds[times == 0].sum() > unmet(times[times > 0].astype(float), 0.05)
    assert beyond <= 0.05 * 400
    assert unmet(np.full(10, 1_000.0), 0.05) < 0.12


def test_a_world_with_many_starts_has_a_claim() -> None:
    """Taxi: 300 starts, certain moves; the optimum's discounted success is the mean over all of them."""
    taxi = Task.from_env("Taxi-v4", {f"c{i}": [s for s in range(500) if s // 100 == r and s // 20 % 5 == c]
                                     for i, (r, c) in enumerate(((0, 0), (0, 4), (4, 0), (4, 3)))}, "any_order(c0, c1, c2, c3)")
    scout = Scout(taxi, ScoutConfig(), 0)
    scout.advance(100_000)
    claim, best = scout.claim, claims.Judge(taxi).best
    assert claim.gamma == 0.99
    assert claim.lower <= claims.Judge(taxi).value(scout) <= best + 1e-9 <= claim.upper
    assert claim.epsilon < 0.5
    assert "each episode's start is drawn alike" in claim.conditional_on
