"""Policies: the greedy action of every cell as an arrow, coloured by the learnt value, one map for each subtask."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from errands.learners.base import Learner
from errands.learners.tabular.policies import MachinePolicy, ObjectivePolicy, OptionPolicy
from errands.machines.counting import Quotient
from errands.oracle.episode import Pair, Policy
from errands.plots.routes import centre, layout_of, paint_map
from errands.plots.style import blank, styled
from errands.tables import FAILURE, RUNNING, Floats
from errands.tasks.task import Task
from errands.worlds.grid import GridLayout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MAPS = 16
_ARROWS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))


@dataclass(frozen=True)
class PolicyMap:
    """What the policy does in each cell while one objective is pursued."""

    name: str
    """The objective, or the label of the agenda state where policies differ by that."""
    actions: tuple[int, ...]
    values: tuple[float, ...] | None
    """The largest learnt Q of each cell; None where the method keeps none for this map."""


@dataclass(frozen=True)
class PolicyMaps:
    """Everything that a figure of a policy shows."""

    task: str
    maps: tuple[PolicyMap, ...]
    deadly: tuple[int, ...] = ()
    """Cells that end the episode as a failure; no arrow is drawn there."""
    left_out: int = 0
    """How many more maps there are than can be drawn."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": "policy", **asdict(self)}


def policy_maps(task: Task, policy: Policy, learner: Learner | None = None) -> PolicyMaps:
    """What is drawn: one map per objective where each has its own policy, else one per stage of the greedy episode."""
    layout = layout_of(task)
    if isinstance(policy, ObjectivePolicy):
        v = getattr(getattr(learner, "values", None), "v", None)
        found = [
            PolicyMap(name, tuple(policy.actions[:, k].tolist()), None if v is None else tuple(v[:, k].tolist()))
            for k, name in enumerate(policy.objectives)
        ]
    else:
        found = _stages(task, policy, learner, layout)
    return PolicyMaps(task.name, tuple(found[:MOST_MAPS]), _deadly(task), max(0, len(found) - MOST_MAPS))


def _deadly(task: Task) -> tuple[int, ...]:
    """The cells in which an episode that has just begun fails: nothing is ever done there."""
    pair = Pair(task)
    every = np.ndindex(*pair.table.next.shape)
    landings = (pair.step(s, pair.stepper.start, a, o) for s, a, o in every)
    return tuple(sorted({landing.world_state for landing in landings if landing.status == FAILURE}))


def _stages(task: Task, policy: Policy, learner: Learner | None, layout: GridLayout) -> list[PolicyMap]:
    """The greedy episode, and in each agenda state that it passes what the policy would do in every cell."""
    pair, quotient = Pair(task), Quotient(task.machine)
    cell, state, memory, status = layout.start, pair.stepper.start, None, RUNNING
    found: dict[str, PolicyMap] = {}
    for _ in range(task.world.limit):
        name = str(quotient.label(state))
        if name not in found:
            actions = tuple(policy.act(c, state, memory)[0] for c in range(layout.cells))
            values = _values(learner, policy, state, memory)
            found[name] = PolicyMap(name, actions, None if values is None else tuple(values.tolist()))
        # What was asked of the other cells above left the memory as it was: the episode itself goes on from here.
        action, memory = policy.act(cell, state, memory)
        landing = pair.step(cell, state, action)
        cell, state, status = landing.world_state, landing.machine_state, landing.status
        if status != RUNNING:
            break
    return list(found.values())


def _values(learner: Learner | None, policy: Policy, state: tuple[int, int], memory: Any) -> Floats | None:
    """The largest Q of each cell in a machine state, for the methods whose table has one row per machine state."""
    q = getattr(learner, "q", None)
    if isinstance(policy, OptionPolicy) or not isinstance(policy, MachinePolicy) or q is None:
        return None
    row, _ = policy.locate(state, memory)
    if row is None:
        return None
    by_state: Floats = q.max(axis=1)[:, row] if q.shape[0] == policy.actions.shape[1] else q[row].max(axis=1)
    return by_state


def draw_policies(value: PolicyMaps, task: Task) -> Figure:
    """The figure: small maps in rows."""
    layout = layout_of(task)
    columns = min(4, max(1, len(value.maps)))
    rows = -(-len(value.maps) // columns)
    with styled():
        wide = min(4.0, max(2.2, 0.3 * layout.width))
        figure = blank(wide * columns, (max(0.8, wide * layout.height / layout.width) + 0.4) * rows)
        for i, shown in enumerate(value.maps):
            axes = figure.add_subplot(rows, columns, i + 1)
            paint_map(axes, layout)
            _paint_policy(axes, layout, shown, value.deadly)
            axes.set_title(shown.name, fontsize=9)
        if value.left_out:
            figure.supxlabel(f"{value.left_out} more maps are in the data beside this file", fontsize=8)
    return figure


def _paint_policy(axes: Axes, layout: GridLayout, shown: PolicyMap, deadly: tuple[int, ...]) -> None:
    cells = [c for c in range(layout.cells) if c not in layout.blocked and c not in deadly]
    if shown.values is not None:
        _paint_values(axes, layout, shown.values, cells)
    places = np.array([centre(layout, c) for c in cells])
    arrows = np.array([_ARROWS[shown.actions[c]] for c in cells])
    tails = places - 0.3 * arrows
    axes.quiver(tails[:, 0], tails[:, 1], arrows[:, 0], arrows[:, 1], angles="xy", scale_units="xy", scale=1.65,
                width=0.006, headwidth=4.5, color="#333333", zorder=3)  # fmt: skip


def _paint_values(axes: Axes, layout: GridLayout, values: tuple[float, ...], cells: list[int]) -> None:
    """Cells shaded by the logarithm of their value, which counts steps where values are powers of gamma."""
    known = np.array([values[c] for c in cells])
    if not (known > 0).any():
        return
    shades = np.full(layout.cells, np.nan)
    shades[cells] = np.log(np.where(known > 0, known, np.nan))
    axes.imshow(shades.reshape(layout.height, layout.width), extent=(0, layout.width, layout.height, 0),
                cmap="Blues", alpha=0.75, zorder=-0.5, interpolation="nearest")  # fmt: skip
