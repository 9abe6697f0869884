"""From a learner's name to its brain: heads counted on Figure 2, and what is refused."""

import dataclasses

import pytest

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners.deep import methods
from errands.learners.deep.bandit import Bandit
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.controller import Controller
from errands.learners.deep.ddqn import DDQN
from errands.learners.deep.factored import FactoredDDQN, FactoredTD3
from errands.learners.deep.high import Own
from errands.learners.deep.machine import listed
from errands.learners.deep.methods import CONFIGS, Spaces, brain_of
from errands.learners.deep.presets import deep_preset
from errands.learners.deep.td3 import TD3
from errands.tasks import load

TASK = load("figure-1")
DISCRETE, CONTINUOUS = Spaces(12, 4, False, 0), Spaces(3, 2, True, 1)


def brain(learner, spaces=DISCRETE, kind="agenda"):
    config = dataclasses.replace(deep_preset(learner, "tuned", TASK), width=8, depth=1)
    return brain_of(learner, listed(TASK, kind), config, spaces)


@pytest.mark.parametrize(
    ("learner", "kind", "heads"),
    [
        ("qrm", "agenda", 7),
        ("crm", "agenda", 7),
        ("crm", "boolean", 9),
        ("hrm", "agenda", 7),
        ("qcorm", "agenda", 3),
        ("qcorm-0", "agenda", 3),
    ],
)
def test_heads_are_machine_states_options_or_objectives(learner, kind, heads):
    """Figure 2: 7 agenda and 9 Boolean states; 7 moves between agenda states; b1, b2 and s are the objectives."""
    assert brain(learner, kind=kind).expansion.rule.alive.shape[1] == heads


@pytest.mark.parametrize(
    ("learner", "high"),
    [("qrm", Own), ("crm", Own), ("hrm", Controller), ("qcorm", Bandit), ("qcorm-0", Bandit), ("qcorm-plus", Own)],
)
def test_who_picks_the_head(learner, high):
    assert isinstance(brain(learner).high, high)


def test_actions_decide_the_value_learner():
    assert isinstance(brain("crm").low, DDQN)
    assert isinstance(brain("crm", CONTINUOUS).low, TD3)
    assert isinstance(brain("qcorm-plus").low, FactoredDDQN)
    assert isinstance(brain("qcorm-plus", CONTINUOUS).low, FactoredTD3)


def test_a_row_holds_one_number_for_a_discrete_action():
    """Two observations, the action, the signals, then label, machine state and end."""
    assert brain("crm").shape.width == 2 * 12 + 1 + 0 + 3
    assert brain("crm", CONTINUOUS).shape.width == 2 * 3 + 2 + 1 + 3


def test_only_qrm_teaches_one_head_per_row():
    assert brain("qrm").expansion.single
    assert not brain("crm").expansion.single


def test_the_same_question_gives_the_same_brain():
    assert brain("crm") is brain("crm")
    assert brain("crm") is not brain("qrm")


def test_what_does_not_fit_is_refused(monkeypatch):
    machine = listed(TASK)
    with pytest.raises(UnknownName, match="no deep learner is called 'scout'"):
        brain_of("scout", machine, DeepConfig(), DISCRETE)
    with pytest.raises(ConfigError, match="'qcorm' takes a DeepQCoRMConfig, not a DeepConfig"):
        brain_of("qcorm", machine, DeepConfig(), DISCRETE)
    with pytest.raises(ConfigError, match="'qcorm' takes joint=True"):
        brain_of("qcorm", machine, CONFIGS["qcorm"](joint=False, dedicated=False), DISCRETE)
    monkeypatch.setattr(methods, "MOST_OUTPUTS", 27)
    with pytest.raises(TaskError, match="'crm' would need 7 heads of 4 outputs; use 'qcorm-plus'"):
        brain_of("crm", machine, DeepConfig(width=9), DISCRETE)
