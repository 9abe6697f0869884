"""Certificates against pencil, linear algebra and a hundred thousand steps of sampling."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest

from errands.errors import ConfigError, SpecError, TaskError
from errands.oracle import certificate as certificates
from errands.oracle.certificate import Bounds, Expectation, certificate, expected
from errands.oracle.episode import Policy, sampled, walk
from errands.oracle.optimum import Optimum, optimum
from errands.tasks import Task, load

RIGHT, LEFT = 1, 3


@dataclass(frozen=True)
class Always:
    action: int

    def act(self, world_state, machine_state, memory):
        return self.action, None


@dataclass(frozen=True)
class Drawn:
    """A fixed random action for each cell and agenda state."""

    seed: int
    actions: int = 4

    def act(self, world_state, machine_state, memory):
        rng = np.random.default_rng([self.seed, world_state, *machine_state])
        return int(rng.integers(self.actions)), None


@dataclass(frozen=True)
class Mixed:
    """The optimal action, but a fixed random one in some situations."""

    best: Policy
    seed: int

    def act(self, world_state, machine_state, memory):
        rng = np.random.default_rng([self.seed, world_state, *machine_state])
        if rng.random() < 0.02 * self.seed:
            return int(rng.integers(4)), None
        return self.best.act(world_state, machine_state, None)


class ThereAndBack:
    """Runs right three steps, then left for good: it needs its memory."""

    def act(self, world_state, machine_state, memory):
        steps = memory or 0
        return (RIGHT if steps < 3 else LEFT), min(steps + 1, 3)


def test_an_optimal_policy_is_zero_steps_away():
    task = load("office-6")
    found = certificate(optimum(task, orders=False).policy, task, claim=Bounds(60, 60, True, 651))
    assert (found.length, found.success, found.optimum, found.gap) == (60, 1, 60, 0)
    assert found.summary == "60 steps, 0 more than the optimum"
    assert found.claim.proved


def test_a_loop_has_no_success_and_is_cut_off(grid):
    found = certificate(Always(LEFT), grid(["A.g"], "g"))
    assert (found.length, found.success, found.gap, found.discounted) == (1000, 0, None, 0)
    assert found.summary == "runs into the limit of 1,000 steps"


def test_a_failure_ends_the_episode(grid):
    found = certificate(Always(RIGHT), grid(["A.Xg"], "avoid(X, g)"))
    assert (found.length, found.success, found.gap) == (2, 0, None)
    assert found.summary == "fails; no successful episode exists"


def test_memory_is_part_of_the_chain(grid):
    found = certificate(ThereAndBack(), grid(["g.A..."], "g"))
    assert (found.length, found.optimum, found.gap) == (8, 2, 6)
    assert found.summary == "8 steps, 6 more than the optimum"


def test_slips_make_expected_steps(grid):
    found = certificate(Always(RIGHT), grid(["A...g"], "g", slip=0.2), gamma=0.9)
    assert found.length == pytest.approx(5)
    assert found.gap == pytest.approx(0, abs=1e-8)
    assert found.discounted == pytest.approx((0.72 / 0.82) ** 4 / 0.9)
    assert found.summary == "5 expected steps, 0 more than the optimum"


def test_chances_of_every_end_are_told(grid):
    found = certificate(Always(RIGHT), grid(["XXX", "A.g", "..."], "avoid(X, g)", slip=0.2))
    # Two steps ahead 0.64; once down it bumps on, right or down at the end, until a slip lifts it up again.
    assert 0.64 < found.success < 1
    assert found.gap is None
    assert found.summary.startswith("fails with probability")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [7, 1000])
def test_any_policy_agrees_with_matrices_that_count_the_steps(grid, explicit, seed, limit):
    task = grid(["a.cA", "....", "..b.", "d..."], "avoid(d, any_order(a, b, after=c))", slip=0.4, limit=limit)
    policy = Drawn(seed)
    nodes, moves, success, reward = explicit(task)
    chosen = [policy.act(*node, None)[0] for node in nodes]
    own, won, paid = (array[chosen, range(len(nodes))] for array in (moves, success, reward))
    found = certificate(policy, task, gamma=0.9)
    here, length, wins, discounted = np.eye(len(nodes))[0], 0.0, 0.0, 0.0
    for t in range(task.world.limit):
        length, wins, discounted = length + here.sum(), wins + here @ won, discounted + 0.9**t * (here @ paid)
        here = here @ own
    assert (found.length, found.success) == (pytest.approx(length), pytest.approx(wins))
    assert found.discounted == pytest.approx(discounted, abs=1e-12)


def test_sampled_episodes_have_the_certified_mean(grid):
    task = grid(["a..A", "....", ".b.d"], "avoid(d, any_order(a, b))", slip=0.3)
    policy = optimum(task).policy
    found = certificate(policy, task)
    walks = [walk(policy, task, seed) for seed in range(2000)]
    lengths = np.array([w.length for w in walks])
    assert abs(lengths.mean() - found.length) < 4 * lengths.std() / 2000**0.5
    assert all(w.success for w in walks) == (found.success == 1)


def _random_ice(seed: int) -> Task | None:
    """A random slippery map with two flags and a hole; None where no policy succeeds surely."""
    rng = np.random.default_rng(seed)
    letters = ["1", "2", "A", "~", *rng.choice(list("....#"), 16)]
    rng.shuffle(letters)
    rows = ["".join(letters[5 * i : 5 * i + 5]) for i in range(4)]
    text = f"""
