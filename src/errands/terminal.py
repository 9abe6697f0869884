"""The terminal: names are printed as they are, never as colours, markup or control codes of a stranger's file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EVERY = 10.0
"""Seconds between two plain lines about work that is under way."""
OFTEN = 0.2
"""Seconds between two states of a line that changes."""
WIDEST = 1_000
"""No table is printed wider than this, whatever it holds."""


def printable(text: str) -> str:
    r"""The text with everything that a terminal would obey or hide written out; lines and tabs stay.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def harmless(text: str) -> str:
    """The text as a cell of a table that no spreadsheet takes for a formula and runs."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def console(file: TextIO | None = None) -> Console:
    """A console of rich that takes no text for markup and no character for a command."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

    return Plain(file=file, markup=False, emoji=False)


def say(line: str, quiet: bool = False, out: TextIO | None = None) -> None:
    """One line on standard error, unless nothing is wanted there."""
    if not quiet:
        print(printable(line), file=out or sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """A time to be read: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


class StatusLine:
    """A line that tells how far work is: on a terminal always the same one, elsewhere a new one now and then."""

    def __init__(self, out: TextIO, quiet: bool = False, every: float = EVERY) -> None:
        self.out, self.quiet, self.changes = out, quiet, out.isatty()
        self.every = OFTEN if self.changes else every
        self.last = time.monotonic() - self.every * self.changes

    def tell(self, words: Callable[[], str]) -> None:
        """Say what is so now, where it is time for it."""
        now = time.monotonic()
        if self.quiet or now - self.last < self.every:
            return
        self.last = now
        if self.changes:
            # What is longer than the terminal is wide would be folded, and a folded line does not go back.
            shown = printable(words())[: shutil.get_terminal_size().columns - 1]
            print(f"\r{shown}\x1b[K", end="", file=self.out, flush=True)
        else:
            say(words(), out=self.out)

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        say(text, self.quiet, self.out)

    def clear(self) -> None:
        """Take away what changes."""
        if self.changes and not self.quiet:
            print("\r\x1b[K", end="", file=self.out, flush=True)


@contextmanager
def counting(
    title: str, total: int, quiet: bool = False, unit: str = "steps", out: TextIO | None = None
) -> Iterator[Callable[[int], None]]:
    """Tell how far a piece of `total` steps is, with rate and time left."""
    line, began = StatusLine(out or sys.stderr, quiet), time.monotonic()

    def words(done: int) -> str:
        rate = done / max(time.monotonic() - began, 1e-9)
        left = f", {clock((total - done) / rate)} left" if rate > 0 else ""
        return f"{title}: {done:,} of {total:,} {unit}, {rate:,.0f}/s{left}"

    yield lambda done: line.tell(lambda: words(done))
    line.clear()


READABLE = 48
"""Characters of a line below which a sentence in the last column is hard to read."""


def show(thing: Any, file: TextIO | None = None) -> None:
    """Print what rich renders; where a table needs more columns than there are, its lines are longer, and no word is cut."""
    from rich.measure import Measurement

    screen = console(file)
    needed = Measurement.get(screen, screen.options.update(width=WIDEST), thing).minimum
    screen.width = max(screen.width, min(needed, WIDEST))
    screen.print(thing, crop=False)


def table(
    title: str | None,
    names: tuple[str, ...],
    numbers: tuple[str, ...] = (),
    rest: str | None = None,
    words: tuple[str, ...] = (),
) -> Table:
    """An empty table without lines: names are never cut, numbers stand at the right, and what is longest is folded.

    `words` are columns after the names that may be folded between words; `rest` is the last one and takes what room is left.
    """
    from rich.table import Table

    class Whole(Table):
        """Columns are as wide as their longest word: rich would take room from the widest, words or not."""

        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(*cells, **options)
            for column, cell in zip(self.columns, cells, strict=False):
                longest = max(map(len, printable(str(cell)).split()), default=0)
                column.min_width = max(column.min_width or 0, longest)
            if rest is not None and cells:
                self.columns[-1].min_width = max(self.columns[-1].min_width or 0, min(len(str(cells[-1])), READABLE))

    empty = Whole(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in names:
        empty.add_column(name, no_wrap=True, min_width=len(name))
    for name in words:
        empty.add_column(name)
    for name in numbers:
        empty.add_column(name, justify="right", overflow="fold", min_width=max(map(len, name.split())))
    if rest is not None:
        empty.add_column(rest, overflow="fold")
    return empty
