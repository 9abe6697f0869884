"""Rows expanded over heads, against the rule read by hand for two boxes and a station."""

import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.batch import RowShape, rule_arrays
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.expansions import OverHeads
from errands.learners.deep.high import Extra
from errands.learners.deep.machine import listed
from errands.learners.deep.rules import by_state
from errands.tasks import load

MACHINE = listed(load("figure-1"))
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
