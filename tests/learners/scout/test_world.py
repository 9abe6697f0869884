"""Worlds that Scout steps: tables, and environments with numbered observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.scout import world
from errands.learners.scout.kernel import explore as ex
from errands.learners.scout.machine import Lowering
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout, new_agent, new_known
from errands.learners.scout.world import UNSEEN, EnvSampler, Outing, TableSampler, make_sampler
from errands.tasks import Task, load
from errands.tasks.phrases import sequence
from errands.worlds.base import Described

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
    assert why == UNSEEN
    assert sampler.pending_observation is not None
    assert sampler.pending_observation.features in ({"corner"}, {"goal"})
    assert int(trip.known.tried.sum()) == taken


def test_a_saved_environment_goes_on_as_it_would_have() -> None:
    first, second = EnvSampler(LAKE, 0), EnvSampler(LAKE, 5)
    first.explore(outing(first, [set(), {"corner"}, {"goal"}], 7))
    second.restore(first.save())
    for action in (2, 1, 2, 1):
        assert first.env.step(action)[:4] == second.env.step(action)[:4]


def test_a_table_tells_its_size_and_keeps_nothing() -> None:
    finite = load("office-2").finite
    assert finite is not None
    sampler = TableSampler(finite, 50)
    assert (sampler.states, sampler.actions, sampler.certain) == (finite.states, finite.actions, True)
    assert sampler.save() == b""


def test_states_beyond_the_room_there_is_are_made_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one state at first, Scout takes the same steps and proves the same as with room for all."""
    whole = Scout(LAKE, ScoutConfig(host=True), 0)
    evaluations = list(whole.train(300))
    monkeypatch.setattr(world, "FIRST_STATES", 1)
    grown = Scout(LAKE, ScoutConfig(host=True), 0)
    assert len(grown.known.tried) == 1
    assert list(grown.train(300)) == evaluations
    assert grown.claim == whole.claim
    assert grown.claim.proved
    assert np.array_equal(grown.known.hits, whole.known.hits)


def test_a_random_world_grows_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    slippery = Task.from_toml(LAKE.to_toml().replace("is_slippery = false", "is_slippery = true"))
    whole = Scout(slippery, ScoutConfig(host=True, eval_every=500), 0)
    evaluations = list(whole.train(1_500))
    monkeypatch.setattr(world, "FIRST_STATES", 2)
    grown = Scout(slippery, ScoutConfig(host=True, eval_every=500), 0)
    assert list(grown.train(1_500)) == evaluations
    assert grown.random


class Shifted(gym.Env[int, int]):
    """Three cells in a row, numbered 5, 6, 7; actions -1 and 0 go left and right."""

    def __init__(self, strange: bool = False) -> None:
        self.observation_space = gym.spaces.Discrete(3, start=5)
        self.action_space = gym.spaces.Discrete(2, start=-1)
        self.strange = strange

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.at = 6
        return self.at, {"features": frozenset()}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.at = min(max(self.at + (1 if action == 0 else -1), 5), 7)
        end = frozenset({"end"}) if self.at == 7 else frozenset()
        return (99 if self.strange else self.at), 0.0, False, False, {"features": end}


@dataclass(frozen=True)
class Row(Described):
    """A world that is nothing but its environment."""

    strange: bool = False
    features: tuple[str, ...] = ("end",)
    signals: tuple[str, ...] = ()
    limit: int = 20
    kind: str = "row"

    def env(self, render_mode: str | None = None) -> Any:
        return Shifted(self.strange)

    def finite(self) -> None:
        return None


def test_spaces_need_not_begin_at_0() -> None:
    scout = Scout(Task("row", Row(), sequence("end")), ScoutConfig(), 0)
    list(scout.train(50))
    assert scout.claim.proved
    assert scout.claim.upper == 1
    assert scout.evaluate().success


def test_an_observation_outside_its_space_is_refused() -> None:
    with pytest.raises(TaskError, match="observed 99, which is not in its Discrete"):
        list(Scout(Task("row", Row(strange=True), sequence("end")), ScoutConfig(), 0).train(50))
