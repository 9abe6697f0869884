"""Goals that lie elsewhere in every episode: a robot in a square that observes how far each of two is from it."""

import gymnasium as gym
import numpy as np


class Goals(gym.Env):
    """Five actions: stay, or a step of 0.1 in one of four directions; walls all around."""

    observation_space = gym.spaces.Box(-2, 2, (6,), np.float32)
    action_space = gym.spaces.Discrete(5)
    moves = np.array([(0, 0), (0, 0.1), (0, -0.1), (-0.1, 0), (0.1, 0)])

    def reset(self, *, seed=None, options=None):
        """Robot and goals anywhere."""
        super().reset(seed=seed)
        self.at, *self.goals = self.np_random.uniform(-1, 1, (3, 2))
        return self.observed(), {}

    def step(self, action):
        """A step, which the walls cut short."""
        self.at = np.clip(self.at + self.moves[action], -1, 1)
        return self.observed(), 0.0, False, False, {}

    def observed(self):
        """The robot's place, and the way to each goal."""
        return np.concatenate([self.at, *(goal - self.at for goal in self.goals)]).astype(np.float32)
