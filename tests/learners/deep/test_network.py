import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from errands.learners.engines.deep.network import (
    Convolution,
    Factored,
    Headed,
    descend,
    fresh,
    init_layers,
    l1_beyond_one,
    through,
)

ROWS = jax.random.normal(jax.random.PRNGKey(1), (5, 3))


@pytest.mark.parametrize("kind", ["heads", "one-hot"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_each_head_says_the_same_alone_and_among_all(kind, outputs):
    net = Headed(3, 4, outputs, 8, 2, kind)
    layers = init_layers(jax.random.PRNGKey(0), net.sizes)
    alone = net.own(layers, jnp.broadcast_to(ROWS[:, None], (5, 4, 3)))
    np.testing.assert_allclose(net.every(layers, ROWS), alone, atol=1e-6)


def test_the_one_hot_network_is_a_plain_one_whose_input_ends_with_the_head():
    net = Headed(3, 4, 2, 8, 3, "one-hot")
    layers = init_layers(jax.random.PRNGKey(0), net.sizes)
    plain = through(layers, jnp.concatenate([ROWS, jnp.tile(jnp.eye(4)[2], (5, 1))], axis=1))
    np.testing.assert_allclose(net.every(layers, ROWS)[:, 2], plain, atol=1e-6)


def test_heads_share_all_layers_but_the_last():
    assert Headed(52, 5, 5, 512, 3, "heads").sizes == ((52, 512), (512, 512), (512, 512), (512, 25))
    assert Headed(52, 5, 5, 512, 3, "one-hot").sizes == ((57, 512), (512, 512), (512, 512), (512, 5))


def test_the_agenda_multiplies_the_features_of_the_trunk():
    net = Factored(3, 2, 4, 8, 2, 6)
    layers = init_layers(jax.random.PRNGKey(0), net.sizes)
    codes = jnp.array([[1.0, 0.0]])
    features, factor = net.trunk(layers, ROWS), net.factor(layers, codes)
    by_hand = jax.nn.relu(jax.nn.relu(ROWS @ layers[0][0] + layers[0][1]) @ layers[1][0] + layers[1][1])
    hidden = jax.nn.relu(codes @ layers[2][0] + layers[2][1])
    by_hand = by_hand * (1 + hidden @ layers[3][0] + layers[3][1]) @ layers[4][0] + layers[4][1]
    np.testing.assert_allclose(net.join(layers, features, factor), by_hand, atol=1e-5)
    assert len(net.sizes) == 5


@pytest.mark.parametrize("kind", ["heads", "one-hot"])
def test_rows_that_do_not_teach_change_the_values_but_not_the_gradient(kind):
    net = Headed(4, 3, 2, 8, 2, kind)
    layers = init_layers(jax.random.PRNGKey(0), net.sizes)
    rows = jax.random.normal(jax.random.PRNGKey(1), (6, 4))

    def loss(layers, rows, count):
        q = net.every(layers, rows, count)
        assert len(q) == 6
        return jnp.sum(jnp.sin(q[:4]))

    ours = jax.grad(loss, argnums=(0, 1))(layers, rows, 4)
    plain = jax.grad(loss, argnums=(0, 1))(layers, rows, None)
    np.testing.assert_allclose(net.every(layers, rows, 4), net.every(layers, rows), rtol=1e-6)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


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


def test_a_convolution_halves_pictures_until_no_side_exceeds_eight():
    small, large = Convolution((7, 7, 3)), Convolution((84, 40, 4))
    assert (small.strides, small.features) == ((1, 1), 7 * 7 * 32)
    assert (large.strides, large.features) == ((2, 2, 2, 2), 6 * 3 * 32)
    assert large.sizes == ((3, 3, 4, 32), *[(3, 3, 32, 32)] * 3)


def test_a_filter_that_looks_at_one_pixel_leaves_the_picture_as_it_is():
    conv = Convolution((2, 2, 1), channels=1)
    centre = jnp.zeros((3, 3, 1, 1)).at[1, 1].set(1.0)
    layers = [(centre, jnp.zeros(1)), (2 * centre, jnp.ones(1))]
    rows = jnp.array([[1.0, 2.0, 3.0, 4.0], [0.0, -1.0, 0.5, 0.0]])
    assert conv.apply(layers, rows, None).tolist() == [[3, 5, 7, 9], [1, 1, 2, 1]]
    assert conv.apply(layers, rows, 1).tolist() == [[3, 5, 7, 9], [1, 1, 2, 1]]


def test_only_the_first_pictures_teach():
    conv = Convolution((2, 2, 1), channels=1)
    layers = init_layers(jax.random.PRNGKey(0), conv.sizes)
    rows = jnp.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    both = jax.grad(lambda layers: conv.apply(layers, rows, 1).sum())(layers)
    first = jax.grad(lambda layers: conv.apply(layers, rows[:1], None).sum())(layers)
    for ours, theirs in zip(jax.tree.leaves(both), jax.tree.leaves(first), strict=True):
        assert jnp.allclose(ours, theirs)
