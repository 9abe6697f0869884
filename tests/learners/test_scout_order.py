"""The order of many subtasks: local search and lower bound against all permutations; large tasks as a chain of stages."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from errands.kernels.local_search import tour
from errands.learners.scout.kernel.tour import tree_bound
from errands.learners.scout.planner import NearestPlanner
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.stages import TourPlanner
from errands.learners.scout.tabular import Scout
from errands.oracle.certificate import Bounds
from errands.oracle.optimum import optimum
from errands.tasks import Task, load


def length(first: np.ndarray, between: np.ndarray, last: np.ndarray, order: tuple[int, ...]) -> float:
    return float(first[order[0]] + sum(between[a, b] for a, b in pairwise(order)) + last[order[-1]])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_local_search_finds_the_best_of_all_orders_and_the_bound_is_below_it(seed: int, symmetric: bool) -> None:
    draw = np.random.default_rng(seed)
    n = 1 + seed % 7
    between = draw.integers(1, 30, (n, n)).astype(np.float64)
    between = np.minimum(between, between.T) if symmetric else between
    first, last = draw.integers(0, 20, n).astype(np.float64), draw.integers(0, 20, n).astype(np.float64)
    best = min(length(first, between, last, order) for order in permutations(range(n)))
    found = tour(first, between, last, 300, np.random.default_rng(0))
    assert sorted(found) == list(range(n))
    assert length(first, between, last, tuple(found)) == best
    assert tree_bound(first, between, last, best, 200) <= best + 1e-9


def test_the_bound_is_exact_where_every_item_is_fetched_from_one_place() -> None:
    away = np.array([3.0, 5.0, 8.0, 2.0, 9.0])
    between = away[:, None] + away[None, :]
    assert tree_bound(away, between, away, 2 * away.sum(), 500) == pytest.approx(2 * away.sum(), abs=0.5)


class Overwhelmed(Scout):
    """Scout to whom two agenda states are too many."""

    most_states = 1


def many(task: Task, steps: int = 2_000) -> Scout:
    scout = Overwhelmed(task, ScoutConfig(kicks=300), 0)
    list(scout.train(steps))
    return scout


PHRASES = (
    "any_order(a, b, c, d)",
    "any_order(a, b, c, before=e)",
    "sequence(any_order(a, b, c, after=e), d, any_order(f, g))",
    "avoid(f, any_order(a, b, c, d, before=e, after=g))",
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_stages_give_the_optimum_on_small_tasks_and_bounds_that_hold(phrase: str) -> None:
    rows = '["a..e..b", ".......", "..fA..g", ".......", "c..e..d"]'
    world = f'[world]\nkind = "grid"\nrows = {rows}\nlegend = {{a="a", b="b", c="c", d="d", e="e", f="f", g="g"}}\n'
    task = Task.from_toml(f'name = "x"\n{world}[machine]\nphrase = "{phrase}"\n')
    scout = many(task)
    best = optimum(task).length
    assert isinstance(scout.planner, TourPlanner)
    assert best is not None
    assert scout.claim.lower <= best <= scout.claim.upper == scout.evaluate().episode_length <= 1.1 * best


@pytest.mark.parametrize("name", ["delivery-6", "visit-8", "office-4"])
def test_the_catalogue_is_solved_to_the_optimum_by_orders_too(name: str) -> None:
    task = load(name)
    scout = many(task)
    assert scout.claim.lower <= (optimum(task).length or 0) == scout.evaluate().episode_length


def test_a_machine_that_is_no_chain_of_groups_is_still_answered() -> None:
    text = 'name = "x"\n[world]\nkind = "grid"\nrows = ["a..A", "b..c"]\nlegend = {a = "a", b = "b", c = "c"}\n[machine]\n'
    text += 'initial = "u"\nsuccess = ["w"]\nnumeric = {m = ["a"], n = ["b"]}\n'
    lines = '["u -> u : m↓ | n↓ ; 0", "u -> v : m⤓ & n⤓ ; 0", "v -> w : c ; 1"]'
    task = Task.from_toml(f"{text}transitions = {lines}\n")
    scout = many(task, 300)
    assert isinstance(scout.planner, NearestPlanner)
    assert scout.evaluate().success


def test_twenty_places_are_proved_by_the_tree_alone() -> None:
    scout = Scout(load("visit-20"), ScoutConfig(), 0)
    list(scout.train(500))
    assert scout.claim.proved
    assert scout.claim.upper == scout.evaluate().episode_length
    assert len(scout.order) == 20


def test_a_hundred_places_take_fewer_than_two_thousand_steps() -> None:
    scout = Scout(load("visit-100"), ScoutConfig(eval_every=1_000), 0)
    list(scout.train(2_000))
    claim = scout.claim
    assert claim.step < 2_000
    assert scout.evaluate().episode_length == claim.upper
    assert claim.lower <= claim.upper <= 1.04 * claim.lower


def test_a_way_by_an_order_bounds_nothing_from_below_while_something_is_untried() -> None:
    scout = Scout(load("delivery-40"), ScoutConfig(eval_every=100), 0)
    for _ in scout.train(3_000):
        assert scout.settled or scout.claim.lower == 0
    assert scout.settled
    assert scout.claim.lower > 0


def test_a_claim_obeys_the_time_limit() -> None:
    text = 'name = "x"\n[world]\nkind = "grid"\nrows = ["A....g"]\nlegend = {g = "g"}\nlimit = LIMIT\n[machine]\nphrase = "g"\n'
    for limit, wanted in ((3, math.inf), (5, 5)):
        scout = Scout(Task.from_toml(text.replace("LIMIT", str(limit))), ScoutConfig(), 0)
        list(scout.train(1_000))
        assert (scout.claim.lower, scout.claim.upper) == (wanted, wanted)
    assert "more than the limit of 3" in Bounds(5, 5, True, 9).within(3).reason
    assert Bounds(2, 5, False, 9).within(3) == Bounds(2, math.inf, False, 9)
