"""Stable-Baselines3's DQN and PPO (extra `sb3`) on the tasks of `errands reproduce unordered`, as they come.

python benchmarks/unordered_sb3.py reproduction-quick --tasks visit-2 visit-4 --seeds 2 --steps 20480

They learn on the product of world and agenda machine, flat. Each seed ends with one greedy episode, a line of others.jsonl in the
folder, from which the table and the figure of `errands reproduce unordered` take it; a seed that stands there is not trained again.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
from stable_baselines3 import DQN, PPO

from errands.tasks.catalogue import load
from errands.tasks.product import ProductEnv
from errands.tasks.task import Task
from errands.unordered.gaps import OTHERS
from errands.worlds.base import numbered

KINDS: dict[str, Any] = {"sb3-dqn": DQN, "sb3-ppo": PPO}
SETTINGS: dict[str, Any] = {"gamma": 0.99, "device": "cpu", "policy_kwargs": {"net_arch": [64, 64]}}


def product_of(task: Task) -> ProductEnv:
    """The world of a task and its machine as one environment."""
    return ProductEnv(numbered(task.world), task.machine, observation="flat", removed=task.removed)


def greedy_episode(model: Any, task: Task) -> tuple[int, bool]:
    """The length of one greedy episode, and whether the task was done."""
    env, length, ended = product_of(task), 0, False
    seen, info = env.reset(seed=0)
    while not ended:
        seen, _, terminated, truncated, info = env.step(int(model.predict(seen, deterministic=True)[0]))
        length, ended = length + 1, terminated or truncated
    env.close()
    return length, bool(info["success"])


def main() -> None:
    """Train what is asked for and not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of errands reproduce unordered")
    parser.add_argument("--tasks", nargs="+", default=["visit-2", "visit-4", "visit-8", "visit-16"])
    parser.add_argument("--methods", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--maps", nargs="+", type=int, default=[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1_003_520, help="a multiple of PPO's rollout of 2,048")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    path = asked.folder / OTHERS
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    there = {(row["task"], row.get("map", 0), row["method"], row["seed"]) for row in known}
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name, number, method, seed in product(asked.tasks, asked.maps, asked.methods, range(asked.seeds)):
        if (name, number, method, seed) not in there:
            task = load(name, number)
            model = KINDS[method]("MlpPolicy", product_of(task), seed=seed, **SETTINGS).learn(asked.steps)
            length, success = greedy_episode(model, task)
            row = {"task": name, "map": number, "method": method, "seed": seed, "steps": asked.steps}
            line = json.dumps({**row, "length": length, "success": success})
            print(line, flush=True)
            with path.open("a", encoding="utf-8") as rows:
                rows.write(line + "\n")


if __name__ == "__main__":
    main()
