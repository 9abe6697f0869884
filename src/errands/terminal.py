"""The terminal: names are printed as they are, never as colours, markup or control codes of a stranger's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def printable(text: str) -> str:
    r"""The text with everything that a terminal would obey or hide written out; lines and tabs stay.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def console(file: TextIO | None = None, stderr: bool = False) -> Console:
    """A console of rich that takes no text for markup and no character for a command."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

    return Plain(file=file, stderr=stderr, markup=False, emoji=False)


def table(title: str, names: tuple[str, ...], numbers: tuple[str, ...], rest: str | None = None) -> Table:
    """An empty table: columns of names are never cut, numbers stand at the right, and what is longest is folded.

    Parameters:
        title: the line above it.
        names: columns whose words stay whole, such as the task.
        numbers: columns of numbers.
        rest: the last column, which takes what room is left.
    """
    from rich.table import Table

    empty = Table(title=title, title_justify="left")
    for name in names:
        empty.add_column(name, no_wrap=True, min_width=len(name))
    for name in numbers:
        empty.add_column(name, justify="right", overflow="fold")
    if rest is not None:
        empty.add_column(rest, overflow="fold")
    return empty
