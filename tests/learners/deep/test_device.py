"""Worlds on the device step as the worlds on the host do."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep import device
from errands.learners.engines.deep.agents import agent_of
from errands.learners.engines.deep.device import CHUNK, advance, device_world, greedy_episodes, launch, randoms
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import keys_of
from errands.learners.presets import deep_preset
from errands.tasks import Task, load

SLIP = load("figure-1").text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.2')


def test_a_grid_walks_as_its_tables_say():
    task = load("office-2")
    world, table = device_world(machine_arrays(task)), task.finite.table
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
    world = device_world(machine_arrays(task))
    for state in range(task.finite.states):
        following, label, _, _ = world.step(jnp.int32(state), jnp.array([1.0]), jnp.float32(uniform))
        outcome = int(np.searchsorted(table.cumulative[state, 1].astype(np.float32), np.float32(uniform), side="right"))
        assert int(following) == table.next[state, 1, outcome]
        assert int(label) == table.label[state, 1, outcome]


def test_water_on_the_device_touches_what_its_environment_touches():
    task = load("water-2")
    machine = machine_arrays(task)
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
    assert device_world(machine_arrays(load("cheetah-bcd"))) is None


TASK = load("figure-1")
MACHINE = machine_arrays(TASK)
WORLD = device_world(MACHINE)


@pytest.fixture(scope="module")
def agent():
    config = dataclasses.replace(deep_preset("crm", "tuned", TASK), width=8, depth=1, batch=2, capacity=60)
    return agent_of("crm", MACHINE, config, Spaces(12, 4, False, 0))


def leaves(state):
    return [np.asarray(x) for x in jax.tree.leaves(state)]


def test_a_fleet_begins_at_the_start_with_an_empty_buffer(agent):
    state = launch(agent, WORLD, keys_of((4, 9)))
    assert int(state.step) == 0
    assert state.buffer.shape == (60, 2, agent.shape.width)
    assert not np.asarray(state.buffer).any()
    assert np.asarray(state.positions.observation).argmax(axis=1).tolist() == [TASK.finite.table.starts[0]] * 2


def test_a_random_action_is_kept_for_a_stretch_and_nothing_else_is(agent):
    keys = launch(agent, WORLD, keys_of((4,))).keys
    plain, _ = randoms(agent, keys, jnp.int32(0))
    longer = dataclasses.replace(agent, config=dataclasses.replace(agent.config, explore_steps=5))
    stretched, _ = randoms(longer, keys, jnp.int32(0))
    acting = np.zeros(agent.uniforms, bool)
    acting[agent.config.batch : agent.config.batch + 2] = True
    assert np.array_equal(stretched[..., ~acting], plain[..., ~acting])
    assert np.array_equal(stretched[..., acting], np.repeat(np.asarray(plain)[::5][..., acting], 5, axis=0))


def test_mixed_stretches_have_one_length_in_each_hundred_steps_and_all_lengths_come_up(agent):
    keys = launch(agent, WORLD, keys_of((4, 9))).keys
    mixed = dataclasses.replace(agent, config=dataclasses.replace(agent.config, explore_steps="1..8"))
    lengths: list[list[int]] = [[], []]
    for chunk in range(4):
        plain, stretched = (np.asarray(randoms(one, keys, jnp.int32(chunk))[0]) for one in (agent, mixed))
        acting = slice(agent.config.batch, agent.config.batch + 2)
        assert np.array_equal(np.delete(stretched, np.r_[acting], axis=-1), np.delete(plain, np.r_[acting], axis=-1))
        for seed in range(2):
            for block in range(0, CHUNK, 100):
                whole = stretched[block : block + 100, seed, acting]
                kept = int((whole[:9] == whole[0]).all(axis=1).argmin())
                first = np.arange(100) // kept * kept
                assert np.array_equal(whole, plain[block : block + 100, seed, acting][first])
                lengths[seed].append(kept)
    assert [set(each) for each in lengths] == [{1, 2, 4, 8}] * 2
    assert lengths[0] != lengths[1]


def test_random_numbers_depend_on_seed_and_chunk_and_on_nothing_else(agent):
    keys = launch(agent, WORLD, keys_of((4, 9))).keys
    uniforms, normals = randoms(agent, keys, jnp.int32(3))
    assert uniforms.shape == (CHUNK, 2, agent.uniforms)
    assert normals.shape == (CHUNK, 2, 0)
    alone, _ = randoms(agent, keys[1:], jnp.int32(3))
    assert np.array_equal(uniforms[:, 1:], alone)
    later, _ = randoms(agent, keys, jnp.int32(4))
    assert not np.array_equal(uniforms, later)


def test_training_in_pieces_is_training_in_one_go(agent):
    whole = advance(agent, WORLD, launch(agent, WORLD, keys_of((0, 1))), jnp.int32(90))
    parts = launch(agent, WORLD, keys_of((0, 1)))
    for stop in (1, 40, 90):
        parts = advance(agent, WORLD, parts, jnp.int32(stop))
    assert int(parts.step) == 90
    assert all(np.array_equal(a, b) for a, b in zip(leaves(whole), leaves(parts), strict=True))


def test_a_gpu_runs_kernels_side_by_side_where_jax_knows_how(monkeypatch):
    assert device.options("cpu") == {}
    # This JAX takes the option for any device, and looks at it on a GPU alone; other versions may have lost its name.
    assert device.options("gpu") == device.SIDE_BY_SIDE
    monkeypatch.setattr(device, "SIDE_BY_SIDE", {"xla_gpu_no_such_option": "1"})
    assert device.options("gpu") == {}


def test_what_the_compiler_is_told_changes_nothing_that_is_learnt(agent, monkeypatch):
    plain = advance(agent, WORLD, launch(agent, WORLD, keys_of((1, 2))), jnp.int32(60))
    monkeypatch.setattr(device, "options", lambda platform: device.SIDE_BY_SIDE)
    device._compiled.cache_clear()
    told = advance(agent, WORLD, launch(agent, WORLD, keys_of((1, 2))), jnp.int32(60))
    device._compiled.cache_clear()
    assert all(np.array_equal(a, b) for a, b in zip(leaves(plain), leaves(told), strict=True))


def test_rows_lie_where_their_step_says_and_tell_of_the_walk(agent):
    """After 90 steps in a buffer of 60, row 29 is the newest and row 30 the oldest; each follows the one before."""
    state = advance(agent, WORLD, launch(agent, WORLD, keys_of((0,))), jnp.int32(90))
    rows = np.asarray(state.buffer)[:, 0]
    order = np.concatenate([rows[30:], rows[:30]])
    before, after = order[:, :12].argmax(axis=1), order[:, 12:24].argmax(axis=1)
    actions, labels = order[:, 24].astype(int), order[:, 25].astype(int)
    table = TASK.finite.table
    assert np.array_equal(table.next[before, actions, 0], after)
    assert np.array_equal(table.label[before, actions, 0], labels)
    assert (before[1:] == after[:-1]).mean() > 0.8
    assert int(np.asarray(state.positions.observation)[0].argmax()) == after[-1]


def test_a_trial_ends_with_the_limit_or_with_success(agent):
    state = launch(agent, WORLD, keys_of((0, 1, 2)))
    found = greedy_episodes(agent, WORLD, state.agent_states, state.keys)
    for length, success, total in zip(
        *(np.asarray(x) for x in (found.length, found.success, found.total)), strict=True
    ):
        assert success or length == TASK.world.limit
        assert total == float(success)
    again = greedy_episodes(agent, WORLD, state.agent_states, state.keys)
    assert all(np.array_equal(a, b) for a, b in zip(leaves(found), leaves(again), strict=True))
