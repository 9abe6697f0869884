"""What learners on batched worlds share, beside slow plain-Python and NumPy versions of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from errands.learners.engines.batched import (  # noqa: E402
    clipped,
    either,
    followed,
    init_normal,
    ladder,
    lambda_returns,
    normed,
    one_pass,
)
from errands.learners.engines.deep.network import fresh  # noqa: E402


def slow_return(reward, goes_on, best, kept, decay, follow, t, e, k) -> float:
    """The return of one task by its definition: a weighted sum over all places where the bootstrap may stand in."""
    after = k if follow is None else int(follow[t, e, k])
    value = best[t, e, after]
    if kept[t, e, after]:
        value = (1 - decay) * value + decay * slow_return(reward, goes_on, best, kept, decay, follow, t + 1, e, after)
    return float(reward[t, e, k] + goes_on[t, e, k] * value)


compiled, compiled_followed = jax.jit(lambda_returns), jax.jit(followed)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5]), st.just(3), st.floats(0, 1), st.booleans())
def test_lambda_returns_are_those_of_their_definition(seed: int, steps: int, tasks: int, decay: float, moves: bool) -> None:
    rng, shape = np.random.default_rng(seed), (steps, 2, tasks)
    reward, best, goes_on = rng.normal(size=shape), rng.normal(size=shape), rng.choice([0.0, 0.9, 1.0], size=shape)
    kept = rng.random(shape) < 0.7
    kept[-1] = False
    follow = rng.integers(tasks, size=shape) if moves else None
    arrays = [jnp.asarray(x, jnp.float32) for x in (reward, goes_on, best)]
    got = compiled(*arrays, jnp.asarray(kept), decay, None if follow is None else jnp.asarray(follow, jnp.int32))
    got = np.asarray(got)
    for at in np.ndindex(shape):
        assert got[at] == pytest.approx(slow_return(reward, goes_on, best, kept, decay, follow, *at), abs=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_a_return_is_followed_where_the_next_action_is_best_and_the_episode_goes_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, actions = rng.integers(3, size=(4, 3, 2, 3)).astype(np.float32), rng.integers(3, size=(4, 3))
    ends = rng.random((4, 3)) < 0.3
    best, kept = map(np.asarray, compiled_followed(jnp.asarray(values), jnp.asarray(actions), jnp.asarray(ends)))
    for t, e, k in np.ndindex(4, 3, 2):
        row = values[t, e, k].tolist()
        assert best[t, e, k] == max(row)
        assert bool(kept[t, e, k]) == (t < 3 and not ends[t, e] and row[actions[t + 1, e]] == max(row))


def test_layers_are_normalised_before_each_relu() -> None:
    layers = init_normal(jax.random.key(0), (3, 8, 8, 2))
    assert [w.shape for w, _ in layers] == [(3, 8), (8, 8), (8, 2)]
    rows = np.asarray(jax.random.normal(jax.random.key(1), (5, 3)))
    got = np.asarray(normed(layers, jnp.asarray(rows)))
    for weights, bias in layers[:-1]:
        rows = rows @ np.asarray(weights) + np.asarray(bias)
        rows = np.maximum((rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5), 0)
    assert got == pytest.approx(rows @ np.asarray(layers[-1][0]) + np.asarray(layers[-1][1]), abs=1e-4)


def test_the_last_layer_begins_small() -> None:
    (first, _), (last, _) = init_normal(jax.random.key(0), (400, 400, 400))
    assert float(first.std()) == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    assert float(last.std()) == pytest.approx(math.sqrt(0.01 / 400), rel=0.02)


def test_a_pass_teaches_every_row_once() -> None:
    """With a step of Adam per row and its rate so small that nothing else changes, the summed losses are those of all rows."""
    trained = fresh([(jnp.ones((1, 1)), jnp.zeros(1))])
    rows = (jnp.arange(12.0)[:, None],)
    trained, loss = one_pass(lambda layers, x: jnp.mean(x @ layers[0][0]), trained, rows, jax.random.key(0), 4, 1e-12, 0.5)
    assert float(loss) == pytest.approx(np.arange(12).mean())
    assert int(trained.updates) == 4


def test_passes_find_a_line_and_the_average_follows() -> None:
    x = jax.random.normal(jax.random.key(0), (64, 1))
    trained = fresh([(jnp.zeros((1, 1)), jnp.zeros(1))])


    def loss(layers, x, y):
        return jnp.mean(jnp.square(x @ layers[0][0] + layers[0][1] - y))

    learn = jax.jit(lambda trained, key: one_pass(loss, trained, (x, 3 * x - 1), key, 4, 0.01, 0.1)[0])
    for number in range(400):
        trained = learn(trained, jax.random.key(number))
    for layers in (trained.weights, trained.target):
        assert float(layers[0][0][0, 0]) == pytest.approx(3, abs=0.01)
        assert float(layers[0][1][0]) == pytest.approx(-1, abs=0.01)


def test_gradients_are_cut_to_a_length() -> None:
    parts = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([4.0])}
    cut = clipped(parts, 2.5)
    assert [float(cut["a"][0]), float(cut["b"][0])] == pytest.approx([1.5, 2.0])
    assert float(clipped(parts, 10.0)["b"][0]) == 4.0


def test_the_ladder_has_equal_ratios() -> None:
    rungs = np.asarray(ladder(0.02, 0.5, 5))
    assert rungs[[0, -1]] == pytest.approx([0.02, 0.5])
    assert rungs[1:] / rungs[:-1] == pytest.approx(25 ** 0.25)


def test_states_are_chosen_whole() -> None:
    yes, no = {"x": jnp.ones((2, 3)), "y": jnp.ones(2)}, {"x": jnp.zeros((2, 3)), "y": jnp.zeros(2)}
    chosen = either(jnp.array([True, False]), yes, no)
    assert chosen["x"].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert chosen["y"].tolist() == [1, 0]
