"""The machine of an edge for networks: what labels mean to it, by hand, and one agent for all edges."""

import dataclasses

import numpy as np
import pytest

from errands.learners.dirl.deep import edge_agent, meaning
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.dirl.tabular import AWAY, ELSEWHERE, THERE
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import labels_of, machine_arrays
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks import load

CONFIG = DeepDiRLConfig(width=8, depth=1, full_reward=3.0, reward_scale=0.5)


def test_labels_are_away_there_or_elsewhere():
    """From the start of Figure 1 to b1: b2 is elsewhere, the station means nothing; where the world ends all is lost."""
    task = load("figure-1")
    graph = abstract_graph(task.machine)
    edge = next(e for e in graph.edges if (e.source, e.goal) == (0, "b1"))
    labels = labels_of(task)
    found = meaning(task, graph, edge).fate
    meant = {frozenset(): AWAY, frozenset({"b1"}): THERE, frozenset({"b2"}): ELSEWHERE, frozenset({"s"}): AWAY}
    assert found[: len(labels)].tolist() == [meant[label] for label in labels]
    assert (found[len(labels) :] == ELSEWHERE).all()


def test_the_last_goal_may_come_with_the_end_of_the_world():
    task = load("figure-1")
    graph = abstract_graph(task.machine)
    edge = next(e for e in graph.edges if graph.final(e.target))
    found, labels = meaning(task, graph, edge).fate, labels_of(task)
    assert found[len(labels) + labels.index(frozenset({"s"}))] == THERE


def test_signals_are_paid_on_the_way_as_the_machine_pays_them():
    """HalfCheetah pays minus its control cost while no place is reached."""
    task = load("cheetah-bcd")
    graph = abstract_graph(task.machine)
    found, labels = meaning(task, graph, graph.edges[0]).pay, labels_of(task)
    assert found[labels.index(frozenset()), 0] == -1.0
    assert found[labels.index(frozenset({"B"})), 0] == 0.0


def test_the_goal_pays_and_both_ends_are_final():
    task = load("cheetah-bcd")
    agent = edge_agent(task, CONFIG, Spaces(18, 6, True, 1))
    table = np.asarray(agent.expansion.rule.table)[:, 0]
    assert table[:, 0].tolist() == [0.0, 3.0, 0.0]
    assert table[:, 1].tolist() == [1.0, 0.0, 0.0]
    assert table[:, 4].tolist() == [0.5, 0.0, 0.0]
    assert agent.machine.table.status.tolist() == [RUNNING, SUCCESS, FAILURE]
    assert len(agent.machine.rm) == len(machine_arrays(task).rm)


def test_all_tasks_in_a_world_share_a_brain():
    spaces = Spaces(18, 6, True, 1)
    first = edge_agent(load("cheetah-bcd"), CONFIG, spaces)
    assert edge_agent(load("cheetah-bcde"), CONFIG, spaces) is first
    assert edge_agent(load("cheetah-bcd"), dataclasses.replace(CONFIG, width=9), spaces) is not first


def test_the_cache_of_agents_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from errands.learners.dirl import deep as agent

    monkeypatch.setattr(agent, "_AGENTS", {})
    task, spaces = load("water-2"), Spaces(52, 5, False, 0)
    for n in range(agent.MAX_AGENTS + 3):
        config = DeepDiRLConfig(batch=n + 1)
        assert edge_agent(task, config, spaces) is edge_agent(task, config, spaces)
    assert len(agent._AGENTS) == agent.MAX_AGENTS
