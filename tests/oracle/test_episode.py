"""Greedy episodes: order, path, rewards, and where they are cut off."""

from __future__ import annotations

from errands.oracle.episode import walk
from errands.oracle.optimum import optimum
from errands.tasks import load


class Wait:
    def act(self, world_state, machine_state, memory):
        return 0, memory


def test_a_walk_tells_order_path_and_rewards():
    task = load("figure-1")
    best = optimum(task)
    seen = walk(best.policy, task)
    assert seen.order == ("b2", "s", "b1", "s")
    assert (seen.path, seen.actions, seen.length, seen.success) == (best.path, best.actions, 10, True)
    assert seen.rewards == (0.0,) * 9 + (1.0,)


def test_the_limit_cuts_an_endless_walk_off():
    task = load("corridor")
    seen = walk(Wait(), task)
    assert (seen.length, seen.success, seen.order) == (task.world.limit, False, ())


def test_more_than_sixty_four_subtasks_can_be_walked():
    assert walk(Wait(), load("visit-100")).length > 1000


def test_the_seed_decides_random_outcomes(grid):
    task = grid(["A....g"], "g", slip=0.5)
    policy = optimum(task).policy
    walks = [walk(policy, task, seed) for seed in range(20)]
    assert walks[0] == walk(policy, task, 0)
    assert len({w.length for w in walks}) > 1
