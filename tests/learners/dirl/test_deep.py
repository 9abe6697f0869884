"""DiRL with DDQN and TD3 edges: it learns, counts every step, survives what cannot be learnt, and resumes."""

import dataclasses
import time

import jax.numpy as jnp
import numpy as np
import pytest

from errands.errors import ConfigError
from errands.learners import make_learner
from errands.learners.dirl import deep as ground
from errands.learners.dirl.deep import meaning, roomy
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.dirl.tabular import ELSEWHERE, THERE
from errands.learners.engines.deep.device import device_world
from errands.learners.presets import config_of
from errands.tasks import load
from errands.tasks.phrases import any_order, avoid, sequence

PLENTY = 100_000
BOTH = any_order("left", "right")


@pytest.mark.parametrize("continuous", [False, True], ids=["ddqn", "td3"])
def test_both_ends_of_a_corridor_are_reached_and_every_step_in_it_is_counted(corridor, small, witness, continuous):
    learner = small(corridor(BOTH, continuous=True) if continuous else corridor(BOTH))
    for _ in learner.explore(PLENTY):
        assert learner.step == witness() == learner.training_steps + learner.rollout_steps
    assert learner.training_steps == 250 * len(learner.results)
    assert learner.step <= learner.predicted(PLENTY) == 4 * (250 + 4 * 20)
    assert learner.evaluate().success
    assert sorted(learner.order) == ["left", "right"]
    assert learner.estimate > 0
    start, off = learner.graph.vertices[0], (9, 9)
    action, _ = learner.policy.act(np.zeros(1, np.float32), start, None)
    assert np.shape(action) == ((1,) if continuous else ())
    assert np.all(learner.policy.act(np.zeros(1, np.float32), off, None)[0] == 0)


def test_edges_that_never_succeed_are_survived(corridor, small):
    learner = small(corridor(sequence("left", "moon")))
    (evaluation,) = learner.train(PLENTY)
    left, moon = learner.results
    assert left.successes > 0
    assert (moon.attempts, moon.successes, moon.rollout_steps) == (4, 0, 4 * 20)
    assert (evaluation.success, evaluation.episode_length, learner.order) == (False, 30, ("left",))
    assert learner.estimate == 0.0


def test_waiting_for_the_device_counts_as_training_time(corridor, small, monkeypatch):
    learner = small(corridor(sequence("left", "right")))
    solve, spent = learner.edges.solve, []

    def slowly(job):
        began = time.perf_counter()
        time.sleep(0.2)  # as a thread does while a device computes: its own processor time leaves that out
        done = solve(job)
        spent.append(time.perf_counter() - began)
        return done

    monkeypatch.setattr(learner.edges, "solve", slowly)
    list(learner.train(PLENTY))
    assert len(spent) == 2
    assert learner.stopwatch.seconds + learner.stopwatch.excluded_seconds >= sum(spent)


def test_what_is_forbidden_and_what_belongs_to_another_edge_end_an_attempt(corridor):
    task = corridor(avoid("moon", BOTH))
    graph = abstract_graph(task.machine)
    found = meaning(task, graph, graph.edges[0])
    fate = {frozenset(names): found.fate[i] for i, names in enumerate(ground.machine_arrays(task).labels)}
    assert graph.edges[0].goal == "left"
    assert (fate[frozenset({"left"})], fate[frozenset({"right"})], fate[frozenset({"moon"})]) == (
        THERE,
        ELSEWHERE,
        ELSEWHERE,
    )
    assert set(found.fate[len(fate) :]) == {ELSEWHERE}  # the world itself must not end on the way


def test_rollouts_are_cut_short_by_the_budget_to_the_step(corridor, small, witness):
    learner = small(corridor(sequence("moon", "left")), edge_steps=None, training_share=0.8)
    list(learner.explore(500))
    (moon,) = learner.results
    assert (moon.training_steps, moon.rollout_steps, moon.attempts) == (200, 50, 2)
    assert learner.step == witness() == 250


