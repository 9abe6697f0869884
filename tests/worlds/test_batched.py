"""Batched worlds step as the environments of their tasks do."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from errands.tasks import Task, load  # noqa: E402


@pytest.mark.parametrize("name", ["water-3", "office-2", "figure-1", "visit-3"])
def test_a_batched_world_answers_what_the_environment_answers(name: str) -> None:
    task = load(name)
    world, env, key = task.batched, task.world.env(), jax.random.key(0)
    env.reset(seed=0)
    state, step = world.reset(key), jax.jit(world.step)
    assert jnp.asarray(world.observe(state)).shape == (world.inputs,)
    for action in np.random.default_rng(0).integers(world.actions, size=80):
        seen = step(state, int(action), key)
        _, _, ends, _, info = env.step(int(action))
        holds = {feature for feature, here in zip(world.features, seen.features.tolist(), strict=True) if here}
        assert holds & set(task.machine.features) == set(info["features"]) & set(task.machine.features)
        assert bool(seen.done) == ends
        assert np.array_equal(seen.observation, world.observe(seen.state))
        if ends:
            break
        state = seen.state


def test_chance_is_the_keys_and_as_frequent_as_the_tables_say() -> None:
    task = Task.from_toml(load("figure-1").text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.2'))
    world, table = task.batched, task.finite.table
    state = int(table.starts[0])
    keys = jax.random.split(jax.random.key(1), 20_000)
    reached = np.asarray(jax.jit(jax.vmap(lambda key: world.step(jnp.int32(state), 1, key).state))(keys))
    wanted = np.zeros(task.finite.states)
    np.add.at(wanted, table.next[state, 1], np.diff(table.cumulative[state, 1], prepend=0.0))
    shares = np.bincount(reached, minlength=task.finite.states) / len(keys)
    assert (wanted > 0).sum() > 1
    assert np.abs(shares - wanted).max() < 5 * np.sqrt(0.25 / len(keys))


def test_worlds_without_pure_functions_say_so() -> None:
    assert load("cheetah-bcd").batched is None
