"""Settings of DiRL with deep edges: the paper's printed rates, and what is refused."""

import pytest

from errands.errors import ConfigError, UnknownName
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.presets import deep_preset
from errands.tasks import load

WATER, CHEETAH = load("water-2"), load("cheetah-bcd")


def test_the_paper_has_its_rates_and_published_codes_rollouts():
    water, cheetah = (deep_preset("dirl", "paper", task) for task in (WATER, CHEETAH))
    assert (water.alpha, water.polyak, water.epsilon) == (1e-5, 0.1, "1.0..0.1@0,90 episodes")
    assert (cheetah.gamma, cheetah.alpha, cheetah.polyak, cheetah.full_reward) == (0.99, 3e-4, 0.005, 1000.0)
    assert all(c.rollouts == 300 and c.training_share == 0.38 for c in (water, cheetah))


def test_tuned_pays_the_same_after_scaling():
    paper, tuned = (deep_preset("dirl", preset, CHEETAH) for preset in ("paper", "tuned"))
    assert tuned.full_reward == pytest.approx(paper.full_reward * tuned.reward_scale)
    assert deep_preset("dirl", "tuned", WATER).epsilon == "1.0..0.1@0,9000"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"full_reward": 0.0}, "full_reward is 0.0; it must be positive"),
        ({"rollouts": 0}, "rollouts is 0; it must be at least 1"),
        ({"training_share": 1.0}, "training_share is 1.0"),
        ({"batch": 0}, "batch"),
        ({"gamma": 1.5}, "gamma is 1.5"),
    ],
)
def test_settings_of_the_search_and_of_the_network_are_both_checked(wrong, said):
    with pytest.raises(ConfigError, match=said):
        DeepDiRLConfig(**wrong)


def test_another_preset_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'paper'"):
        deep_preset("dirl", "papr", WATER)
