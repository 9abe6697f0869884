"""HalfCheetah: thresholds from the start, the control cost, restoring, and drawing without a screen."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from errands.errors import ErrandsError, SpecError
from errands.worlds import HalfCheetah, World
from errands.worlds.cheetah import features_at


@pytest.mark.parametrize(
    ("x", "features"),
    [(-2.1, "B"), (-2.0, ""), (0.0, ""), (2.0, ""), (2.1, "C"), (4.0, "C"), (4.1, "CD"), (6.0, "CD"), (6.1, "CDE")],
)
def test_thresholds(x: float, features: str) -> None:
    assert features_at(x) == set(features)


def test_it_is_a_world_without_tables() -> None:
    world = HalfCheetah()
    assert isinstance(world, World)
    assert (world.features, world.signals, world.limit) == (("B", "C", "D", "E"), ("control_cost",), 1000)
    assert world.finite() is None
    with pytest.raises(SpecError, match="limit is 0"):
        HalfCheetah(limit=0)


def test_a_missing_mujoco_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ErrandsError, match=r"pip install -e '\.\[mujoco\]'"):
        HalfCheetah().env()


class TestWithMujoco:
    """What needs the robot itself."""

    @pytest.fixture(autouse=True)
    def _needs_mujoco(self) -> None:
        pytest.importorskip("mujoco")

    def test_positions_count_from_a_start_that_gymnasium_draws(self) -> None:
        env = HalfCheetah().env()
        first, info = env.reset(seed=4)
        assert first.shape == (18,)
        assert first[0] == 0.0
        assert info == {"features": set(), "signals": {"control_cost": 0.0}}
        assert np.array_equal(env.reset(seed=4)[0], first)
        assert not np.array_equal(env.reset(seed=5)[0], first)

    def test_it_moves_exactly_as_half_cheetah_v5(self) -> None:
        import gymnasium as gym

        ours, theirs = HalfCheetah().env(), gym.make("HalfCheetah-v5", exclude_current_positions_from_observation=False)
        ours.reset(seed=0)
        start = theirs.reset(seed=0)[0][0]
        for action in np.random.default_rng(0).uniform(-1, 1, size=(50, 6)).astype(np.float32):
            seen, reward, terminated, _, info = ours.step(action)
            expected, _, _, _, their_info = theirs.step(action)
            assert np.array_equal(seen[1:], expected[1:])
            assert seen[0] == expected[0] - start
            assert (reward, terminated) == (0.0, False)
            assert info["signals"]["control_cost"] == pytest.approx(-their_info["reward_ctrl"], rel=1e-6)

    def test_the_control_cost_is_a_tenth_of_the_squared_actions(self) -> None:
        env = HalfCheetah().env()
        env.reset(seed=0)
        info = env.step(np.array([1, -1, 0.5, 0, 0, 0], np.float32))[4]
        assert info["signals"]["control_cost"] == pytest.approx(0.225)

    def test_features_follow_the_distance_from_the_start(self) -> None:
        env = HalfCheetah().env()
        env.reset(seed=1)
        saved = env.save()  # type: ignore[attr-defined]
        for distance, features in ((-3.0, {"B"}), (3.0, {"C"}), (5.0, {"C", "D"}), (7.0, {"C", "D", "E"})):
            env.restore(saved)  # type: ignore[attr-defined]
            env.unwrapped.data.qpos[0] += distance  # type: ignore[attr-defined]
            seen, *_, info = env.step(np.zeros(6, np.float32))
            assert info["features"] == features
            assert seen[0] == pytest.approx(distance, abs=0.1)

    def test_restoring_reproduces_the_future_to_the_last_bit(self) -> None:
        env, twin = HalfCheetah(limit=130).env(), HalfCheetah(limit=130).env()
        env.reset(seed=2)
        actions = np.random.default_rng(1).uniform(-1, 1, size=(130, 6)).astype(np.float32)
        for action in actions[:60]:
            env.step(action)
        saved = env.save()  # type: ignore[attr-defined]
        future = [env.step(action) for action in actions[60:]]
        twin.restore(saved)  # type: ignore[attr-defined]
        for action, (seen, *rest) in zip(actions[60:], future, strict=True):
            again, *others = twin.step(action)
            assert np.array_equal(seen, again)
            assert rest == others
        assert future[-1][2:4] == (False, True)
        assert np.array_equal(env.reset()[0], twin.reset()[0])

    def test_pixels(self) -> None:
        env = HalfCheetah().env("rgb_array")
        env.reset(seed=0)
        image = env.render()
        assert isinstance(image, np.ndarray)
        assert image.shape == (480, 480, 3)
        assert image.std() > 10
        env.close()
