import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.batch import Batch, RowShape, expand, rule_arrays
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.ddqn import DDQN
from errands.learners.deep.expansions import OverHeads
from errands.learners.deep.high import Extra
from errands.learners.deep.machine import listed
from errands.learners.deep.rules import by_state
from errands.learners.deep.td3 import TD3
from errands.tasks import load

SHAPE = RowShape(2, 1, 1)
ROW = SHAPE.pack(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), jnp.array([5.0]), jnp.array([6.0]), (7, 8, True))


def test_a_row_holds_a_step_once():
    assert ROW.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert len(ROW) == SHAPE.width
    assert SHAPE.observations(ROW).tolist() == [1, 2]
    assert SHAPE.following(ROW).tolist() == [3, 4]
    assert SHAPE.actions(ROW).tolist() == [5]
    assert SHAPE.signals_of(ROW).tolist() == [6]


def test_a_sampled_row_is_expanded_over_every_machine_state():
    machine = listed(load("figure-1"))
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
    machine = listed(load("figure-1"))
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
    config = DeepConfig(width=8, depth=2, batch=6, network=network, alpha=0.01, warmup=1, policy_delay=1)
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
    found = [
        low.learn(trained, batch.observations[0], b, normals, jnp.int32(2))
        for b in (batch, batch.only(jnp.asarray(own)))
    ]
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert any(
        np.abs(a - b).max() > 1e-3 for a, b in zip(jax.tree.leaves(trained), jax.tree.leaves(found[0][0]), strict=True)
    )
