import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import ConfigError
from errands.learners.engines.deep.batch import RowShape, expand_far, rule_arrays
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.presets import deep_preset
from errands.learners.qcorm_plus.deep import OverContexts, moves_left
from errands.learners.qcorm_plus.settings import DeepPlusConfig
from errands.learners.qrm.deep import by_state
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


def test_three_steps_pay_each_machine_state_what_its_own_places_pay_on_the_way():
    # Nothing, then v2, then v1: {v2} is done at the second step, {v1,v2} at the third, {v1,v2,v3} waits for v3.
    expansion = over(n_steps=3, batch=1)
    stretch = rows(expansion, (None, 7, 0), ("v2", 7, 0), ("v1", 5, 0))
    # The last observation is 4 only behind the last step.
    batch = expansion.batch(stretch.at[2, 1].set(4.0), jnp.int32(0), jnp.zeros(7))
    at = {int(mask): k for k, mask in enumerate(bits(batch.codes)[0, :-1])}
    paid, discount = (np.asarray(x)[0] for x in (batch.reward, batch.discount))
    assert [paid[at[m]] for m in (2, 3, 7, 4)] == pytest.approx([0.9, 0.9**2, 0.0, 0.0])
    assert [discount[at[m]] for m in (2, 3, 7, 4)] == pytest.approx([0.0, 0.0, 0.9**3, 0.9**3])
    assert bits(batch.later)[0, at[7]] == 4
    assert bits(batch.codes)[0, -1] == 7
    assert (paid[-1], discount[-1]) == (paid[at[7]], discount[at[7]])
    assert batch.following.tolist() == [[4.0]]


def test_a_stretch_ends_with_the_episode_and_goes_on_behind_a_time_limit_only():
    expansion = over(n_steps=3, batch=2)
    late = rows(expansion, (None, 7, 0), ("v2", 7, 2), ("v1", 7, 0)), rows(expansion, (None, 7, 0), ("v2", 7, 1), ("v1", 7, 0))
    batch = expansion.batch(jnp.concatenate(late), jnp.int32(0), jnp.zeros(7))
    at = {int(mask): k for k, mask in enumerate(bits(batch.codes)[0, :-1])}
    assert batch.reward[:, at[3]].tolist() == [0.0, 0.0], "v1 belongs to the next episode"
    assert batch.discount[:, at[3]].tolist() == pytest.approx([0.9**2, 0.0])
    assert bits(batch.later)[0, at[3]] == 1


def test_no_target_is_more_than_the_machine_pays_for_one_place_per_step():
    """n places take n steps at least, so 0.9^(n - 1); divided by a plan of 4 steps a place, 0.9^(-3 (n - 1))."""
    left = [1, 2, 3]
    states = [int(np.flatnonzero(over().machine.masks == mask)[0]) for mask in (1, 3, 7)]
    for leg, power in ((0.0, 1), (4.0, -3)):
        expansion = over(bound_values=True, leg=leg, reward_scale=2.0)
        least, most = expansion.bounds[:, states]
        assert least.tolist() == [0.0] * 3
        assert most == pytest.approx([2.0 * 0.9 ** (power * (n - 1)) for n in left])
    batch = expansion.batch(rows(expansion, ("v2", 3, 0)), jnp.int32(0), jnp.zeros(7))
    assert batch.bounds.shape == (2, 1, 8)
    assert float(batch.bounds[1, 0, -1]) == pytest.approx(2.0 * 0.9**-3)
    assert over().batch(rows(expansion, ("v2", 3, 0)), jnp.int32(0), jnp.zeros(7)).bounds is None


@settings(deadline=None, max_examples=12)
@given(st.sampled_from(["visit-3", "figure-1"]), st.sampled_from([1, 3]), st.sampled_from([0.0, 3.0]), st.integers(0, 99))
def test_with_all_machine_states_drawn_targets_are_those_of_crm(task, steps, leg, seed):
    """CRM's heads are machine states; values divided by a plan are multiplied with it again."""
    expansion = over(task, n_steps=steps, batch=6, leg=leg, bound_values=True)
    machine, count = expansion.machine, 6
    running, draw = np.flatnonzero(machine.running), np.random.default_rng(seed)
    stretches = draw.random((count, steps, 6), np.float32)
    # Columns: observation, next one, action, then these three. Only stretches tell a time limit, 2, from no end.
    stretches[..., 3] = draw.integers(len(machine.labels), size=(count, steps))
    stretches[..., 4] = draw.choice(running, (count, steps))
    stretches[..., 5] = draw.choice([0, 0, 0, 1, 2] if steps > 1 else [0, 1], (count, steps))
    plus = expansion.batch(jnp.asarray(stretches.reshape(-1, 6)), jnp.int32(0), jnp.zeros(expansion.contexts))
    rule = by_state(machine, DeepConfig(gamma=GAMMA), counterfactual=True)
    crm = expand_far(expansion.shape, rule_arrays(rule), False, GAMMA, jnp.asarray(stretches))
    plan, drawn, bounds = expansion.nominal, len(running), rule.bounds(GAMMA)
    reached, discount = np.asarray(plus.reached)[:, :drawn], np.asarray(plus.discount)[:, :drawn]
    np.testing.assert_array_equal(plus.following, crm.following)
    np.testing.assert_allclose(plus.reward[:, :drawn] * plan[running], crm.reward[:, running], rtol=1e-5)
    np.testing.assert_allclose(discount * plan[running] / plan[reached], GAMMA * crm.goes_on[:, running], rtol=1e-5)
    np.testing.assert_array_equal(reached[discount > 0], np.asarray(crm.follow)[:, running][discount > 0])
    np.testing.assert_allclose(plus.bounds[:, 0, :drawn] * plan[running], bounds[:, running], rtol=1e-5)


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
