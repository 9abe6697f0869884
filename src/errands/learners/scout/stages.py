"""Tasks with many subtasks as a chain of stages: groups in any order, with Boolean objectives in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from errands.learners.scout.lowering import Lowering
from errands.tables import FAILURE, RUNNING, SUCCESS, Ints


@dataclass(frozen=True)
class Stage:
    """One group whose items are completed in one numeric state, or what is left when all groups are done."""

    bits: int
    """The mask of the group; 0 after the last one."""
    chooser: int
    """The numeric state that completes items; -1 after the last group."""
    entry: Ints
    """[U] the entry that each numeric state reads while items remain."""
    lesser: int
    """The entry of the chooser when an item is completed and others remain."""
    final: int
    """The entry of the chooser when the last item is completed."""


def find_stages(lowering: Lowering) -> tuple[Stage, ...] | None:
    """The stages of a machine; None where groups are not done one after the other."""
    stepper = lowering.stepper
    done: set[int] = set()
    stages: list[Stage] = []
    u = stepper.start[0]
    while stepper.status[u] == RUNNING:
        entry = _entries(lowering, done)
        bits = sum(b for v, b in enumerate(stepper.variable_bits) if v not in done)
        ways = _closure(lowering, entry, u)
        choosers = [c for c in ways if stepper.active[c] & bits]
        if not choosers:
            stages.append(Stage(0, -1, entry, -1, -1))
            break
        open_ = [v for v, b in enumerate(stepper.variable_bits) if v not in done and b & stepper.active[choosers[0]]]
        if len(choosers) > 1 or len(open_) > 1:
            return None
        chooser, variable = choosers[0], open_[0]
        scale = 3 ** stepper.mentioned[chooser].index(variable)
        lesser, final = int(entry[chooser]) + scale, int(entry[chooser]) + 2 * scale
        early = {t for e in (*(int(entry[c]) for c in ways), lesser) for t in lowering.reached(e)}
        if any(stepper.status[t] == SUCCESS for t in early):
            return None
        stages.append(Stage(stepper.variable_bits[variable], chooser, entry, lesser, final))
        done.add(variable)
        following = {v for v in lowering.reached(final) if stepper.status[v] != FAILURE}
        if len(following) != 1:
            return None
        (u,) = following
    return tuple(stages) if len(done) == len(stepper.variable_bits) and stepper.status[u] in (RUNNING, SUCCESS) else None


def _entries(lowering: Lowering, done: set[int]) -> Ints:
    """The entry of every numeric state while these variables are at their bound and nothing is completed."""
    rows = [
        int(row) + sum(2 * 3**i for i, v in enumerate(mentioned) if v in done)
        for row, mentioned in zip(lowering.row, lowering.stepper.mentioned, strict=True)
    ]
    return np.array(rows, np.int32)


def _closure(lowering: Lowering, entry: Ints, u: int) -> list[int]:
    """The running numeric states that Boolean moves can lead to from u, u included."""
    found = [u]
    for v in found:
        found += [
            t for t in lowering.reached(int(entry[v])) if t not in found and lowering.stepper.status[t] == RUNNING
        ]
    return found
