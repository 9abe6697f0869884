"""Names of panels and groups of panels, as `errands reproduce` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from errands.errors import UnknownName
from errands.paper import continuous, paper
from errands.paper.paper import Panel, Skipped

GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(name for name in chain(paper.PANELS, continuous.PANELS) if name.startswith(f"{group}-"))
    for group in ("delivery", "office", "water", "cheetah")
}


def chosen(names: Sequence[str], quick: bool) -> tuple[tuple[Panel, ...], tuple[Panel, ...], list[Skipped]]:
    """The tabular and the continuous panels of these names, and what the quick profile leaves out of a group.

    No names at all means all tabular panels.
    """
    known = {**paper.PANELS, **continuous.PANELS}
    wanted, left = dict[str, Panel](), list[Skipped]()
    for name in names or paper.PANELS:
        if name not in known and name not in GROUPS:
            raise UnknownName("figure", name, [*known, *GROUPS])
        for panel in GROUPS.get(name, (name,)):
            if quick and name in GROUPS and panel in continuous.PANELS and panel not in (*continuous.QUICK, *names):
                why = f"the quick profile leaves it out of '{name}'; name {panel} itself, or use --profile full"
                left.append(Skipped(panel, "all methods", why))
            else:
                wanted[panel] = known[panel]
    tabular = tuple(panel for name, panel in wanted.items() if name in paper.PANELS)
    return tabular, tuple(panel for name, panel in wanted.items() if name in continuous.PANELS), left
