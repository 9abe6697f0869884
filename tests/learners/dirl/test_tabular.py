"""Tabular edges: the machine of an edge read by hand, and a policy that takes the shortest way."""

import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DiRLConfig
from errands.learners.dirl.tabular import AWAY, ELSEWHERE, THERE, EdgeJob, TabularEdges
from errands.tables import RUNNING, SUCCESS
from errands.tasks import Task, load

TASK = load("figure-1")
GRAPH = abstract_graph(TASK.machine)


def edges(task=TASK, **changes):
    return TabularEdges(task, abstract_graph(task.machine), DiRLConfig(**changes))


def edge_to(goal, source=0):
    return next(e for e in GRAPH.edges if e.source == source and e.goal == goal)


def test_on_the_way_to_one_box_the_other_one_is_elsewhere():
    table = edges().machine(edge_to("b1"))
    labels = [sorted(label) for label in TASK.finite.labels]
    meant = {"b1": THERE, "b2": ELSEWHERE, "s": AWAY, "": AWAY}
    assert table.next[AWAY, : len(labels)].tolist() == [meant["".join(names)] for names in labels]
    assert (table.next[AWAY, len(labels) :] == ELSEWHERE).all()
    assert table.reward[AWAY].tolist() == [float(n == THERE) for n in table.next[AWAY]]
    assert (table.status[AWAY], table.status[THERE]) == (RUNNING, SUCCESS)


def test_only_the_last_goal_may_be_where_the_world_ends():
    made = edges()
    last = next(e for e in GRAPH.edges if GRAPH.final(e.target))
    table = made.machine(last)
    labels = TASK.finite.labels
    station = labels.index(frozenset({"s"}))
    assert table.next[AWAY, len(labels) + station] == THERE


def test_the_learnt_policy_takes_the_shortest_way_every_time():
    """b1 is three steps from the start."""
    made = edges()
    job = EdgeJob(0, edge_to("b1"), made.starts(), 3_000, 10, 10_000, 0)
    done = made.solve(job)
    assert (done.attempts.number, done.attempts.steps) == (10, 30)
    assert set(done.attempts.ends.tolist()) == {0}
    again = edges().solve(job)
    assert np.array_equal(done.learnt, again.learnt)


def test_rollouts_stop_at_their_steps():
    made = edges()
    job = EdgeJob(0, edge_to("b1"), made.starts(), 3_000, 10, 10, 0)
    attempts = made.solve(job).attempts
    assert (attempts.number, attempts.steps) == (3, 10)


TAXI = Task.from_toml(
    'name = "taxi"\n[world]\nkind = "gymnasium"\nid = "Taxi-v4"\nkwargs = { fickle_passenger = true }\n'
    f"features = {{ riding = {[(cell * 5 + 4) * 4 + to for cell in range(25) for to in range(4)]}, "
    f"top = {[(column * 5 + who) * 4 + to for column in range(5) for who in range(5) for to in range(4)]} }}\n"
    '[machine]\nphrase = "sequence(top, riding)"\n'
)
"""A taxi whose passenger changes his mind outside of its tables: Discrete spaces, and no tables."""


@pytest.mark.parametrize("task", [TAXI, load("water-2")], ids=["taxi", "water-2"])
def test_a_world_without_tables_is_refused(task: Task) -> None:
    with pytest.raises(TaskError, match=f"the world of '{task.name}' has no table"):
        edges(task)
