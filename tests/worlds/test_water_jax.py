"""Water in JAX: the same numbers as in NumPy, compiled and over many states at once."""

from __future__ import annotations

from typing import get_type_hints

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from errands.worlds import water, water_jax  # noqa: E402


@pytest.mark.parametrize("map_seed", [0, 3])
def test_jax_equals_numpy_over_10_000_steps_without_resynchronising(map_seed: int) -> None:
    actions = np.random.default_rng(map_seed).integers(5, size=10_000)

    def advance(
        state: water_jax.WaterArrays, action: jax.Array
    ) -> tuple[water_jax.WaterArrays, tuple[jax.Array, jax.Array]]:
        state, touched = water_jax.step(state, action)
        return state, (water_jax.observe(state), touched)

    _, (seen, touched) = jax.jit(lambda s, a: jax.lax.scan(advance, s, a))(
        water_jax.reset_state(map_seed), jnp.asarray(actions)
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
    states = [water_jax.reset_state(seed) for seed in range(4)]
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    together, touched = jax.vmap(water_jax.step)(stacked, jnp.array([1, 2, 3, 4]))
    assert touched.shape == (4, 6)
    for i, state in enumerate(states):
        alone, _ = water_jax.step(state, i + 1)
        np.testing.assert_array_equal(together.agent[i], alone.agent)
        np.testing.assert_array_equal(together.balls[i], alone.balls)


def test_shapes_are_what_the_annotations_say() -> None:
    hints = get_type_hints(water_jax.WaterArrays)
    state, touched = water_jax.step(water_jax.reset_state(0), 1)
    for name, part in state._asdict().items():
        assert isinstance(part, hints[name]), name
        assert not isinstance(part[:1], hints[name]), name
    assert isinstance(water_jax.observe(state), get_type_hints(water_jax.observe)["return"])
    assert (touched.shape, touched.dtype) == ((6,), jnp.bool_)
