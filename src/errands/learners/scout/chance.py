"""Plans for random moves: value iteration on the learnt model over all agenda states, where those are few."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from errands.kernels.scout_memory import Known
from errands.kernels.scout_model import learn_model
from errands.kernels.scout_values import product_values
from errands.learners.scout.agenda import Agenda
from errands.machines.stepping import State
from errands.tables import Floats, Ints

MOST_VALUES = 400_000


class Prospect(Protocol):
    """Greedy actions in a random world, by agenda state."""

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        ...


class ChancePolicy:
    """Follows the routes of a prospect."""

    def __init__(self, prospect: Prospect) -> None:
        self.prospect = prospect

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action of the route, and no memory."""
        return max(int(self.prospect.route((int(machine_state[0]), int(machine_state[1])))[world_state]), 0), None


class Exact:
    """Value iteration over all agenda states and cells."""

    def __init__(self, known: Known, agenda: Agenda, prior: float, gamma: float) -> None:
        model = learn_model(known, prior)
        self.agenda = agenda
        self.values: Floats
        self.policy: Ints
        self.values, self.policy = product_values(model, agenda.states.status, agenda.delta, gamma, agenda.layered)

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        route: Ints = self.policy[self.agenda.number(state)]
        return route
