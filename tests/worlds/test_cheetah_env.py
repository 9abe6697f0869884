"""The HalfCheetah shell beside gymnasium's own environment: the same physics, other pay, features and positions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")
gym = pytest.importorskip("gymnasium")

from errands.errors import SpecError  # noqa: E402
from errands.worlds.cheetah import HalfCheetah  # noqa: E402
from errands.worlds.cheetah_env import HalfCheetahEnv  # noqa: E402


def actions(count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (count, 6))


def test_it_moves_as_gymnasiums_half_cheetah_moves() -> None:
    ours, theirs = (
        HalfCheetahEnv(HalfCheetah()),
        gym.make("HalfCheetah-v5", exclude_current_positions_from_observation=False),
    )
    first, _ = ours.reset(seed=3)
    other, _ = theirs.reset(seed=3)
    assert first[0] == 0.0
    assert np.array_equal(first[1:], other[1:])
    start = other[0]
    for action in actions(20):
        mine, reward, terminated, truncated, info = ours.step(action)
        seen, _, _, _, told = theirs.step(action)
        assert np.array_equal(mine[1:], seen[1:])
        assert mine[0] == pytest.approx(seen[0] - start)
        assert info["signals"]["control_cost"] == pytest.approx(-told["reward_ctrl"])
        assert (reward, terminated, truncated) == (0.0, False, False)


def test_episodes_are_cut_at_the_limit_and_never_end_by_themselves() -> None:
    env = HalfCheetahEnv(HalfCheetah(limit=3))
    env.reset(seed=0)
    assert [env.step(a)[2:4] for a in actions(3)] == [(False, False), (False, False), (False, True)]
    env.reset(seed=0)
    assert env.step(actions(1)[0])[3] is False


def test_a_saved_robot_moves_on_as_it_would_have() -> None:
    env = HalfCheetahEnv(HalfCheetah())
    env.reset(seed=5)
    for action in actions(4):
        env.step(action)
    saved = env.save()
    ahead = [env.step(a)[0] for a in actions(5)]
    env.restore(saved)
    again = [env.step(a)[0] for a in actions(5)]
    assert np.array_equal(ahead, again)
    assert env.steps == 9


def test_a_fixed_start_is_the_same_whatever_the_seed_and_a_drawn_one_is_not() -> None:
    fixed, drawn = (HalfCheetah(start=word).env() for word in ("fixed", "drawn"))
    assert np.array_equal(fixed.reset(seed=0)[0], fixed.reset(seed=1)[0])
    assert np.array_equal(fixed.reset()[0], np.zeros(18))
    assert not np.array_equal(drawn.reset(seed=0)[0], drawn.reset(seed=1)[0])
    with pytest.raises(SpecError, match="choose drawn or fixed"):
        HalfCheetah(start="anywhere")
