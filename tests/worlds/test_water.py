"""Water's rules against pencil numbers: arena 400, radius 15, ball speed 3 and push 3 to a step, top speed 9."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from errands.errors import SpecError
from errands.worlds import Water, World, water
from errands.worlds.water import BALLS, COLOURS, WaterState, observe, reset_state, step

NONE, UP, RIGHT, DOWN, LEFT = range(5)


def lone(
    agent: tuple[float, float], velocity: tuple[float, float], ball: tuple[float, float], drift: tuple[float, float]
) -> WaterState:
    """One ball that matters, the first red one; the others lie still in a far corner."""
    balls = np.tile(np.array([385.0, 385.0], np.float32), (BALLS, 1))
    drifts = np.zeros((BALLS, 2), np.float32)
    balls[0], drifts[0] = ball, drift
    return WaterState(
        np.array(agent, np.float32), np.array(velocity, np.float32), balls, drifts, np.zeros(BALLS, np.bool_)
    )


def test_a_push_changes_the_velocity_before_the_move_and_stops_at_the_top_speed() -> None:
    state = lone((100, 100), (0, 0), (300, 100), (0, 0))
    places = []
    for _ in range(5):
        state, _ = step(state, RIGHT)
        places.append(float(state.agent[0]))
    assert places == [103, 109, 118, 127, 136]
    assert state.velocity.tolist() == [9, 0]


@pytest.mark.parametrize(
    ("action", "moved"), [(NONE, (0, 0)), (UP, (0, 3)), (RIGHT, (3, 0)), (DOWN, (0, -3)), (LEFT, (-3, 0))]
)
def test_actions_are_none_up_right_down_left(action: int, moved: tuple[int, int]) -> None:
    state, _ = step(lone((100, 100), (0, 0), (300, 100), (0, 0)), action)
    assert (state.agent - 100).tolist() == list(moved)


def test_walls_reflect_balls_and_the_agent() -> None:
    state, _ = step(lone((17, 200), (-9, 0), (384, 17), (2, -3)), NONE)
    assert state.agent.tolist() == [15, 200]
    assert state.velocity.tolist() == [9, 0]
    assert state.balls[0].tolist() == [385, 15]
    assert state.drifts[0].tolist() == [-2, 3]
    state, _ = step(state, NONE)
    assert state.agent.tolist() == [24, 200]
    assert state.balls[0].tolist() == [383, 18]


def test_reaching_a_wall_exactly_is_not_crossing_it() -> None:
    state, _ = step(lone((200, 200), (0, 0), (382, 100), (3, 0)), NONE)
    assert state.balls[0].tolist() == [385, 100]
    assert state.drifts[0].tolist() == [3, 0]


def test_a_touch_is_reported_in_the_step_in_which_it_starts_and_not_again() -> None:
    state = lone((100, 100), (0, 0), (136, 100), (-3, 0))
    reports = []
    for _ in range(23):
        state, touched = step(state, NONE)
        reports.append(bool(touched[0]))
    # Distance 33, then 30: contact. The ball passes through and is past 30 again after 20 more steps.
    assert [i for i, report in enumerate(reports) if report] == [1]
    assert bool(state.touching[0]) is False


def test_a_new_overlap_after_parting_is_reported_again() -> None:
    state = lone((15, 100), (0, 0), (48, 100), (-3, 0))
    count = sum(bool(step_touch[0]) for step_touch in _touches(state, 300))
    # In at 45, out at 48 after turning at the wall; round the arena and in again.
    assert count == 2


def _touches(state: WaterState, steps: int) -> list[np.ndarray]:
    out = []
    for _ in range(steps):
        state, touched = step(state, NONE)
        out.append(touched)
    return out


def test_either_ball_of_a_colour_reports_that_colour() -> None:
    state = lone((100, 100), (0, 0), (300, 300), (0, 0))
    state.balls[5] = (120, 100)
    assert {COLOURS[i] for i in np.flatnonzero(step(state, NONE)[1])} == {"blue"}


def test_balls_keep_their_energy_and_everything_stays_inside() -> None:
    state = reset_state(1)
    energy = np.square(state.drifts).sum(axis=1)
    np.testing.assert_allclose(energy, 9.0, rtol=1e-6)
    actions = np.random.default_rng(0).integers(5, size=5000)
    for action in actions:
        state, _ = step(state, int(action))
        assert np.array_equal(np.square(state.drifts).sum(axis=1), energy)
        centres = np.vstack([state.balls, state.agent])
        assert centres.min() >= 15
        assert centres.max() <= 385
        assert np.abs(state.velocity).max() <= 9


@pytest.mark.parametrize("map_seed", range(20))
def test_maps_keep_balls_apart_and_away_from_the_agent(map_seed: int) -> None:
    state = reset_state(map_seed)
    assert state.agent.tolist() == [200, 200]
    assert state.velocity.tolist() == [0, 0]
    gaps = np.linalg.norm(state.balls[:, None] - state.balls[None], axis=2) + 1000 * np.eye(BALLS)
    assert gaps.min() >= 30
    assert np.linalg.norm(state.balls - 200, axis=1).min() > 60


def test_the_map_of_seed_0_is_the_same_on_every_platform() -> None:
    state = reset_state(0)
    np.testing.assert_allclose(
        state.balls[:3], [[341.825, 174.66536], [24.780495, 374.22632], [54.348274, 136.11053]], atol=1e-4
    )
    np.testing.assert_allclose(
        state.drifts[:3], [[-1.962867, -2.268734], [2.721982, -1.261275], [2.809738, -1.051367]], atol=1e-6
    )


def test_the_observation_by_pencil() -> None:
    seen = observe(lone((100, 200), (9, -3), (300, 100), (-3, 0)))
    assert seen.shape == (52,)
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen[:8], [0.25, 0.5, 1.0, -1 / 3, 0.5, -0.25, -1.0, 0.25], rtol=1e-6)


def test_a_step_leaves_the_state_before_it_alone() -> None:
    first = reset_state(2)
    copies = [part.copy() for part in first]
    states = [first]
    for _ in range(3):
        states.append(step(states[-1], UP)[0])
    assert all(np.array_equal(a, b) for a, b in zip(first, copies, strict=True))
    assert all(a.balls is not b.balls for a, b in pairwise(states))


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
