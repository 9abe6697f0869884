"""Your own Gymnasium environment: a features function, the product with a machine, and any Gymnasium agent on it."""

import gymnasium as gym
import numpy as np

import errands


class Ring(gym.Env):
    """Twelve rooms in a ring; actions go round either way."""

    observation_space, action_space = gym.spaces.Discrete(12), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Start in room 0."""
        super().reset(seed=seed)
        self.room = 0
        return self.room, {}

    def step(self, action):
        """Go on or back by one room."""
        self.room = (self.room + (1 if action else -1)) % 12
        return self.room, 0.0, False, False, {}


def features(observation, action, next_observation, info):
    return {3: {"key"}, 5: {"lamp"}, 10: {"door"}}.get(next_observation, set())


machine = errands.unfold_agenda(errands.sequence(errands.any_order("key", "lamp"), "door"))
env = gym.wrappers.TimeLimit(errands.product(Ring(), machine, features), 100)
print(f"{len(machine)} machine states x 12 rooms = {env.observation_space}")

q, rng = np.ones((env.observation_space.n, 2)), np.random.default_rng(0)
for episode in range(301):
    observation, info = env.reset(seed=episode)
    steps, ended = 0, False
    while not ended:
        action = int(q[observation].argmax()) if rng.random() > 0.1 or episode == 300 else int(rng.integers(2))
        following, reward, terminated, truncated, info = env.step(action)
        q[observation, action] = reward + (0.0 if terminated else 0.9 * q[following].max())
        observation, steps, ended = following, steps + 1, terminated or truncated
    if episode % 100 == 0:
        print(
            f"episode {episode:3}: {steps:3} steps, {'done' if info['success'] else 'not done'}, ends in {info['label']}"
        )
print("10 are the fewest: 3 rooms to the key, 2 to the lamp, 5 to the door")
