"""Train teams of deep learners side by side on one GPU, stop at a clock, and continue where they stopped.

python benchmarks/gpu.py --keep FOLDER --out FOLDER --seconds 540 JOB...

A JOB is task[@map-seed]:learner[/field=value...]:seeds:steps:eval-every:preset, for example
water-3@1:qcorm/delta=gated/shortest=mean:5:200000:10000:paper. Each is a process of its own; on an NVIDIA GPU they share it
through CUDA's multi-process service. Checkpoints, logs and compiled programs stay in --keep; every evaluation is a line of
--out/rows.jsonl with the fields task, run, preset, map_seed, step, lengths, success (one entry per seed each), orders, seconds.
Jobs named by --behind, by their learner or by how they begin (cheetah-bcd:), have a lower priority on the GPU
(CUDA_MPS_CLIENT_PRIORITY), which changes no result and slows the others still: a kernel under way is not interrupted.
The machine needs JAX, numpy and safetensors; other packages can be brought as wheels (--wheels FOLDER), which are unpacked:

pip download -d FOLDER --no-deps --only-binary=:all: --python-version 3.12 -c constraints.txt \\
    --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 gymnasium farama-notifications cloudpickle jaxtyping \\
    pydantic pydantic-core annotated-types typing-inspection typing-extensions mujoco mujoco-core glfw imageio
"""

from __future__ import annotations

import argparse
import dataclasses
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STRIDE = 500
"""Steps between two looks at the clock: one chunk of the compiled loop."""
START = 45.0
"""Seconds that a job needs to start and compile; nearer to the end none is begun."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A team to train."""

    task: str
    map_seed: int
    run: str
    seeds: int
    steps: int
    every: int
    preset: str

    @staticmethod
    def of(text: str) -> Job:
        """The job of a line such as water-3@1:qcorm/delta=gated:5:200000:10000:paper."""
        parts = text.split(":")
        if len(parts) != 6:
            raise SystemExit(
                f"'{text}' is no job; write task[@map]:learner[/field=value...]:seeds:steps:eval-every:preset"
            )
        where, run, seeds, steps, every, preset = parts
        task, _, number = where.partition("@")
        return Job(task, int(number or 0), run, int(seeds), int(steps), int(every), preset)

    @property
    def name(self) -> str:
        """A file name of its own."""
        return re.sub(r"[^\w.=-]+", "_", f"{self.task}@{self.map_seed}_{self.run}_{self.seeds}_{self.preset}")


def team_of_job(job: Job) -> Any:
    """The team of a job, untrained."""
    from errands.learners.engines.deep.team import team_of
    from errands.learners.presets import deep_preset
    from errands.tasks import load

    learner, *settings = job.run.split("/")
    task = load(job.task, job.map_seed) if job.map_seed else load(job.task)
    changes: dict[str, Any] = {"eval_every": job.every}
    for setting in settings:
        field, _, value = setting.partition("=")
        try:
            changes[field] = json.loads(value)
        except json.JSONDecodeError:
            changes[field] = value
    config = dataclasses.replace(deep_preset(learner, job.preset, task), **changes)
    return team_of(task, learner, config, range(job.seeds))


def train(job: Job, keep: Path, out: Path, until: float) -> None:
    """Continue a job until its steps or the clock have run out, and leave a checkpoint."""
    from safetensors.numpy import load_file, save_file

    checkpoint, clock = keep / f"{job.name}.safetensors", keep / f"{job.name}.seconds"
    team, before = team_of_job(job), time.perf_counter()
    if checkpoint.exists():
        team.restore(load_file(checkpoint))
        before -= float(clock.read_text())
    while team.step < job.steps and time.time() < until:
        goal = min(team.step - team.step % job.every + job.every, job.steps)
        team.advance(min(STRIDE, goal - team.step))
        if team.step == goal:
            row = evaluation(job, team) | {"seconds": round(time.perf_counter() - before, 1)}
            write_row(out / "rows.jsonl", row)
    # A file that is replaced whole: a process that is killed while it writes leaves the last checkpoint as it was.
    partial = checkpoint.with_suffix(".partial")
    save_file(team.save(), partial)
    partial.rename(checkpoint)
    clock.write_text(str(time.perf_counter() - before))
    if team.step >= job.steps:
        (keep / f"{job.name}.done").touch()
    print(f"{job.name}: step {team.step:,} of {job.steps:,}", flush=True)


