"""Our DDQN and TD3 beside Stable-Baselines3 (extra `sb3`): CartPole and Pendulum, five seeds each, and time per step.

python benchmarks/deep_sb3.py learn      final returns with 95 % bootstrap intervals, and whether they overlap
python benchmarks/deep_sb3.py speed      milliseconds per step on Water 5, at the batches that the paper needs
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np

from errands.learners.deep.config import DeepConfig
from errands.learners.deep.presets import deep_preset
from errands.learners.deep.team import team_of
from errands.tasks import load
from errands.tasks.task import Task

TASK = """
name = "{name}"
[world]
kind = "gymnasium"
id = "{id}"
features = {{ never = {{ index = 0, above = 1e9 }} }}
[machine]
initial = "on"
success = ["off"]
transitions = ["on -> on : ~never ; reward", "on -> off : never ; 0"]
"""
SHARED = {"gamma": 0.99, "width": 64, "depth": 2, "batch": 64, "capacity": 50_000, "warmup": 1_000}
DDQN = DeepConfig(
    **SHARED, alpha=1e-3, polyak=0.01, epsilon_step=0.95 / 5_000, epsilon_end=0.05, eval_every=5_000
)
TD3 = DeepConfig(**SHARED, alpha=1e-3, polyak=0.005, eval_every=5_000)


def plain(identity: str) -> Task:
    """A Gymnasium environment as a task whose machine only passes the reward on."""
    return Task.from_toml(TASK.format(name=identity.lower().replace("-", "_"), id=identity))


def ours(identity: str, config: DeepConfig, steps: int, seeds: int) -> list[float]:
    """Greedy returns of QRM on a machine of one state: plain DDQN or TD3; the mean of the last three evaluations."""
    rows = list(team_of(plain(identity), "qrm", config, range(seeds)).train(steps))
    return np.mean([[e.total_reward for e in row] for row in rows[-3:]], axis=0).tolist()


def theirs(identity: str, config: DeepConfig, steps: int, seeds: int) -> list[float]:
    """The same with Stable-Baselines3."""
    import gymnasium as gym
    from stable_baselines3 import DQN as Sb3DQN
    from stable_baselines3 import TD3 as Sb3TD3
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.noise import NormalActionNoise

    found = []
    for seed in range(seeds):
        env = gym.make(identity)
        shared: dict[str, Any] = {
            "learning_rate": config.alpha, "buffer_size": config.capacity, "learning_starts": config.warmup,
            "batch_size": config.batch, "tau": config.polyak, "gamma": config.gamma, "train_freq": 1, "gradient_steps": 1,
            "policy_kwargs": {"net_arch": [config.width] * config.depth}, "seed": seed,
        }  # fmt: skip
        if isinstance(env.action_space, gym.spaces.Discrete):
            model: Any = Sb3DQN(
                "MlpPolicy", env, **shared, target_update_interval=1, exploration_final_eps=config.epsilon_end,
                exploration_fraction=5_000 / steps,
            )  # fmt: skip
        else:
            count = env.action_space.shape[0]
            noise = NormalActionNoise(np.zeros(count), config.action_noise * np.asarray(env.action_space.high))
            model = Sb3TD3("MlpPolicy", env, **shared, action_noise=noise)
        returns = []
        for _ in range(3):
            model.learn(steps // 3, reset_num_timesteps=False)
            returns.append(evaluate_policy(model, gym.make(identity), 1)[0])
        found.append(float(np.mean(returns[-1:])))
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (10_000, len(values))).mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def learn(args: argparse.Namespace) -> None:
    """Returns side by side; without Stable-Baselines3 ours alone."""
    both = importlib.util.find_spec("stable_baselines3") is not None
    for identity, config, steps in (("CartPole-v1", DDQN, args.steps), ("Pendulum-v1", TD3, args.steps)):
        row: dict[str, Any] = {"task": identity, "steps": steps, "ours": ours(identity, config, steps, args.seeds)}
        row["ours_interval"] = interval(row["ours"])
        if both:
            row["sb3"] = theirs(identity, config, steps, args.seeds)
            row["sb3_interval"] = interval(row["sb3"])
            (a, b), (c, d) = row["ours_interval"], row["sb3_interval"]
            row["overlap"] = a <= d and c <= b
        else:
            row["sb3"] = "not installed; type: pip install errands[sb3]"
        print(json.dumps(row), flush=True)


def speed(args: argparse.Namespace) -> None:
    """Milliseconds per step on Water 5, one seed, in one run: ours with heads beside SB3's DQN at the paper's batches."""
    task = load("water-5")
    for learner in ("qcorm", "crm"):
        config = dataclasses.replace(deep_preset(learner, "paper", task), eval_every=10**9)
        team = team_of(task, learner, config, (0,))
        team.advance(500)
        before = time.perf_counter()
        team.advance(args.count)
        print(json.dumps({"ours": learner, "ms": round((time.perf_counter() - before) / args.count * 1e3, 3)}), flush=True)
    if importlib.util.find_spec("stable_baselines3") is None:
        print(json.dumps({"sb3": "not installed; type: pip install errands[sb3]"}))
        return
    from stable_baselines3 import DQN as Sb3DQN

    for batch in (32, 160, 1_024):
        model = Sb3DQN(
            "MlpPolicy", task.env("agenda"), learning_rate=1e-5, buffer_size=50_000, batch_size=batch, tau=0.1,
            target_update_interval=1, train_freq=1, gradient_steps=1, learning_starts=100, policy_kwargs={"net_arch": [512] * 3},
        )  # fmt: skip
        model.learn(300)
        before = time.perf_counter()
        model.learn(args.count, reset_num_timesteps=False)
        print(json.dumps({"sb3": batch, "ms": round((time.perf_counter() - before) / args.count * 1e3, 3)}), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["learn", "speed"])
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--count", type=int, default=1_000)
    args = parser.parse_args()
    (learn if args.what == "learn" else speed)(args)


if __name__ == "__main__":
    main()
