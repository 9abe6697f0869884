"""Evaluations for other tools while a run trains: a thread copies new rows of every seed's table, whoever writes them."""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from errands.errors import ConfigError, StoreError, install
from errands.runs.folder import RunFolder, live
from errands.tables import Evaluation

EVERY = 1.0
"""Seconds between two looks at the tables."""
FOLDER = "tensorboard"


@contextmanager
def logged(run: RunFolder, kind: str | None) -> Iterator[Path | None]:
    """Log the evaluations of a run while inside, those of before included; nothing when no kind is named.

    Parameters:
        run: the folder of the run; its events go to `tensorboard/seed-K` inside.
        kind: "tensorboard" or None.
    """
    if kind is None:
        yield None
        return
    writer, place = writer_of(kind), run.path / FOLDER
    shutil.rmtree(place, ignore_errors=True)  # events of an earlier part would stand beside the same rows again
    log = _Log(run, {seed: writer(str(place / f"seed-{seed}")) for seed in run.document.seeds})
    over = threading.Event()
    thread = threading.Thread(target=log.follow, args=(over,), name="errands-log", daemon=True)
    thread.start()
    try:
        yield place
    finally:
        over.set()
        # The thread must have ended before the last copy: two copies at once would write rows twice.
        thread.join()
        log.close()


def writer_of(kind: str) -> Any:
    """The class that writes events; a ConfigError where it is not installed."""
    if kind != "tensorboard":
        raise ConfigError(f"no log is called '{kind[:60]}'; it can be tensorboard")
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ConfigError(f"a log for TensorBoard needs tensorboardX; type: {install('tensorboard')}") from None
    return SummaryWriter


class _Log:
    """Which rows of which seed were written."""

    def __init__(self, run: RunFolder, writers: dict[int, Any]) -> None:
        self.run, self.writers = run, writers
        self.rows = dict.fromkeys(writers, 0)

    def follow(self, over: threading.Event) -> None:
        """Copy new rows until the training is over."""
        while not over.wait(EVERY):
            self.copy()

    def copy(self) -> None:
        """Write the rows that are new."""
        for seed, writer in self.writers.items():
            try:
                rows = live(self.run.seed(seed))
            except (StoreError, OSError):
                continue  # a seed that has not begun has no table; one that is being written is read the next time
            for evaluation in rows[self.rows[seed] :]:
                _write(writer, evaluation)
            # The table of a resumed seed is cut back at first; the rows that come again are the same and were written.
            self.rows[seed] = max(self.rows[seed], len(rows))
            writer.flush()

    def close(self) -> None:
        """Write the last rows and close the files."""
        self.copy()
        for writer in self.writers.values():
            writer.close()


def _write(writer: Any, evaluation: Evaluation) -> None:
    numbers = {
        "evaluation/length": float(evaluation.episode_length),
        "evaluation/success": float(evaluation.success),
        "evaluation/reward": float(evaluation.total_reward),
    }
    for tag, number in numbers.items():
        if math.isfinite(number):  # a policy that may never end has no length to draw
            writer.add_scalar(tag, number, evaluation.step)
