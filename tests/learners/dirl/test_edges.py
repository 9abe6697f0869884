"""Edges learnt with networks: what becomes of one depends on its job alone, and its steps are counted one by one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.base import stacked
from errands.learners.dirl.deep import edges_of
from errands.learners.dirl.edges import DeviceEdges, EdgeEnv, HostEdges, Meaning, counted, edge_world, recorded
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.dirl.tabular import AWAY, EdgeJob, Starts
from errands.learners.engines.deep.host_envs import HalfCheetahEnvs, HostEnvs
from errands.learners.engines.deep.machine import machine_arrays
from errands.tasks import load
from errands.tasks.phrases import any_order

TASK = load("figure-1")
GRAPH = abstract_graph(TASK.machine)
CONFIG = DeepDiRLConfig(width=8, depth=1, batch=4, capacity=60, warmup=10, rollouts=3, edge_limit=20)
EPISODES = Starts(np.zeros((0, 1), np.int32), np.zeros(0))


def job(number, training=40, rollouts=3, most=60, starts=EPISODES, seed=5):
    return EdgeJob(number, GRAPH.edges[number], starts, training, rollouts, most, seed)


@pytest.fixture(scope="module")
def edges():
    return edges_of(TASK, GRAPH, CONFIG)


def test_a_grid_lives_on_the_device_and_a_corridor_outside(edges, corridor):
    assert isinstance(edges, DeviceEdges)
    outside = corridor(any_order("left", "right"))
    assert isinstance(edges_of(outside, abstract_graph(outside.machine), CONFIG), HostEdges)


def test_a_result_depends_on_the_job_and_not_on_those_before(edges):
    alone, neighbour, again, longer = (edges.solve(each) for each in (job(0), job(1, training=30), job(0), job(1, training=55)))
    assert np.array_equal(alone.learnt, again.learnt)
    assert alone.attempts.steps == again.attempts.steps
    assert np.array_equal(alone.attempts.ends, again.attempts.ends)
    assert not np.array_equal(alone.learnt, neighbour.learnt)
    assert not np.array_equal(neighbour.learnt, longer.learnt), "25 steps more of training"
    assert not np.array_equal(alone.learnt, edges.solve(job(0, seed=6)).learnt)


def test_an_edge_without_training_is_tried_out_all_the_same(edges):
    done = edges.solve(job(0, training=0))
    assert done.attempts.number == 3
    assert done.attempts.steps <= 60


def test_attempts_are_counted_until_their_steps_are_used_up():
    """Attempts of 20, 7 and 20 steps, the second of them a success; by hand."""
    lengths, won, rows = np.array([20, 7, 20]), np.array([False, True, False]), np.arange(3).reshape(3, 1)
    said = []
    for rollouts, most in ((3, 60), (3, 47), (3, 46), (3, 26), (1, 60), (2, 60)):
        made = counted(job(0, rollouts=rollouts, most=most), lengths, won, rows)
        said.append((made.number, made.steps, made.ends.ravel().tolist()))
    assert said == [(3, 47, [1]), (3, 47, [1]), (2, 46, [1]), (1, 26, []), (1, 20, []), (2, 27, [1])]


def test_attempts_begin_in_the_states_of_their_order(edges):
    world = edge_world(edges.inner)
    known = Starts(np.array([[9], [4]], np.int32), np.array([0.25, 1.0]))
    draws = jnp.array([0.1, 0.3, 0.99])
    for starts, expected in ((known, [[9, 4, 4]]), (EPISODES, [[int(edges.inner.start(jnp.float32(0)))] * 3])):
        order = edges._order(job(0, starts=starts))
        begins = jax.vmap(jax.vmap(world.restart, in_axes=(None, 0)), in_axes=(0, None))(order, draws)
        assert np.asarray(begins.inner).tolist() == expected


def test_the_agent_is_shared_by_all_learners_in_a_world(edges):
    assert edges_of(TASK, GRAPH, CONFIG).agent is edges.agent
    other = dataclasses.replace(CONFIG, width=9)
    assert edges_of(TASK, GRAPH, other).agent is not edges.agent


@pytest.mark.parametrize("recordings", [0, 5])
def test_a_robot_stepped_by_the_batch_attempts_an_edge_as_one_stepped_by_itself(recordings):
    """Attempts begin as episodes do, or where it is put into recorded states, again and again."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    machine = machine_arrays(load("cheetah-bcd"))
    labels = len(machine.numbers)
    away = Meaning(np.full(2 * labels, AWAY, np.int32), np.ones((labels, 1), np.float32))
    sample = HostEnvs(machine, (7,))
    sample.reset()
    pushes = np.random.default_rng(0).uniform(-1, 1, (30, 1, 6)).astype(np.float32)
    rows = [recorded(sample.envs[0], sample.step(push).observation[0])[None] for push in pushes[:recordings]]
    starts = Starts(stacked(rows), np.linspace(0.2, 1.0, 5)) if rows else EPISODES
    seen = []
    for kind in (HostEnvs, HalfCheetahEnvs):
        env = EdgeEnv(kind(machine, (0,)), job(0, training=20, most=9, starts=starts), away, limit=4)
        steps = [env.reset().copy()]
        for push in pushes[: 20 + 9]:
            env.send(push)
            steps += env.receive()
        assert not env.live
        seen.append((steps, (env.step, env.attempts)))
    assert seen[0][1] == seen[1][1]
    for one, other in zip(seen[0][0], seen[1][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
