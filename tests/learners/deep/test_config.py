"""Deep presets: `paper` holds the numbers that Section 5 prints, `tuned` knows grids, Water and HalfCheetah."""

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import ConfigError, UnknownName
from errands.learners import LEARNERS
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.engines.deep.config import DeepConfig, NStepConfig
from errands.learners.hrm.settings import DeepHRMConfig
from errands.learners.method import loaded
from errands.learners.presets import PRESETS, deep_preset
from errands.learners.qcorm.settings import COST, DeepQCoRMConfig
from errands.learners.qcorm_plus.settings import TD3_CONTEXTS, DeepPlusConfig
from errands.tasks import load
from errands.tasks.task import Task


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: DeepConfig(alpha=2.0), "alpha is 2.0"),
        (lambda: DeepConfig(batch=0), "batch is 0"),
        (lambda: DeepConfig(network="tree"), "network is 'tree'"),
        (lambda: DeepConfig(reward_scale=0.0), "must be positive"),
        (lambda: DeepHRMConfig(option_limit=0), "must be positive"),
        (lambda: DeepHRMConfig(epsilon_controller=2.0), "epsilon_controller is 2.0"),
        (lambda: DeepQCoRMConfig(min_step_reward=1.0), "Theorem 1 assumes"),
        (lambda: DeepQCoRMConfig(ground_batch=2_000), "ground_batch is 2000; it must lie between 1 and 1,024"),
        (lambda: DeepConfig(explore_steps="2..8"), "explore_steps is 2..8; write a number of steps, or 1..16"),
        (lambda: DeepConfig(explore_steps=0), "explore_steps is 0"),
        (lambda: DeepQCoRMConfig(xi="1..2@0,10"), "xi is 1..2@0,10; it must lie between 0 and 1"),
        (lambda: DeepPlusConfig(contexts=0), "at least 1"),
        (lambda: NStepConfig(n_steps=9, capacity=8), "do not fit into capacity, 8"),
        (lambda: DeepConfig(random_actions=1.5), "random_actions is 1.5"),
        (lambda: DeepConfig(action_cost=-1.0), "must not be negative"),
        (lambda: DeepDiRLConfig(standardise=True), "'dirl' has no such thing"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_in_a_sentence(build, words):
    with pytest.raises(ConfigError, match=words):
        build()


def test_the_paper_preset_has_the_printed_numbers():
    water, cheetah = load("water-5"), load("cheetah-bcd")
    ddqn, td3 = deep_preset("qcorm", "paper", water), deep_preset("qcorm", "paper", cheetah)
    assert (ddqn.alpha, ddqn.gamma, ddqn.polyak, ddqn.batch, ddqn.capacity) == (1e-5, 0.9, 0.1, 32, 50_000)
    # From 1 to 0.1 by 0.01 an episode, and by 0.001 a choice.
    assert (ddqn.epsilon, ddqn.xi) == ("1.0..0.1@0,90 episodes", "1.0..0.1@0,900")
    assert (ddqn.alpha_eta, ddqn.alpha_k) == (0.005, 0.05)
    assert (ddqn.width, ddqn.depth) == (512, 3)
    assert (td3.alpha, td3.gamma, td3.polyak, td3.batch, td3.capacity) == (3e-4, 0.99, 0.005, 256, 1_000_000)
    assert td3.full_reward == 1000.0
    assert deep_preset("qcorm-0", "paper", water).dedicated


def test_names_that_do_not_exist_are_told():
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        deep_preset("qcrom", "tuned", load("water-2"))
    with pytest.raises(UnknownName, match="did you mean 'tuned'"):
        deep_preset("qcorm", "tunes", load("water-2"))


TEAMS = [name for name, method in LEARNERS.items() if method.deep and method.deep.agent]
WATER, CHEETAH, GRID = load("water-3"), load("cheetah-bcd"), load("figure-1")


@pytest.mark.parametrize("learner", TEAMS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", [WATER, CHEETAH, GRID], ids=lambda t: t.name)
def test_every_learner_has_settings_of_its_kind_everywhere(learner, preset, task):
    config = deep_preset(learner, preset, task)
    assert type(config) is loaded(LEARNERS[learner].deep.config)


def test_the_paper_trains_water_with_its_printed_numbers():
    config = deep_preset("crm", "paper", WATER)
    assert (config.alpha, config.polyak, config.epsilon) == (1e-5, 0.1, "1.0..0.1@0,90 episodes")
    coupled = deep_preset("qcorm", "paper", WATER)
    assert (coupled.alpha_eta, coupled.alpha_k, coupled.relabel) == (0.005, 0.05, False)
    assert (coupled.delta, coupled.ground_replay, coupled.shortest) == ("episode", "once", "ratchet")
    assert coupled.failed == "length"
    ours = deep_preset("qcorm", "tuned", WATER)
    assert (ours.shortest, ours.failed) == ("ratchet", "fading")


def test_half_cheetah_is_paid_a_thousand_for_a_place_and_scaled_when_tuned():
    paper, tuned = (deep_preset("qcorm", preset, CHEETAH) for preset in ("paper", "tuned"))
    assert (paper.full_reward, paper.reward_scale, paper.min_step_reward) == (1000.0, 1.0, -COST)
    assert (tuned.full_reward, tuned.reward_scale) == (10.0, 0.01)
    assert tuned.full_reward == pytest.approx(paper.full_reward * tuned.reward_scale)
    assert tuned.min_step_reward == pytest.approx(paper.min_step_reward * tuned.reward_scale)


def test_where_completions_wait_and_choices_are_rare_exploring_the_order_falls_per_step():
    falls = {
        (learner, preset): deep_preset(learner, preset, CHEETAH).xi
        for learner in ("qcorm", "qcorm-0")
        for preset in PRESETS
    }
    # Tuned QCoRM-0 learns from completions at once, explored or not.
    assert falls.pop(("qcorm-0", "tuned")) == "1.0..0.1@0,900"
    assert set(falls.values()) == {"1.0..0.1@0,900 steps"}
    assert deep_preset("qcorm", "paper", WATER).xi == "1.0..0.1@0,900"


def test_a_step_of_half_cheetah_costs_at_most_what_six_full_actions_cost():
    """Gymnasium charges 0.1 times the sum of squares of six actions between -1 and 1."""
    assert pytest.approx(0.1 * 6 * 1.0**2) == COST


@pytest.mark.parametrize("task", [GRID, WATER, CHEETAH])
def test_in_our_own_worlds_qcorm_plus_learns_from_single_steps(task):
    config = deep_preset("qcorm-plus", "tuned", task)
    assert (config.n_steps, config.bound_values) == (1, False)


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
    crm, qcorm, plus = (deep_preset(learner, "tuned", line()) for learner in ("crm", "qcorm", "qcorm-plus"))
    assert (crm.gamma, crm.batch, crm.warmup, crm.reward_scale) == (0.99, 64, 1_000, 10.0)
    for far in (crm, plus):
        assert (far.standardise, far.n_steps, far.bound_values, far.random_actions) == (True, 3, True, 0.2)
    assert (qcorm.full_reward, qcorm.min_step_reward) == (10.0, 0.0)
    assert (qcorm.standardise, qcorm.n_steps, qcorm.bound_values) == (True, 1, False), "completions wait for the end"


@pytest.mark.parametrize("learner", TEAMS)
def test_a_stranger_is_seen_standardised_and_paid_no_more_than_its_machine_pays(learner):
    features = {"left": {"index": 0, "below": -0.9}, "top": {"index": 0, "above": 0.45}}
    task = Task.from_env("MountainCar-v0", features, "any_order(left, top)")
    config = deep_preset(learner, "tuned", task)
    far = learner != "qcorm"
    assert (config.standardise, config.explore_steps, config.network) == (True, "1..16", "heads")
    assert (config.n_steps, config.bound_values) == ((5, True) if far else (1, False))
    paper = deep_preset(learner, "paper", task)
    assert (paper.standardise, paper.n_steps, paper.bound_values, paper.explore_steps) == (False, 1, False, 1)


@pytest.mark.parametrize(("size", "capacity"), [(4, 200_000), (10_000, 13_421), (100_000, 10_000)])
def test_long_observations_are_remembered_for_fewer_steps(size, capacity):
    """2^28 numbers of two observations each; 10,000 steps at least."""
    long = gym.spaces.Box(-1.0, 1.0, (size,), np.float32)

    class Long(gym.Env):
        observation_space, action_space = long, gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.zeros(size, np.float32), {}

    task = Task.from_env(Long, lambda before, action, after, info: set(), "goal", limit=5, name="long")
    assert deep_preset("crm", "tuned", task).capacity == capacity
