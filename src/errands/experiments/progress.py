"""Progress on standard error: a live table on a terminal, plain lines elsewhere, nothing when asked to be quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from errands.experiments.job import Beat
from errands.results.documents import ResultDocument

EVERY = 10.0
"""Seconds between two plain lines about seeds that are under way."""
ROWS = 20


@dataclass(frozen=True)
class Label:
    """What a seed is called in the table."""

    task: str
    learner: str


@dataclass
class Progress:
    """What is under way, and how it is told."""

    labels: dict[str, Label]
    total: int
    out: TextIO
    live: bool
    quiet: bool = False
    best: dict[str, float] = field(default_factory=dict)
    beats: dict[tuple[str, int], Beat] = field(default_factory=dict)
    ended: int = 0
    faults: int = 0
    began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    screen: Any = None

    def beat(self, beat: Beat) -> None:
        """A seed has come further."""
        self.beats[beat.key, beat.seed] = beat
        if self.screen is not None:
            self.screen.update(self.table())
        elif not self.quiet and time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            for under_way in list(self.beats.values())[:ROWS]:
                self._say(self._words(under_way))

    def end(self, key: str, result: ResultDocument) -> None:
        """A seed has ended."""
        last = self.beats.pop((key, result.seed), None)
        self.ended += 1
        self.faults += result.error is not None
        if result.optimum is not None:
            self.best[key] = result.optimum
        if self.screen is not None:
            self.screen.update(self.table())
        elif not self.quiet:
            beat = Beat(key, result.seed, result.steps, result.steps, result.final_length, result.final_success, 0.0)
            beat = replace(beat, rate=last.rate) if last else beat
            self._say(f"[{self.ended}/{self.total}] {result.error or self._words(beat)}")

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            (self.screen.console.print if self.screen is not None else self._say)(text)

    def table(self) -> Any:
        """The live table."""
        from rich.table import Table

        table = Table(title=f"{self.ended} of {self.total} ended, {self.faults} failed, {clock(time.monotonic() - self.began)}")
        for name in ("task", "learner", "seed", "steps", "steps/s", "length", "gap", "time left"):
            table.add_column(name, justify="left" if name in ("task", "learner") else "right")
        for beat in list(self.beats.values())[:ROWS]:
            label = self.labels[beat.key]
            done = f"{beat.step:,} / {beat.steps:,}"
            table.add_row(label.task, label.learner, str(beat.seed), done, f"{beat.rate:,.0f}", self._length(beat), self._gap(beat), _left(beat))
        return table

    def _words(self, beat: Beat) -> str:
        label = self.labels[beat.key]
        done = f"{beat.step:,}" if beat.step >= beat.steps else f"{beat.step:,} of {beat.steps:,} steps, {_left(beat)} left,"
        rate = f" at {beat.rate:,.0f}/s" if beat.rate else ""
        gap = f", gap {self._gap(beat)}" if self._gap(beat) else ""
        return f"{label.task} {label.learner} seed {beat.seed}: {done}{' steps' if beat.step >= beat.steps else ''}{rate}, length {self._length(beat)}{gap}"

    def _length(self, beat: Beat) -> str:
        return "-" if beat.length is None else f"{beat.length}" if beat.success else f"{beat.length} (no success)"

    def _gap(self, beat: Beat) -> str:
        best = self.best.get(beat.key)
        return "" if best is None or beat.length is None or not beat.success else f"{beat.length - best:g}"

    def _say(self, text: str) -> None:
        print(text, file=self.out, flush=True)


@contextmanager
def progress(labels: dict[str, Label], total: int, quiet: bool = False, out: TextIO | None = None) -> Iterator[Progress]:
    """Tell the progress of `total` seeds while inside."""
    stream = out or sys.stderr
    told = Progress(labels, total, stream, stream.isatty(), quiet)
    if quiet or not told.live:
        yield told
        return
    from rich.console import Console
    from rich.live import Live

    with Live(told.table(), console=Console(file=stream), refresh_per_second=5, transient=True) as told.screen:
        yield told
    told.screen = None


def clock(seconds: float) -> str:
    """A time to be read: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def _left(beat: Beat) -> str:
    return clock((beat.steps - beat.step) / beat.rate) if beat.rate > 0 else "?"
