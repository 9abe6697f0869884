"""One step of a mind: what the machine tells, what the buffer gets, and where the next step is taken."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.brain import Outcome, Place
from errands.learners.deep.machine import listed
from errands.learners.deep.methods import Spaces, brain_of
from errands.learners.deep.presets import deep_preset
from errands.tasks import load

TASK = load("figure-1")
MACHINE = listed(TASK)
STATES = {str(label): i for i, label in enumerate(MACHINE.rm.labels)}


@pytest.fixture(scope="module")
def brain():
    config = dataclasses.replace(
        deep_preset("crm", "tuned", TASK), width=8, depth=1, batch=3, capacity=5, reward_scale=0.5
    )
    return brain_of("crm", MACHINE, config, Spaces(12, 4, False, 0))


def outcome(*features, ends=False, truncated=False):
    label = MACHINE.labels.index(frozenset(features))
    return Outcome(jnp.full(12, 2.0), jnp.int32(label), jnp.bool_(ends), jnp.bool_(truncated), jnp.zeros(0))


def told(brain, state, heard, time=1):
    return brain.tell(jnp.int32(STATES[state]), jnp.int32(time), heard)


def test_the_machine_of_figure_2_is_stepped(brain):
    first = told(brain, "0{b1,b2}{b1,b2}", outcome("b1"))
    assert (int(first.reached), MACHINE.objectives[int(first.completed[0])]) == (STATES["1{b2}s"], "b1")
    assert not bool(first.over)
    last = told(brain, "3{}s", outcome("s"))
    assert (float(last.reward), bool(last.success), bool(last.terminal), bool(last.over)) == (1.0, True, True, True)
    nothing = told(brain, "3{}s", outcome())
    assert (int(nothing.reached), int(nothing.completed[0]), float(nothing.reward)) == (STATES["3{}s"], -1, 0.0)


def test_the_worlds_end_is_terminal_and_its_time_is_not(brain):
    ended = told(brain, "3{}s", outcome(ends=True))
    assert (bool(ended.terminal), bool(ended.success), bool(ended.over)) == (True, False, True)
    for late in (told(brain, "3{}s", outcome(truncated=True)), told(brain, "3{}s", outcome(), time=TASK.world.limit)):
        assert (bool(late.terminal), bool(late.over)) == (False, True)
    assert not bool(told(brain, "3{}s", outcome(), time=TASK.world.limit - 1).over)


def test_a_step_becomes_a_row_and_a_new_place(brain):
    place = Place(jnp.zeros(12), jnp.int32(STATES["3{}s"]), jnp.int32(4), jnp.int32(2))
    mind = brain.init(jax.random.PRNGKey(0))
    heard = outcome("s")
    _, row, tidings = brain.after(mind, place, jnp.array([1.0]), heard, jnp.int32(9))
    assert np.asarray(row).tolist() == [0.0] * 12 + [2.0] * 12 + [1.0, float(heard.label), float(STATES["3{}s"]), 0.0]
    moved = brain.moved(place, tidings, heard.observation, jnp.full(12, 7.0))
    assert (float(moved.observation[0]), int(moved.state), int(moved.time), int(moved.episodes)) == (7.0, 0, 0, 3)
    on = brain.moved(place, told(brain, "2{b1}b1", outcome("b1")), heard.observation, jnp.full(12, 7.0))
    assert (float(on.observation[0]), int(on.state), int(on.time), int(on.episodes)) == (2.0, STATES["3{}s"], 5, 2)


@pytest.mark.parametrize(
    ("step", "uniforms", "index"), [(0, 0.9, 0), (3, 0.9, 2), (3, 0.999999, 2), (3, 0.0, 0), (50, 0.99, 4)]
)
def test_rows_are_drawn_from_what_was_stored(brain, step, uniforms, index):
    """A buffer of 5: before it is full only rows that exist, afterwards all of them."""
    mind = brain.init(jax.random.PRNGKey(0))
    drawn = jnp.full(brain.uniforms, uniforms)
    _, rows, _ = brain.draw(mind, jnp.int32(step), drawn)
    assert np.asarray(rows).tolist() == [index] * 3


def test_evaluations_act_with_the_weights_that_were_asked_for(brain):
    mind = brain.init(jax.random.PRNGKey(0))
    apart = mind._replace(trained=mind.trained._replace(target=jax.tree.map(lambda x: x + 1, mind.trained.target)))
    assert brain.settled(apart) is apart
    steady = dataclasses.replace(brain, config=dataclasses.replace(brain.config, greedy="target")).settled(apart)
    for a, b in zip(jax.tree.leaves(steady.trained.weights), jax.tree.leaves(apart.trained.target), strict=True):
        assert np.array_equal(a, b)


def test_what_acts_needs_neither_moments_nor_targets(brain):
    trained = brain.init(jax.random.PRNGKey(0)).trained
    bare = brain.acting(trained)
    assert (bare.mean, bare.square, bare.target) == ([], [], [])
    assert jax.tree.leaves(bare.weights)[0] is jax.tree.leaves(trained.weights)[0]
