"""DiRL: most probable ways in worlds whose probabilities are known, budgets to the step, failure as a result."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

import errands
from errands.errors import ConfigError
from errands.learners import make_learner
from errands.learners.dirl.graph import AbstractEdge, abstract_graph
from errands.learners.dirl.settings import DiRLConfig
from errands.learners.dirl.tabular import ELSEWHERE, THERE, DiRL, TabularEdges, gathered
from errands.oracle.certificate import certificate
from errands.oracle.episode import wilson
from errands.tables import FAILURE, SUCCESS
from errands.tasks import Task, load

EITHER = """
[machine]
initial = "u0"
success = ["win"]
failure = ["lose"]
transitions = [
  "u0 -> u1 : a & ~x ; 0", "u0 -> u2 : b & ~a & ~x ; 0", "u1 -> win : c & ~x ; 1", "u2 -> win : c & ~x ; 1",
  "u0 -> lose : x ; 0", "u1 -> lose : x ; 0", "u2 -> lose : x ; 0",
]
"""
SURE_OR_SHORT = ["#########xx##", "cb......A..ac", "#########xx##"]


def drawn(rows: list[str], machine: str, slip: float = 0.0) -> Task:
    letters = sorted({c for row in rows for c in row} - set(".#A"))
    legend = ", ".join(f'{c} = "{c}"' for c in letters)
    world = f'kind = "grid"\nrows = {rows}\nlegend = {{ {legend} }}\nslip = {slip}'.replace("'", '"')
    return Task.from_toml(f'name = "drawn"\n[world]\n{world}\n{machine}')


def phrase(text: str) -> str:
    return f'[machine]\nphrase = "{text}"\n'


def best_chance(task: Task, source: tuple[int, int], target: tuple[int, int]) -> NDArray[np.float64]:
    """The greatest probability of an edge from each cell, by value iteration over the definition of the world."""
    world, stepper = task.finite, abstract_graph(task.machine).stepper
    assert world is not None
    table, value = world.table, np.zeros(world.states)
    for _ in range(2_000):
        chance = np.zeros((world.states, world.actions))
        for s, a, o in np.ndindex(*table.next.shape):
            share = table.cumulative[s, a, o] - (table.cumulative[s, a, o - 1] if o else 0.0)
            state = stepper.step(source, world.labels[table.label[s, a, o]]).state
            reached = 1.0 if state == target else value[table.next[s, a, o]] if state == source else 0.0
            chance[s, a] += share * reached
        if np.abs(chance.max(axis=1) - value).max() < 1e-12:
            break
        value = chance.max(axis=1)
    return value


def run(task: Task, config: DiRLConfig | None = None, steps: int = 60_000, seed: int = 0) -> DiRL:
    learner = DiRL(task, config or DiRLConfig(), seed)
    evaluations = list(learner.train(steps))
    assert [e.step for e in evaluations] == [learner.step]
    return learner


def test_the_sure_long_way_is_preferred_to_the_risky_short_one() -> None:
    task = drawn(SURE_OR_SHORT, EITHER, slip=0.2)
    learner = run(task, DiRLConfig(alpha=0.1, rollouts=200))
    assert learner.order[0] == "b"
    assert certificate(learner.policy, task).success == pytest.approx(1.0)
    goals = {learner.graph.edges[r.edge].goal: r for r in learner.results}
    assert goals["b"].probability == 1.0
    low, high = wilson(goals["a"].successes, goals["a"].attempts)
    assert low < 0.8**2 < high


def test_the_way_found_is_the_most_probable_one_by_value_iteration_on_every_edge() -> None:
    task = drawn(SURE_OR_SHORT, EITHER, slip=0.2)
    learner = run(task, DiRLConfig(alpha=0.1, rollouts=400))
    graph = learner.graph
    for result in learner.results:
        edge = graph.edges[result.edge]
        arrival = learner.search.arrival[edge.source]
        starts = learner.edges.starts() if arrival < 0 else learner.ends[arrival]
        chance = best_chance(task, graph.vertices[edge.source], graph.vertices[edge.target])
        exact = float(chance[starts.rows] @ np.diff(starts.cumulative, prepend=0.0))
        low, high = wilson(result.successes, result.attempts, z=3.5)
        assert low <= exact <= high
    assert learner.estimate == 1.0


def test_edges_that_never_succeed_are_survived() -> None:
    task = drawn(["cb..A.xac"], EITHER)
    learner = run(task)
    assert learner.order == ("b", "c")
    assert [r.successes for r in learner.results if learner.graph.edges[r.edge].goal == "a"] == [0]


def test_when_no_edge_succeeds_failure_is_the_result() -> None:
    task = drawn(["..A.xa"], phrase("avoid(x, a)"))
    learner = run(task, steps=5_000)
    assert learner.search.goal is None
    assert learner.estimate == 0.0
    assert learner.order == ()
    assert not learner.evaluate().success
    assert errands.train(task, "dirl", steps=5_000).certificate.success == 0.0


def test_the_first_objectives_of_a_way_that_was_not_finished_are_still_done() -> None:
    task = drawn(["a.A.xb"], phrase("avoid(x, sequence(a, b))"))
    assert run(task).order == ("a",)


def test_each_edge_starts_where_its_parent_ended() -> None:
    task = drawn(["aA.a.b"], phrase("sequence(a, b)"), slip=0.3)
    learner = run(task, DiRLConfig(alpha=0.1))
    first, second = learner.results
    assert learner.ends[first.edge].rows.tolist() == [0]
    assert learner.ends[second.edge].rows.tolist() == [5]
    assert second.rollout_steps >= 5 * second.successes


def test_a_box_that_was_taken_is_gone_on_later_edges() -> None:
    learner = run(load("delivery-2"), steps=200_000)
    assert learner.evaluate().success
    assert sorted(learner.order) == ["b1", "b2", "s", "s"]


def test_delivery_is_suboptimal_where_the_declared_order_is() -> None:
    task = load("delivery-2")
    found = errands.train(task, "dirl", steps=200_000)
    assert found.order == ("b1", "s", "b2", "s")
    assert found.certificate.gap == 14


@pytest.mark.parametrize("steps", [1, 99, 5_000, 54_321])
@pytest.mark.parametrize("edge_steps", [None, 3, 700])
def test_no_run_takes_more_interactions_than_it_was_given(steps: int, edge_steps: int | None) -> None:
    learner = run(load("office-2"), DiRLConfig(edge_steps=edge_steps), steps=steps)
    assert learner.step == learner.training_steps + learner.rollout_steps <= steps
    assert learner.step <= learner.predicted(steps)


def test_a_fixed_budget_is_spent_on_every_edge_and_predicted_before_it_starts() -> None:
    config = DiRLConfig(edge_steps=900, rollouts=5, edge_limit=50)
    learner = DiRL(load("figure-1"), config, 0)
    assert learner.predicted(10**9) == 7 * (900 + 5 * 50)
    list(learner.train(10**9))
    assert [r.training_steps for r in learner.results] == [900] * 7
    assert all(r.attempts == 5 for r in learner.results)


def test_an_attempt_that_the_budget_cuts_short_is_counted_in_steps_but_not_as_made() -> None:
    task = load("office-3")
    edges = TabularEdges(task, graph := abstract_graph(task.machine), DiRLConfig())
    rng = np.random.Generator(np.random.PCG64(0))
    learnt = edges.learn(graph.edges[0], edges.starts(), 5_000, rng)
    whole = edges.attempt(graph.edges[0], learnt, edges.starts(), 10, 10_000, rng)
    length = whole.steps // 10
    assert (whole.number, len(whole.ends), whole.steps) == (10, 10, 10 * length)
    short = edges.attempt(graph.edges[0], learnt, edges.starts(), 10, 2 * length + 1, rng)
    assert (short.number, len(short.ends), short.steps) == (2, 2, 2 * length + 1)


def test_a_world_that_ends_at_a_goal_that_is_not_the_last_lets_the_edge_miss() -> None:
    lake = 'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nkwargs = { is_slippery = false }\n'
    features = "features = { hole = [5, 7, 11, 12], goal = [15] }\n"
    task = Task.from_toml(lake + features + phrase("sequence(hole, goal)"))
    edges = TabularEdges(task, graph := abstract_graph(task.machine), DiRLConfig())
    hole = task.finite.labels.index(frozenset({"hole"}))
    goal = task.finite.labels.index(frozenset({"goal"}))
    count = len(task.finite.labels)
    first, last = (edges.machine(edge) for edge in graph.edges)
    assert (first.next[0, hole], first.next[0, count + hole]) == (THERE, ELSEWHERE)
    assert (last.next[0, goal], last.next[0, count + goal]) == (THERE, THERE)
    assert list(first.status[1:]) == [SUCCESS, FAILURE]
    assert run(task, steps=2_000).search.goal is None
    assert run(Task.from_toml(lake + features + phrase("avoid(hole, goal)")), steps=20_000).order == ("goal",)


def test_same_seed_same_bytes_and_another_seed_others() -> None:
    first, again, other = (run(load("office-2"), DiRLConfig(), 40_000, seed).save() for seed in (0, 0, 1))
    assert {k: v.tobytes() for k, v in first.items()} == {k: v.tobytes() for k, v in again.items()}
    assert first["learnt"].tobytes() != other["learnt"].tobytes()


@pytest.mark.parametrize("stop", [0, 1, 4, 9])
def test_a_run_that_was_saved_between_two_edges_ends_as_if_never_interrupted(stop: int) -> None:
    task, config = drawn(SURE_OR_SHORT, EITHER, slip=0.2), DiRLConfig(alpha=0.1)
    whole = DiRL(task, config, 3)
    expected = list(whole.train(40_000))
    begun = DiRL(task, config, 3)
    for i, _ in enumerate(begun.explore(40_000)):
        if i == stop:
            break
    resumed = DiRL(task, config, 3)
    resumed.restore(begun.save())
    assert list(resumed.train(40_000)) == expected
    assert {k: v.tobytes() for k, v in whole.save().items()} == {k: v.tobytes() for k, v in resumed.save().items()}
    assert list(resumed.train(40_000)) == []


WITNESS = """
import hashlib
from errands.kernels import q_learning
from errands.learners.dirl import kernel
from errands.learners.dirl.tabular import DiRL
from errands.learners.dirl.settings import DiRLConfig
from errands.tasks import load

