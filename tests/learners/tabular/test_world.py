"""The world of a tabular learner: tables, or an environment asked one outcome at a time."""

from __future__ import annotations

import pytest

from errands.errors import TaskError
from errands.kernels.stepping import UNKNOWN
from errands.learners.engines.tabular import SteppedWorld, Tables, world_of
from errands.tasks import Task, load


def lake() -> Task:
    """FrozenLake 4 x 4 without slipping."""
    return Task.from_toml(
        'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nkwargs = { is_slippery = false }\n'
        'features = { corner = [3], goal = [15] }\n[machine]\nphrase = "sequence(goal)"\n'
    )


def test_a_world_with_tables_is_its_tables() -> None:
    world = world_of(load("figure-1"), 0)
    assert type(world) is Tables
    assert (world.states, world.actions, world.limit) == (12, 4, load("figure-1").world.limit)


def test_a_continuous_world_is_refused() -> None:
    with pytest.raises(TaskError, match="the world of 'water-2' publishes no tables"):
        Tables(load("water-2"))
    with pytest.raises(TaskError, match="a tabular learner needs both to be Discrete"):
        SteppedWorld(load("water-2"), 0)


def test_each_outcome_is_asked_for_and_forgotten() -> None:
    """Right, right, right along the top of the lake: cells 1, 2, 3, the last one the corner."""
    world = SteppedWorld(lake(), 0)
    assert (world.states, world.actions, int(world.table.starts[0])) == (16, 4, 0)
    assert (world.table.next == UNKNOWN).all()
    assert world.ask(0, 2) is False
    assert world.table.next[0, 2, 0] == 1
    assert world.ask(1, 2) is False
    assert world.table.next[0, 2, 0] == UNKNOWN
    assert world.ask(2, 2) is True
    assert world.labels == [frozenset(), {"corner"}]
    assert world.table.label[2, 2, 0] == 1
    world.forget()
    assert (world.table.next == UNKNOWN).all()


def test_a_hole_ends_the_episode_and_a_reset_begins_anew() -> None:
    """Down, right falls into the hole at cell 5."""
    world = SteppedWorld(lake(), 0)
    world.ask(0, 1)
    world.ask(4, 2)
    assert world.table.next[4, 2, 0] == 5
    assert bool(world.table.ends[4, 2, 0])
    assert world.reset() == 0


def test_an_observation_outside_the_space_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = SteppedWorld(lake(), 0)
    monkeypatch.setattr(world.env, "step", lambda action: (16, 0.0, False, False, {}))
    with pytest.raises(TaskError, match="the environment observed 16, which is not in its Discrete"):
        world.ask(0, 0)
