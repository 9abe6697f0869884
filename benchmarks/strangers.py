"""Deep learners on environments that are not ours, with the settings that a user gets: does a stranger's task learn?

python benchmarks/strangers.py TASK... [--learner crm] [--steps 60000] [--seeds 2] [--set alpha=1e-3 ...]
python benchmarks/strangers.py TASK... --baseline

The second form lets Stable-Baselines3's DQN or TD3 (extra `sb3`) learn the product of world and machine in as many steps.
Tasks: mountaincar, cartpole, lunarlander (Box2D), pendulum, reacher (MuJoCo), minigrid (minigrid). One line of JSON per task
has, by step, the mean length and the share of successes of greedy evaluations over the seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from errands.learners.deep.learner import DeepTeam
from errands.learners.presets import config_of
from errands.tasks.task import Task

ABOVE, BELOW = "above", "below"
TASKS: dict[str, dict[str, Any]] = {
    "mountaincar": {
        "env": "MountainCar-v0",
        "features": {"left": {"index": 0, BELOW: -0.9}, "top": {"index": 0, ABOVE: 0.45}},
        "machine": "any_order(left, top)",
        "limit": 400,
    },
    "cartpole": {
        "env": "CartPole-v1",
        "features": {"left": {"index": 0, BELOW: -0.5}, "right": {"index": 0, ABOVE: 0.5}},
        "machine": "any_order(left, right)",
        "limit": 300,
    },
    "lunarlander": {
        "env": "LunarLander-v3",
        "features": {"first_leg": {"index": 6, ABOVE: 0.5}, "second_leg": {"index": 7, ABOVE: 0.5}},
        "machine": "any_order(first_leg, second_leg)",
        "limit": 400,
    },
    "pendulum": {
        "env": "Pendulum-v1",
        "features": {
            "up": {"index": 0, ABOVE: 0.9},
            "right": {"index": 1, ABOVE: 0.9},
            "left": {"index": 1, BELOW: -0.9},
        },
        "machine": "any_order(up, right, left)",
        "limit": 200,
    },
    "reacher": {
        "env": "Reacher-v5",
        "features": {"up": {"index": 1, ABOVE: 0.9}, "down": {"index": 1, BELOW: 0.0}},
        "machine": "any_order(up, down)",
        "limit": 100,
    },
}


def minigrid_task() -> Task:
    """Three balls in an empty room, seen through MiniGrid's window of 7 x 7 x 3."""
    import gymnasium as gym
    import minigrid  # noqa: F401 (registers its environments)
    from minigrid.core.world_object import Ball
    from minigrid.envs.empty import EmptyEnv

    colours = ("red", "green", "blue")

    class Balls(EmptyEnv):  # type: ignore[misc]
        """The empty room of 8 x 8 with a ball of each colour."""

        def _gen_grid(self, width: int, height: int) -> None:
            super()._gen_grid(width, height)
            for colour, place in zip(colours, ((5, 1), (1, 5), (4, 4)), strict=True):
                self.grid.set(*place, Ball(colour))

    class Window(gym.ObservationWrapper):  # type: ignore[type-arg]
        """The picture alone; what is carried is put back at once, so that it counts as collected."""

        def __init__(self) -> None:
            super().__init__(Balls(size=8))
            self.observation_space = self.env.observation_space["image"]  # type: ignore[index]

        def observation(self, observation: Any) -> Any:
            """The window."""
            return observation["image"]

        def step(self, action: Any) -> Any:
            """A step; a ball that was picked up is named in the info and vanishes from the hands."""
            observation, reward, _, truncated, info = super().step(action)
            carried = self.env.unwrapped.carrying  # type: ignore[attr-defined]
            if carried is not None:
                self.env.unwrapped.carrying = None  # type: ignore[attr-defined]
            return observation, reward, False, truncated, {**info, "taken": getattr(carried, "color", None)}

    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {info["taken"]} if info.get("taken") else set()

    return Task.from_env(Window, features, f"any_order({', '.join(colours)})", limit=150, name="minigrid")


def task_of(name: str) -> Task:
    """The task of a name."""
    if name == "minigrid":
        return minigrid_task()
    known = TASKS[name]
    return Task.from_env(known["env"], known["features"], known["machine"], limit=known["limit"], name=name)


def train(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Train the seeds of a learner side by side and tell each evaluation."""
    task = task_of(name)
    words = [*args.set, f"eval_every={args.eval_every}"]
    team = DeepTeam(task, config_of(args.learner, "tuned", task, words), range(args.seeds), args.learner)  # type: ignore[arg-type]
    before, rows = time.perf_counter(), []
    for evaluations in team.train(args.steps):
        lengths = [e.episode_length for e in evaluations]
        share = sum(float(e.success) for e in evaluations) / len(evaluations)
        rows.append([team.step, round(sum(lengths) / len(lengths), 1), round(share, 2)])
        if time.perf_counter() - before > args.seconds:
            break
    return {"rows": rows, "seconds": round(time.perf_counter() - before, 1), "learner": args.learner, "set": args.set}


def baseline(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Stable-Baselines3 on the product of world and agenda machine, with its own default settings."""
    import gymnasium as gym
    from stable_baselines3 import DQN, TD3

    from errands.tasks.product import product

    task = task_of(name)
    make = lambda: gym.wrappers.FlattenObservation(product(task))  # noqa: E731
    env, test = make(), make()
    method = TD3 if isinstance(env.action_space, gym.spaces.Box) else DQN
    rows, before = [], time.perf_counter()
    model = method("MlpPolicy", env, seed=0)
    while model.num_timesteps < args.steps:
        model.learn(args.eval_every, reset_num_timesteps=False)
        observation, _ = test.reset(seed=0)
        length, total, over = 0, 0.0, False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = test.step(action)
            length, total, over = length + 1, total + float(reward), terminated or truncated
        rows.append([model.num_timesteps, length, float(total > 0)])
    return {"rows": rows, "seconds": round(time.perf_counter() - before, 1), "learner": f"sb3 {method.__name__}", "set": []}


def main() -> None:
    """Read the command line and print one line of JSON per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=[*TASKS, "minigrid"])
    parser.add_argument("--learner", default="crm")
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--eval-every", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--baseline", action="store_true")
    args = parser.parse_args()
    for name in args.tasks:
        found = (baseline if args.baseline else train)(name, args)
        print(json.dumps({"task": name, "seeds": 1 if args.baseline else args.seeds, **found}), flush=True)


if __name__ == "__main__":
    main()
