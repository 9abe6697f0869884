"""How much room a text takes in a picture, and where it may be broken into lines."""

from __future__ import annotations

import re
import unicodedata

FONT = 12.0
"""Size of every text in a picture, in pixels."""
LINE = 15.0
"""Distance between two lines of text."""
_ADVANCE = 0.602 * FONT
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
_PIECES = re.compile(r"[^∧∨&|,;]*[∧∨&|,;]\s*|[^∧∨&|,;]+")


def clean(text: str) -> str:
    """The text with every character that XML cannot hold, and every line break, replaced by a visible sign."""
    return "".join("\ufffd" if unicodedata.category(c) in _UNFIT or c in "\ufffe\uffff" else c for c in text)


def text_width(text: str) -> float:
    """The width in pixels of one line in a font of fixed pitch."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    return _ADVANCE * (len(text) + wide)


def wrap(text: str, limit: int) -> tuple[str, ...]:
    """The text as lines of at most `limit` characters, broken after an operator or a comma where there is one."""
    lines = [""]
    for piece in _PIECES.findall(clean(text)):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > limit:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > limit:
            lines[-1:] = [lines[-1][:limit], lines[-1][limit:]]
    return tuple(line.strip() for line in lines)
