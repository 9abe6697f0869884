import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.deep.spaces import senses_of


class Thing(gym.Env):
    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions


BOX = gym.spaces.Box(-1, 1, (3,), np.float32)


def test_a_numbered_state_becomes_one_hot_and_numbers_become_actions():
    senses = senses_of(Thing(gym.spaces.Discrete(4, start=10), gym.spaces.Discrete(2, start=5)), 0)
    assert senses.see(12).tolist() == [0, 0, 1, 0]
    assert senses.do(np.array([1.0])) == 6


def test_actions_between_minus_one_and_one_are_stretched_to_the_box():
    senses = senses_of(Thing(BOX, gym.spaces.Box(np.array([0, -4], np.float32), np.array([1, 4], np.float32))), 0)
    assert senses.do(np.array([-1.0, 0.5], np.float32)).tolist() == [0.0, 2.0]
    assert senses.spaces.continuous


def test_observations_of_more_than_one_dimension_are_refused():
    with pytest.raises(TaskError, match=r"observations are of shape \(8, 8\).*flatten"):
        senses_of(Thing(gym.spaces.Box(0, 1, (8, 8)), gym.spaces.Discrete(2)), 0)


@pytest.mark.parametrize("actions", [gym.spaces.MultiBinary(3), gym.spaces.Box(-np.inf, np.inf, (2,))])
def test_actions_that_cannot_be_driven_are_refused(actions):
    with pytest.raises(TaskError, match=r"drives Discrete ones \(DDQN\) or a bounded Box"):
        senses_of(Thing(BOX, actions), 0)


def test_an_observation_that_is_not_a_number_is_refused():
    senses = senses_of(Thing(BOX, gym.spaces.Discrete(2)), 0)
    with pytest.raises(TaskError, match="entry 1 of an observation is not a finite number"):
        senses.see([0.0, np.nan, 1.0])
