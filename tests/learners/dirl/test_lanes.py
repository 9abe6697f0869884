"""When a lane trains, when it rolls out and when it has ended: by its order and its steps, counted by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.device import CHUNK, device_world
from errands.learners.deep.host_envs import Spaces
from errands.learners.deep.machine import labels_of, machine_arrays
from errands.learners.dirl import lanes
from errands.learners.dirl.config import DeepDiRLConfig
from errands.learners.dirl.deep import edge_agent, meaning
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.lanes import LaneOrder, live, states_of, training
from errands.tasks import load

TASK = load("figure-1")
GRAPH = abstract_graph(TASK.machine)
WORLD = device_world(machine_arrays(TASK))
STATES = states_of(WORLD)
CONFIG = DeepDiRLConfig(width=8, depth=1, batch=2, capacity=30, warmup=5, rollouts=2, edge_limit=7)
AGENT = edge_agent(TASK, CONFIG, Spaces(12, 4, False, 0))


def order(train, rollouts=2, most=50, start=None):
    """The first edge, to b1, from one cell or from the world's own start."""
    found = meaning(TASK, GRAPH, GRAPH.edges[0])
    rows = jnp.full((2, 1), 0 if start is None else start, STATES.dtype)
    cumulative = jnp.full(2, -1.0 if start is None else 1.0)
    return LaneOrder(
        jnp.asarray(found.fate), jnp.asarray(found.pay), rows, cumulative, *map(jnp.int32, (train, rollouts, most))
    )


@pytest.mark.parametrize(
    ("step", "made", "trains", "goes_on"),
    [
        (0, 0, True, True),
        (9, 0, True, True),
        (10, 0, False, True),
        (10, 1, False, True),
        (10, 2, False, False),
        (59, 1, False, True),
        (60, 1, False, False),
    ],
)
def test_training_comes_first_and_rollouts_end_by_number_or_by_steps(step, made, trains, goes_on):
    asked = order(10)
    assert bool(training(asked, jnp.int32(step))) is trains
    assert bool(live(asked, jnp.int32(step), jnp.int32(made))) is goes_on


@pytest.fixture(scope="module")
def idle():
    return lanes.idle(AGENT, WORLD, STATES, 2, 2, len(labels_of(TASK)))


def test_lanes_without_a_job_have_ended(idle):
    assert not np.asarray(live(idle.order, idle.step, idle.tally.attempts)).any()
    assert idle.buffer.shape == (30, 2, AGENT.shape.width)


def test_a_job_starts_where_its_order_says_and_leaves_the_other_lane_alone(idle):
    key = jnp.array([1, 2], jnp.uint32)
    copy = lanes.idle(AGENT, WORLD, STATES, 2, 2, len(labels_of(TASK)))
    begun = lanes.begin(AGENT, WORLD, STATES, copy, jnp.int32(1), key, order(20, start=9))
    assert np.asarray(begun.worlds).tolist() == [int(idle.worlds[0]), 9]
    assert np.asarray(begun.places.observation).argmax(axis=1).tolist() == [int(idle.worlds[0]), 9]
    after = lanes.advance(AGENT, WORLD, STATES, begun, True)
    assert int(after.step[0]) == 0
    assert 20 < int(after.step[1]) <= min(70, CHUNK)
    tried = int(after.step[1]) - 20
    assert (int(after.tally.attempts[1]) == 2) or tried == 50
    assert int(after.tally.won[1]) <= int(after.tally.attempts[1])
    assert tried <= 2 * CONFIG.edge_limit
