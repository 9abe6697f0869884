"""Lanes for jobs: a lane's result depends on its job alone, wherever and beside whatever it is done."""

import dataclasses

import numpy as np
import pytest

from errands.learners.dirl.config import DeepDiRLConfig
from errands.learners.dirl.deep import DeviceLanes, lane_pool
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.host import HostLanes
from errands.learners.dirl.learner import EdgeJob, Starts
from errands.tasks import any_order, load

TASK = load("figure-1")
GRAPH = abstract_graph(TASK.machine)
CONFIG = DeepDiRLConfig(width=8, depth=1, batch=4, capacity=60, warmup=10, rollouts=3, edge_limit=20)


def job(number, training=40, rollouts=3, most=60):
    return EdgeJob(
        number, GRAPH.edges[number], Starts(np.zeros((0, 1), np.int32), np.zeros(0)), training, rollouts, most, 5
    )


def finished(ground, *jobs):
    """What became of the jobs, each in a lane of its own."""
    for lane, one in enumerate(jobs):
        ground.begin(lane, one)
    done = {}
    while ground.busy:
        ground.advance()
        done |= {lane: ground.collect(lane) for lane in ground.ended()}
    return [done[lane] for lane in range(len(jobs))]


@pytest.fixture(scope="module")
def ground():
    return lane_pool(TASK, GRAPH, CONFIG, 2)


def test_a_grid_lives_on_the_device_and_a_corridor_outside(ground, corridor):
    assert isinstance(ground, DeviceLanes)
    outside = corridor(any_order("left", "right"))
    assert isinstance(lane_pool(outside, abstract_graph(outside.machine), CONFIG, 1), HostLanes)


def test_lanes_are_busy_until_their_job_is_collected(ground):
    assert (ground.busy, ground.free) == ([], [0, 1])
    ground.begin(1, job(0))
    assert (ground.busy, ground.free) == ([1], [0])
    while not ground.ended():
        ground.advance()
    assert ground.ended() == [1]
    done = ground.collect(1)
    assert ground.free == [0, 1]
    assert done.attempts.number <= 3
    assert done.attempts.steps <= 60
    assert len(done.attempts.ends) <= done.attempts.number


def test_a_result_depends_on_the_job_and_not_on_the_lane_or_its_neighbour(ground):
    alone = finished(ground, job(0))[0]
    neighbour, beside = finished(ground, job(1, training=30), job(0))
    assert np.array_equal(alone.learnt, beside.learnt)
    assert alone.attempts.steps == beside.attempts.steps
    assert np.array_equal(alone.attempts.ends, beside.attempts.ends)
    assert not np.array_equal(alone.learnt, neighbour.learnt)


def test_another_seed_learns_something_else(ground):
    one, other = finished(ground, job(0), job(0)._replace(seed=6))
    assert not np.array_equal(one.learnt, other.learnt)


def test_the_brain_is_shared_by_all_grounds_of_a_world(ground):
    assert lane_pool(TASK, GRAPH, CONFIG, 2).agent is ground.agent
    other = dataclasses.replace(CONFIG, width=9)
    assert lane_pool(TASK, GRAPH, other, 1).agent is not ground.agent
