"""Rows expanded over heads, against the rule read by hand for two boxes and a station."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep.batch import (
    Batch,
    Extra,
    OverHeads,
    RowShape,
    expand,
    expand_far,
    rule_arrays,
    within,
)
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.ddqn import DDQN
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.td3 import TD3
from errands.learners.hrm.deep import by_option, options_of
from errands.learners.hrm.settings import DeepHRMConfig
from errands.learners.qcorm.deep import by_objective
from errands.learners.qcorm.settings import DeepQCoRM0Config, DeepQCoRMConfig
from errands.learners.qrm.deep import by_state
from errands.tasks import load
from errands.tasks.task import Task

MUD = """name = "mud"
[world]
kind = "grid"
rows = ["Amg", "..."]
legend = { m = "m", g = "g" }
[machine]
initial = "u0"
success = ["win"]
transitions = ["u0 -> u0 : m & ¬g ; -1", "u0 -> win : g ; 1"]
"""

FIGURE = machine_arrays(load("figure-1"))
EMPTY, B1, S = (FIGURE.numbers[frozenset(x)] for x in ([], ["b1"], ["s"]))


def test_crm_follows_the_machine_and_pays_where_it_succeeds():
    rule = by_state(FIGURE, DeepConfig(), counterfactual=True)
    assert rule.heads == 7
    assert (rule.follow[EMPTY] == np.arange(7)).all()
    last = next(i for i in range(7) if rule.reward[S, i] == 1.0)
    assert not rule.goes_on[S, last]
    assert rule.goes_on[EMPTY, last]
    assert rule.reward.sum() == 1.0


def test_where_boxes_vanish_only_states_that_can_still_be_reached_learn():
    rule = by_state(FIGURE, DeepConfig(), counterfactual=True)
    taken = FIGURE.table.next[0, B1]
    assert not rule.alive[taken, 0]
    assert rule.alive[0].sum() == 6  # all but the success
    water = by_state(machine_arrays(load("water-2")), DeepConfig(), counterfactual=True)
    assert water.alive[0].sum() == 3


def test_qrm_learns_in_its_own_state_only():
    assert by_state(FIGURE, DeepConfig(), counterfactual=False).alive.sum(axis=1).tolist() == FIGURE.running.tolist()


def test_an_option_is_paid_for_its_own_transition_and_ended_by_any_other():
    rule = by_option(FIGURE, DeepHRMConfig(full_reward=3.0))
    source, target = options_of(FIGURE)
    assert rule.heads == len(source) == 7
    mine = next(e for e in range(7) if source[e] == 0 and target[e] == FIGURE.table.next[0, B1])
    other = next(e for e in range(7) if source[e] == 0 and e != mine)
    assert rule.reward[B1, [mine, other]].tolist() == [3.0, 0.0]
    # The last transition wins the machine's own 1 besides, as on tables.
    assert rule.reward[S].max() == 4.0
    assert not rule.goes_on[B1, [mine, other]].any()
    assert rule.goes_on[EMPTY].all()


def test_an_objective_is_done_by_its_own_feature_and_waits_for_the_dedicated_buffer():
    apart = by_objective(FIGURE, DeepQCoRMConfig())
    direct = by_objective(FIGURE, DeepQCoRM0Config(dedicated=False, full_reward=2.0))
    assert direct.reward[B1].tolist() == [2.0, 0.0, 0.0]
    assert direct.goes_on[B1].tolist() == [False, True, True]
    assert direct.counts.all()
    assert apart.counts[B1].tolist() == [False, True, True]


def test_touching_a_forbidden_colour_fails_every_objective():
    machine = machine_arrays(load("water-2"))
    rule = by_objective(machine, DeepQCoRMConfig())
    forbidden = machine.numbers[frozenset({"blue"})]
    assert not rule.goes_on[forbidden].any()
    assert (rule.reward[forbidden] == 0).all()
    assert rule.counts[forbidden].all()


def test_the_control_cost_is_paid_to_every_objective_that_waits():
    machine = machine_arrays(load("cheetah-bcd"))
    rule = by_objective(machine, DeepQCoRMConfig(reward_scale=0.01))
    assert np.allclose(rule.pay[machine.numbers[frozenset()]], -0.01)
    done = machine.numbers[frozenset({"B"})]
    assert rule.pay[done, :, 0].tolist() == [0.0, -0.01, -0.01]


def test_without_relabelling_only_open_objectives_learn():
    rule = by_objective(FIGURE, DeepQCoRMConfig(relabel=False))
    assert (rule.alive == FIGURE.open).all()
    assert by_objective(FIGURE, DeepQCoRMConfig()).alive[0].all()


def test_options_are_paid_the_constant_rewards_of_the_steps_they_take():
    """Mud costs 1 wherever it is met, and the goal pays the option that ends there 1 beside its own, all scaled by half."""
    task = Task.from_toml(MUD)
    machine = machine_arrays(task)
    rule = by_option(machine, DeepHRMConfig(reward_scale=0.5))
    mud, empty, goal = (machine.numbers[frozenset(x)] for x in (["m"], [], ["g"]))
    assert rule.reward[mud].tolist() == [-0.5]
    assert rule.reward[empty].tolist() == [0.0]
    assert rule.reward[goal].tolist() == [1.5]
    assert rule.goes_on[mud].all()


def test_where_another_transition_ends_an_option_only_a_loss_counts():
    """Two ways on, paid 2 and -3: by hand on tables and here, full reward 1."""
    rows = ['u0 -> u1 : m ; 2', 'u0 -> u2 : g & ~m ; -3', "u1 -> win : g ; 1", "u2 -> win : m ; 1"]
    machine = machine_arrays(Task.from_toml(re.sub(r"transitions = .*", f"transitions = {rows}", MUD)))
    rule, (source, _) = by_option(machine, DeepHRMConfig()), options_of(machine)
    first = [e for e in range(rule.heads) if source[e] == 0]
    paid = {label: sorted(rule.reward[machine.numbers[frozenset({label})]][first].tolist()) for label in "mg"}
    assert paid == {"m": [0.0, 3.0], "g": [-3.0, -2.0]}


SHAPE = RowShape(2, 1, 1)
ROW = SHAPE.pack(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), jnp.array([5.0]), jnp.array([6.0]), (7, 8, True))


def test_a_row_holds_a_step_once():
    assert ROW.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert len(ROW) == SHAPE.width
    assert SHAPE.observations(ROW).tolist() == [1, 2]
    assert SHAPE.following(ROW).tolist() == [3, 4]
    assert SHAPE.actions(ROW).tolist() == [5]
    assert SHAPE.signals_of(ROW).tolist() == [6]


def test_in_pairs_a_sampled_row_teaches_one_of_the_heads_that_learn_from_it():
    machine = machine_arrays(load("figure-1"))
    rule = by_objective(machine, DeepQCoRMConfig(relabel=False))
    shape, state = RowShape(1, 1, 0), int(np.flatnonzero(machine.open.sum(axis=1) == 2)[0])
    row = shape.pack(jnp.zeros(1), jnp.zeros(1), jnp.zeros(1), jnp.zeros(0), (EMPTY, state, False))
    pairs = OverHeads(shape, rule_arrays(rule), rule.stays, count=4, pairs=True)
    assert pairs.uniforms == 4
    batch = pairs.batch(jnp.stack([row] * 4), jnp.int32(0), jnp.array([0.0, 0.49, 0.5, 0.99]))
    first, second = np.flatnonzero(machine.open[state])
    assert np.asarray(batch.weight).argmax(axis=1).tolist() == [first, first, second, second]
    assert np.asarray(batch.weight).sum(axis=1).tolist() == [1, 1, 1, 1]


def test_a_sampled_row_is_expanded_over_every_machine_state():
    machine = machine_arrays(load("figure-1"))
    rule = by_state(machine, DeepConfig(), counterfactual=True)
    shape = RowShape(1, 1, 0)
    tail = (machine.numbers[frozenset({"b1"})], 0, False)
    row = shape.pack(jnp.zeros(1), jnp.ones(1), jnp.zeros(1), jnp.zeros(0), tail)
    batch = expand(shape, rule_arrays(rule), rule.stays, row[None])
    assert batch.follow[0].tolist() == rule.follow[tail[0]].tolist()
    assert batch.weight[0].tolist() == machine.running.tolist()
    ended = expand(shape, rule_arrays(rule), rule.stays, row.at[-1].set(1.0)[None])
    assert ended.goes_on.sum() == 0


def test_extra_rows_have_one_fixed_target_and_teach_no_other_head():
    machine = machine_arrays(load("figure-1"))
    rule = by_state(machine, DeepConfig(), counterfactual=True)
    over = OverHeads(RowShape(1, 1, 0), rule_arrays(rule), rule.stays)
    batch = over.batch(jnp.zeros((3, over.shape.width)), jnp.int32(0), jnp.zeros(0))
    extra = Extra(jnp.array([0]), jnp.array([4]), jnp.array([0.25]), jnp.array([1.0]))
    joined = over.with_extra(batch, extra)
    assert joined.reward[2].tolist() == [0, 0, 0, 0, 0.25, 0, 0]
    assert joined.weight[2].tolist() == [0, 0, 0, 0, 1, 0, 0]
    assert joined.goes_on[2].sum() == 0
    assert (joined.reward[:2] == batch.reward[:2]).all()


@pytest.mark.parametrize("network", ["heads", "one-hot"])
@pytest.mark.parametrize("kind", [DDQN, TD3])
def test_learning_with_the_one_head_that_counts_is_learning_with_all_of_them(kind, network):
    rng = np.random.default_rng(0)
    config = DeepConfig(width=8, depth=2, batch=6, network=network, alpha=0.01, warmup=1)
    low = kind.of(3, 4, 2, config)
    own = rng.integers(4, size=(6, 1))
    actions = rng.integers(2, size=(6, 1)) if kind is DDQN else rng.uniform(-1, 1, (6, 2))
    batch = Batch(
        *(jnp.asarray(x, jnp.float32) for x in (rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), actions)),
        reward=jnp.asarray(rng.normal(size=(6, 4)), jnp.float32),
        goes_on=jnp.asarray(rng.integers(2, size=(6, 4)), jnp.float32),
        follow=jnp.asarray(rng.integers(4, size=(6, 4)), jnp.int32),
        weight=jnp.asarray(own == np.arange(4), jnp.float32),
    )
    trained = low.init(jax.random.PRNGKey(1))
    normals = jnp.asarray(rng.normal(size=low.normals), jnp.float32)
    now = jnp.array([0.5, -1.0, 2.0])  # no row's observation
    found = [low.learn(trained, now, b, normals, jnp.int32(2)) for b in (batch, batch.only(jnp.asarray(own)))]
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert any(
        np.abs(a - b).max() > 1e-3 for a, b in zip(jax.tree.leaves(trained), jax.tree.leaves(found[0][0]), strict=True)
    )


MACHINE = machine_arrays(load("figure-1"))
STATION = MACHINE.labels.index(frozenset({"s"}))
LAST = [str(label) for label in MACHINE.rm.labels].index("3{}s")


def expansion(single):
    rule = by_state(MACHINE, DeepConfig(), counterfactual=not single)
    return OverHeads(RowShape(1, 1, 0), rule_arrays(rule), rule.stays, single)


def rows(*steps):
    """Rows of (label, machine state, whether the world ended)."""
    return jnp.array([[0.25, 0.5, 2.0, *step] for step in steps], jnp.float32)


def test_with_one_head_a_row_teaches_the_state_it_was_taken_in():
    batch = expansion(single=True).batch(rows((STATION, LAST, 0)), jnp.int32(0), jnp.zeros(0))
    assert np.asarray(batch.heads).tolist() == [[LAST]]
    assert np.asarray(batch.reward).tolist() == [[1.0]]
    assert np.asarray(batch.goes_on).tolist() == [[0.0]]
    assert np.asarray(batch.observations).tolist() == [[0.25]]
    assert np.asarray(batch.following).tolist() == [[0.5]]
    assert np.asarray(batch.actions).tolist() == [[2.0]]


def test_with_all_heads_a_row_teaches_every_state_that_can_still_come():
    """At the start all six running states; carrying the last box, only that one. Boxes vanish, so nothing before."""
    batch = expansion(single=False).batch(rows((STATION, 0, 0), (STATION, LAST, 0)), jnp.int32(0), jnp.zeros(0))
    assert batch.heads is None
    assert np.asarray(batch.weight).sum(axis=1).tolist() == [6.0, 1.0]
    assert np.asarray(batch.reward)[0].tolist() == [float(i == LAST) for i in range(7)]


def test_nothing_follows_where_the_world_ended():
    batch = expansion(single=False).batch(rows((0, 0, 1)), jnp.int32(0), jnp.zeros(0))
    assert not np.asarray(batch.goes_on).any()


def test_extra_rows_teach_one_head_a_fixed_target():
    over = expansion(single=False)
    batch = over.batch(rows((STATION, LAST, 0), (0, 0, 0), (0, 0, 0)), jnp.int32(0), jnp.zeros(0))
    extra = Extra(jnp.array([0, 0]), jnp.array([2, 5]), jnp.array([0.5, 0.75]), jnp.array([1.0, 0.0]))
    joined = over.with_extra(batch, extra)
    reward, weight, goes_on = (np.asarray(x) for x in (joined.reward, joined.weight, joined.goes_on))
    assert np.array_equal(reward[0], np.asarray(batch.reward)[0])
    assert np.array_equal(weight[0], np.asarray(batch.weight)[0])
    assert reward[1, 2] == pytest.approx(0.5)
    assert reward[1].sum() == pytest.approx(0.5)
    assert weight[1].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert weight[2].sum() == 0
    assert not goes_on[1:].any()


def test_heads_need_no_code():
    assert expansion(single=True).code(jnp.int32(3)).shape == (0,)


def test_a_stretch_pays_step_by_step_what_the_machine_pays_until_it_is_over():
    """Against a walk on the machine's own table, from every state, through labels and ends at random."""
    draw, steps, gamma, table = np.random.default_rng(3), 4, 0.9, FIGURE.table
    rule, shape = by_state(FIGURE, DeepConfig(), counterfactual=True), RowShape(1, 1, 0)
    labels = draw.integers(0, len(FIGURE.labels), (60, steps))
    ends = draw.choice([0, 0, 0, 1, 2], (60, steps))
    following = draw.normal(size=(60, steps))
    # Columns: observation, next one, action, label, machine state, end.
    columns = [np.zeros((60, steps)), following, np.zeros((60, steps)), labels, np.zeros((60, steps)), ends]
    rows = jnp.asarray(np.stack(columns, axis=-1), jnp.float32)
    batch = expand_far(shape, rule_arrays(rule), False, gamma, rows)
    for row in range(60):
        for head in np.flatnonzero(FIGURE.running):
            state, paid, discount, seen = int(head), 0.0, 1.0, 0.0
            for k in range(steps):
                paid += discount * table.reward[state, labels[row, k]]
                state, seen = int(table.next[state, labels[row, k]]), following[row, k]
                discount *= gamma * bool(FIGURE.running[state]) * (ends[row, k] != 1)
                if discount == 0 or ends[row, k]:
                    break
            assert float(batch.reward[row, head]) == pytest.approx(paid)
            assert float(gamma * batch.goes_on[row, head]) == pytest.approx(discount)
            if discount:
                assert (int(batch.follow[row, head]), float(batch.following[row, 0])) == (state, pytest.approx(seen))


