"""From a learner's name to its agent: heads counted on Figure 2, and what is refused."""

import dataclasses

import pytest

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners.engines.deep.agent import HighLevel, SingleHead
from errands.learners.engines.deep.agents import agent_of, headed
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.ddqn import DDQN
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.td3 import TD3
from errands.learners.hrm.deep import Controller
from errands.learners.presets import deep_preset
from errands.learners.qcorm.deep import Bandit, JointBandit
from errands.learners.qcorm.settings import DeepQCoRMConfig
from errands.learners.qcorm_plus.deep import FactoredDDQN, FactoredTD3
from errands.learners.qrm.deep import by_state
from errands.tasks import load

TASK = load("figure-1")
DISCRETE, CONTINUOUS = Spaces(12, 4, False, 0), Spaces(3, 2, True, 1)


def agent(learner, spaces=DISCRETE, kind="agenda"):
    config = dataclasses.replace(deep_preset(learner, "tuned", TASK), width=8, depth=1)
    return agent_of(learner, machine_arrays(TASK, kind), config, spaces)


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
    assert agent(learner, kind=kind).expansion.rule.alive.shape[1] == heads


@pytest.mark.parametrize(
    ("learner", "high"),
    [
        ("qrm", HighLevel),
        ("crm", HighLevel),
        ("hrm", Controller),
        ("qcorm", JointBandit),
        ("qcorm-0", Bandit),
        ("qcorm-plus", SingleHead),
    ],
)
def test_who_picks_the_head(learner, high):
    assert isinstance(agent(learner).high, high)


def test_actions_decide_the_value_learner():
    assert isinstance(agent("crm").low, DDQN)
    assert isinstance(agent("crm", CONTINUOUS).low, TD3)
    assert isinstance(agent("qcorm-plus").low, FactoredDDQN)
    assert isinstance(agent("qcorm-plus", CONTINUOUS).low, FactoredTD3)


def test_a_row_holds_one_number_for_a_discrete_action():
    """Two observations, the action, the signals, then label, machine state and end."""
    assert agent("crm").shape.width == 2 * 12 + 1 + 0 + 3
    assert agent("crm", CONTINUOUS).shape.width == 2 * 3 + 2 + 1 + 3


def test_only_qrm_teaches_one_head_per_row():
    assert agent("qrm").expansion.single
    assert not agent("crm").expansion.single


def test_the_same_question_gives_the_same_brain():
    assert agent("crm") is agent("crm")
    assert agent("crm") is not agent("qrm")


def test_what_does_not_fit_is_refused():
    machine = machine_arrays(TASK)
    with pytest.raises(UnknownName, match="no deep learner is called 'scout'"):
        agent_of("scout", machine, DeepConfig(), DISCRETE)
    with pytest.raises(ConfigError, match="'qcorm' takes a DeepQCoRMConfig, not a DeepConfig"):
        agent_of("qcorm", machine, DeepConfig(), DISCRETE)
    with pytest.raises(ConfigError, match="'qcorm-0' takes a DeepQCoRM0Config, not a DeepQCoRMConfig"):
        agent_of("qcorm-0", machine, DeepQCoRMConfig(), DISCRETE)
    rule = by_state(machine, DeepConfig(), counterfactual=True)
    with pytest.raises(TaskError, match="'crm' would need 7 heads of 4 outputs; use 'qcorm-plus'"):
        headed("crm", machine, DeepConfig(width=9), DISCRETE, rule, HighLevel(), max_outputs=27)
