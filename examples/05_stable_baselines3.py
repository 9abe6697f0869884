"""Stable-Baselines3's DQN on FrozenLake crossed with a reward machine, fed with counterfactual transitions."""

import gymnasium as gym
import numpy as np

from errands.machines import unfold_agenda
from errands.tasks.phrases import any_order, avoid, sequence
from errands.tasks.product import RewardMachineReplay, product

try:
    from stable_baselines3 import DQN
    from stable_baselines3.common.buffers import ReplayBuffer
except ImportError:
    print("This example needs Stable-Baselines3: pip install -e '.[sb3]'")
    raise SystemExit(0) from None

CELLS = {3: "flag", 8: "cabin", 15: "goal", 5: "hole", 7: "hole", 11: "hole", 12: "hole"}


def features(observation, action, next_observation, info):
    return {CELLS[next_observation]} if next_observation in CELLS else set()


class MachineBuffer(ReplayBuffer):
    """A replay buffer that stores each step once for every state the machine could have been in."""

    def __init__(self, *args, replay, **kwargs):
        super().__init__(*args, **kwargs)
        self.replay = replay

    def add(self, obs, next_obs, action, reward, done, infos):
        """Add what every machine state learns from this step; truncations stay out of it."""
        for t in self.replay.of_step(obs[0], action[0], next_obs[0], infos[0]):
            super().add(t.observation, t.next_observation, action, np.array(t.reward), np.array(t.terminated), [{}])


machine = unfold_agenda(avoid("hole", sequence(any_order("flag", "cabin"), "goal")))
env = product(gym.make("FrozenLake-v1", is_slippery=False), machine, features, observation="flat")
agent = DQN(
    "MlpPolicy",
    env,
    gamma=0.9,
    learning_rate=1e-3,
    train_freq=1,
    target_update_interval=250,
    exploration_fraction=0.6,
    buffer_size=10_000 * len(machine),
    batch_size=32 * len(machine),
    replay_buffer_class=MachineBuffer,
    replay_buffer_kwargs={"replay": RewardMachineReplay.of(env)},
)
agent.learn(10_000)
observation, info = env.reset(seed=0)
steps, ended = 0, False
while not ended:
    observation, _, terminated, truncated, info = env.step(int(agent.predict(observation, deterministic=True)[0]))
    steps, ended = steps + 1, terminated or truncated
print(f"{'done' if info['success'] else 'not done'} in {steps} steps (12 are the fewest)")