def test_what_a_head_can_be_paid_is_bounded_by_its_machine():
    """Figure 1 pays 1 at the fourth of b1, s, b2, s; mud costs 1 a step for ever; a signal may pay anything."""
    least, most = by_state(FIGURE, DeepConfig(), counterfactual=True).bounds(0.9)
    names = {str(label): i for i, label in enumerate(FIGURE.rm.labels)}
    assert least.tolist() == [0.0] * 7
    assert [float(most[names[n]]) for n in ("0{b1,b2}{b1,b2}", "3{}s")] == [pytest.approx(0.9**3), 1.0]
    rule = by_state(machine_arrays(Task.from_toml(MUD)), DeepConfig(reward_scale=2.0), counterfactual=True)
    assert rule.bounds(0.9)[:, 0] == pytest.approx([-2.0 / (1 - 0.9), 2.0])
    assert rule.bounds(1.0)[:, 0].tolist() == [-np.inf, np.inf]
    signalled = by_state(machine_arrays(load("cheetah-bc")), DeepConfig(), counterfactual=True)
    assert signalled.bounds(0.9)[:, 0].tolist() == [-np.inf, np.inf]


def test_targets_stay_within_the_bounds_of_their_own_heads():
    bounds = jnp.array([[[0.0, -1.0]], [[1.0, 5.0]]])
    column = jnp.zeros((2, 2))
    rows = jnp.zeros((2, 1))
    batch = Batch(rows, rows, rows, column, column, column.astype(int), column, bounds=bounds)
    assert within(bounds, jnp.array([[3.0, 3.0], [-3.0, -3.0]])).tolist() == [[1.0, 3.0], [0.0, -1.0]]
    own = batch.only(jnp.array([[1], [0]]))
    assert within(own.bounds, jnp.array([[9.0], [9.0]])).tolist() == [[5.0], [1.0]]
    assert within(None, jnp.full((2, 2), 9.0)).tolist() == [[9.0, 9.0]] * 2
