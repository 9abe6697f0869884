"""What CRM and HRM share: which machine states learn from a step, and a policy over an enumerated machine."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.tabular import counterfactual
from errands.learners.tabular.crm import CRM
from errands.learners.tabular.qrm import QRMConfig
from errands.tables import RUNNING
from errands.tasks import Task, load


@pytest.fixture
def learner() -> CRM:
    return CRM(load("delivery-3"), QRMConfig(), 0)


def test_what_can_still_come_is_found_by_walking_the_machine(learner: CRM) -> None:
    machine, alive = learner.machine, learner.alive
    for i in range(len(machine.status)):
        reached, stack = set(), [i] if machine.status[i] == RUNNING else []
        while stack:
            u = stack.pop()
            if u not in reached and machine.status[u] == RUNNING:
                reached.add(u)
                stack += machine.next[u].tolist()
        listed = alive.running[alive.slice[i, 0] : alive.slice[i, 1]].tolist()
        assert listed == sorted(reached)


def test_a_quiet_label_moves_and_pays_nothing(learner: CRM) -> None:
    machine = learner.machine
    running = np.flatnonzero(machine.status == RUNNING)
    for label, names in enumerate(learner.world.labels):
        quiet = all(machine.next[u, label] == u and machine.reward[u, label] == 0 for u in running)
        assert bool(learner.alive.quiet[label]) is quiet
        assert quiet is (not names)


def test_a_label_that_pays_for_waiting_is_not_quiet() -> None:
    lines = '["u0 -> u0 : ~g ; -1", "u0 -> u1 : g ; 0"]'
    task = Task.from_toml(
        'name = "t"\n[world]\nkind = "grid"\nrows = ["A.g"]\nlegend = { g = "g" }\n'
        f'[machine]\ninitial = "u0"\nsuccess = ["u1"]\ntransitions = {lines}\n'
    )
    assert not CRM(task, QRMConfig(), 0).alive.quiet.any()


def test_a_policy_acts_by_machine_and_world_state(learner: CRM) -> None:
    actions = np.zeros((len(learner.enumerated), learner.world.states), np.int8)
    start = learner.enumerated.states[0]
    actions[0, 5] = 3
    policy = learner.policy_over(actions)
    assert policy.act(5, start, None)[0] == 3  # type: ignore[arg-type]
    assert policy.act(6, start, None)[0] == 0  # type: ignore[arg-type]


def test_lists_that_would_be_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterfactual, "MAX_ALIVE", 20)
    with pytest.raises(TaskError, match=r"the lists of reachable machine states would have .* entries, more than 20"):
        CRM(load("delivery-3"), QRMConfig(), 0)


def test_eighteen_boxes_are_refused_before_any_machine_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterfactual, "unfold_agenda", lambda machine: pytest.fail("the machine was built"))
    with pytest.raises(TaskError, match="would have 1,548,371,237 entries, more than 200,000,000; use learner 'qcorm'"):
        CRM(load("delivery-18"), QRMConfig(), 0)
