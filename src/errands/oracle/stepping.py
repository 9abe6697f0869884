"""One step of world and machine together, in Python, for any number of subtasks: what walks and chains are made of."""

from __future__ import annotations

from typing import NamedTuple

from errands.errors import TaskError
from errands.machines.stepping import State, Step, Stepper
from errands.tables import FAILURE, RUNNING
from errands.tasks.task import Task
from errands.worlds.base import FiniteWorld


class Landing(NamedTuple):
    """Where a step ended: the states, the reward, RUNNING or how the episode ended, the objectives it completed."""

    world_state: int
    machine_state: State
    reward: float
    status: int
    completed: tuple[str, ...]


class Pair:
    """A finite world and its agenda machine side by side; machine steps are remembered by state and label."""

    def __init__(self, task: Task) -> None:
        if task.finite is None:
            raise TaskError(f"the world of '{task.name}' {task.untabled}; exact evaluation needs tables")
        self.world: FiniteWorld = task.finite
        self.table = task.finite.table
        self.stepper = Stepper(task.machine)
        self._steps: dict[tuple[State, int], tuple[Step, tuple[str, ...]]] = {}

    def step(self, world_state: int, machine_state: State, action: int, outcome: int = 0) -> Landing:
        """Take an action with one of its outcomes."""
        where = (world_state, action, outcome)
        (state, transition, _), names = self._machine_step(machine_state, int(self.table.label[where]))
        status = self.stepper.status[state[0]]
        if status == RUNNING and self.table.ends[where]:
            status = FAILURE
        paid = 0.0
        if transition is not None:
            signals = {name: float(self.table.signal[(k, *where)]) for k, name in enumerate(self.world.signals)}
            paid = transition.reward.paid(signals)
        return Landing(int(self.table.next[where]), state, paid, status, names)

    def _machine_step(self, state: State, label: int) -> tuple[Step, tuple[str, ...]]:
        key = (state, label)
        if key not in self._steps:
            step = self.stepper.step(state, self.world.labels[label])
            self._steps[key] = (step, self.stepper.completed(state, step))
        return self._steps[key]
