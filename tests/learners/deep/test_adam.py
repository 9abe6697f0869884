import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from errands.learners.deep.adam import descend, fresh, l1_beyond_one
from errands.learners.deep.network import init_layers


def test_weights_move_as_with_optax():
    layers = init_layers(jax.random.PRNGKey(0), ((3, 4), (4, 2)))
    trained, chain = fresh(layers), optax.adam(1e-2)
    state, weights = chain.init(layers), layers
    for n in range(5):
        gradient = jax.tree.map(lambda part, n=n: jnp.sin(part * 9 + n), layers)
        trained = descend(trained, gradient, 1e-2, 0.1, jnp.bool_(True))
        updates, state = chain.update(gradient, state)
        weights = optax.apply_updates(weights, updates)
    for ours, theirs in zip(jax.tree.leaves(trained.weights), jax.tree.leaves(weights), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)


def test_the_target_follows_by_its_share_and_only_when_told():
    layers = [(jnp.ones((1, 1)), jnp.zeros(1))]
    gradient = [(jnp.ones((1, 1)), jnp.zeros(1))]
    moved = descend(fresh(layers), gradient, 0.5, 0.1, jnp.bool_(True))
    assert float(moved.weights[0][0][0, 0]) == pytest.approx(0.5, abs=1e-5)
    assert float(moved.target[0][0][0, 0]) == pytest.approx(0.95, abs=1e-5)
    assert float(descend(fresh(layers), gradient, 0.5, 0.1, jnp.bool_(True), False).target[0][0][0, 0]) == 1.0


def test_before_the_first_update_nothing_moves():
    layers = [(jnp.ones((2, 2)), jnp.ones(2))]
    still = descend(fresh(layers), layers, 0.5, 0.1, jnp.bool_(False))
    assert int(still.updates) == 0
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(still.weights), jax.tree.leaves(layers), strict=True))


def test_huber_is_half_the_square_up_to_one_and_linear_beyond():
    np.testing.assert_allclose(l1_beyond_one(jnp.array([0.5, -1.0, 3.0])), [0.125, 0.5, 2.5])
