"""Our DDQN and TD3 beside Stable-Baselines3 (extra `sb3`): CartPole and Pendulum, five seeds each.

python benchmarks/deep_sb3.py --out paper/rows/sb3.jsonl

Settings, update schedule and exploration are the same; both are scored by the same function: the mean return of ten
greedy episodes from the same seeded starts, averaged over the last four of sixteen evaluations. Stable-Baselines3's DQN is
made double and its gradient clip is lifted, as ours has none; `--shipped` adds it as it comes.
Times on a CPU are in benchmarks/deep_cpu.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from errands.learners.engines.deep.agent import decide
from errands.learners.engines.deep.config import NStepConfig
from errands.learners.engines.deep.host_envs import senses_of
from errands.learners.engines.deep.team import team_of
from errands.learners.schedule import Schedule
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
SHARED: dict[str, Any] = {"gamma": 0.99, "width": 64, "depth": 2, "alpha": 1e-3, "warmup": 1_000, "eval_every": 10**9}
CONFIGS = {
    "CartPole-v1": NStepConfig(**SHARED, batch=64, polyak=0.01, epsilon="1..0.05@0,5000"),
    "Pendulum-v1": NStepConfig(**SHARED, batch=128, polyak=0.005),
}
STEPS = {"CartPole-v1": 40_000, "Pendulum-v1": 16_000}
EVALUATIONS, LAST, EPISODES, START = 16, 4, 10, 1_000

Act = Callable[[Any], Any]


def mean_return(identity: str, act: Act) -> float:
    """The mean return of ten episodes, the same ten starts for everybody."""
    env, total = gym.make(identity), 0.0
    for episode in range(EPISODES):
        observation, over = env.reset(seed=START + episode)[0], False
        while not over:
            observation, reward, ends, truncated, _ = env.step(act(observation))
            total, over = total + float(reward), ends or truncated
    return round(total / EPISODES, 2)


def ours(identity: str, config: NStepConfig, steps: int, seeds: int) -> list[list[float]]:
    """Curves of QRM on a machine of one running state, which only passes the reward on: plain DDQN or TD3."""
    task = Task.from_toml(TASK.format(name=identity.lower().replace("-", "_"), id=identity))
    team = team_of(task, "qrm", config, range(seeds))
    senses, zero = senses_of(gym.make(identity), 0), jnp.int32(0)

    def greedy(agent_state: Any) -> Act:
        return lambda seen: senses.do(np.asarray(decide(team.agent, agent_state, senses.see(seen), zero, zero, zero)[0]))

    curves: list[list[float]] = [[] for _ in range(seeds)]
    for _ in range(EVALUATIONS):
        team.advance(steps // EVALUATIONS)
        for seed, curve in enumerate(curves):
            curve.append(mean_return(identity, greedy(jax.tree.map(lambda leaf, at=seed: leaf[at], team.agent_states))))
    return curves


def theirs(identity: str, config: NStepConfig, steps: int, seeds: int, shipped: bool = False) -> Iterator[list[float]]:
    """The same with Stable-Baselines3, one seed after the other."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)

    class Watch(BaseCallback):  # type: ignore[misc]
        """Scores the model on the way."""

        def __init__(self) -> None:
            super().__init__()
            self.curve: list[float] = []

        def _on_step(self) -> bool:
            if self.num_timesteps % (steps // EVALUATIONS) == 0:
                self.curve.append(mean_return(identity, lambda seen: self.model.predict(seen, deterministic=True)[0]))
            return True

    for seed in range(seeds):
        watch = Watch()
        model_of(identity, config, steps, seed, shipped).learn(steps, callback=watch)
        yield watch.curve


def model_of(identity: str, config: NStepConfig, steps: int, seed: int, shipped: bool) -> Any:
    """Stable-Baselines3's learner with our settings."""
    from stable_baselines3 import DQN, TD3
    from stable_baselines3.common.noise import NormalActionNoise

    env = gym.make(identity)
    shared: dict[str, Any] = {
        "learning_rate": config.alpha, "buffer_size": config.capacity, "learning_starts": config.warmup,
        "batch_size": config.batch, "tau": config.polyak, "gamma": config.gamma, "train_freq": 1, "gradient_steps": 1,
        "policy_kwargs": {"net_arch": [config.width] * config.depth}, "seed": seed, "device": "cpu",
    }  # fmt: skip
    if isinstance(env.action_space, gym.spaces.Discrete):
        epsilon = Schedule.of(config.epsilon)
        kind: Any = DQN if shipped else double()
        return kind(
            "MlpPolicy", env, **shared, target_update_interval=1, exploration_final_eps=epsilon.end,
            exploration_fraction=epsilon.last / steps, **({} if shipped else {"max_grad_norm": float("inf")}),
        )  # fmt: skip
    count = int(np.prod(env.action_space.shape or ()))
    noise = NormalActionNoise(np.zeros(count), np.full(count, config.action_noise))
    return TD3("MlpPolicy", env, **shared, action_noise=noise)


def double() -> Any:
    """Stable-Baselines3's DQN whose target takes the online network's action: double, as ours is."""
    import torch
    from stable_baselines3 import DQN

    class Double(DQN):  # type: ignore[misc]
        """DQN with the double target; everything else is theirs."""

        def train(self, gradient_steps: int, batch_size: int = 100) -> None:
            for _ in range(gradient_steps):
                rows = self.replay_buffer.sample(batch_size)
                with torch.no_grad():
                    best = self.q_net(rows.next_observations).argmax(dim=1, keepdim=True)
                    later = self.q_net_target(rows.next_observations).gather(1, best)
                    goal = rows.rewards + (1 - rows.dones) * self.gamma * later
                value = self.q_net(rows.observations).gather(1, rows.actions.long())
                loss = torch.nn.functional.smooth_l1_loss(value, goal)
                self.policy.optimizer.zero_grad()
                loss.backward()
                self.policy.optimizer.step()
            self._n_updates += gradient_steps

    return Double


def interval(values: list[float]) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return round(float(low), 1), round(float(high), 1)


def row_of(identity: str, library: str, steps: int, curves: list[list[float]], seconds: float) -> dict[str, Any]:
    """What is written down of one library on one task."""
    scores = [round(float(np.mean(curve[-LAST:])), 1) for curve in curves]
    shown = {"task": identity, "library": library, "steps": steps, "seeds": len(curves), "scores": scores}
    mean = round(float(np.mean(scores)), 1)
    return shown | {"mean": mean, "interval": interval(scores), "curves": curves, "seconds": round(seconds, 1)}


def main() -> None:
    """Read the command line; one line of JSON per task and library, then whether the intervals overlap."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", choices=list(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the steps, for a trial")
    parser.add_argument(
        "--shipped", action="store_true", help="their DQN as it comes too: not double, gradients clipped at 10"
    )
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for identity in args.tasks:
        config, steps = CONFIGS[identity], int(STEPS[identity] * args.scale)
        runs: dict[str, Callable[[], Any]] = {
            "errands": lambda c=config, i=identity, n=steps: ours(i, c, n, args.seeds),
            "sb3": lambda c=config, i=identity, n=steps: theirs(i, c, n, args.seeds),
        }
        if args.shipped and identity == "CartPole-v1":
            runs["sb3 as shipped"] = lambda c=config, i=identity, n=steps: theirs(i, c, n, args.seeds, shipped=True)
        found = []
        for library, run in runs.items():
            before = time.perf_counter()
            found.append(row_of(identity, library, steps, list(run()), time.perf_counter() - before))
            tell(found[-1], args.out)
        (a, b), (c, d) = (row["interval"] for row in found[:2])
        tell({"task": identity, "overlap": bool(a <= d and c <= b)}, args.out)


def tell(row: dict[str, Any], out: Path | None) -> None:
    """One line of JSON."""
    print(json.dumps(row), flush=True)
    if out:
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
