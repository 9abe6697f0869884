"""The exact optimum among zones, and bounds where they are many: brute force and replays by the world's own rules."""

from __future__ import annotations

import numpy as np
import pytest

import errands
from errands.learners.scout.zones import tour_bounds
from errands.machines.stepping import Stepper
from errands.oracle.water import machine_of, shortest
from errands.tables import RUNNING, SUCCESS
from errands.tasks import Task
from errands.tasks.phrases import parse_phrase
from errands.worlds import zones
from errands.worlds.zones import Zones

ROOM = 2_000_000_000


@pytest.mark.parametrize("name", ["zones-2", "zones-3", "zones-2-walls"])
def test_the_actions_succeed_in_the_tasks_own_environment(name: str) -> None:
    task = errands.load(name, 1)
    best = errands.optimum(task)
    env = task.env()
    env.reset(seed=0)
    *before, last = [env.step(action) for action in best.actions]
    assert len(best.actions) == best.length
    assert last[2]
    assert last[4]["success"]
    assert not any(step[2] for step in before)


def _by_trying(start: zones.ZonesState, stepper: Stepper, names: tuple[str, ...], limit: int) -> int | None:
    """The length of a shortest success by the world's own step, every action tried in every situation."""
    here = {b"": (start, stepper.start)}
    for length in range(1, limit + 1):
        then = {}
        for state, machine in here.values():
            for action in range(5):
                after, within = zones.step(state, action)
                moved = stepper.step(machine, {names[i] for i in np.flatnonzero(within)}).state
                if stepper.status[moved[0]] == SUCCESS:
                    return length
                if stepper.status[moved[0]] == RUNNING:
                    then[after.agent.tobytes() + after.velocity.tobytes() + repr(moved).encode()] = (after, moved)
        here = then
    return None


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("phrase", ["any_order(z1, z2)", "sequence(z1, z2)", "avoid(z3, any_order(z1, z2))", "sequence(z1, z1)"])
def test_brute_force_by_the_worlds_own_step_finds_the_same_lengths_at_walls_and_in_doors(phrase: str, walls: bool) -> None:
    machine = parse_phrase(phrase)
    found = []
    for seed in range(6):
        world = Zones(3, map_seed=seed, walls=walls)
        dice = np.random.default_rng(seed)
        agent = np.array(dice.choice([15, 120, 125, 145, 380], 2), np.float32)
        # More than two radii apart, and near enough to be reached within six steps.
        places = agent + dice.choice([-1, 1]) * np.array([(14, 0), (14, 25), (-14, 3)], np.float32)
        velocity = dice.choice(np.arange(-9, 10, 3), 2).astype(np.float32)
        start = world.start._replace(agent=agent, velocity=velocity, places=places)
        if zones.blocked(agent, start.doors):
            continue
        actions = shortest(start, machine_of(Task("near", world, machine)).following, 6, ROOM)
        assert (len(actions) if actions else None) == _by_trying(start, Stepper(machine), world.features, 6), seed
        found.append(actions)
    assert any(found)


def test_bounds_of_a_tour_hold_the_optimum_and_other_tasks_have_none() -> None:
    task = errands.load("zones-3")
    bounds = tour_bounds(task)
    assert bounds is not None
    assert bounds.lower <= (errands.optimum(task).length or 0) <= bounds.upper
    # A row of zones, 28 from middle to middle and so 4 from edge to edge: nine a step at best, a step of each leg at least.
    row = Zones(4)
    places = np.array([(20 + 28 * i, 200) for i in range(5)], np.float32)
    vars(row)["start"] = row.start._replace(agent=places[0], places=places[1:])
    bounds = tour_bounds(Task("row", row, errands.any_order(*row.features)))
    assert bounds is not None
    # The agent begins 16 from the edge of the first: 2 steps, and 1 for each of the others. It comes to rest nowhere.
    assert bounds.lower == 2 + 3 < (errands.optimum(Task("row", row, errands.any_order(*row.features))).length or 0) <= bounds.upper
    # One zone: the way in a straight line, and nothing to order.
    assert (one := tour_bounds(errands.load("zones-1"))) is not None
    assert one.upper == errands.optimum(errands.load("zones-1")).length
    assert tour_bounds(Task("in turn", Zones(2), parse_phrase("sequence(z1, z2)"))) is None
    assert tour_bounds(errands.load("visit-2")) is None
