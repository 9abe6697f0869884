"""PPO beside PQN with the same seconds of training.

    python benchmarks/ppo.py --tasks water-3 water-5 --seeds 5 --seconds 6
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import jax
import numpy as np

import errands
from errands.learners.engines.deep.learner import DeepTeam
from errands.learners.presets import config_of


def measured(task: Any, learner: str, seed: int, seconds: float) -> tuple[int, bool, int, float]:
    """Steps, success and length after so many seconds of training, compilation left out; when length <= 46 was first seen."""
    config: Any = config_of(learner, "tuned", task)
    team = DeepTeam(task, config, (seed,), learner).team
    team.advance(config.eval_every)
    team.measure()
    team, spent, first = DeepTeam(task, config, (seed,), learner).team, 0.0, float("nan")
    while spent < seconds:
        began = time.perf_counter()
        team.advance(config.eval_every)
        jax.block_until_ready(team.state.step)
        spent += time.perf_counter() - began
        (now,) = team.measure()
        if now.success and now.episode_length <= 46 and not first >= 0:
            first = spent
    return team.step, bool(now.success), int(now.episode_length), first


def main() -> None:
    """Print a row for each task, method and setting."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=["water-3", "water-5"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start; {given.seconds:g} s of training a seed, seeds 0 to {given.seeds - 1}")
    for name in given.tasks:
        task = errands.load(name)
        for method in ("pqn", "ppo"):
            rows = [measured(task, method, seed, given.seconds) for seed in range(given.seeds)]
            steps, lengths = np.mean([row[0] for row in rows]), [row[2] if row[1] else "-" for row in rows]
            firsts = ", ".join(f"{row[3]:.1f}" for row in rows)
            print(f"{name} {method}: {steps / 1e6:.2f} M steps; at the end {lengths}; <= 46 first after {firsts} s", flush=True)


if __name__ == "__main__":
    main()
