"""Machines inside learners: born when visited, alive while reachable, refused when too large."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners import LEARNERS, default_learner, make_learner
from errands.learners.tabular.base import room
from errands.learners.tabular.counterfactual import CounterfactualLearner
from errands.learners.tabular.qcorm import QCoRMConfig
from errands.learners.tabular.qrm import QRM
from errands.machines import size
from errands.tasks import Task, load


def test_boolean_qrm_runs_at_eight_boxes_on_the_states_that_it_met() -> None:
    learner = make_learner(load("delivery-8"), "qrm", machine="boolean")
    learner.advance(100_000)
    assert isinstance(learner, QRM)
    assert 10 < len(learner.machine) < size(load("delivery-8").machine).boolean == 219_201


def test_a_lazy_machine_is_the_unfolded_one() -> None:
    """Every transition that was born leads where the definition says."""
    task = load("figure-1")
    for kind in ("boolean", "agenda"):
        learner = make_learner(task, "qrm", machine=kind)
        learner.advance(20_000)
        assert isinstance(learner, QRM)
        assert len(learner.machine) == {"boolean": 9, "agenda": 7}[kind]


def test_where_boxes_vanish_only_reachable_states_learn_counterfactually() -> None:
    learner = make_learner(load("delivery-2"), "crm")
    assert isinstance(learner, CounterfactualLearner)
    alive = learner.alive
    counts = (alive.slice[:, 1] - alive.slice[:, 0]).tolist()
    labels = [str(label) for label in learner.enumerated.labels]  # type: ignore[union-attr]
    assert dict(zip(labels, counts, strict=True)) == {
        "0{b1,b2}{b1,b2}": 6, "1{b2}s": 3, "1{b1}s": 3, "2{b2}b2": 2, "2{b1}b1": 2, "3{}s": 1, "4{}": 0
    }  # fmt: skip


def test_where_nothing_vanishes_every_running_state_learns_from_every_step() -> None:
    learner = make_learner(load("office-2"), "crm")
    assert isinstance(learner, CounterfactualLearner)
    running = int((learner.machine.status == 0).sum())
    assert np.all(learner.alive.slice == [0, running])


def test_tables_that_would_not_fit_are_refused_with_their_size() -> None:
    with pytest.raises(TaskError, match=r"would take [\d,.]+ GB and this machine has"):
        room("the table", 10**6, 10**6, 100)
    with pytest.raises(TaskError, match="GB"):
        make_learner(load("delivery-24"), "crm")


def test_names_and_machines_are_checked() -> None:
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        make_learner(load("figure-1"), "qcrom")
    with pytest.raises(UnknownName, match="preset"):
        make_learner(load("figure-1"), "qrm", preset="papr")
    with pytest.raises(ConfigError, match="agenda or boolean"):
        make_learner(load("figure-1"), "qrm", machine="coupled")
    with pytest.raises(ConfigError, match="its own machine"):
        make_learner(load("figure-1"), "qcorm", machine="agenda")
    with pytest.raises(ConfigError, match="takes a QRMConfig"):
        make_learner(load("figure-1"), "qrm", config=QCoRMConfig())
    assert default_learner(load("figure-1")) == "scout"
    assert default_learner(load("water-2")) == "qcorm-plus"
    assert {"qrm", "crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "scout", "dirl"} <= set(LEARNERS)


class Line(gym.Env[int, int]):
    """Six cells without a published table: left and right, the goal at the end, a trap at the other."""

    observation_space = gym.spaces.Discrete(6)
    action_space = gym.spaces.Discrete(2)
    last = 5

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[int, dict[str, object]]:
        super().reset(seed=seed)
        self.at = 2
        return self.at, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
        self.at = min(self.at + 1, self.last) if action else self.at - 1
        return self.at, 0.0, self.at == 0, False, {}


def _line() -> Task:
    if "ErrandsTest/Line-v0" not in gym.registry:
        gym.register("ErrandsTest/Line-v0", entry_point=Line, max_episode_steps=50)
    return Task.from_toml(
        'name = "line"\n[world]\nkind = "gymnasium"\nid = "ErrandsTest/Line-v0"\n'
        'features = { near = [3], far = [5] }\n[machine]\nphrase = "sequence(far, near)"\n'
    )


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm-0"])
def test_an_environment_without_tables_is_asked_step_by_step(name: str) -> None:
    task = _line()
    assert task.finite is None
    learner = make_learner(task, name, seed=0)
    last = list(learner.train(4_000))[-1]
    assert (last.episode_length, last.success) == (5, True)


def test_an_observation_outside_its_space_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Line, "last", 9)
    with pytest.raises(TaskError, match=r"observed 6, which is not in its Discrete\(6\)"):
        make_learner(_line(), "crm").advance(5_000)


@pytest.mark.parametrize("name", ["scout", "qcorm-0", "qcorm-plus"])
def test_a_world_without_tables_is_trained_and_judged_through_the_front_door(name: str) -> None:
    from errands.runs.run import train

    run = train(_line(), name, steps=3_000)
    assert run.order == ("far", "near")
    assert (run.evaluations[-1].episode_length, run.evaluations[-1].success) == (5, True)
    if name == "scout":
        assert run.certificate is not None
        assert run.certificate.claim is not None
        assert run.certificate.claim.proved
        assert run.certificate.gap == 0


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm-0"])
def test_a_world_without_tables_goes_on_after_a_resume_with_a_new_episode(name: str) -> None:
    first = make_learner(_line(), name)
    first.advance(1_234)
    second = make_learner(_line(), name)
    second.restore(first.save())
    last = list(second.train(5_000))[-1]
    assert (last.step, last.episode_length, last.success) == (5_000, 5, True)
