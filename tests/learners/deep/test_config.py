import pytest

from errands.errors import ConfigError, UnknownName
from errands.learners.deep.config import DeepConfig, DeepHRMConfig, DeepPlusConfig, DeepQCoRMConfig
from errands.learners.deep.presets import deep_preset
from errands.tasks import load


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: DeepConfig(alpha=2.0), "alpha is 2.0"),
        (lambda: DeepConfig(batch=0), "batch is 0"),
        (lambda: DeepConfig(network="tree"), "network is 'tree'"),
        (lambda: DeepConfig(target_noise=-1.0), "must not be negative"),
        (lambda: DeepConfig(reward_scale=0.0), "must be positive"),
        (lambda: DeepHRMConfig(option_limit=0), "must be positive"),
        (lambda: DeepHRMConfig(epsilon_controller=2.0), "epsilon_controller is 2.0"),
        (lambda: DeepQCoRMConfig(min_step_reward=1.0), "Theorem 1 assumes"),
        (lambda: DeepQCoRMConfig(ground_batch=9, ground_capacity=8), "not smaller"),
        (lambda: DeepQCoRMConfig(dedicated=False), "set dedicated=True or joint=False"),
        (lambda: DeepQCoRMConfig(xi_end=-0.1), "xi_end is -0.1"),
        (lambda: DeepPlusConfig(contexts=0), "at least 1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_in_a_sentence(build, words):
    with pytest.raises(ConfigError, match=words):
        build()


def test_the_paper_preset_has_the_printed_numbers():
    water, cheetah = load("water-5"), load("cheetah-bcd")
    ddqn, td3 = deep_preset("qcorm", "paper", water), deep_preset("qcorm", "paper", cheetah)
    assert (ddqn.alpha, ddqn.gamma, ddqn.polyak, ddqn.batch, ddqn.capacity) == (1e-5, 0.9, 0.1, 32, 50_000)
    assert (ddqn.epsilon_start, ddqn.epsilon_step, ddqn.epsilon_end) == (1.0, 0.01, 0.1)
    assert (ddqn.xi_start, ddqn.xi_step, ddqn.xi_end, ddqn.alpha_eta, ddqn.alpha_k) == (1.0, 0.001, 0.1, 0.005, 0.05)
    assert (ddqn.width, ddqn.depth) == (512, 3)
    assert (td3.alpha, td3.gamma, td3.polyak, td3.batch, td3.capacity) == (3e-4, 0.99, 0.005, 256, 1_000_000)
    assert td3.full_reward == 1000.0
    assert not deep_preset("qcorm-0", "paper", water).joint


def test_names_that_do_not_exist_are_told():
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        deep_preset("qcrom", "tuned", load("water-2"))
    with pytest.raises(UnknownName, match="did you mean 'tuned'"):
        deep_preset("qcorm", "tunes", load("water-2"))
