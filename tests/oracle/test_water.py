"""The exact optimum of Water: known values, brute force by the world's own rules, and replays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import errands
from errands.errors import TaskError
from errands.machines.stepping import State, Stepper
from errands.oracle.episode import walk
from errands.oracle.water import machine_of, replayed, shortest
from errands.tables import RUNNING, SUCCESS
from errands.tasks import Task
from errands.tasks.phrases import parse_phrase
from errands.worlds import water
from errands.worlds.water import Water

ROOM = 2_000_000_000


@pytest.mark.parametrize(
    ("name", "map_seed", "length"),
    [("water-2", 0, 17), ("water-3", 0, 18), ("water-3", 1, 18), ("water-3", 2, 23), ("water-4", 1, 22), ("water-5", 1, 31)],
)
def test_an_independent_search_on_another_machine_found_the_same_lengths(name: str, map_seed: int, length: int) -> None:
    task = errands.load(name, map_seed)
    best = errands.optimum(task)
    assert best.length == length
    # The task's own environment: success with the last action, and not before.
    env = task.env()
    env.reset(seed=0)
    *before, last = [env.step(action) for action in best.actions]
    assert last[2]
    assert last[4]["success"]
    assert not any(step[2] or step[3] for step in before)
    assert best.policy is not None
    assert walk(best.policy, task).order == best.order


def test_on_two_hundred_maps_the_actions_succeed_by_the_rules_of_world_and_machine() -> None:
    machine = parse_phrase("avoid(red, any_order(blue, green, yellow, cyan, choose=2))")
    for seed in range(200):
        task = Task("two-hundred", Water(seed), machine)
        best = errands.optimum(task)
        assert best.length is not None
        start = water.reset_state(seed)
        state, end, stepper = start, Stepper(machine).start, Stepper(machine)
        for action in best.actions:
            assert stepper.status[end[0]] == RUNNING
            state, touched = water.step(state, action)
            end = stepper.step(end, {water.COLOURS[i] for i in np.flatnonzero(touched)}).state
        assert stepper.status[end[0]] == SUCCESS


def _near(seed: int) -> water.WaterState:
    """A state in which many balls are near, the agent mostly at a wall or in a corner, where touches can begin and end again."""
    dice = np.random.default_rng(seed)
    agent = np.array([dice.choice([15, 16, 18, 200, 380, 385]), dice.choice([15, 17, 100, 385])], np.float32)
    balls = np.clip(agent + dice.uniform(-60, 60, (water.BALLS, 2)), 15, 385).astype(np.float32)
    angles = dice.uniform(0, 2 * np.pi, water.BALLS)
    drifts = (3 * np.stack([np.cos(angles), np.sin(angles)], 1)).astype(np.float32)
    velocity = dice.choice(np.arange(-9, 10, 3), 2).astype(np.float32)
    gap = balls - agent
    return water.WaterState(agent, velocity, balls, drifts, (gap * gap).sum(1) <= 900)


def _by_trying(start: water.WaterState, stepper: Stepper, limit: int) -> int | None:
    """The length of a shortest success by the world's own step, every action tried in every situation."""
    here: dict[bytes, tuple[water.WaterState, State]] = {b"": (start, stepper.start)}
    for length in range(1, limit + 1):
        then = {}
        for state, machine in here.values():
            for action in range(5):
                after, touched = water.step(state, action)
                moved = stepper.step(machine, {water.COLOURS[i] for i in np.flatnonzero(touched)}).state
                if stepper.status[moved[0]] == SUCCESS:
                    return length
                if stepper.status[moved[0]] == RUNNING:
                    key = after.agent.tobytes() + after.velocity.tobytes() + after.touching.tobytes() + repr(moved).encode()
                    then[key] = (after, moved)
        here = then
    return None


@pytest.mark.parametrize(
    "phrase",
    [
        "any_order(red, blue)",
        "sequence(red, red)",
        "sequence(red, blue)",
        "avoid(cyan, any_order(red, sequence(green, blue)))",
        "any_order(blue, before=red)",
        "any_order(red, blue, sequence(green, yellow), choose=2)",
        "any_order(sequence(red, blue), sequence(green, yellow), one_at_a_time=true, choose=1)",
    ],
)
def test_brute_force_by_the_worlds_own_step_finds_the_same_lengths_at_walls_and_in_crowds(phrase: str) -> None:
    machine = parse_phrase(phrase)
    task = Task("crowd", Water(0), machine)
    found = []
    for seed in range(8):
        start, limit = _near(seed), 5
        actions = shortest(start, machine_of(task).following, limit, ROOM)
        expected = _by_trying(start, Stepper(machine), limit)
        assert (len(actions) if actions else None) == expected, seed
        if actions:
            assert list(replayed(task, start, actions))[-1]
        found.append(expected)
    assert {None} != set(found)


def test_where_there_is_little_room_layers_are_found_again() -> None:
    task = errands.load("water-3", 1)
    start, following = water.reset_state(1), machine_of(task).following
    plenty = shortest(start, following, 600, ROOM)
    for layers in (0, 3):
        assert shortest(start, following, 600, (2 + layers) * 371 * 371 * 49 * 4) == plenty


def test_the_time_limit_is_obeyed() -> None:
    task = errands.load("water-3")
    assert errands.optimum(replace(task, text="", world=Water(0, 18))).length == 18
    best = errands.optimum(replace(task, text="", world=Water(0, 17)))
    assert (best.length, best.success, best.reason) == (None, 0.0, "no episode of at most 17 steps succeeds")


def test_what_cannot_succeed_is_told_without_waiting_for_the_limit() -> None:
    task = Task("never", Water(0), parse_phrase("avoid(red, any_order(red, blue))"))
    assert errands.optimum(task).reason == "no successful episode exists"


def test_a_machine_of_more_states_than_there_is_room_for_is_refused_in_a_sentence() -> None:
    names = ", ".join(f"sequence({a}, {b}, {a})" for a, b in zip(water.COLOURS, reversed(water.COLOURS), strict=True))
    task = Task("large", Water(0), parse_phrase(f"any_order({names})"))
    with pytest.raises(TaskError, match=r"machine states or more at each of 6,744,409 places .* 2 GB have room for 1,024"):
        errands.optimum(task)
