"""What every world promises, asked of every world in the catalogue."""

from __future__ import annotations

import numpy as np
import pytest

from errands.tables import WorldTable
from errands.tasks import load
from errands.worlds.base import FiniteWorld, World

NAMES = ["figure-1", "delivery-2", "office-3", "visit-4", "water-2", "cheetah-bcd"]


def chain(outcomes: int = 1, starts: int = 1) -> FiniteWorld:
    """Three states and two actions; every move leads to state 0."""
    shape = (3, 2, outcomes)
    table = WorldTable(
        np.zeros(starts, np.int32), np.linspace(0, 1, starts + 1)[1:], np.zeros(starts, np.int32), np.zeros(shape, np.int32),
        np.ones(shape), np.zeros(shape, np.int32), np.zeros(shape, np.bool_), np.zeros((0, *shape)),
    )  # fmt: skip
    return FiniteWorld(table, (frozenset(),))


def test_states_and_actions_are_counted_from_the_table() -> None:
    assert (chain().states, chain().actions) == (3, 2)


@pytest.mark.parametrize(("outcomes", "starts", "certain"), [(1, 1, True), (2, 1, False), (1, 2, False)])
def test_a_world_is_certain_with_one_outcome_and_one_start(outcomes: int, starts: int, certain: bool) -> None:
    assert chain(outcomes, starts).certain is certain


@pytest.mark.parametrize("name", NAMES)
def test_a_world_keeps_its_promises(name: str) -> None:
    world = load(name).world
    assert isinstance(world, World)
    assert len(set(world.features)) == len(world.features) > 0
    assert world.limit > 0
    assert name.split("-")[0] == ("figure" if world.kind == "grid" else world.kind)


@pytest.mark.parametrize("name", ["figure-1", "delivery-2", "office-3", "visit-4"])
def test_the_tables_and_the_environment_tell_of_the_same_steps(name: str) -> None:
    """A random walk: the features that the environment reports are those of the table's label, start included."""
    task = load(name)
    finite = task.world.finite()
    assert finite is not None
    assert finite.certain
    env = task.world.env()
    _, info = env.reset(seed=0)
    table, state = finite.table, int(finite.table.starts[0])
    assert info["features"] == finite.labels[table.start_label[0]]
    rng = np.random.default_rng(0)
    gone: set[str] = set()
    for action in rng.integers(finite.actions, size=300).tolist():
        *_, terminated, truncated, info = env.step(action)
        named = finite.labels[table.label[state, action, 0]]
        gone |= named - info["features"]  # a box that was taken: the table keeps positions only
        assert info["features"] <= named
        assert terminated == bool(table.ends[state, action, 0])
        state = int(table.next[state, action, 0])
        if terminated or truncated:
            break
    env.close()
    assert gone <= (set(task.machine.subtasks) if name == "delivery-2" else set())
