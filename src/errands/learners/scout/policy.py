"""What every planner of Scout gives, walks or routes, and the greedy policies that follow them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from errands.kernels.scout.memory import Known
from errands.kernels.scout.model import learn_model, product_values
from errands.learners.scout.machine import NumberedAgenda
from errands.machines.stepping import State
from errands.tables import Floats, Ints


@dataclass(frozen=True)
class KnownWay:
    """Actions to success over known steps, with the cell and the agenda state before each."""

    actions: tuple[int, ...]
    cells: tuple[int, ...]
    states: tuple[State, ...]


class Planner(Protocol):
    """A planner on a fixed piece of knowledge."""

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The way to success that it would take from here; None where it knows none."""
        ...


class PlannedPolicy:
    """Follows the planner's walks; where the planner knows none it takes action 0, as in cells that it never heard of."""

    def __init__(self, planner: Planner, cells: int) -> None:
        self.planner = planner
        self.cells = cells
        # Walks by where they begin (None where there is none), and the action of every place on any of them.
        self.walks: dict[tuple[int, State], KnownWay | None] = {}
        self.planned: dict[tuple[int, State], int] = {}

    def walk(self, state: State, cell: int) -> KnownWay | None:
        """The planner's walk from here, planned once."""
        if (cell, state) not in self.walks:
            self.walks[cell, state] = self.planner.walk(state, cell) if cell < self.cells else None
        return self.walks[cell, state]

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action of the walk from here, and no memory."""
        here = (int(world_state), (int(machine_state[0]), int(machine_state[1])))
        if here not in self.planned:
            walk = self.walk(here[1], here[0])
            actions = zip(zip(walk.cells, walk.states, strict=True), walk.actions, strict=True) if walk else ()
            # An action planned before stays, so that walks of equal length cannot send the agent to and fro; 0 is left
            # only where the planner knows no way.
            for place, action in {here: 0, **dict(actions)}.items():
                self.planned.setdefault(place, action)
        return self.planned[here], None


# Values (agenda states times cells) that are iterated exactly; above this planning goes stage by stage.
MOST_VALUES = 400_000


class RandomPlanner(Protocol):
    """Greedy actions in a random world, by agenda state."""

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        ...


class RoutedPolicy:
    """Follows the routes of a planner for random moves; action 0 where they end."""

    def __init__(self, planner: RandomPlanner) -> None:
        self.planner = planner

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action of the route, and no memory."""
        route = self.planner.route((int(machine_state[0]), int(machine_state[1])))
        return (max(int(route[world_state]), 0) if world_state < len(route) else 0), None


class ExactValues:
    """Value iteration over all agenda states and cells."""

    def __init__(self, known: Known, agenda: NumberedAgenda, prior: float, gamma: float) -> None:
        # All is computed here, once: a policy is a value that later training does not change.
        model = learn_model(known, prior)
        self.agenda = agenda
        self.values: Floats
        self.policy: Ints
        self.values, self.policy = product_values(model, agenda.states.status, agenda.delta, gamma, agenda.layered)

    def route(self, state: State) -> Ints:
        """[S] the action in every cell while the machine is in this state; -1 where none was tried."""
        route: Ints = self.policy[self.agenda.number(state)]
        return route
