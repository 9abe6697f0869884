"""Certificates against pencil, linear algebra and a hundred thousand steps of sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from errands.errors import ConfigError, TaskError
from errands.oracle.certificate import Claim, certificate
from errands.oracle.optimum import Optimum, optimum
from errands.oracle.walk import walk
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


class ThereAndBack:
    """Runs right three steps, then left for good: it needs its memory."""

    def act(self, world_state, machine_state, memory):
        steps = memory or 0
        return (RIGHT if steps < 3 else LEFT), min(steps + 1, 3)


def test_an_optimal_policy_is_zero_steps_away():
    task = load("office-6")
    found = certificate(optimum(task, orders=False).policy, task, claim=Claim(60, 60, True, 651))
    assert (found.length, found.success, found.optimum, found.gap) == (60, 1, 60, 0)
    assert found.words == "60 steps, 0 more than the optimum"
    assert found.claim.proved


def test_a_loop_has_no_success_and_no_end(grid):
    found = certificate(Always(LEFT), grid(["A.g"], "g"))
    assert (found.length, found.success, found.gap, found.discounted) == (float("inf"), 0, None, 0)
    assert found.words == "never ends"


def test_a_failure_ends_the_episode(grid):
    found = certificate(Always(RIGHT), grid(["A.Xg"], "avoid(X, g)"))
    assert (found.length, found.success, found.gap) == (2, 0, None)
    assert found.words == "fails"


def test_memory_is_part_of_the_chain(grid):
    found = certificate(ThereAndBack(), grid(["g.A..."], "g"))
    assert (found.length, found.optimum, found.gap) == (8, 2, 6)
    assert found.words == "8 steps, 6 more than the optimum"


def test_slips_make_expected_steps(grid):
    found = certificate(Always(RIGHT), grid(["A...g"], "g", slip=0.2), gamma=0.9)
    assert found.length == pytest.approx(5)
    assert found.gap == pytest.approx(0, abs=1e-8)
    assert found.discounted == pytest.approx((0.72 / 0.82) ** 4 / 0.9)
    assert found.words == "5 expected steps, 0 more than the optimum"


def test_chances_of_every_end_are_told(grid):
    found = certificate(Always(RIGHT), grid(["XXX", "A.g", "..."], "avoid(X, g)", slip=0.2))
    # Two steps ahead 0.64; once down it bumps on, right or down at the end, until a slip lifts it up again.
    assert 0.64 < found.success < 1
    assert found.gap is None
    assert found.words.startswith("fails with probability")


@pytest.mark.parametrize("seed", range(8))
def test_any_policy_agrees_with_linear_algebra(grid, explicit, seed):
    task = grid(["a.cA", "....", "..b.", "d..."], "avoid(d, any_order(a, b, after=c))", slip=0.4)
    policy = Drawn(seed)
    nodes, moves, success, reward = explicit(task)
    chosen = [policy.act(*node, None)[0] for node in nodes]
    own = moves[chosen, range(len(nodes))]
    ends = np.linalg.matrix_power(own, 1 << 20)[0].sum() < 1e-9
    found = certificate(policy, task, gamma=0.9)
    valued = np.linalg.solve(np.eye(len(nodes)) - 0.9 * own, reward[chosen, range(len(nodes))])
    assert found.discounted == pytest.approx(valued[0], abs=1e-12)
    if ends:
        reach = np.flatnonzero(np.linalg.matrix_power(np.eye(len(nodes)) + own, 200)[0])
        inner = np.eye(len(reach)) - own[np.ix_(reach, reach)]
        assert found.success == pytest.approx(np.linalg.solve(inner, success[chosen, range(len(nodes))][reach])[0])
        assert found.length == pytest.approx(np.linalg.solve(inner, np.ones(len(reach)))[0])
    else:
        assert found.length == float("inf")


def test_sampled_episodes_have_the_certified_mean(grid):
    task = grid(["a..A", "....", ".b.d"], "avoid(d, any_order(a, b))", slip=0.3)
    policy = optimum(task).policy
    found = certificate(policy, task)
    walks = [walk(policy, task, seed) for seed in range(2000)]
    lengths = np.array([w.length for w in walks])
    assert abs(lengths.mean() - found.length) < 4 * lengths.std() / 2000**0.5
    assert all(w.success for w in walks) == (found.success == 1)


def test_where_the_optimum_is_too_large_the_length_is_still_exact():
    task = load("visit-100")
    found = certificate(Always(LEFT), task)
    assert (found.optimum, found.success) == (None, 0)
    short = certificate(Always(RIGHT), load("figure-1"), best=Optimum(None, reason="nobody asked"))
    assert short.optimum is None


def test_a_known_optimum_can_be_handed_in(grid):
    found = certificate(Always(RIGHT), grid(["A..g"], "g"), best=Optimum(None, reason="nobody asked"))
    assert found.words == "3 steps; the optimum is not known: nobody asked"


def test_a_policy_beyond_the_time_limit_is_told_so():
    text = 'name="x"\n[world]\nkind="grid"\nrows=["A...g"]\nlegend={ g="g" }\nlimit=3\n[machine]\nphrase="g"'
    assert certificate(Always(RIGHT), Task.from_toml(text)).words == (
        "4 steps (an episode ends after 3), 0 more than the optimum"
    )


def test_continuous_worlds_and_no_discount_are_refused(grid):
    with pytest.raises(TaskError, match="continuous"):
        certificate(Always(0), load("water-1"))
    with pytest.raises(ConfigError, match="gamma is 1"):
        certificate(Always(0), grid(["Ag"], "g"), gamma=1.0)
