"""Collect what docs/methods/deep-results.md reports: many runs of benchmarks/deep.py side by side on one GPU.

python paper/results/deep/collect.py speed FOLDER                    microseconds per step, one run at a time on the GPU
python paper/results/deep/collect.py learn FOLDER WIDTH SECONDS JOB...    evaluations as they come, WIDTH runs at a time
A JOB is task[@map-seed]:learner[/variant]:seeds:steps:eval-every:preset.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
GROUPS = ("qcorm,crm,hrm", "qrm,qcorm-plus,qcorm-0", "qcorm/one-hot,crm/one-hot", "hrm/one-hot,qrm/one-hot")
TASKS = ("water-2", "water-3", "water-4", "water-5")


def settings(task: str, preset: str = "tuned", every: int = 10**9, map_seed: int = 0) -> argparse.Namespace:
    """What `make` of benchmarks/deep.py asks for."""
    return argparse.Namespace(task=task, map_seed=map_seed, preset=preset, eval_every=every, machine="agenda")


def one_speed(folder: Path, task: str, runs: str) -> None:
    """Compile freely, then hold the lock while the clock runs."""
    import deep
    import jax

    for name in runs.split(","):
        before = time.perf_counter()
        team = deep.make(f"{name}:10", settings(task))
        team.advance(500)
        jax.block_until_ready(team.state.step)
        ready, times = time.perf_counter() - before, []
        with (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(3):
                before = time.perf_counter()
                team.advance(500)
                jax.block_until_ready(team.state.step)
                times.append(round((time.perf_counter() - before) / 500 * 1e6, 1))
        row = {
            "task": task,
            "run": name,
            "seeds": 10,
            "us_per_step": min(times),
            "all": times,
            "ready_s": round(ready, 1),
        }
        _write(folder / "speed.jsonl", row | {"weights": deep.weights(team)})


def one_learn(folder: Path, job: str, until: float) -> None:
    """Train and write down every evaluation, until the steps or the clock have run out."""
    import deep

    where, learner, seeds, steps, every, preset = job.split(":")
    task, _, map_seed = where.partition("@")
    before = time.perf_counter()
    team = deep.make(f"{learner}:{seeds}", settings(task, preset, int(every), int(map_seed or 0)))
    for evaluations in team.train(int(steps)):
        lengths = [e.episode_length if e.success else -e.episode_length for e in evaluations]
        row = {
            "task": task,
            "run": learner,
            "preset": preset,
            "map_seed": int(map_seed or 0),
            "step": evaluations[0].step,
            "lengths": lengths,
        }
        row |= {"orders": ["".join(name[0] for name in order) for order in team.orders]}
        _write(folder / f"learn-{task}.jsonl", row | {"seconds": round(time.perf_counter() - before, 1)})
        if time.time() > until:
            break


def _write(path: Path, row: dict[str, object]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _queue(commands: list[list[str]], width: int, folder: Path) -> None:
    running: list[subprocess.Popen[bytes]] = []
    for number, command in enumerate(commands):
        while len(running) >= width:
            time.sleep(0.2)
            running = [p for p in running if p.poll() is None]
        log = (folder / f"log-{number}").open("wb")
        whole = [sys.executable, __file__, *command]
        running.append(subprocess.Popen(whole, stdout=log, stderr=log))  # noqa: S603 (this very script)
    for process in running:
        process.wait()


def main() -> None:
    """Start the runs, or be one."""
    what, folder, *rest = sys.argv[1:]
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if what == "one-speed":
        one_speed(path, *rest)
    elif what == "one-learn":
        one_learn(path, rest[0], float(rest[1]))
    elif what == "speed":
        _queue([["one-speed", folder, task, runs] for runs in GROUPS for task in TASKS], 4, path)
    else:
        until = str(time.time() + float(rest[1]))
        _queue([["one-learn", folder, job, until] for job in rest[2:]], int(rest[0]), path)


if __name__ == "__main__":
    main()
