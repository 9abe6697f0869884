"""Training from the page: one process for each run, with limits on size, time and memory; it ends with the server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from errands.errors import ConfigError, UnknownName
from errands.learners import LEARNERS
from errands.runs.folder import RunFolder, create_named
from errands.runs.further import extended
from errands.runs.request import Request
from errands.viewer.drafts import read_draft
from errands.worlds.imports import allow, allowed

MAX_SECONDS = 120
MAX_BYTES = 6 << 30
CHECKPOINT_SECONDS = 1.0


@dataclass
class Training:
    """One run being trained by the server."""

    name: str
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)
    ended: str = ""
    """Empty while it trains; then done, cancelled, stopped (out of time) or failed."""

    def end(self, how: str) -> None:
        """See to it that the process is gone, and note how it ended."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.ended = how


class PageTrainer:
    """All runs that the page has started: so many at once, and of so many steps."""

    def __init__(self, runs: Path, max_steps: int = 2_000_000, max_at_once: int = 2) -> None:
        self.runs, self.max_steps, self.max_at_once = runs, max_steps, max_at_once
        self.known: dict[str, Training] = {}
        self.lock = threading.Lock()

    def start(self, text: str, learner: str, steps: int, seed: int) -> str:
        """Create a run folder and a process that trains it; the name of the run."""
        if learner not in LEARNERS:
            raise UnknownName("learner", learner[:100], LEARNERS)
        if not 1 <= steps <= self.max_steps:
            raise ConfigError(f"{steps:,} steps were asked for; the page trains 1 to {self.max_steps:,}, more with errands train")
        _, task = read_draft(text)
        if task.finite is None:
            raise ConfigError(f"the world of '{task.name}' {task.untabled}; train it with errands train")
        request = Request.of(task, learner, settings={"eval_every": max(1, steps // 200)}, steps=steps, seeds=[seed])
        return self._launch(lambda: create_named(request, None, CHECKPOINT_SECONDS, self.runs))

    def further(self, folder: RunFolder, steps: int) -> str:
        """Train a run further, to so many steps in all; its name."""
        typed = f"errands resume {folder.name} --steps {steps}"
        if not 1 <= steps <= self.max_steps:
            raise ConfigError(f"{steps:,} steps were asked for; the page trains to {self.max_steps:,} in all, more with '{typed}'")
        if folder.task.finite is None:
            raise ConfigError(f"the world of '{folder.task.name}' {folder.task.untabled}; train it further with '{typed}'")
        return self._launch(lambda: extended(folder, steps))

    def _launch(self, prepared: Callable[[], RunFolder]) -> str:
        """A process that trains the run that `prepared` gives, if there is room for one more; the name of the run."""
        with self.lock:
            # Counting and starting under one lock: two requests at once cannot both take the last place.
            if sum(not t.ended for t in self._polled()) >= self.max_at_once:
                raise ConfigError(f"{self.max_at_once} runs are being trained; cancel one or wait")
            folder = prepared()
            # -P: what lies in the folder that the server was started in is never imported, whatever its name.
            where = str(folder.path.resolve())
            command = [sys.executable, "-P", "-m", "errands.viewer.training", where, str(MAX_SECONDS), *allowed()]
            # Nothing is ever written into the pipe: the process reads it to learn that the server has ended.
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)  # noqa: S603
            self.known[folder.name] = Training(folder.name, process)
        return folder.name

    def cancel(self, name: str) -> str:
        """End a run's process; what was stored stays."""
        with self.lock:
            training = self.known.get(name)
            if training is None:
                raise ConfigError(f"'{name[:100]}' is not being trained by this page")
            self._polled()  # one that has ended by itself is not cancelled
            if not training.ended:
                training.end("cancelled")
            return training.ended

    def state(self, name: str) -> str | None:
        """How a run stands that the page has started: training, done, cancelled, stopped or failed; None for others."""
        with self.lock:
            self._polled()
            training = self.known.get(name)
            return None if training is None else training.ended or "training"

    def _polled(self) -> list[Training]:
        for training in self.known.values():
            code = training.process.poll()
            if training.ended:
                continue
            if code is not None:
                training.end({0: "done", 3: "stopped"}.get(code, "failed"))
            # The process ends itself when its time is over; this is for one that could not.
            elif time.monotonic() - training.began > MAX_SECONDS + 10:
                training.end("stopped")
        return list(self.known.values())

    def close(self) -> None:
        """End every process."""
        for name in list(self.known):
            self.cancel(name)


def training_request(body: Any) -> tuple[str, str, int, int]:
    """Text, learner, steps and seed of a request to train."""
    text, learner = body.get("text"), body.get("learner")
    steps, seed = body.get("steps", 50_000), body.get("seed", 0)
    if not isinstance(text, str) or not isinstance(learner, str) or type(steps) is not int or type(seed) is not int:
        raise ConfigError("a request to train has a text, a learner's name, and whole numbers of steps and seed")
    return text, learner, steps, seed


def main(path: str, seconds: int) -> int:
    """Train every seed of a run folder, in the process that `PageTrainer.start` made."""
    _limit(MAX_BYTES)
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    # Code 3 says out of time (see PageTrainer._polled); nothing is cleaned up, since stored files survive a kill.
    bell = threading.Timer(seconds, lambda: os._exit(3))
    bell.daemon = True
    bell.start()
    from errands.runs.engines import attempt
    from errands.runs.folder import open_run
    from errands.runs.train import jobs_of, silent

    for job in jobs_of(open_run(Path(path))):
        attempt(job, silent, strict=False)
    return 0


def _outlive_nobody() -> None:
    """End with the server: the pipe to it is closed when it ends, however it ends."""
    while os.read(0, 1024):
        pass
    os._exit(1)


def _limit(most: int) -> None:
    try:
        import resource
    except ImportError:  # only where the system has no such limits
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    allow(sys.argv[3:])
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
