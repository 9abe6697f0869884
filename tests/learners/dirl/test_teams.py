"""Jobs in teams: what becomes of a job depends on the job alone, and its steps are counted as if taken one after the other."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.dirl import teams
from errands.learners.dirl.deep import edge_teams
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.dirl.stepped import stacked, taken
from errands.learners.dirl.tabular import EdgeJob, Starts
from errands.learners.dirl.teams import Attempted, DeviceEdges, EdgeEnvs, HostEdges, Meaning, edge_world
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
def pair():
    return edge_teams(TASK, GRAPH, CONFIG, 2)


def test_a_grid_lives_on_the_device_and_a_corridor_outside(pair, corridor):
    assert isinstance(pair, DeviceEdges)
    outside = corridor(any_order("left", "right"))
    assert isinstance(edge_teams(outside, abstract_graph(outside.machine), CONFIG, 1), HostEdges)


def test_a_result_depends_on_the_job_and_not_on_its_place_or_its_neighbour(pair):
    (alone,) = pair.solve([job(0)])
    neighbour, beside = pair.solve([job(1, training=30), job(0)])
    shorter, longer = pair.solve([job(0), job(1, training=55)])
    for done in (beside, shorter):
        assert np.array_equal(alone.learnt, done.learnt)
        assert alone.attempts.steps == done.attempts.steps
        assert np.array_equal(alone.attempts.ends, done.attempts.ends)
    assert not np.array_equal(alone.learnt, neighbour.learnt)
    assert not np.array_equal(neighbour.learnt, longer.learnt), "25 steps more of training"


def test_another_seed_learns_something_else(pair):
    one, other = pair.solve([job(0), job(0, seed=6)])
    assert not np.array_equal(one.learnt, other.learnt)


def test_attempts_are_counted_until_their_steps_are_used_up(pair, monkeypatch):
    """Attempts of 20, 7 and 20 steps, the second of them a success; by hand."""
    lengths, won, rows = np.array([[20, 7, 20]] * 2), np.array([[False, True, False]] * 2), np.arange(6).reshape(2, 3, 1)
    monkeypatch.setattr(teams, "_try_out", lambda *given: (lengths, won, rows))
    counted = []
    for rollouts, most in ((3, 60), (3, 47), (3, 46), (3, 26), (1, 60), (2, 60)):
        made = pair.try_out([job(0, rollouts=rollouts, most=most)] * 2, np.zeros((2, 2), np.uint32), None)[0]
        counted.append((made.number, made.steps, made.ends.ravel().tolist()))
    assert counted == [(3, 47, [1]), (3, 47, [1]), (2, 46, [1]), (1, 26, []), (1, 20, []), (2, 27, [1])]


def test_attempts_begin_in_the_states_of_their_order(pair):
    world = edge_world(pair.inner)
    known = Starts(np.array([[9], [4]], np.int32), np.array([0.25, 1.0]))
    orders = pair._orders([job(0, starts=known), job(0)])
    begins = jax.vmap(jax.vmap(world.restart, in_axes=(None, 0)), in_axes=(0, None))(orders, jnp.array([0.1, 0.3, 0.99]))
    first = int(pair.inner.start(jnp.float32(0)))
    assert np.asarray(begins.inner).tolist() == [[9, 4, 4], [first] * 3]


def test_the_agent_is_shared_by_all_teams_of_a_world(pair):
    assert edge_teams(TASK, GRAPH, CONFIG, 2).agent is pair.agent
    other = dataclasses.replace(CONFIG, width=9)
    assert edge_teams(TASK, GRAPH, other, 1).agent is not pair.agent


def test_robots_stepped_in_one_call_attempt_edges_as_robots_stepped_one_by_one_do():
    """One begins as episodes do and then rests; one is put into recorded states, again and again."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    machine = machine_arrays(load("cheetah-bcd"))
    labels = len(machine.numbers)
    away = Meaning(np.full(2 * labels, teams.AWAY, np.int32), np.ones((labels, 1), np.float32))
    sample = HostEnvs(machine, (7,))
    sample.reset()
    pushes = np.random.default_rng(0).uniform(-1, 1, (40, 2, 6)).astype(np.float32)
    rows = stacked([taken(sample.envs[0], sample.step(push[:1]).observation[0]) for push in pushes[:5]])
    begins = [EPISODES, Starts(rows, np.linspace(0.2, 1.0, 5))]
    seen = []
    for kind in (HostEnvs, HalfCheetahEnvs):
        books = [Attempted(job(0, training=n, most=9, starts=each), away) for n, each in zip((6, 25), begins, strict=True)]
        envs = EdgeEnvs(kind(machine, (0, 1)), books, limit=4)
        steps = [envs.reset().copy()]
        for push in pushes:
            resting = envs.outside.resting.copy()
            envs.send(push)
            heard = envs.receive()
            steps += [part[~resting] for part in (heard.observation, heard.signals, heard.truncated, heard.fresh)]
        seen.append((steps, [(own.step, own.attempts) for own in books]))
    assert seen[0][1] == seen[1][1]
    for one, other in zip(seen[0][0], seen[1][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
