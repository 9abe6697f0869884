"""How figures look and how they are kept: colours for all eyes, one hand for all figures, the data beside the file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.errors import ConfigError
from errands.learners import LEARNERS
from errands.plots.layout import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's eight colours are told apart with any common colour vision; dashes and marks tell them apart in grey. Four
# more are for charts of all methods: a dark red and a dark blue, nearest to black, a brown and a light green.
COLOURS = {
    "vermilion": "#d55e00", "blue": "#0072b2", "green": "#009e73", "orange": "#e69f00", "purple": "#cc79a7", "sky": "#56b4e9",
    "yellow": "#b8a600", "black": "#222222", "wine": "#7a1f3d", "brown": "#8b5a2b", "indigo": "#3d348b", "lime": "#8fd14f",
}  # fmt: skip
GREY = "#8a8a8a"
FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class Look:
    """How one method is drawn, in every figure the same."""

    colour: str
    dashes: str
    mark: str


LOOKS: Mapping[str, Look] = {
    name + variant: Look(COLOURS[colour], dashes, mark)
    for name, method in LEARNERS.items()
    for variant, colour, dashes, mark in method.looks
}
_OTHERS = [Look(c, d, m) for d in ("-", "--", ":") for c, m in zip(COLOURS.values(), "o^PsD<h*pv8d", strict=True)]
RULES: dict[Any, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    # A fixed salt for ids, which are random otherwise: the same figure gives the same file.
    "svg.hashsalt": "errands",
    "pdf.fonttype": 42,
}


def looks(names: list[str]) -> dict[str, Look]:
    """The look of each name: methods have their own; others take one that no one else has, in a new colour while there are any."""
    taken = {LOOKS[name] for name in names if name in LOOKS}
    colours = {look.colour for look in taken}
    fresh = sorted((look for look in _OTHERS if look not in taken), key=lambda look: (look.dashes != "-", look.colour in colours))
    free = iter(fresh * (1 + len(names) // len(COLOURS)))
    return {name: LOOKS[name] if name in LOOKS else next(free) for name in names}


@contextmanager
def styled() -> Iterator[None]:
    """Draw by these rules, without changing anyone else's."""
    import matplotlib

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **RULES}):
        yield


def blank(width: float, height: float) -> Figure:
    """An empty figure that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def as_svg(figure: Figure) -> str:
    """The figure as the text of an SVG file; the same figure always gives the same text."""
    text = io.StringIO()
    _as_written(figure)
    with styled():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def save(figure: Figure, path: Path, value: Mapping[str, Any], command: str) -> Path:
    """Write the figure, and beside it FILE.json with what it shows and the command that made it; returns that path."""
    kind = format_of(path)
    beside = path.with_name(f"{path.name}.json")
    from errands.runs.provenance import versions

    described = {"figure": path.name, "command": command, "versions": versions("", deep=False), "data": value}
    _as_written(figure)
    try:
        with styled():
            figure.savefig(path, format=kind, dpi=150, metadata=_metadata(kind, clean(command)))
        beside.write_text(json.dumps(described, ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8")
    except OSError as fault:
        raise ConfigError(f"'{path}' cannot be written ({fault.strerror}); choose another --output") from None
    return beside


def _as_written(figure: Figure) -> None:
    """Let names, which are a stranger's, be drawn as they are: with a control character an SVG is no XML, and what stands
    between dollars is no formula unless matplotlib wrote it."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        said = text.get_text()
        text.set_text("\n".join(map(clean, said.split("\n"))))
        text.set_parse_math("\\mathdefault" in said or "$" not in said)


def format_of(path: Path) -> str:
    """The format that a file's ending asks for."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise ConfigError(f"'{path.name}' does not say which picture is wanted; let it end in .svg, .pdf or .png")
    return kind


def _metadata(kind: str, command: str) -> dict[str, Any]:
    if kind == "svg":
        return {"Date": None, "Description": command, "Creator": "errands"}
    if kind == "pdf":
        return {"CreationDate": None, "Subject": command, "Creator": "errands"}
    return {"Description": command, "Software": "errands"}
