"""Zones' rules against pencil numbers: motion as in Water, zones of radius 12, walls 10 thick with doors 40 wide."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import SpecError
from errands.worlds import water
from errands.worlds.zones import Zones, ZonesState, blocked, observe, step, wall_plan

NONE, UP, RIGHT, DOWN, LEFT = range(5)
DOORS = np.full((2, 2, 3), [70, 200, 330], np.float32)


def lone(agent: tuple[float, float], velocity: tuple[float, float], zone: tuple[float, float], walls: bool = False) -> ZonesState:
    doors = DOORS if walls else np.zeros(0, np.float32)
    return ZonesState(np.array(agent, np.float32), np.array(velocity, np.float32), np.array([zone], np.float32), doors)


def test_a_zone_holds_as_long_as_the_agent_is_in_it() -> None:
    state, seen = lone((100, 100), (6, 0), (130, 100)), []
    for _ in range(7):
        state, within = step(state, NONE)
        seen.append((float(state.agent[0]), bool(within[0])))
    assert seen == [(106, False), (112, False), (118, True), (124, True), (130, True), (136, True), (142, True)]


def test_an_agent_moves_as_in_water() -> None:
    swimmer = water.reset_state(0)
    robot = ZonesState(swimmer.agent, swimmer.velocity, np.array([[30.0, 30.0]], np.float32), np.zeros(0, np.float32))
    for action in np.random.default_rng(0).integers(5, size=2_000).tolist():
        swimmer, _ = water.step(swimmer, action)
        robot, _ = step(robot, action)
        assert np.array_equal(robot.agent, swimmer.agent)
        assert np.array_equal(robot.velocity, swimmer.velocity)


def test_a_wall_stops_and_turns_round_and_a_door_lets_through() -> None:
    state, _ = step(lone((125, 100), (9, 3), (30, 30), walls=True), NONE)
    assert (state.agent.tolist(), state.velocity.tolist()) == ([125, 100], [-9, -3])
    state, _ = step(lone((125, 90), (9, 0), (30, 30), walls=True), NONE)
    assert (state.agent.tolist(), state.velocity.tolist()) == ([134, 90], [9, 0])
    assert [bool(blocked(np.array(place), DOORS)) for place in ((134, 91), (130, 110), (129, 110), (135, 135), (70, 135))] == [
        True, True, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("walls", [False, True])
def test_zones_of_a_map_lie_apart_and_free_and_their_number_only_adds_to_them(walls: bool) -> None:
    world = Zones(100, 3, walls)
    places = world.start.places
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 99 * np.eye(100)
    assert gaps.min() > 24
    assert places.min() >= 20
    assert places.max() <= 380
    assert np.linalg.norm(places - 200, axis=1).min() > 24
    assert not blocked(places, world.start.doors).any()
    assert np.array_equal(Zones(7, 3, walls).start.places, places[:7])


def test_every_room_can_be_entered() -> None:
    """Places four apart are joined where none of them lies in a wall: a flood from the middle reaches all that are free."""
    doors = Zones(1, 5, walls=True).start.doors
    axis = np.arange(16, 385, 4)
    free = ~blocked(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).astype(np.float32), doors)
    reached = np.zeros_like(free)
    reached[46, 46] = free[46, 46]
    for _ in range(1_000):
        wider = reached.copy()
        wider[1:] |= reached[:-1]
        wider[:-1] |= reached[1:]
        wider[:, 1:] |= reached[:, :-1]
        wider[:, :-1] |= reached[:, 1:]
        reached = wider & free
    assert np.array_equal(reached, free)


def test_the_environment_is_one_of_gymnasium_and_goes_on_where_it_was_saved() -> None:
    from gymnasium.utils.env_checker import check_env

    env = gym.make("errands/Zones-v0", zones=3, walls=True)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset()
    for action in (UP, UP, RIGHT):
        env.step(action)
    saved = env.unwrapped.save()
    seen = env.step(LEFT)[0]
    env.reset()
    env.unwrapped.restore(saved)
    assert np.array_equal(env.step(LEFT)[0], seen)


def test_features_are_those_of_the_step_and_the_limit_truncates() -> None:
    env = Zones(2, 0, limit=3).env()
    env.reset()
    env.state = env.state._replace(agent=env.state.places[1].copy())
    assert env.step(NONE)[4]["features"] == {"z2"}
    assert [env.step(NONE)[3] for _ in range(2)] == [False, True]


def test_pictures_show_walls_zones_and_agent() -> None:
    plan = np.array(wall_plan(DOORS))
    assert len(plan) == 16
    assert plan[0].tolist() == [130, 0, 10, 50]
    assert plan[8].tolist() == [0, 130, 50, 10]
    assert Zones(2, 1, walls=True).env("rgb_array").render().shape == (400, 400, 3)


@pytest.mark.parametrize("settings", [{"zones": 0}, {"zones": 101}, {"zones": 3, "limit": 0}])
def test_other_numbers_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(SpecError):
        Zones(**settings)


@pytest.mark.parametrize("walls", [False, True])
def test_jax_has_the_same_numbers(walls: bool) -> None:
    jax = pytest.importorskip("jax")
    world = Zones(4, 2, walls)
    batched = world.batched
    there, here = batched.reset(jax.random.key(0)), world.start
    move = jax.jit(batched.step)
    for action in np.random.default_rng(1).integers(5, size=400).tolist():
        here, within = step(here, action)
        answer = move(there, action, jax.random.key(0))
        there = answer.state
        assert np.array_equal(there.agent, here.agent)
        assert np.array_equal(there.velocity, here.velocity)
        assert np.array_equal(answer.features, within)
        np.testing.assert_allclose(answer.observation, observe(here), atol=1e-6)


def test_the_catalogue_has_zones() -> None:
    task = errands.load("zones-100-walls")
    assert (task.world.walls, len(task.machine.subtasks)) == (True, 100)
    assert task.batched is not None
