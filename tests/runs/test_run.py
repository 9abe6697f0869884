"""One run: trained, judged by the exact optimum, and summed up in a row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest

from errands.errors import ConfigError, ErrandsError, UnknownName
from errands.learners.presets import config_of
from errands.learners.qrm.settings import QRMConfig
from errands.oracle.certificate import Bounds
from errands.oracle.optimum import Optimum
from errands.runs.request import for_steps
from errands.runs.run import Run, best_length, first_optimal_step, train, untabled
from errands.tables import Evaluation
from errands.tasks import load


@pytest.fixture(scope="module")
def run() -> Run:
    return train(load("figure-1"), "qcorm", steps=5_000, seed=0)


def test_figure_1_is_learnt_to_its_ten_steps(run: Run) -> None:
    assert (run.learner, run.machine, run.preset, run.steps) == ("qcorm", None, "tuned", 5_000)
    assert run.evaluations[-1].step == 5_000
    assert run.order == ("b2", "s", "b1", "s")
    assert run.certificate is not None
    assert (run.certificate.optimum, run.certificate.gap) == (10, 0)


def test_its_row_holds_what_the_front_door_promises(run: Run) -> None:
    row = run.row(10)
    assert (row["seed"], row["steps"], row["final_length"], row["final_success"]) == (0, 5_000, 10, True)
    first = row["first_optimal_step"]
    assert first == next(e.step for e in run.evaluations if e.success and e.episode_length == 10)
    assert run.row(None)["first_optimal_step"] is None
    assert replace(run, evaluations=()).row(10)["final_length"] is None


def test_the_same_seed_gives_the_same_run_and_another_one_another(run: Run) -> None:
    assert train(load("figure-1"), "qcorm", steps=5_000, seed=0).steps_to_go == run.steps_to_go
    assert train(load("figure-1"), "qcorm", steps=5_000, seed=1).steps_to_go != run.steps_to_go


def test_only_a_success_within_the_optimum_is_optimal() -> None:
    rows = (
        Evaluation(1, 5, 0.0, False),
        Evaluation(2, 7, 1.0, True),
        Evaluation(3, 5, 1.0, True),
        Evaluation(4, 4, 1.0, True),
    )
    assert first_optimal_step(rows, 5) == 3
    assert first_optimal_step(rows, 4) == 4
    assert first_optimal_step(rows, 3) is None
    assert first_optimal_step(rows, None) is None
    assert first_optimal_step((), 5) is None


def test_a_run_has_at_least_one_step() -> None:
    assert for_steps(1) == 1
    with pytest.raises(ConfigError, match="steps is 0; train for at least 1 step"):
        for_steps(0)
    with pytest.raises(ConfigError, match="steps is -1"):
        train(load("figure-1"), "qcorm", steps=-1)


def test_an_optimum_beyond_the_budget_has_a_reason_instead_of_a_length() -> None:
    assert best_length(load("figure-1")).length == 10
    refused = best_length(load("delivery-6"), budget=1_000)
    assert refused.length is None
    assert refused.reason


def test_a_claim_stands_in_for_tables_where_there_are_none() -> None:
    last = (Evaluation(10, 6, 1.0, True),)
    proved = Bounds(6.0, 6.0, True, 9)
    found = untabled(proved, last)
    assert found is not None
    assert (found.length, found.success, found.optimum, found.gap) == (6.0, 1.0, 6.0, 0.0)
    assert "6 steps in one greedy episode" in found.summary
    open_ = untabled(Bounds(4.0, 6.0, False, 9), last)
    assert open_ is not None
    assert (open_.optimum, open_.gap) == (None, None)
    never = untabled(proved, ())
    assert (never.summary, never.claim) == ("never evaluated", proved)
    assert (never.length, never.success, never.discounted, never.optimum, never.gap) == (None,) * 5


def test_a_deep_run_has_a_certificate_that_says_what_is_not_known() -> None:
    """README's own line, `run.certificate.summary`, on a world without tables."""
    small = {"width": 8, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", "eval_every": 100}
    run = train("water-2", "qrm", steps=100, settings=small)
    judged, last = run.certificate, run.evaluations[-1]
    assert (judged.discounted, judged.claim) == (None, None)
    assert (judged.length, judged.success) == (last.episode_length, last.success)
    # 17 by an independent search.
    assert (judged.optimum, judged.gap) == (17, last.episode_length - 17 if last.success else None)
    end = f"{last.episode_length - 17:g} more than the optimum" if last.success else "greedy episode; the optimum is 17 steps"
    assert judged.summary.endswith(end)
    assert judged.summary == run.summary
    assert judged.summary in repr(run)
    unknown = untabled(None, (Evaluation(10, 43, 1.0, True),))
    assert (unknown.optimum, unknown.gap) == (None, None)
    assert unknown.summary == "43 steps in one greedy episode; the world has no tables to evaluate it exactly"
    known = untabled(None, (Evaluation(10, 43, 1.0, True),), Optimum(36))
    assert (known.optimum, known.gap, known.summary) == (36, 7, "43 steps, 7 more than the optimum")
    means = untabled(None, (Evaluation(10, 30.6, 0.2, 0.2, 5, 20.0, 41.5, 0.036, 0.624),))
    assert means.summary.startswith("30.6 steps (20 to 41.5) and success 0.2 (0.036 to 0.624), means of 5 greedy episodes;")


def test_policies_are_shown_in_a_few_words() -> None:
    small = {"width": 8, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", "eval_every": 100}
    for task, learner, settings in (
        ("delivery-2", "qrm", {}), ("delivery-2", "hrm", {}), ("delivery-2", "qcorm", {}), ("delivery-2", "qcorm-plus", {}),
        ("delivery-2", "scout", {}), ("delivery-2", "dirl", {}), ("water-2", "qcorm", small),
    ):  # fmt: skip
        run = train(task, learner, steps=100, settings=settings)
        assert len(repr(run.policy)) < 100


def test_a_task_may_be_named() -> None:
    assert train("figure-1", "qcorm", steps=100).task.name == "figure-1"


def test_settings_go_on_top_of_the_preset() -> None:
    """Office's tuned settings have epsilon 0.1 and more that a bare config throws away: those are kept."""
    task = load("office-3")
    tuned = config_of("crm", "tuned", task)
    run = train(task, "crm", steps=100, settings={"epsilon": 0.2})
    assert run.config == replace(tuned, epsilon=0.2)
    assert run.preset == "tuned"
    assert train(task, "crm", steps=100, settings={"epsilon": "0.2"}).config == run.config
    with pytest.raises(UnknownName, match="epsilom"):
        train(task, "crm", steps=100, settings={"epsilom": 0.2})


def test_a_whole_config_is_labelled_custom_and_excludes_settings() -> None:
    task = load("figure-1")
    config = QRMConfig(epsilon=0.1)
    run = train(task, "crm", steps=100, config=config)
    assert (run.preset, run.config) == ("custom", config)
    with pytest.raises(ConfigError, match="both config and settings"):
        train(task, "crm", steps=100, config=config, settings={"epsilon": 0.1})
    with pytest.raises(ConfigError, match="takes a QRMConfig, and was given a ScoutConfig"):
        train(task, "crm", steps=100, config=config_of("scout", "tuned", task))


@pytest.mark.parametrize(
    ("task", "more", "said"),
    [
        (gym.Env(), {}, "the task is a Env; give a Task, a catalogue name or the path of a task file, or an environment"),
        ("CartPole-v1", {}, "'CartPole-v1' is an environment, not a task"),
        ("figure-1", {"steps": "100"}, "steps is '100'; give a whole number"),
        ("figure-1", {"steps": 2.5}, "steps is 2.5; give a whole number"),
        ("figure-1", {"settings": 3}, "settings are 3; give a mapping, or words such as 'gamma=0.95'"),
        ("figure-1", {"preset": 3}, "no preset is called '3'; choose from paper, tuned"),
        ("figure-1", {"config": 3}, "config is 3; give settings=..."),
        ("figure-1", {"seed": "a"}, "seed 'a' was asked for; seeds are whole numbers, 0 or more"),
        ("figure-1", {"seeds": [0, -1]}, "seed -1 was asked for"),
        ("figure-1", {"seeds": 2.0}, "seeds is 2.0; give how many, or a list of them"),
        ("figure-1", {"on_evaluation": 3}, "on_evaluation is a int; give a function of an evaluation"),
    ],
)
def test_what_cannot_be_trained_is_told_in_a_sentence(task: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ErrandsError, match=re.escape(said)):
        train(task, "crm", **{"steps": 100, **more})


@pytest.mark.parametrize("asked", [{"episodes": 0}, {"seed": -1}, {"seed": "x"}])
def test_an_evaluation_checks_what_it_is_asked(run: Run, asked: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="give a whole number of at least"):
        run.evaluate(**asked)


@pytest.mark.parametrize("steps", [-1, 0, "x"])
def test_learning_on_checks_its_steps(run: Run, steps: Any) -> None:
    with pytest.raises(ConfigError, match="give a whole number of at least 1"):
        run.learn(steps)
