"""Water in JAX: the same numbers as in NumPy, compiled and over many states at once."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from errands.worlds import water  # noqa: E402

step, observe = partial(water.step, xp=jnp), partial(water.observe, xp=jnp)


def start(map_seed: int) -> water.WaterState:
    return water.WaterState(*map(jnp.asarray, water.reset_state(map_seed)))


@pytest.mark.parametrize("map_seed", [0, 3])
def test_jax_equals_numpy_over_10_000_steps_without_resynchronising(map_seed: int) -> None:
    actions = np.random.default_rng(map_seed).integers(5, size=10_000)

    def advance(
        state: water.WaterState, action: jax.Array
    ) -> tuple[water.WaterState, tuple[jax.Array, jax.Array]]:
        state, touched = step(state, action)
        return state, (observe(state), touched)

    _, (seen, touched) = jax.jit(lambda s, a: jax.lax.scan(advance, s, a))(
        start(map_seed), jnp.asarray(actions)
    )
    state = water.reset_state(map_seed)
    seen, touched = np.asarray(seen), np.asarray(touched)
    worst = 0.0
    for i, action in enumerate(actions.tolist()):
        state, here = water.step(state, action)
        worst = max(worst, float(np.abs(seen[i] - water.observe(state)).max()))
        assert np.array_equal(touched[i], here)
    assert worst <= 1e-5
    assert touched.sum() > 50


def test_vmap_steps_many_maps_at_once() -> None:
    states = [start(seed) for seed in range(4)]
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    together, touched = jax.vmap(step)(stacked, jnp.array([1, 2, 3, 4]))
    assert touched.shape == (4, 6)
    for i, state in enumerate(states):
        alone, _ = step(state, i + 1)
        np.testing.assert_array_equal(together.agent[i], alone.agent)
        np.testing.assert_array_equal(together.balls[i], alone.balls)
