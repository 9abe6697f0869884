"""The device loop: chunks, random numbers by seed and step, and trials that end where the task does."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.device import CHUNK, advance, launch, randoms, trials
from errands.learners.deep.machine import listed
from errands.learners.deep.methods import Spaces, brain_of
from errands.learners.deep.presets import deep_preset
from errands.learners.deep.worlds import device_world
from errands.tasks import load

TASK = load("figure-1")
MACHINE = listed(TASK)
WORLD = device_world(MACHINE)


@pytest.fixture(scope="module")
def brain():
    config = dataclasses.replace(deep_preset("crm", "tuned", TASK), width=8, depth=1, batch=2, capacity=60)
    return brain_of("crm", MACHINE, config, Spaces(12, 4, False, 0))


def leaves(fleet):
    return [np.asarray(x) for x in jax.tree.leaves(fleet)]


def test_a_fleet_begins_at_the_start_with_an_empty_buffer(brain):
    fleet = launch(brain, WORLD, (4, 9))
    assert int(fleet.step) == 0
    assert fleet.buffer.shape == (60, 2, brain.shape.width)
    assert not np.asarray(fleet.buffer).any()
    assert np.asarray(fleet.places.observation).argmax(axis=1).tolist() == [TASK.finite.table.starts[0]] * 2


def test_random_numbers_depend_on_seed_and_chunk_and_on_nothing_else(brain):
    keys = launch(brain, WORLD, (4, 9)).keys
    uniforms, normals = randoms(brain, keys, jnp.int32(3))
    assert uniforms.shape == (CHUNK, 2, brain.uniforms)
    assert normals.shape == (CHUNK, 2, 0)
    alone, _ = randoms(brain, keys[1:], jnp.int32(3))
    assert np.array_equal(uniforms[:, 1:], alone)
    later, _ = randoms(brain, keys, jnp.int32(4))
    assert not np.array_equal(uniforms, later)


def test_training_in_pieces_is_training_in_one_go(brain):
    whole = advance(brain, WORLD, launch(brain, WORLD, (0, 1)), jnp.int32(90))
    parts = launch(brain, WORLD, (0, 1))
    for stop in (1, 40, 90):
        parts = advance(brain, WORLD, parts, jnp.int32(stop))
    assert int(parts.step) == 90
    assert all(np.array_equal(a, b) for a, b in zip(leaves(whole), leaves(parts), strict=True))


def test_rows_lie_where_their_step_says_and_tell_of_the_walk(brain):
    """After 90 steps in a buffer of 60, row 29 is the newest and row 30 the oldest; each follows the one before."""
    fleet = advance(brain, WORLD, launch(brain, WORLD, (0,)), jnp.int32(90))
    rows = np.asarray(fleet.buffer)[:, 0]
    order = np.concatenate([rows[30:], rows[:30]])
    before, after = order[:, :12].argmax(axis=1), order[:, 12:24].argmax(axis=1)
    actions, labels = order[:, 24].astype(int), order[:, 25].astype(int)
    table = TASK.finite.table
    assert np.array_equal(table.next[before, actions, 0], after)
    assert np.array_equal(table.label[before, actions, 0], labels)
    assert (before[1:] == after[:-1]).mean() > 0.8
    assert int(np.asarray(fleet.places.observation)[0].argmax()) == after[-1]


def test_a_trial_ends_with_the_limit_or_with_success(brain):
    fleet = launch(brain, WORLD, (0, 1, 2))
    found = trials(brain, WORLD, fleet.minds, fleet.keys)
    for length, success, total in zip(
        *(np.asarray(x) for x in (found.length, found.success, found.total)), strict=True
    ):
        assert success or length == TASK.world.limit
        assert total == float(success)
    again = trials(brain, WORLD, fleet.minds, fleet.keys)
    assert all(np.array_equal(a, b) for a, b in zip(leaves(found), leaves(again), strict=True))
