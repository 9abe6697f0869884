"""Families: maps that are drawn anew, and rows and scenes that say what the environments of their worlds do."""

from __future__ import annotations

import numpy as np
import pytest

import errands

jax = pytest.importorskip("jax")

NAMES = ("water-3", "zones-4", "zones-4-walls", "letters-3")


@pytest.mark.parametrize("name", NAMES)
def test_another_key_is_another_map(name: str) -> None:
    family = errands.load(name).world.family
    maps = [family.world.reset(jax.random.key(key)) for key in range(2)]
    things = [state.balls if hasattr(state, "balls") else state.places for state in maps]
    assert not np.array_equal(*things)
    seen = [family.world.observe(state) for state in maps]
    assert {row.shape for row in seen} == {(family.world.inputs,)}


@pytest.mark.parametrize("name", NAMES)
def test_the_row_of_an_observation_is_that_of_the_state(name: str) -> None:
    """The batched world of a map and the family's rules, fed with the same actions, see the same."""
    task = errands.load(name, map_seed=3)
    env, family = task.world.env(), task.world.family
    seen, _ = env.reset()
    rows = [family.row(seen)]
    for action in (1, 1, 2, 3, 3, 3):
        seen, *_, info = env.step(action)
        rows.append(family.row(seen))
    scenes = family.scene(np.stack(rows))
    assert scenes.things.shape[:2] == (7, len(task.world.features))
    if name != "letters-3":
        return
    # A letter is on the agent's cell, the first of those seen, exactly where the environment reports it.
    here = np.flatnonzero(np.asarray(scenes.things)[-1, :, :, 0].any(axis=1))
    assert {task.world.features[i] for i in here} == info["features"]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_shows_all_that_the_future_depends_on(name: str) -> None:
    """What is read from a row answers to the same actions as the state that the row was made of."""
    world, random = errands.load(name).world.family.world, np.random.default_rng(0)
    read, step, key = errands.load(name).world.family.state, jax.jit(world.step), jax.random.key(0)
    for number in range(4):
        state = world.reset(jax.random.key(number))
        for action in random.integers(0, world.actions, 12):
            state = step(state, action, key).state
        other = read(world.observe(state))
        for action in random.integers(0, world.actions, 40):
            one, two = step(state, action, key), step(other, action, key)
            assert np.array_equal(one.features, two.features)
            assert np.allclose(one.observation, two.observation, atol=1e-5)
            state, other = one.state, two.state


def test_letters_of_a_family_move_as_on_their_grid() -> None:
    task = errands.load("letters-12", map_seed=7)
    family, table = task.world.family, task.finite.table
    cells = np.array([cell for _, cell in task.world.layout.places]).reshape(12, 2)
    state = type(family.world.reset(jax.random.key(0)))
    for cell in range(0, 49, 5):
        for action in range(4):
            moved = family.world.step(state(np.int32(cell), cells), action, jax.random.key(0))
            assert int(moved.state.cell) == table.next[cell, action, 0]
            names = {name for name, holds in zip(family.world.features, moved.features.tolist(), strict=True) if holds}
            assert names == task.finite.labels[table.label[cell, action, 0]]
            assert np.array_equal(moved.observation, family.row(int(moved.state.cell)))


def test_beside_a_zone_it_is_at_hand_and_others_are_where_they_are_from_there() -> None:
    task = errands.load("zones-3", map_seed=1)
    family, start = task.world.family, task.world.start
    row = family.beside(family.row(task.world.env().reset()[0]), 1)
    np.testing.assert_allclose(row[:2] * 400, start.places[1], atol=1e-3)
    np.testing.assert_allclose(row[4:].reshape(3, 2) * 400, start.places - start.places[1], atol=1e-3)


def test_no_ball_of_a_family_begins_beside_the_agent() -> None:
    family = errands.load("water-1").world.family
    states = jax.vmap(family.world.reset)(jax.random.split(jax.random.key(0), 500))
    assert np.linalg.norm(np.asarray(states.balls) - 200, axis=-1).min() > 60
    assert np.asarray(states.balls).min() >= 15
    assert np.asarray(states.balls).max() <= 385
