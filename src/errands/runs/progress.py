"""Progress of training: on standard error while it runs (a live table, plain lines, or nothing), and as a log for TensorBoard."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from errands.errors import ConfigError, StoreError, UnknownName, install
from errands.runs.documents import ResultDocument
from errands.runs.folder import RunFolder, live
from errands.runs.train import Job, ProgressUpdate
from errands.terminal import EVERY as LINE_SECONDS
from errands.terminal import clock, console, say, table

ROWS = 20
COLUMNS = ("task", "learner", "seed", "steps", "steps/s", "length", "gap", "time left")


@dataclass
class Progress:
    """What is under way, and where it is reported."""

    total: int
    out: TextIO
    quiet: bool = False
    updates: dict[Job, ProgressUpdate] = field(default_factory=dict)
    ended: int = 0
    faults: int = 0
    began: float = field(default_factory=time.monotonic)
    last_line: float = field(default_factory=time.monotonic)
    screen: Any = None
    line_seconds: float = LINE_SECONDS

    def update(self, job: Job, update: ProgressUpdate) -> None:
        """A seed has come further."""
        self.updates[job] = update
        if update.note:
            self.note(update.note)
        if self.screen is not None:
            self.screen.update(self.table())
        elif not self.quiet and time.monotonic() - self.last_line >= self.line_seconds:
            self.last_line = time.monotonic()
            for other, last in list(self.updates.items())[:ROWS]:
                say(words(other, last), out=self.out)

    def end(self, job: Job, results: Sequence[ResultDocument]) -> None:
        """The seeds of a job have ended; none of them, when their time ran out before."""
        self.updates.pop(job, None)
        for result in results:
            self.ended += 1
            self.faults += result.error is not None
            if self.screen is not None:
                self.screen.update(self.table())
                continue
            name = replace(job, seeds=(result.seed,)).name
            say(f"[{self.ended}/{self.total}] {name}: {result.error or _ended(result)}", self.quiet, self.out)

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if self.screen is not None:
            self.screen.console.print(text)
        else:
            say(text, self.quiet, self.out)

    def table(self) -> Any:
        """The live table."""
        spent = clock(time.monotonic() - self.began)
        title = f"{self.ended} of {self.total} ended, {self.faults} failed, {spent}"
        rows = table(title, COLUMNS[:1], COLUMNS[2:], words=COLUMNS[1:2])
        for job, update in list(self.updates.items())[:ROWS]:
            done = f"{update.step:,} / {update.steps:,}"
            numbers = (f"{update.rate:,.0f}", _length(update), _gap(update) or "-", _left(update))
            rows.add_row(job.task, job.learner, job.numbers, done, *numbers)
        return rows


@contextmanager
def progress(
    total: int, quiet: bool = False, out: TextIO | None = None, line_seconds: float = LINE_SECONDS
) -> Iterator[Progress]:
    """Tell the progress of `total` seeds while inside."""
    stream = out or sys.stderr
    reporter = Progress(total, stream, quiet, line_seconds=line_seconds)
    if quiet or not stream.isatty():
        yield reporter
        return
    from rich.live import Live

    with Live(reporter.table(), console=console(file=stream), refresh_per_second=5, transient=True) as reporter.screen:
        yield reporter
    reporter.screen = None


def words(job: Job, update: ProgressUpdate) -> str:
    """Where a seed stands, on one line."""
    under_way = f" of {update.steps:,}" if update.step < update.steps else ""
    gap = f", gap {_gap(update)}" if _gap(update) else ""
    left = f", {_left(update)} left" if under_way else ""
    return f"{job.name}: {update.step:,}{under_way} steps, {update.rate:,.0f}/s, length {_length(update)}{gap}{left}"


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


def _length(update: ProgressUpdate) -> str:
    last = update.last
    return "-" if last is None else spoken(last.episode_length, last.success, last.episodes)


def _gap(update: ProgressUpdate) -> str:
    gap = update.last.gap(update.best) if update.last else None
    return "" if gap is None else f"{gap:g}"


def _left(update: ProgressUpdate) -> str:
    return clock((update.steps - update.step) / update.rate) if update.rate > 0 else "?"


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
    if kind not in _WRITERS:
        raise UnknownName("log", kind[:60], _WRITERS)
    writer, package = _WRITERS[kind]
    if find_spec(package) is None:
        raise ConfigError(f"--log {kind} needs {package}; run: {install(kind)}")
    return writer
