"""Trials on a world's tables: certain moves, moves that slip as often as they should, and several starts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from errands.learners.scout.world import TableSampler, TableTrial
from errands.tasks import Task, load
from errands.worlds.base import FiniteWorld


def finite(task: Task) -> FiniteWorld:
    assert task.finite is not None
    return task.finite


def trial(world: FiniteWorld, seed: int = 0) -> TableTrial:
    return TableTrial(world, np.random.Generator(np.random.PCG64(seed)))


def test_certain_moves_are_the_tables() -> None:
    world = finite(load("figure-1"))
    walker = trial(world)
    s = walker.start()
    assert s == world.table.starts[0]
    for action in (3, 3, 0, 1, 2):
        there, features, ends, signals = walker.step(action)
        assert there == world.table.next[s, action, 0]
        assert features == world.labels[world.table.label[s, action, 0]]
        assert (ends, signals) == (bool(world.table.ends[s, action, 0]), {})
        s = there


def test_moves_slip_as_often_as_the_table_says() -> None:
    """In the middle of a 3 x 3 room a move right with slip 0.4 goes up and down a fifth of the time each."""
    text = ('name = "t"\n[world]\nkind = "grid"\nrows = ["...", ".A.", "..g"]\nlegend = { g = "g" }\nslip = 0.4\n'
            '[machine]\nphrase = "g"\n')  # fmt: skip
    world = finite(Task.from_toml(text))
    sampler = TableSampler(world, 100)
    assert sampler.certain is False
    met: Counter[int] = Counter()
    for seed in range(3_000):
        walker = sampler.trial((seed, 1))
        assert walker.start() == 4
        met[walker.step(1)[0]] += 1
    assert met[5] / 3_000 == pytest.approx(0.6, abs=0.03)
    assert met[1] / 3_000 == pytest.approx(0.2, abs=0.03)
    assert met[7] / 3_000 == pytest.approx(0.2, abs=0.03)
    assert set(met) == {1, 5, 7}


def test_starts_are_drawn_by_their_probability() -> None:
    world = finite(load("figure-1"))
    table = world.table._replace(starts=np.array([2, 7], np.int32), start_cumulative=np.array([0.25, 1.0]),
                                 start_label=np.zeros(2, np.int32))  # fmt: skip
    several = FiniteWorld(table, world.labels)
    met = Counter(trial(several, seed).start() for seed in range(2_000))
    assert set(met) == {2, 7}
    assert met[2] / 2_000 == pytest.approx(0.25, abs=0.03)


def test_a_sampler_tells_its_size_and_keeps_nothing() -> None:
    world = finite(load("office-2"))
    sampler = TableSampler(world, 50)
    assert (sampler.states, sampler.actions, sampler.certain) == (world.states, world.actions, True)
    assert sampler.save() == b""
