"""A warehouse of one's own: a robot on a slippery floor that observes a Dict, three shelves and a dock."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

FLOOR = (
    "A.....#...",
    "......#.1.",
    "..##......",
    "..##..#...",
    "......#...",
    "2.....###.",
    "...#......",
    "...#...3..",
    "D..#......",
)


class Warehouse(gym.Env):
    """Moves up, down, left and right; one in ten slips to a side. What is observed: place, walls around, what lies here."""

    action_space = spaces.Discrete(4)
    observation_space = spaces.Dict(
        {"place": spaces.Box(0, 1, (2,), np.float32), "walls": spaces.MultiBinary(4), "here": spaces.Discrete(5)}
    )
    moves = ((-1, 0), (1, 0), (0, -1), (0, 1))

    def reset(self, *, seed=None, options=None):
        """At the A."""
        super().reset(seed=seed)
        self.at = (0, 0)
        return self.observed(), {}

    def step(self, action):
        """A move, or one to the side of it."""
        row, column = self.moves[action]
        if self.np_random.random() < 0.1:
            row, column = (column, row) if self.np_random.random() < 0.5 else (-column, -row)
        if self.free(row, column):
            self.at = self.at[0] + row, self.at[1] + column
        return self.observed(), 0.0, False, False, {}

    def free(self, row, column):
        """Whether there is floor beside the robot."""
        row, column = self.at[0] + row, self.at[1] + column
        return 0 <= row < len(FLOOR) and 0 <= column < len(FLOOR[0]) and FLOOR[row][column] != "#"

    def observed(self):
        """Place, walls and what lies here."""
        row, column = self.at
        return {
            "place": np.array([row / (len(FLOOR) - 1), column / (len(FLOOR[0]) - 1)], np.float32),
            "walls": np.array([not self.free(*move) for move in self.moves], np.int8),
            "here": max(0, ".123D".find(FLOOR[row][column])),
        }


def features(before, action, after, info):
    """The shelf or the dock that the robot stands at."""
    return {("shelf_1", "shelf_2", "shelf_3", "dock")[after["here"] - 1]} if after["here"] else set()
