"""Progress of training: on standard error while it runs (lines, or nothing), and as a log elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from errands.errors import ConfigError, StoreError, install
from errands.runs.documents import ResultDocument
from errands.runs.folder import RunFolder, live
from errands.runs.train import Job, ProgressUpdate
from errands.terminal import EVERY, StatusLine, clock

ROWS = 20
"""Seeds that are told of together."""


class Progress:
    """What is under way, and where it is told."""

    def __init__(self, total: int, line: StatusLine) -> None:
        self.total, self.line, self.ended = total, line, 0
        self.updates: dict[Job, ProgressUpdate] = {}

    def update(self, job: Job, update: ProgressUpdate) -> None:
        """A seed has come further."""
        self.updates[job] = update
        if update.note:
            self.note(update.note)
        # On a terminal there is one line: how many have ended stands there, and who was heard of last.
        shown = {job: update} if self.line.changes else dict(list(self.updates.items())[:ROWS])
        ended = f"[{self.ended}/{self.total}] " if self.line.changes else ""
        self.line.tell(lambda: "\n".join(f"{ended}{words(*each)}" for each in shown.items()))

    def end(self, job: Job, results: Sequence[ResultDocument]) -> None:
        """The seeds of a job have ended; none of them, when their time ran out before."""
        self.updates.pop(job, None)
        for result in results:
            self.ended += 1
            name = replace(job, seeds=(result.seed,)).name
            self.note(f"[{self.ended}/{self.total}] {name}: {result.error or _ended(result)}")

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self.line.say(text)


@contextmanager
def progress(total: int, quiet: bool = False, out: TextIO | None = None, line_seconds: float = EVERY) -> Iterator[Progress]:
    """Tell the progress of `total` seeds while inside; lines of several are at least so many seconds apart."""
    line = StatusLine(out or sys.stderr, quiet, line_seconds)
    try:
        yield Progress(total, line)
    finally:
        line.clear()


def words(job: Job, update: ProgressUpdate) -> str:
    """Where a seed stands, on one line."""
    last, steps = update.last, f"{update.step:,}"
    length = "-" if last is None else spoken(last.episode_length, last.success, last.episodes)
    known = last.gap(update.best) if last else None
    gap, left = "" if known is None else f", gap {known:g}", ""
    if update.step < update.steps:
        steps = f"{steps} of {update.steps:,}"
        left = f", {clock((update.steps - update.step) / update.rate) if update.rate > 0 else '?'} left"
    return f"{job.name}: {steps} steps, {update.rate:,.0f}/s, length {length}{gap}{left}"


def _ended(result: ResultDocument) -> str:
    rate = result.steps / max(result.wall_seconds, 1e-9)
    length = spoken(result.final_length, result.final_success, result.final_episodes)
    gap = "" if result.final_gap is None else f", gap {result.final_gap:g}"
    return f"{result.steps:,} steps, {rate:,.0f}/s, length {length}{gap}"


def spoken(length: float | None, success: float, episodes: int = 1) -> str:
    """A length as a table shows it: with the chance of success where it is not sure, and what it is a mean of."""
    steps = "-" if length is None else f"{length:g}" if episodes == 1 else f"{length:.4g}"
    if success >= 1:
        return steps
    return f"{steps} (no success)" if episodes == 1 or success <= 0 else f"{steps} (success {success:.3g})"


LOOK_EVERY = 1.0
"""Seconds between two looks at the tables."""
Writer = tuple[Callable[[dict[str, float], int], None], Callable[[], None]]
"""What takes the numbers of an evaluation and its step, and what is called when no more follow."""


@contextmanager
def logged(run: RunFolder, kind: str | None) -> Iterator[Path | None]:
    """Log the evaluations of a run while inside ("tensorboard", "wandb"), those of before included; nothing for None."""
    if kind is None:
        yield None
        return
    writer, place = writer_of(kind), run.path / kind
    shutil.rmtree(place, ignore_errors=True)  # events of an earlier part would stand beside the same rows again
    writers = {seed: writer(run, seed) for seed in run.document.seeds}
    written, over = dict.fromkeys(writers, 0), threading.Event()

    def copy() -> None:
        for seed, (write, _) in writers.items():
            try:
                rows = live(run.seed(seed))
            except (StoreError, OSError):
                continue  # a seed that has not begun has no table; one that is being written is read the next time
            for e in rows[written[seed] :]:
                numbers = {"length": e.episode_length, "success": e.success, "reward": e.total_reward}
                write({f"evaluation/{name}": float(number) for name, number in numbers.items()}, e.step)
            # The table of a resumed seed is cut back at first; the rows that come again are the same and were written.
            written[seed] = max(written[seed], len(rows))

    def follow() -> None:
        while not over.wait(LOOK_EVERY):
            copy()

    thread = threading.Thread(target=follow, name="errands-log", daemon=True)
    thread.start()
    try:
        yield place
    finally:
        over.set()
        # The thread must have ended before the last copy: two copies at once would write rows twice.
        thread.join()
        copy()
        for _, close in writers.values():
            close()


def _tensorboard(run: RunFolder, seed: int) -> Writer:
    """The events of one seed, in tensorboard/seed-K of the run's folder."""
    from tensorboardX import SummaryWriter

    events = SummaryWriter(str(run.path / "tensorboard" / f"seed-{seed}"), flush_secs=1)

    def write(numbers: dict[str, float], step: int) -> None:
        for tag, number in numbers.items():
            events.add_scalar(tag, number, step)

    return write, events.close


def _wandb(run: RunFolder, seed: int) -> Writer:
    """One seed as a run of project `errands`, of the group that its folder is called; WANDB_MODE=offline keeps it in wandb/."""
    import wandb

    known = run.document
    about = {"task": known.task, "learner": known.method, "preset": known.preset, "steps": known.steps, "seed": seed}
    (run.path / "wandb").mkdir(exist_ok=True)
    events = wandb.init(
        project="errands", group=run.name, name=f"{run.name}-seed-{seed}", dir=str(run.path), reinit="create_new",
        config={**about, **known.config}, settings=wandb.Settings(silent=True, console="off"),
    )  # fmt: skip
    return lambda numbers, step: events.log(numbers, step=step), events.finish


_WRITERS = {"tensorboard": (_tensorboard, "tensorboardX"), "wandb": (_wandb, "wandb")}


def writer_of(kind: str) -> Callable[[RunFolder, int], Writer]:
    """What writes the events of a seed; a ConfigError where what it needs is not installed."""
    writer, package = _WRITERS[kind]
    if find_spec(package) is None:
        raise ConfigError(f"--log {kind} needs {package}; run: {install(kind)}")
    return writer