plain = q_learning.outcome

def counted(step):
    def outcome(*arguments):
        global taken
        taken += 1
        return step(*arguments)
    return outcome

for name in ("office-2", "delivery-2"):
    taken = 0
    q_learning.outcome = kernel.outcome = counted(plain)
    learner = DiRL(load(name), DiRLConfig(rollouts=7), 5)
    list(learner.train(6_000))
    saved = b"".join(v.tobytes() for _, v in sorted(learner.save().items()))
    print(taken, learner.step, hashlib.sha256(saved).hexdigest())
"""


def test_every_interaction_is_counted_and_compiled_loops_do_what_plain_ones_do() -> None:
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    said = subprocess.run([sys.executable, "-c", WITNESS], env=plain, capture_output=True, text=True, check=True).stdout
    for line, name in zip(said.splitlines(), ("office-2", "delivery-2"), strict=True):
        taken, counted, digest = line.split()
        assert taken == counted
        learner = run(load(name), DiRLConfig(rollouts=7), 6_000, 5)
        assert learner.step == int(taken)
        assert _digest(learner) == digest


def _digest(learner: DiRL) -> str:
    return hashlib.sha256(b"".join(v.tobytes() for _, v in sorted(learner.save().items()))).hexdigest()


@pytest.mark.parametrize(("successes", "attempts"), [(0, 10), (3, 10), (10, 10), (299, 300)])
def test_intervals_are_wilsons(successes: int, attempts: int) -> None:
    known = binomtest(successes, attempts).proportion_ci(0.95, method="wilson")
    assert wilson(successes, attempts) == pytest.approx((known.low, known.high), abs=1e-6)


def test_nothing_is_known_of_what_was_never_tried() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_end_states_start_the_next_edge_as_often_as_they_were_met() -> None:
    starts = gathered(np.array([7, 3, 7, 7], np.int32))
    assert starts.rows.tolist() == [3, 7]
    assert starts.cumulative.tolist() == [0.25, 1.0]


@pytest.mark.parametrize(
    "wrong", [{"rollouts": 0}, {"edge_limit": 0}, {"edge_steps": 0}, {"training_share": 1.0}, {"alpha": 2.0}]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        DiRLConfig(**wrong)


def test_the_paper_preset_has_the_printed_rates_and_spends_on_rollouts_what_published_code_does() -> None:
    paper = make_learner(load("office-2"), "dirl", preset="paper").config
    assert (paper.alpha, paper.q_init, paper.epsilon, paper.gamma) == (1e-5, 0.0, 0.1, 0.9)
    assert (paper.rollouts, paper.training_share) == (300, pytest.approx(1 - 0.62))


def test_an_abstract_edge_reads_as_a_sentence() -> None:
    assert str(AbstractEdge(0, 1, "o1", "decoration")) == "o1 avoiding decoration"
