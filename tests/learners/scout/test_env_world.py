"""Environments with numbered observations as worlds that Scout steps."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import TaskError
from errands.kernels.scout import explore as ex
from errands.learners.scout.learner import new_agent, new_known
from errands.learners.scout.machine import Lowering
from errands.learners.scout.world import NEWS, EnvSampler, Outing, TableSampler, make_sampler
from errands.tasks import Task, load

LAKE = Task.from_toml(
    'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nkwargs = { is_slippery = false }\n'
    'features = { corner = [3], goal = [15] }\n[machine]\nphrase = "sequence(corner, goal)"\n'
)


def outing(sampler: EnvSampler, labels: list[set[str]], steps: int) -> Outing:
    lowering = Lowering(LAKE.machine, labels, ())
    agent = new_agent(sampler.states, sampler.limit, lowering.words, len(labels))
    known = new_known(sampler.states, sampler.actions, 2)
    route = np.full(sampler.states, -1, np.int32)
    return Outing(known, lowering, agent, route, steps, 10_000, False, np.random.default_rng(0))


def test_tables_are_used_where_there_are_some_unless_the_host_is_asked_for() -> None:
    assert isinstance(make_sampler(load("figure-1"), 0, host=False), TableSampler)
    assert isinstance(make_sampler(LAKE, 0, host=True), EnvSampler)


def test_observations_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(TaskError, match="Scout needs numbered observations and actions; 'water-2' has Box"):
        EnvSampler(load("water-2"), 0)


def test_what_is_seen_while_exploring_is_the_lake() -> None:
    """Without slipping, every pair that was tried leads where a 4 x 4 grid leads."""
    sampler = EnvSampler(LAKE, 0)
    trip = outing(sampler, [set(), {"corner"}, {"goal"}], 400)
    taken, why = sampler.explore(trip)
    assert (taken <= 400, why in (ex.SPENT, ex.DRY)) == (True, True)
    moves = [(0, -1), (1, 0), (0, 1), (-1, 0)]
    seen = 0
    for s, a in zip(*np.nonzero(trip.known.tried), strict=True):
        row, column = (int(np.clip(x + d, 0, 3)) for x, d in zip(divmod(int(s), 4), moves[a], strict=True))
        assert trip.known.target[s, a, 0] == 4 * row + column
        seen += 1
    assert seen > 20


def test_a_feature_set_that_is_new_stops_it_and_nothing_is_lost() -> None:
    sampler = EnvSampler(LAKE, 0)
    trip = outing(sampler, [set()], 400)
    taken, why = sampler.explore(trip)
    assert why == NEWS
    assert sampler.news is not None
    assert sampler.news[1] in ({"corner"}, {"goal"})
    assert int(trip.known.tried.sum()) == taken


def test_a_trial_is_an_episode_of_a_fresh_environment() -> None:
    trial = EnvSampler(LAKE, 0).trial((0, 1))
    assert trial.start() == 0
    assert [trial.step(2)[:3] for _ in range(3)] == [
        (1, frozenset(), False),
        (2, frozenset(), False),
        (3, {"corner"}, False),
    ]


def test_a_saved_environment_goes_on_as_it_would_have() -> None:
    first, second = EnvSampler(LAKE, 0), EnvSampler(LAKE, 5)
    first.explore(outing(first, [set(), {"corner"}, {"goal"}], 7))
    second.restore(first.save())
    for action in (2, 1, 2, 1):
        assert first.env.step(action)[:4] == second.env.step(action)[:4]