def bytes_of(learner):
    return {name: part.tobytes() for name, part in learner.save().items()}


def resumes(make, stop):
    whole, begun, resumed = make(), make(), make()
    expected = list(whole.train(PLENTY))
    for i, _ in enumerate(begun.explore(PLENTY), 1):
        if i == stop:
            break
    resumed.restore(begun.save())
    assert list(resumed.train(PLENTY)) == expected
    assert bytes_of(resumed) == bytes_of(whole)
    return whole


def test_a_run_in_environments_saved_between_two_edges_ends_as_if_never_interrupted(corridor, small):
    task = corridor(BOTH)
    resumes(lambda: small(task, seed=2), 2)


def clocked(machine):
    """A world on the device that carries a clock in its state."""
    plain = device_world(machine)

    def step(state, action, uniform):
        inner, *rest = plain.step(state[0], action, uniform)
        return ((inner, state[1] + 1), *rest)

    return dataclasses.replace(
        plain,
        start=lambda uniform: (plain.start(uniform), jnp.int32(0)),
        step=step,
        observe=lambda state: plain.observe(state[0]),
    )


def test_a_run_on_the_device_resumes_and_its_rollouts_take_the_steps_that_end_states_carry(small, monkeypatch):
    task = load("figure-1")
    world = clocked(ground.machine_arrays(task))
    monkeypatch.setattr(ground, "device_world", lambda machine: world)
    learner = resumes(lambda: small(task, edge_steps=500, capacity=500, rollouts=3, edge_limit=30), 3)
    assert learner.evaluate().success
    checked = 0
    for result in learner.results:
        arrival = learner.search.arrival.get(learner.graph.edges[result.edge].source, -1)
        starts = learner.ends.get(arrival)
        if result.successes == result.attempts and (starts is None or len(starts.rows) == 1):
            ends = learner.ends[result.edge]
            clock = ends.rows[:, -1] @ np.diff(ends.cumulative, prepend=0.0) - (starts.rows[0, -1] if starts else 0)
            assert result.rollout_steps == round(clock * result.attempts)
            checked += 1
    assert checked >= 3


def test_a_search_keeps_to_its_own_budget(corridor, small, witness):
    learner = small(corridor(BOTH), edge_steps=150)
    for _ in learner.explore(PLENTY):
        pass
    assert learner.training_steps == 600
    assert learner.step == witness()
    assert [r.edge for r in learner.results] == [0, 1, 2, 3]


def test_an_environment_whose_state_cannot_be_stored_is_put_back_by_its_seed_and_actions(corridor, small):
    learner = small(corridor(sequence("left", "right"), shut=True))
    list(learner.explore(PLENTY))
    assert learner.search.goal is not None
    again = small(corridor(sequence("left", "right"), shut=True))
    again.restore(learner.save())
    assert again.search.goal == learner.search.goal


def test_the_front_door_has_dirl_on_continuous_worlds():
    task = load("water-3")
    learner = make_learner(task, "dirl")
    assert len(learner.graph.edges) == 12
    paper = config_of("dirl", "paper", task)
    assert isinstance(paper, DeepDiRLConfig)
    assert (paper.rollouts, paper.alpha, paper.full_reward) == (300, 1e-5, 1.0)
    cheetah = config_of("dirl", "tuned", load("cheetah-bcd"))
    assert (cheetah.full_reward, cheetah.reward_scale, cheetah.gamma) == (10.0, 0.01, 0.99)


def test_the_buffer_is_no_larger_than_training_can_fill():
    assert roomy(DeepDiRLConfig(), 300).capacity == 300
    assert roomy(DeepDiRLConfig(), None).capacity == DeepDiRLConfig().capacity


@pytest.mark.parametrize("wrong", [{"full_reward": 0.0}, {"rollouts": 0}, {"batch": 0}, {"gamma": 0.0}])
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        DeepDiRLConfig(**wrong)
