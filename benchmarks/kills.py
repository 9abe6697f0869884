"""Kills at random moments over train and sweep, and damage to every kind of file: 200 kills, 1,000 damages each."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from errands.runs.checkpoint import steps
from errands.runs.folder import SWEEP, open_run, open_sweep
from errands.runs.verify import faults

INTERVAL = 0.1
COMMON = ["--quiet", "--checkpoint-every", str(INTERVAL), "--eval-every", "20"]
TRAIN = ["train", "figure-1", "qcorm", "--seeds", "2", "--jobs", "1", "--steps", "400000", "--name", "it", *COMMON]
SWEPT = ["sweep", "--task", "figure-1,delivery-2", "--learner", "qcorm,crm", "--seeds", "2", "--jobs", "2", "--steps", "100000",
         "--name", "it", *COMMON]  # fmt: skip
RESUME = ["resume", "it", "--quiet"]


@dataclass
class Tally:
    """What happened in one chain: a command, killed and resumed again and again until it could finish."""

    kills: int = 0
    amid: int = 0
    """How many of them hit a seed in the middle of its training."""
    redone: float = 0.0
    """The most seconds of work that one kill cost."""


def errands(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The command, as a process of its own."""
    code = "import sys; from errands.cli import main; sys.exit(main())"
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words, "--json"], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def finished(words: list[str], folder: Path) -> dict[str, object]:
    """Run the command to its end and read its document."""
    out, err = (process := errands(words, folder)).communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, object] = json.loads(out)
    return found


def kill(words: list[str], folder: Path, dice: random.Random, spread: float) -> tuple[float, float] | None:
    """Start the command and end it at a random moment: when it began to train and ended; None when it ended by itself."""
    began, process, early = time.time(), errands(words, folder), dice.random() < 0.1
    while process.poll() is None and not any((folder / "runs" / "it" / name).exists() for name in ("run.json", SWEEP)):
        time.sleep(0.005)
    while not early and process.poll() is None and not _trains(folder, began):
        time.sleep(0.005)
    seen = time.time()
    time.sleep(dice.random() * spread)
    running, now = process.poll() is None, time.time()
    if running:
        os.kill(process.pid, dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    process.communicate()
    return (seen, now) if running else None


def _trains(folder: Path, since: float) -> bool:
    """Whether a table was continued since then."""
    return any(path.stat().st_mtime > since for path in folder.glob("runs/it/**/evaluations.csv"))


def kept(folder: Path) -> dict[str, bytes]:
    """All bytes that must be equal: tables, last arrays, and results without their clocks."""
    path = folder / "runs" / "it"
    runs = [path]
    if (path / SWEEP).exists():
        sweep = open_sweep(path)
        runs = [sweep.cell(cell) for cell in sweep.document.cells]
    found: dict[str, bytes] = {}
    for run in map(open_run, runs):
        for place in run.seeds():
            result = place.result()
            assert result is not None
            name = f"{run.name}/{place.seed}"
            clocks = {"wall_seconds", "training_seconds"}
            found[name] = result.model_dump_json(exclude=clocks).encode()
            found[name + " table"] = place.table.read_bytes()
            found[name + " arrays"] = (place.path / f"checkpoint-{steps(place.path)[0]}.safetensors").read_bytes()
    return found


def redone(folder: Path, seen: float, now: float) -> float:
    """Seconds of training since the last checkpoint of a seed that was being trained: the work that is done again."""
    lost = 0.0
    for table in folder.glob("runs/it/**/evaluations.csv"):
        stored = [p.stat().st_mtime for p in table.parent.glob("checkpoint-*.json")]
        trained = stored and not (table.parent / "result.json").exists() and now - table.stat().st_mtime < 1
        lost = max(lost, now - max(seen, *stored)) if trained else lost
    return lost


def chain(words: list[str], most: int, dice: random.Random, wanted: dict[str, bytes], spread: float = 1.0) -> Tally:
    """Kill a command up to `most` times, look at the folder each time, finish it, and compare every byte."""
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    tally = Tally()
    try:
        while tally.kills < most and (times := kill(words if tally.kills == 0 else RESUME, folder, dice, spread)):
            tally.kills += 1
            lost = redone(folder, *times)
            tally.amid, tally.redone = tally.amid + (lost > 0), max(tally.redone, lost)
            # A kill after the last checkpoint and before result.json looks like a deleted result, and a resume mends both.
            damage = [fault for fault in faults(folder / "runs" / "it") if "though training has ended" not in fault]
            assert not damage, damage
        finished(RESUME, folder)
        assert kept(folder) == wanted, "the resumed run differs from the one that was never killed"
        left = [p for p in folder.rglob("*") if p.name.endswith((".new", ".lock", ".tmp"))]
        assert not left, left
        return tally
    finally:
        shutil.rmtree(folder)


def reference(words: list[str]) -> tuple[Path, dict[str, bytes]]:
    """The same command, never killed."""
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    finished(words, folder)
    return folder, kept(folder)


def damages(folder: Path, count: int, dice: random.Random) -> dict[str, int]:
    """How many of `count` bit flips and truncations of each kind of file were not noticed: it must be none."""
    run = folder / "runs" / "it"
    place = run / "seed-0"
    last = steps(place)[0]
    missed: dict[str, int] = {}
    for path in (run / "run.json", run / "task.toml", place / "evaluations.csv", place / "result.json",
                 place / f"checkpoint-{last}.json", place / f"checkpoint-{last}.safetensors"):  # fmt: skip
        good, missed[path.name] = path.read_bytes(), 0
        for trial in range(count):
            bad = bytearray(good)
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
            path.write_bytes(bytes(bad) if trial % 2 else good[: dice.randrange(len(good))])
            missed[path.name] += not any(faults(run))
        path.write_bytes(good)
    return missed


def main() -> int:
    """Run all and print what was found; 1 when something was lost or not noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    short = [*TRAIN, "--steps", "2000"]
    folder, _ = reference(short)
    missed = damages(folder, given.flips, dice)
    shutil.rmtree(folder)
    for name, count in missed.items():
        print(f"{name}: {given.flips} bit flips and truncations, {count} not noticed")
    for words in (TRAIN, SWEPT):
        folder, wanted = reference(words)
        shutil.rmtree(folder)
        total = Tally()
        while total.kills < given.kills // 2:
            done = chain(words, min(10, given.kills // 2 - total.kills), dice, wanted)
            total = Tally(total.kills + done.kills, total.amid + done.amid, max(total.redone, done.redone))
        print(f"{words[0]}: {total.kills} kills, {total.amid} of them between two checkpoints, all ended with the same bytes; "
              f"at most {total.redone:.2f} s done again (checkpoints every {INTERVAL} s)")  # fmt: skip
    return int(any(missed.values()))


if __name__ == "__main__":
    sys.exit(main())
