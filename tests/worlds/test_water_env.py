"""Water's shell: fixed starts, truncation, pictures, save and restore."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import SpecError
from errands.worlds import Water, World, water
from errands.worlds.water_env import water_text


def test_every_episode_starts_from_the_same_state() -> None:
    env = Water(map_seed=1).env()
    first, info = env.reset(seed=0)
    assert info == {"features": set(), "signals": {}}
    for _ in range(30):
        env.step(1)
    again, _ = env.reset(seed=99)
    assert np.array_equal(first, again)
    assert np.array_equal(env.step(2)[0], Water(map_seed=1).env().step(2)[0])


def test_features_are_the_colours_touched_in_that_very_step() -> None:
    env = Water(map_seed=0).env()
    env.reset(seed=0)
    state, names = water.reset_state(0), set()
    for action in np.random.default_rng(1).integers(5, size=590).tolist():
        features = env.step(action)[4]["features"]
        state, touched = water.step(state, action)
        assert features == {water.COLOURS[i] for i in range(6) if touched[i]}
        names |= features
    assert len(names) > 1


def test_truncation_at_600_is_not_termination() -> None:
    env = Water().env()
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(600)]
    assert ends[:-1] == [(False, False)] * 599
    assert ends[-1] == (False, True)


def test_restoring_reproduces_the_future_exactly() -> None:
    env, twin = Water(2).env(), Water(2).env()
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(5, size=400).tolist()
    for action in actions[:200]:
        env.step(action)
    saved = env.save()  # type: ignore[attr-defined]
    future = [env.step(action) for action in actions[200:]]
    twin.restore(saved)  # type: ignore[attr-defined]
    for action, (seen, *rest) in zip(actions[200:], future, strict=True):
        again, *others = twin.step(action)
        assert np.array_equal(seen, again)
        assert rest == others


def test_pictures() -> None:
    text = water_text(water.reset_state(0)).splitlines()
    assert len(text) == 20
    assert text[9][20] == "@"
    env = Water(0).env("rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert isinstance(image, np.ndarray)
    assert image.shape == (400, 400, 3)
    x, y = water.reset_state(0).balls[0]
    assert image[int(400 - y), int(x)].tolist() == [0xD6, 0x45, 0x41]


def test_water_is_a_world_without_tables() -> None:
    assert isinstance(Water(), World)
    assert Water().finite() is None
    with pytest.raises(SpecError, match="limit is -1"):
        Water(limit=-1)
