"""Standardised observations, against numpy's mean and variance of everything that was learnt from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep.batch import Batch
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.ddqn import DDQN
from errands.learners.engines.deep.standardised import FARTHEST, Scale, Standardised

DRAW = np.random.default_rng(5)


@pytest.mark.parametrize("entries", [6, 2])
def test_mean_and_variance_are_those_of_all_batches_and_by_channel_of_pictures(entries):
    rows = (DRAW.normal(size=(7, 9, 6)) * [1, 100, 0.01, 1, 1, 0] + [0, 5_000, 1, 0, 0, 3]).astype(np.float32)
    scale = Scale(jnp.zeros(entries), jnp.ones(entries), jnp.int32(0))
    for batch in rows:
        scale = scale.with_batch(jnp.asarray(batch), jnp.bool_(True))
    every = rows.reshape(-1, entries)
    np.testing.assert_allclose(scale.mean, every.mean(axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scale.variance, every.var(axis=0, dtype=np.float64), rtol=1e-3, atol=1e-6)
    wanted = (rows[0].reshape(-1, entries) - every.mean(axis=0)) / np.sqrt(every.var(axis=0, dtype=np.float64) + 1e-8)
    seen = scale.of(jnp.asarray(rows[0]))
    np.testing.assert_allclose(seen, wanted.reshape(9, 6), rtol=1e-2, atol=1e-2)
    assert float(jnp.abs(scale.of(jnp.full(6, 1e9))).max()) == FARTHEST


def test_an_update_is_that_of_the_learner_behind_it_on_what_was_standardised_before():
    low = DDQN.of(3, 1, 2, DeepConfig(width=8, depth=1, batch=5, warmup=2))
    both = Standardised(low, 3, 2)
    trained = both.init(jax.random.PRNGKey(0))
    batch = Batch(
        observations=jnp.asarray(7 + DRAW.normal(size=(5, 3)), jnp.float32),
        following=jnp.asarray(7 + DRAW.normal(size=(5, 3)), jnp.float32),
        actions=jnp.asarray(DRAW.integers(0, 2, (5, 1)), jnp.float32),
        reward=jnp.ones((5, 1)),
        goes_on=jnp.ones((5, 1)),
        follow=None,
        weight=jnp.ones((5, 1)),
    )
    now, none = jnp.full(3, 7.0), jnp.zeros(0)
    early, _ = both.learn(trained, now, batch, none, jnp.int32(1))
    assert int(early.scale.batches) == 0, "nothing is taken in before the first update"
    first, _ = both.learn(trained, now, batch, none, jnp.int32(2))
    second, acting = both.learn(first, now, batch, none, jnp.int32(3))
    see = first.scale.of
    plain = batch._replace(observations=see(batch.observations), following=see(batch.following))
    wanted, seen = low.learn(first.own, see(now), plain, none, jnp.int32(3))
    jax.tree.map(np.testing.assert_array_equal, second.own, wanted)
    np.testing.assert_array_equal(acting, seen)
    np.testing.assert_allclose(first.scale.mean, np.asarray(batch.observations).mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(both.view(first, now, none), low.view(first.own, see(now), none))
