"""What a policy does in every cell: arrows, learnt values, and steps to the next completion where none are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from errands.learners.base import Learner
from errands.machines.counting import Quotient
from errands.machines.stepping import State
from errands.oracle.episode import Pair, Policy
from errands.plots.policies import PolicyMap, policy_maps
from errands.tasks.task import Task
from errands.viewer.recording import Recording

Map = dict[str, Any]


def maps_of(task: Task, policy: Policy, learner: Learner | None, recording: Recording) -> list[Map]:
    """One map for each objective, or for each stage of the recorded episode; none for worlds without cells."""
    if task.layout is None or task.finite is None or task.finite.states != task.layout.cells:
        return []
    try:
        found = policy_maps(task, policy, learner)
    except KeyError:  # the oracle's plan knows only the states on its way
        return []
    quotient = Quotient(task.machine)
    stages = {str(quotient.label(moment.state)): moment.state for moment in recording.moments}
    known = stages if task.finite.certain else {}
    return [_map(task, shown, known.get(shown.name), found.deadly) for shown in found.maps]


def _map(task: Task, shown: PolicyMap, state: State | None, dead: Collection[int]) -> Map:
    values = None if shown.values is None else _plain(shown.values, dead)
    steps = steps_on(task, shown.actions, state) if values is None and state is not None else None
    actions = [-1 if cell in dead else action for cell, action in enumerate(shown.actions)]
    return {"name": shown.name, "actions": actions, "values": values, "steps": steps}


def steps_on(task: Task, actions: Sequence[int], state: State) -> list[int | None]:
    """How many steps the arrows take from each cell until the machine leaves `state`; None where they never do."""
    pair = Pair(task)
    steps: dict[int, int | None] = {}
    for first in range(len(actions)):
        way: list[int] = []
        cell, left = first, False
        while not left and cell not in steps and cell not in way:
            way.append(cell)
            landing = pair.step(cell, state, actions[cell])
            cell, left = landing.world_state, landing.machine_state != state
        known = 0 if left else steps.get(cell)
        for i, passed in enumerate(reversed(way), 1):
            steps[passed] = None if known is None else known + i
    return [steps[cell] for cell in range(len(actions))]


def _plain(values: Sequence[float], dead: Collection[int]) -> list[float | None]:
    return [float(f"{v:.4g}") if np.isfinite(v) and c not in dead else None for c, v in enumerate(values)]