def evaluation(job: Job, team: Any) -> dict[str, Any]:
    """One greedy episode of every seed as a row."""
    evaluations = team.evaluate()
    shown = {"task": job.task, "run": job.run, "preset": job.preset, "map_seed": job.map_seed, "step": team.step}
    shown["lengths"] = [e.episode_length for e in evaluations]
    shown["success"] = [e.success for e in evaluations]
    return shown | {"orders": ["".join(name[0] for name in order) for order in team.orders]}


def write_row(path: Path, row: dict[str, Any]) -> None:
    """Append a line; processes take turns."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(row) + "\n")


def unpack(wheels: Path, site: Path) -> None:
    """Unpack wheels into a folder of packages."""
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


@contextmanager
def sharing(keep: Path) -> Iterator[None]:
    """CUDA's multi-process service while the jobs run, where the machine has it."""
    control = shutil.which("nvidia-cuda-mps-control")
    if control is None:
        print("no CUDA multi-process service here: processes take turns", flush=True)
        yield
        return
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        os.environ[name] = str(keep / "mps")
    (keep / "mps").mkdir(exist_ok=True)
    subprocess.run([control, "-d"], check=False)
    try:
        yield
    finally:
        subprocess.run([control], input=b"quit\n", check=False, timeout=30)


def run_all(jobs: list[str], keep: Path, out: Path, seconds: float, width: int, behind: list[str]) -> bool:
    """Every job in a process of its own, `width` at a time; whether all of them ended well."""
    # A job that ended in an earlier call would only load its checkpoint and stop.
    waiting = [job for job in jobs if not (keep / f"{Job.of(job).name}.done").exists()]
    until, going, failed = time.time() + seconds, dict[str, subprocess.Popen[bytes]](), list[str]()
    while going or (waiting and time.time() < until - START):
        while waiting and len(going) < width and time.time() < until - START:
            job = waiting.pop(0)
            log = (keep / f"{Job.of(job).name}.log").open("ab")
            words = [
                sys.executable,
                __file__,
                "--one",
                "--until",
                str(until),
                "--keep",
                str(keep),
                "--out",
                str(out),
                job,
            ]
            waits = Job.of(job).run.split("/")[0] in behind or job.startswith(tuple(behind))
            priority = {"CUDA_MPS_CLIENT_PRIORITY": "1" if waits else "0"}
            going[job] = subprocess.Popen(words, stdout=log, stderr=log, env=os.environ | priority)
        time.sleep(0.2)
        for job, process in list(going.items()):
            if process.poll() is not None:
                del going[job]
                lines = (keep / f"{Job.of(job).name}.log").read_text(errors="replace").splitlines()
                print("\n".join(lines[-1 if process.returncode == 0 else -15 :]), flush=True)
                failed += [job] if process.returncode else []
    return not failed


def main() -> None:
    """Start the jobs, or be one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="+")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--width", type=int, default=16, help="jobs at a time")
    parser.add_argument("--behind", nargs="*", default=[], help="jobs of lower priority on the GPU")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels to unpack and use")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        train(Job.of(args.jobs[0]), args.keep, args.out, args.until)
        return
    keep = args.keep.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    paths = [str(ROOT / "src")]
    if args.wheels:
        unpack(args.wheels, keep / "site")
        paths.append(str(keep / "site"))
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(keep / "compiled"))
    for job in args.jobs:
        Job.of(job)
    with sharing(keep):
        well = run_all(args.jobs, keep, args.out.resolve(), args.seconds, args.width, args.behind)
    if not well:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
