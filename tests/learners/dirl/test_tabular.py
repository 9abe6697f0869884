"""Tabular edges: the machine of an edge read by hand, and a policy that takes the shortest way."""

import numpy as np
import pytest

from errands.errors import StoreError, TaskError
from errands.learners import make_learner
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


def test_a_world_without_tables_is_refused():
    with pytest.raises(TaskError, match="the world of 'water-2' publishes no tables"):
        edges(load("water-2"))


TAXI = Task.from_toml(
    'name = "taxi"\n[world]\nkind = "gymnasium"\nid = "Taxi-v4"\nkwargs = { fickle_passenger = true }\n'
    f"features = {{ riding = {[(cell * 5 + 4) * 4 + to for cell in range(25) for to in range(4)]}, "
    f"top = {[(column * 5 + who) * 4 + to for column in range(5) for who in range(5) for to in range(4)]} }}\n"
    '[machine]\nphrase = "sequence(top, riding)"\n'
)
"""A taxi whose passenger changes his mind outside of its tables: Discrete spaces, and no tables."""


def test_a_world_with_discrete_spaces_and_no_tables_is_learnt_step_by_step():
    assert TAXI.finite is None
    learner = make_learner(TAXI, "dirl", 0, settings={"edge_steps": 6_000, "rollouts": 10, "edge_limit": 60})
    (evaluation,) = learner.train(100_000)
    assert learner.search.goal is not None
    assert learner.step == learner.training_steps + learner.rollout_steps
    assert learner.training_steps == 2 * 6_000
    assert 0 < learner.estimate <= 1
    assert evaluation.step == learner.step
    again = make_learner(TAXI, "dirl", 5, settings={"edge_steps": 6_000, "rollouts": 10, "edge_limit": 60})
    again.restore(learner.save())
    assert again.policy.act(0, again.graph.vertices[0], None) == learner.policy.act(0, learner.graph.vertices[0], None)
    assert list(again.train(100_000)) == []


def test_a_run_without_tables_resumes_to_the_same_bytes():
    def fresh():
        return make_learner(TAXI, "dirl", 1, settings={"edge_steps": 3_000, "rollouts": 5, "edge_limit": 60})

    whole, first, second = fresh(), fresh(), fresh()
    list(whole.train(20_000))
    next(first.explore(20_000))
    second.restore(first.save())
    list(second.train(20_000))
    assert {k: x.tobytes() for k, x in whole.save().items()} == {k: x.tobytes() for k, x in second.save().items()}


def test_states_that_are_not_the_environments_own_are_refused():
    learner = make_learner(TAXI, "dirl", 0, settings={"edge_steps": 3_000, "rollouts": 10, "edge_limit": 60})
    next(learner.explore(20_000))
    saved = learner.save()
    assert len(saved["rows"])
    for row in (b"{", b"[1]", b'{"~dict": [["seen", 0]]}'):
        wrong = np.full_like(saved["rows"], ord(" "))
        wrong[:, : len(row)] = np.frombuffer(row, np.uint8)
        with pytest.raises(StoreError, match="'rows' holds no states of this world"):
            make_learner(TAXI, "dirl", 0, settings={"edge_steps": 3_000, "rollouts": 10}).restore(saved | {"rows": wrong})
