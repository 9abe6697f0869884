"""The last resort for machines that are too large and no chain of groups: always the nearest step that moves them on."""

from __future__ import annotations

from collections import deque

from errands.kernels.scout.memory import Known
from errands.learners.scout.machine import Lowering
from errands.learners.scout.policy import KnownWay
from errands.machines.stepping import State
from errands.tables import FAILURE, RUNNING, SUCCESS


class NearestPlanner:
    """A planner without any promise: it never fails on purpose and never returns to a machine state."""

    def __init__(self, known: Known, lowering: Lowering) -> None:
        self.known = known
        self.lowering = lowering

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """One nearest change of the machine after the other, until success."""
        actions: list[int] = []
        cells: list[int] = []
        states: list[State] = []
        met = {state}
        status = self.lowering.stepper.status
        while status[state[0]] == RUNNING:
            leg = self._leg(state, cell, met)
            if leg is None:
                return None
            for action in leg[0]:
                actions.append(action)
                cells.append(cell)
                states.append(state)
                cell = int(self.known.target[cell, action, self.known.mode[cell, action]])
            state = leg[1]
            met.add(state)
        return KnownWay(tuple(actions), tuple(cells), tuple(states)) if status[state[0]] == SUCCESS else None

    def _leg(self, state: State, cell: int, met: set[State]) -> tuple[list[int], State] | None:
        """The shortest way to a state not met before, and that state."""
        known, status = self.known, self.lowering.stepper.status
        came: dict[int, tuple[int, int]] = {}
        queue = deque([cell])
        follows = {
            int(label): self.lowering.step(state, int(label)) for label in set(known.label[known.hits > 0].tolist())
        }
        while queue:
            s = queue.popleft()
            for a in range(known.tried.shape[1]):
                o = known.mode[s, a]
                after = follows[int(known.label[s, a, o])] if known.tried[s, a] else (-1, 0)
                if after[0] < 0 or status[after[0]] == FAILURE or (known.ends[s, a, o] and status[after[0]] != SUCCESS):
                    continue
                there = int(known.target[s, a, o])
                if after not in met:
                    way = [a]
                    while s != cell:
                        s, back = came[s]
                        way.append(back)
                    return way[::-1], after
                if after == state and there not in came and there != cell:
                    came[there] = (s, a)
                    queue.append(there)
        return None
