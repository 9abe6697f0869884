"""Several environments of one seed at once: microseconds per environment step beside one at a time.

python benchmarks/deep_envs.py lunarlander reacher --envs 1,8 8:async     one line of JSON per task and way

The tasks are those of strangers.py; ways take turns, and the median of the rounds counts, because other work disturbs a clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import jax
from strangers import task_of

from errands.learners.engines.deep.team import Team, team_of
from errands.learners.presets import config_of


def built(name: str, way: str, learner: str, settings: list[str]) -> Team:
    """The team of one seed for `envs[:vector]`, warmed up."""
    envs, _, vector = way.partition(":")
    task = task_of(name)
    words = [*settings, f"envs={envs}", f"vector={vector or 'sync'}", "eval_every=100000"]
    config: Any = config_of(learner, "tuned", task, words)
    team = team_of(task, learner, config, (0,))
    # Behind the warmup, and through a border of random numbers: everything is compiled then.
    team.advance(1_600)
    return team


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--envs", default="1,8,8:async")
    parser.add_argument("--learner", default="crm")
    parser.add_argument("--set", nargs="*", default=[], dest="settings")
    parser.add_argument("--count", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    for name in args.tasks:
        teams = {way: built(name, way, args.learner, args.settings) for way in args.envs.split(",")}
        times: dict[str, list[float]] = {way: [] for way in teams}
        for _ in range(args.rounds):
            for way, team in teams.items():
                before = time.perf_counter()
                team.advance(args.count)
                jax.block_until_ready(team.agent_states)
                times[way].append((time.perf_counter() - before) / args.count * 1e6)
        medians = {way: statistics.median(each) for way, each in times.items()}
        first = next(iter(medians.values()))
        shown = {way: {"us_per_step": round(us), "gain": round(first / us, 2)} for way, us in medians.items()}
        print(json.dumps({"task": name, "learner": args.learner, **shown}), flush=True)


if __name__ == "__main__":
    main()
