"""Deep presets: `paper` holds the numbers that Section 5 prints, `tuned` knows grids, Water and HalfCheetah."""

import pytest

from errands.errors import UnknownName
from errands.learners.deep.methods import CONFIGS
from errands.learners.deep.presets import COST, PRESETS, TD3_CONTEXTS, deep_preset
from errands.tasks import load

WATER, CHEETAH, GRID = load("water-3"), load("cheetah-bcd"), load("figure-1")


@pytest.mark.parametrize("learner", CONFIGS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", [WATER, CHEETAH, GRID], ids=lambda t: t.name)
def test_every_learner_has_settings_of_its_kind_everywhere(learner, preset, task):
    config = deep_preset(learner, preset, task)
    assert type(config) is CONFIGS[learner]
    assert getattr(config, "joint", None) == {"qcorm": True, "qcorm-0": False}.get(learner)


def test_the_paper_trains_water_with_its_printed_numbers():
    config = deep_preset("crm", "paper", WATER)
    assert (config.alpha, config.polyak, config.epsilon_step, config.epsilon_per) == (1e-5, 0.1, 0.01, "episode")
    coupled = deep_preset("qcorm", "paper", WATER)
    assert (coupled.alpha_eta, coupled.alpha_k, coupled.relabel) == (0.005, 0.05, False)
    assert (coupled.delta, coupled.ground_replay) == ("episode", "once")


def test_half_cheetah_is_paid_a_thousand_for_a_place_and_scaled_when_tuned():
    paper, tuned = (deep_preset("qcorm", preset, CHEETAH) for preset in ("paper", "tuned"))
    assert (paper.full_reward, paper.reward_scale, paper.min_step_reward) == (1000.0, 1.0, -COST)
    assert (tuned.full_reward, tuned.reward_scale) == (10.0, 0.01)
    assert tuned.full_reward == pytest.approx(paper.full_reward * tuned.reward_scale)
    assert tuned.min_step_reward == pytest.approx(paper.min_step_reward * tuned.reward_scale)


def test_a_step_of_half_cheetah_costs_at_most_what_six_full_actions_cost():
    """Gymnasium charges 0.1 times the sum of squares of six actions between -1 and 1."""
    assert pytest.approx(0.1 * 6 * 1.0**2) == COST


def test_qcorm_plus_knows_how_far_things_are_apart():
    assert deep_preset("qcorm-plus", "tuned", GRID).leg == 3.0
    assert deep_preset("qcorm-plus", "tuned", WATER).leg == 8.0
    assert deep_preset("qcorm-plus", "tuned", CHEETAH).contexts == TD3_CONTEXTS


def test_a_name_that_is_not_known_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'tuned'"):
        deep_preset("crm", "tunde", WATER)
    with pytest.raises(UnknownName, match="no deep learner is called 'scout'"):
        deep_preset("scout", "tuned", WATER)


def test_td3_is_tuned_to_the_rewards_of_the_users_machine(line):
    crm, qcorm = (deep_preset(learner, "tuned", line()) for learner in ("crm", "qcorm"))
    assert (crm.gamma, crm.batch, crm.warmup, crm.reward_scale) == (0.99, 256, 1_000, 10.0)
    assert (qcorm.full_reward, qcorm.min_step_reward) == (10.0, 0.0)
