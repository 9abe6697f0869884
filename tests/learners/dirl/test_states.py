"""World states of device worlds as rows of numbers, both ways."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from errands.learners.dirl.edges import states_of
from errands.learners.engines.deep.device import device_world
from errands.learners.engines.deep.machine import machine_arrays
from errands.tasks import load


def test_a_cell_is_one_number():
    row, state = states_of(device_world(machine_arrays(load("figure-1"))))
    assert row.shape == (1,)
    assert int(state(ravel_pytree(jnp.int32(7))[0])) == 7


def test_water_moves_on_from_a_row_as_from_the_state_itself():
    world = device_world(machine_arrays(load("water-2")))
    first, state_of = states_of(world)
    step = jax.jit(world.step)
    state = world.start(jnp.float32(0))
    for action in (1, 1, 2, 0):
        state, *_ = step(state, jnp.array([action], jnp.float32), jnp.float32(0))
    row = ravel_pytree(state)[0]
    assert row.shape == first.shape
    again = state_of(row)
    for _ in range(3):
        state, *_ = step(state, jnp.array([3.0]), jnp.float32(0))
        again, *_ = step(again, jnp.array([3.0]), jnp.float32(0))
    assert np.array_equal(ravel_pytree(state)[0], ravel_pytree(again)[0])


def test_the_same_world_has_the_same_rows():
    world = device_world(machine_arrays(load("figure-1")))
    assert states_of(world) is states_of(world)
