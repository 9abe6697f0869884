"""Sizes: states of the Boolean, agenda and coupled machines, and low-level policies, against the number of subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from errands.machines.counting import size
from errands.machines.numeric import NumericRM
from errands.plots.style import BLUE, GREEN, ORANGE, VERMILION, Look, blank, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {
    "boolean": Look(BLUE, ":", "v"),
    "coupled": Look(VERMILION, "-", "o"),
    "agenda": Look(ORANGE, "--", "s"),
    "policies": Look(GREEN, "-", "D"),
}


@dataclass(frozen=True)
class MachineSizes:
    """Everything that a figure of sizes shows; counts are exact, whatever their size."""

    title: str
    subtasks: tuple[int, ...]
    boolean: tuple[int, ...]
    coupled: tuple[int, ...]
    agenda: tuple[int, ...]
    policies: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "sizes", **asdict(self)}


def machine_sizes(title: str, machines: Sequence[NumericRM]) -> MachineSizes:
    """What is drawn of machines of growing size; none of them is unfolded."""
    ordered = sorted(machines, key=lambda m: len(m.subtasks))
    counted = [size(machine) for machine in ordered]
    columns = {kind: tuple(getattr(s, kind) for s in counted) for kind in _KINDS}
    return MachineSizes(title, tuple(len(m.subtasks) for m in ordered), **columns)


def draw_sizes(value: MachineSizes) -> Figure:
    """The figure; each line carries its name and its last number."""
    with styled():
        figure = blank(6.4, 4.2)
        axes = figure.add_subplot()
        for kind, look in _KINDS.items():
            counts = [float(n) for n in getattr(value, kind)]
            axes.plot(value.subtasks, counts, color=look.colour, linestyle=look.dashes, marker=look.mark, markersize=5)
            words = f"{kind}, {shown(getattr(value, kind)[-1])}"
            axes.annotate(words, (value.subtasks[-1], counts[-1]), (8, 0), textcoords="offset points", va="center",
                          fontsize=9, color=look.colour, annotation_clip=False)  # fmt: skip
        axes.set_yscale("log")
        ticks = value.subtasks[:: 1 + len(value.subtasks) // 13]
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_title(value.title)
        axes.set_xlabel("number of subtasks")
        axes.set_ylabel("states (policies: low-level policies)")
    return figure


def shown(count: int) -> str:
    """A count as people read it."""
    return f"{count:,}" if count < 1_000_000 else f"{float(count):.1e}".replace("e+0", "e").replace("e+", "e")
