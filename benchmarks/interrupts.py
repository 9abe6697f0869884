"""Ctrl-C or SIGTERM at random moments of `errands train` and `resume`: all exit with 130 or 143 and resume to the same bytes.

python benchmarks/interrupts.py [--interrupts 200] [--learners qrm crm]    # interrupts in all, over these learners
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEARNERS = ("qrm", "crm", "hrm", "qcorm", "qcorm-plus")
CODE = "import sys; from errands.cli import main; sys.exit(main())"
STEPS = {"hrm": 20_000_000, "qcorm-plus": 100_000}
"""Training steps of a run, some seconds on a quiet machine: a hundred million where it is not said otherwise."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
OPTIONS = ["--checkpoint-every", "0.2", "--jobs", "1", "--name", "it"]


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """An errands command in a process and a process group of its own, as a shell would start it."""
    command = [sys.executable, "-c", CODE, *words, "--quiet", "--json"]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(words: list[str], folder: Path) -> None:
    """Run a command that nobody interrupts."""
    process = started(words, folder)
    said = process.communicate()[1]
    assert process.returncode == 0, said[-2000:]


def contents(folder: Path) -> dict[str, bytes]:
    """What a finished seed depends on: its rows and its last arrays."""
    seed = folder / "runs" / "it" / "seed-0"
    last = max(seed.glob("*.safetensors"), key=lambda file: file.name)
    return {"evaluations.csv": (seed / "evaluations.csv").read_bytes(), "arrays": last.read_bytes()}


def training(process: subprocess.Popen[str], folder: Path) -> bool:
    """Wait until the process writes rows; False when it ended before."""
    rows = folder / "runs" / "it" / "seed-0" / "evaluations.csv"
    before = rows.stat().st_mtime_ns if rows.exists() else 0
    while process.poll() is None:
        if rows.exists() and rows.stat().st_mtime_ns != before:
            return True
        time.sleep(0.01)
    return False


def chain(learner: str, wanted: int, dice: random.Random) -> tuple[collections.Counter[int], collections.Counter[int]]:
    """Interrupt one run and its resumptions so often, finish it, and compare it with one that nobody interrupted.

    The exit codes of interrupts during training, and of those that came after the result was stored.
    """
    codes: collections.Counter[int] = collections.Counter()
    late: collections.Counter[int] = collections.Counter()
    steps = STEPS.get(learner, 100_000_000)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        train = ["train", "delivery-4", learner, "--steps", str(steps), "--eval-every", str(max(20, steps // 20_000)), *OPTIONS]
        finish(train, Path(two))
        while sum(codes.values()) < wanted:
            begun = (Path(one) / "runs" / "it").exists()
            process, number = started(["resume", "it"] if begun else train, Path(one)), dice.choice(SIGNALS)
            if training(process, Path(one)):
                time.sleep(dice.random() * 0.7)
                process.send_signal(number)
            said = process.communicate()[1]
            # It had ended before the interrupt came, or Python was already being taken down: begin a new one.
            if process.returncode == 0 or (Path(one) / "runs" / "it" / "seed-0" / "result.json").exists():
                late[process.returncode] += 1
                subprocess.run(["rm", "-rf", str(Path(one) / "runs")], check=True)
                continue
            codes[process.returncode] += 1
            if process.returncode != 128 + number:
                print(learner, process.returncode, said[-500:])
        finish(["resume", "it"], Path(one))
        assert contents(Path(one)) == contents(Path(two)), f"{learner}: other bytes after {wanted} interrupts"
    return codes, late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=200)
    parser.add_argument("--learners", nargs="*", default=LEARNERS)
    chosen, dice = parser.parse_args(), random.Random(0)
    # A shell starts what runs in its background without interrupts, and so would what that starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for learner in chosen.learners:
        codes, late = chain(learner, -(-chosen.interrupts // len(chosen.learners)), dice)
        words = {"learner": learner, "exit codes": codes, "after its result": late, "bytes after the last resume": "equal"}
        print(json.dumps(words), flush=True)


if __name__ == "__main__":
    main()
