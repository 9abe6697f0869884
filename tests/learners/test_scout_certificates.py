"""No wrong certificate: random tasks with groups, before, after, failures and one-way doors, judged by plain search."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from errands.learners.scout.kernel.plan import FAR, Landmarks
from errands.learners.scout.planner import ExactPlanner
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.optimum import optimum
from errands.tables import Ints
from errands.tasks import load

spec = importlib.util.spec_from_file_location("scout_tasks", Path(__file__).with_name("scout_tasks.py"))
assert spec is not None
assert spec.loader is not None
tasks = importlib.util.module_from_spec(spec)
sys.modules["scout_tasks"] = tasks
spec.loader.exec_module(tasks)


def verdicts(seeds: range, learner: type[Scout], single: bool = False, **settings: object) -> list[bool]:
    """For each task that was certified, whether the claim is right and the greedy walk as long as claimed."""
    found = []
    for seed in seeds:
        task = tasks.task(seed, single)
        scout = learner(task, ScoutConfig(eval_every=20_000, **settings), seed)  # type: ignore[arg-type]
        list(scout.train(20_000))
        best = tasks.shortest(task)
        walked = scout.evaluate()
        right = scout.claim.lower == scout.claim.upper == best
        right = right and (walked.episode_length == best if best <= task.world.limit else not walked.success)
        found += [right] if scout.claim.proved else []
    return found


def test_every_random_task_is_certified_and_no_certificate_is_wrong() -> None:
    found = verdicts(range(150), Scout)
    assert len(found) == 150
    assert all(found)


def test_random_partial_orders_are_certified_and_no_certificate_is_wrong() -> None:
    lengths = []
    for seed in range(100):
        task, items, pairs = tasks.ordered(seed)
        scout = Scout(task, ScoutConfig(eval_every=20_000), seed)
        list(scout.train(20_000))
        best = tasks.shortest_ordered(task, items, pairs)
        assert scout.claim.proved
        assert scout.claim.lower == scout.claim.upper == best
        if best <= task.world.limit:
            assert scout.evaluate().episode_length == best
        lengths.append(best)
    assert 60 < sum(np.isfinite(lengths)) < 100


@pytest.mark.parametrize("name", ["pickup-2", "pickup-4", "pickup-6"])
def test_pickups_are_proved(name: str) -> None:
    task = load(name)
    scout = Scout(task, ScoutConfig(), 0)
    list(scout.train(2_000))
    assert scout.claim.proved
    assert scout.claim.upper == optimum(task).length


def test_the_promise_of_single_cells_keeps_certificates_right() -> None:
    found = verdicts(range(1_000, 1_060), Scout, single=True, unique=True, replan_every=1)
    assert len(found) == 60
    assert all(found)


def test_most_random_tasks_can_be_done_and_some_cannot() -> None:
    lengths = [tasks.shortest(tasks.task(seed)) for seed in range(150)]
    assert 90 < sum(np.isfinite(lengths)) < 150


class Overrated(ExactPlanner):
    """A planner with a broken bound: three steps too many."""

    def bounds(self, marks: Landmarks) -> Ints:
        w = super().bounds(marks)
        return np.where((w > 0) & (w < FAR), w + 3, w).astype(np.int32)


class Hasty(Scout):
    planner_type = Overrated


def test_a_broken_bound_makes_certificates_fail_the_check() -> None:
    assert not all(verdicts(range(60), Hasty, single=True, unique=True, replan_every=1))


class Blind(ExactPlanner):
    """A planner that never has landmarks and is guided by the machine alone."""

    @property
    def marked(self) -> tuple[Ints, Ints, bool]:  # type: ignore[override]
        return np.zeros(0, np.int32), np.zeros(0, np.int32), True


class Groping(Scout):
    planner_type = Blind


def test_without_landmarks_the_machine_alone_still_gives_right_certificates() -> None:
    found = verdicts(range(200, 240), Groping)
    assert len(found) == 40
    assert all(found)


@pytest.mark.parametrize("map_seed", range(20, 26))
def test_held_out_maps_are_certified(map_seed: int) -> None:
    for name in ("delivery-4", "visit-6"):
        task = load(name, map_seed)
        scout = Scout(task, ScoutConfig(eval_every=1_000), 0)
        list(scout.train(1_000))
        assert scout.claim.proved
        assert scout.claim.upper == tasks.shortest(task)
