"""Worlds on the device step as the worlds on the host do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.machine import listed
from errands.learners.deep.worlds import device_world
from errands.tasks import Task, load

SLIP = load("figure-1").text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.2')


def test_a_grid_walks_as_its_tables_say():
    task = load("office-2")
    world, table = device_world(listed(task)), task.finite.table
    assert (world.observation, world.actions, world.continuous) == (task.finite.states, 4, False)
    assert world.limit == task.world.limit
    step = jax.jit(world.step)
    state = world.start(jnp.float32(0.3))
    at = int(table.starts[0])
    assert int(state) == at
    for action in np.random.default_rng(0).integers(4, size=60):
        state, label, ends, signals = step(state, jnp.array([action], jnp.float32), jnp.float32(0.5))
        assert int(label) == table.label[at, action, 0]
        assert bool(ends) == table.ends[at, action, 0]
        assert signals.shape == (0,)
        at = int(table.next[at, action, 0])
        assert int(state) == at
    seen = np.asarray(world.observe(state))
    assert (seen.argmax(), seen.sum()) == (at, 1.0)


@pytest.mark.parametrize("uniform", [0.0, 0.05, 0.5, 0.799, 0.85, 0.95, 0.9999999])
def test_one_uniform_number_decides_where_a_move_slips(uniform):
    task = Task.from_toml(SLIP)
    table = task.finite.table
    world = device_world(listed(task))
    for state in range(task.finite.states):
        following, label, _, _ = world.step(jnp.int32(state), jnp.array([1.0]), jnp.float32(uniform))
        outcome = int(np.searchsorted(table.cumulative[state, 1].astype(np.float32), np.float32(uniform), side="right"))
        assert int(following) == table.next[state, 1, outcome]
        assert int(label) == table.label[state, 1, outcome]


def test_water_on_the_device_touches_what_its_environment_touches():
    task = load("water-2")
    machine = listed(task)
    world, env = device_world(machine), task.world.env()
    seen, _ = env.reset(seed=0)
    state, step = world.start(jnp.float32(0.9)), jax.jit(world.step)
    assert np.allclose(world.observe(state), seen, atol=1e-4)
    for action in np.random.default_rng(1).integers(5, size=120):
        seen, _, _, _, info = env.step(int(action))
        state, label, ends, _ = step(state, jnp.array([action], jnp.float32), jnp.float32(0))
        assert machine.labels[int(label)] == frozenset(info["features"]) & frozenset(task.machine.features)
        assert not bool(ends)
    assert np.allclose(world.observe(state), seen, atol=1e-2)


def test_what_cannot_live_on_the_device_is_stepped_outside():
    assert device_world(listed(load("cheetah-bcd"))) is None