name = "ice"
[world]
kind = "grid"
rows = {json.dumps(rows)}
legend = {{ 1 = "one", 2 = "two", "~" = "hole" }}
slip = {round(rng.uniform(0.05, 0.4), 2)}
[machine]
phrase = "avoid(hole, any_order(one, two))"
"""
    try:
        task = Task.from_toml(text)
    except SpecError:
        return None
    return task if optimum(task).length is not None else None


def test_no_policy_has_a_negative_gap_on_twenty_random_slippery_maps():
    tasks = list(itertools.islice(filter(None, map(_random_ice, itertools.count())), 20))
    for task in tasks:
        best = optimum(task)
        assert not task.certain
        found = certificate(best.policy, task, best=best)
        assert (found.gap, found.success) == (0.0, 1.0)
        assert expected(best.policy, task).optimal(best.length)
        for seed in range(20):
            policy = Mixed(best.policy, seed)
            value, judged = expected(policy, task), certificate(policy, task, best=best)
            assert (judged.length, judged.success) == (value.length, value.success)
            assert value.gap(best.length) is None or value.gap(best.length) >= 0
            assert (judged.gap is None) == (not value.sure)
            assert value.success + value.failure + value.cut == pytest.approx(1)


def test_lucky_failures_have_no_gap():
    lucky = Expectation(length=9.0, success=0.945, failure=0.055, cut=0.0, discounted=0.8)
    assert (lucky.gap(51.39), lucky.optimal(51.39)) == (None, False)
    assert Expectation(51.39 * (1 - 1e-12), 1.0, 0.0, 0.0, 0.5).gap(51.39) == 0


def test_sampled_intervals_cover_the_truth_nineteen_times_in_twenty():
    rng, covered = np.random.default_rng(0), [0, 0]
    for k in range(400):
        sample = sampled(lambda seed: (int(rng.geometric(0.1)), 1.0, bool(rng.random() < 0.9)), 100, k)
        covered[0] += sample.length.low <= 10 <= sample.length.high
        covered[1] += sample.success.low <= 0.9 <= sample.success.high
    assert all(0.91 <= count / 400 <= 0.98 for count in covered)


def test_a_sample_without_failures_still_says_what_it_cannot_exclude():
    sample = sampled(lambda seed: (7, 1.0, True), 100)
    assert (float(sample.length), sample.length.low, sample.length.high) == (7, 7, 7)
    # Wilson's interval: n / (n + z^2).
    assert (sample.success.mean, sample.success.high) == (1, 1)
    assert sample.success.low == pytest.approx(100 / (100 + 1.959964**2))
    with pytest.raises(ConfigError, match="at least 2"):
        sampled(lambda seed: (7, 1.0, True), 1)


def test_where_the_chain_is_too_large_episodes_stand_in_and_say_so(grid):
    task = grid(["a..A", "....", ".b.."], "any_order(a, b)", slip=0.3)
    policy = optimum(task).policy
    exact = certificate(policy, task)
    found = certificate(policy, task, most=5)
    assert found.sample.episodes == 1000
    assert found.sample.length.low <= exact.length <= found.sample.length.high
    assert (found.gap, found.success, exact.sample) == (None, 1.0, None)
    assert "over 1,000 episodes, as the policy gets into more than 5 situations" in found.summary


def test_sixty_four_times_sixty_four_slippery_cells_get_a_certificate(grid):
    rows = ["." * 64] * 64
    rows[0], rows[40], rows[63] = "A" + "." * 63, "." * 20 + "b" + "." * 43, "." * 63 + "a"
    task = grid(rows, "any_order(a, b)", slip=0.1)
    best = optimum(task)
    found = certificate(best.policy, task, best=best)
    assert (found.gap, found.success, found.sample) == (0.0, 1.0, None)
    assert best.length < found.length + 1e-6 * best.length


def test_where_the_optimum_is_too_large_the_length_is_still_exact():
    task = load("visit-100")
    found = certificate(Always(LEFT), task)
    assert (found.optimum, found.success) == (None, 0)
    short = certificate(Always(RIGHT), load("figure-1"), best=Optimum(None, reason="nobody asked"))
    assert short.optimum is None


def test_a_known_optimum_can_be_handed_in(grid):
    found = certificate(Always(RIGHT), grid(["A..g"], "g"), best=Optimum(None, reason="nobody asked"))
    assert found.summary == "3 steps; the optimum is not known: nobody asked"


def test_a_policy_beyond_the_time_limit_is_told_so(grid):
    found = certificate(Always(RIGHT), grid(["A...g"], "g", limit=3))
    assert (found.length, found.success, found.gap) == (3, 0, None)
    assert found.summary == (
        "runs into the limit of 3 steps; the shortest successful episode takes 4 steps, more than the limit of 3"
    )
    slippery = certificate(Always(RIGHT), grid(["A...g"], "g", slip=0.2, limit=5))
    assert slippery.success == pytest.approx(0.8**4 + 4 * 0.2 * 0.8**4)
    assert slippery.summary == (
        "runs into the limit of 5 steps with probability 0.26272, succeeds with probability 0.73728, as often as any policy can"
    )


def test_what_the_learner_proved_stands_where_the_optimum_is_not_known(grid):
    nobody, task = Optimum(None, reason="nobody asked"), grid(["A..g"], "g")
    between = certificate(Always(RIGHT), task, best=nobody, claim=Bounds(2, 3, False, 9, "an order is left"))
    assert (between.optimum, between.gap) == (None, None)
    assert between.summary == "3 steps; the optimum lies between 2 and 3 by the learner's bounds: an order is left"
    proved = certificate(Always(RIGHT), task, best=nobody, claim=Bounds(3, 3, True, 9))
    assert (proved.optimum, proved.gap, proved.summary) == (3, 0, "3 steps, 0 more than the optimum")


def test_continuous_worlds_and_no_discount_are_refused(grid):
    with pytest.raises(TaskError, match="continuous"):
        certificate(Always(0), load("water-1"))
    with pytest.raises(ConfigError, match="gamma is 1"):
        certificate(Always(0), grid(["Ag"], "g"), gamma=1.0)


def test_a_probability_just_below_one_does_not_read_as_one() -> None:
    value = Expectation(1000, 2e-9, 1 - 2e-9, 0.0, 0.0)
    words = "fails with probability more than 0.999999, succeeds with probability 2e-09"
    assert certificates._uncertain(value, 1000) == words
    assert certificates._uncertain(Expectation(1000, 0.0, 0.0, 1.0, 0.0), 1000) == "runs into the limit of 1,000 steps"


@dataclass(frozen=True)
class Careful:
    """The textbook's policy of the slippery 4 x 4 lake: away from every hole (0 left, 1 down, 2 right, 3 up)."""

    moves: str = "0333000031000210"

    def act(self, world_state, machine_state, memory):
        return int(self.moves[world_state]), None


def test_where_nothing_succeeds_surely_the_best_chance_stands_beside_the_policys() -> None:
    ice = {"goal": [15], "hole": [5, 7, 11, 12]}
    lake = Task.from_env("FrozenLake-v1", ice, "avoid(hole, goal)", limit=100_000)
    assert optimum(lake).success == pytest.approx(14 / 17)
    assert certificate(Careful(), lake).summary.endswith("succeeds with probability 0.823529, as often as any policy can")
    assert certificate(Always(1), lake).summary.endswith("; the best policy succeeds with probability 0.823529")
