import jax.numpy as jnp
import numpy as np
import pytest

from errands.errors import ConfigError
from errands.learners.deep.batch import RowShape
from errands.learners.deep.config import DeepPlusConfig, deep_preset
from errands.learners.deep.contexts import OverContexts, moves_left
from errands.learners.deep.machine import machine_arrays
from errands.tasks import load

GAMMA = 0.9


def over(task="visit-3", **changes):
    machine = machine_arrays(load(task, 0))
    return OverContexts(RowShape(1, 1, 0), machine, DeepPlusConfig(gamma=GAMMA, **changes))


def rows(expansion, *steps):
    """Rows from (feature or None, remaining subtasks, whether the world ended)."""
    machine = expansion.machine
    found = []
    for feature, remaining, ends in steps:
        label = machine.labels.index(frozenset({feature} if feature else ()))
        found.append([0.0, 0.0, 0.0, label, int(np.flatnonzero(machine.masks == remaining)[0]), ends])
    return jnp.array(found, jnp.float32)


def bits(codes):
    """The remaining subtasks behind codes of a machine with one running numeric state."""
    return (np.asarray(codes)[..., 1:] @ [1, 2, 4]).astype(int)


def test_no_more_machine_states_are_drawn_than_run():
    expansion = over()
    assert expansion.contexts == 7
    batch = expansion.batch(rows(expansion, ("v2", 7, 0)), jnp.int32(0), jnp.zeros(7))
    assert sorted(bits(batch.codes)[0, :-1]) == [1, 2, 3, 4, 5, 6, 7]
    assert bits(batch.codes)[0, -1] == 7


def test_a_visited_place_leaves_the_agenda_and_the_last_one_pays():
    expansion = over()
    batch = expansion.batch(rows(expansion, ("v2", 7, 0), (None, 3, 0)), jnp.int32(0), jnp.zeros(7))
    before, after = bits(batch.codes), bits(batch.later)
    np.testing.assert_array_equal(after[0], before[0] & ~2)
    np.testing.assert_array_equal(after[1], before[1])
    np.testing.assert_array_equal(batch.reward[0], before[0] == 2)
    np.testing.assert_allclose(batch.discount[0], np.where(before[0] == 2, 0, GAMMA))
    np.testing.assert_array_equal(batch.reward[1], 0)


def test_where_the_world_ends_nothing_follows():
    expansion = over()
    batch = expansion.batch(rows(expansion, (None, 7, 1)), jnp.int32(0), jnp.zeros(7))
    assert not np.asarray(batch.discount).any()


def test_divided_by_a_plan_values_of_that_plan_are_those_of_its_last_leg():
    # Three places, four steps each: gamma^12 from the start. Counted backwards with the terms of the expansion.
    expansion = over(leg=4.0)
    terms, following = expansion.terms, expansion.machine.table.next
    silent, names = expansion.machine.labels.index(frozenset()), expansion.machine.labels
    value, state, path = 0.0, 0, []
    for place in ("v1", "v2", "v3"):
        path += [silent] * 3 + [names.index(frozenset({place}))]
    states = [0]
    for label in path:
        states.append(int(following[states[-1], label]))
    for label, state in reversed(list(zip(path, states[:-1], strict=True))):
        value = terms[state, label, 0] + terms[state, label, -1] * value
    assert value == pytest.approx(GAMMA**3, rel=1e-5)


def test_the_plain_discount_is_a_plan_without_legs():
    np.testing.assert_array_equal(over().nominal, 1.0)


def test_every_number_of_remaining_subtasks_gets_its_turn_and_no_state_comes_twice():
    expansion = over("visit-6", contexts=16)
    machine = expansion.machine
    left = np.array([int(m).bit_count() for m in machine.masks[machine.running]])
    chance = np.diff(expansion.chances, prepend=0.0)
    assert chance.max() <= 1 / 16 + 1e-6
    by_count = np.bincount(left, chance)[1:]
    # All six are still to be done in one state only, which may come once; the other five numbers share the rest.
    np.testing.assert_allclose(by_count, [*[3 / 16] * 5, 1 / 16], atol=1e-5)
    drawn = expansion._drawn(jnp.linspace(0.0, 0.99, 16), jnp.zeros(3, jnp.int32))
    assert len(set(np.asarray(drawn).tolist())) == 16


def test_a_share_of_the_machine_states_comes_from_the_sampled_steps():
    expansion = over("visit-6", contexts=16, visited=0.5)
    own = jnp.array([3, 5, 7], jnp.int32)
    drawn = np.asarray(expansion._drawn(jnp.full(16, 0.5), own))
    assert drawn[:8].tolist() == [3, 5, 7, 3, 5, 7, 3, 5]
    assert len(drawn) == 16


def test_moves_left_count_every_move_of_the_machine():
    # Figure 1: two boxes, each taken and brought: four moves from the start, three with a box in hand.
    machine = machine_arrays(load("figure-1"))
    assert moves_left(machine)[0] == 4
    assert sorted(moves_left(machine).tolist()) == [0, 1, 2, 2, 3, 3, 4]


def test_where_subtasks_vanish_only_what_may_still_come_is_learnt():
    expansion = over("figure-1")
    machine = expansion.machine
    row = jnp.array([[0.0, 0.0, 0.0, 0, int(np.flatnonzero(machine.masks == 1)[0]), 0]])
    batch = expansion.batch(row, jnp.int32(0), jnp.zeros(expansion.contexts))
    states = np.append(np.flatnonzero(machine.running), int(row[0, 4]))
    np.testing.assert_array_equal(batch.weight[0], (machine.masks[states] & ~1) == 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"leg": -1.0}, "leg is -1.0; it must not be negative"),
        ({"visited": 1.5}, "between 0 and 1"),
        ({"late": 3}, "less than depth, 3"),
    ],
)
def test_settings_of_contexts_that_cannot_be_used_are_told_in_a_sentence(wrong, words):
    with pytest.raises(ConfigError, match=words):
        DeepPlusConfig(**wrong)


@pytest.mark.parametrize(("task", "steps"), [("visit-12", 33), ("water-5", 43)])
def test_under_the_tuned_preset_a_short_episode_is_worth_about_one(task, steps):
    # 33 is the optimum, 43 the shortest episode that any learner has found; without a scale they are worth 0.03 and 0.01.
    machine = machine_arrays(load(task, 0))
    nominal = OverContexts(RowShape(1, 1, 0), machine, deep_preset("qcorm-plus", "tuned", machine.task)).nominal
    assert 0.3 < GAMMA**steps / nominal[0] < 1.5
