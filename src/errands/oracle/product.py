"""World x agenda for compiled search: every agenda state that the world's labels can bring about, numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errands.errors import TaskError
from errands.kernels.search import DEAD, DONE
from errands.machines.counting import predicted
from errands.machines.lower import entries
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS, AgendaTable, Floats, Ints, Masks
from errands.tasks.task import Task
from errands.worlds.base import FiniteWorld

BUDGET = 2_000_000_000
"""Bytes that an exact method may take unless told otherwise."""
CERTAIN_BYTES, RANDOM_BYTES, LABEL_BYTES = 4, 40, 24
"""Bytes for a product state in breadth-first search, and in value iteration; for an agenda state with a label."""
DUST = 1e-12
"""Probabilities below this are rounding errors of cumulated ones."""


@dataclass(frozen=True)
class Product:
    """The agenda states of a task in order of discovery, and where each label leads; cells are added by index only."""

    task: Task
    world: FiniteWorld
    initial: int
    """The number of the initial agenda state; with cell s, product state m is m * world.states + s."""
    u: Ints
    masks: Masks
    entry: Ints
    """[M, L] the row of the agenda table that a step with label l reads."""
    following: Ints
    """[M, L] the agenda state after the step, or DONE, or DEAD."""

    def __len__(self) -> int:
        return len(self.u) * self.world.states

    @cached_property
    def chance(self) -> Floats:
        """[S, A, O] the probability of each outcome."""
        cumulative = self.world.table.cumulative
        chance = np.diff(cumulative, axis=2, prepend=0.0)
        return np.where(chance > DUST, chance, 0.0)

    @cached_property
    def starts(self) -> tuple[tuple[int, float], ...]:
        """The product states in which an episode can start, with their probabilities."""
        table = self.world.table
        shares = np.diff(table.start_cumulative, prepend=0.0)
        first = self.initial * self.world.states
        return tuple((first + int(s), float(p)) for s, p in zip(table.starts, shares, strict=True) if p > DUST)

    @cached_property
    def number(self) -> dict[State, int]:
        """The number of each agenda state."""
        return {(int(u), int(mask)): m for m, (u, mask) in enumerate(zip(self.u, self.masks, strict=True))}

    def state(self, m: int) -> State:
        """The numeric state and the mask of remaining subtasks behind a number."""
        return int(self.u[m]), int(self.masks[m])


def product(task: Task, budget: int = BUDGET, each: int | None = None) -> Product:
    """Number the agenda states; refused where they exceed the budget with `each` bytes for a product state."""
    world = task.finite
    if world is None:
        raise TaskError(f"the world of '{task.name}' {task.untabled}; an exact optimum needs tables")
    row = world.states * (each or (CERTAIN_BYTES if world.certain else RANDOM_BYTES)) + LABEL_BYTES * len(world.labels)
    most = min(budget // row, (2**31 - 1) // world.states)
    table = task.agenda_table
    if (sizes := predicted(task.machine)) is not None and sizes.agenda > most:
        raise _refused(task, sizes.agenda, world.states, row, budget)
    # Cells do not matter for which agenda states there are, so the product is numbered as (agenda state) * (world states) +
    # cell and never listed.
    return Product(task, world, 0, *listed(table, most, lambda count: _refused(task, count, world.states, row, budget)))


def listed(table: AgendaTable, most: int, refused: Callable[[int], TaskError]) -> tuple[Ints, Masks, Ints, Ints]:
    """The agenda states of a machine in order of discovery, `refused` beyond `most`: see `Product`."""
    layers = [(np.array([table.initial], np.int32), np.array([table.full], np.uint64))]
    known = [np.empty(0, np.uint64) for _ in table.status]
    known[table.initial] = layers[0][1]
    while len(layers[-1][0]):
        layers.append(_next_layer(table, layers[-1], known))
        if (count := sum(map(len, known))) > most:
            raise refused(count)
    u, masks = (np.concatenate([layer[i] for layer in layers]) for i in (0, 1))
    return u, masks, *_lead(table, u, masks, known)


def _next_layer(table: AgendaTable, layer: tuple[Ints, Masks], known: list[Masks]) -> tuple[Ints, Masks]:
    """The agenda states one step further that are not known yet; `known`, the sorted masks of each u, receives them."""
    u, masks = layer
    reached_by_state: list[list[Masks]] = [[] for _ in known]
    for v in np.unique(u):
        entry, after, _ = entries(table, int(v), masks[u == v])
        reached = table.next[entry]
        for w in np.unique(reached[table.status[reached] == RUNNING]):
            reached_by_state[w].append(after[reached == w])
    # Masks of one numeric state are kept sorted, so that membership and numbering are binary searches.
    fresh = [np.setdiff1d(np.concatenate(f), k) if f else k[:0] for f, k in zip(reached_by_state, known, strict=True)]
    for w, new in enumerate(fresh):
        known[w] = np.union1d(known[w], new)
    return np.repeat(np.arange(len(known), dtype=np.int32), [len(f) for f in fresh]), np.concatenate(fresh)


def _lead(table: AgendaTable, u: Ints, masks: Masks, known: list[Masks]) -> tuple[Ints, Ints]:
    """The entry that each agenda state reads on each label, and the agenda state to which that leads."""
    number = [np.empty(len(k), np.int32) for k in known]
    groups = {int(v): np.flatnonzero(u == v) for v in np.unique(u)}
    for v, here in groups.items():
        number[v][np.searchsorted(known[v], masks[here])] = here
    entry = np.empty((len(u), len(table.label_bits)), np.int32)
    following = np.full_like(entry, DEAD)
    # Second pass, once every agenda state has its number: what each reads on each label, and where that leads.
    for v, here in groups.items():
        entry[here], after, _ = entries(table, v, masks[here])
        reached = table.next[entry[here]]
        targets = np.where(table.status[reached] == SUCCESS, DONE, DEAD).astype(np.int32)
        for w in groups:
            there = reached == w
            targets[there] = number[w][np.searchsorted(known[w], after[there])]
        following[here] = targets
    return entry, following


def _refused(task: Task, agendas: int, cells: int, row: int, budget: int) -> TaskError:
    return TaskError(
        f"the exact optimum of '{task.name}' needs {agendas * cells:,} product states and "
        f"{agendas * row / 1e9:,.1f} GB, more than the budget of {budget / 1e9:,.1f} GB; "
        "use fewer subtasks, or the learner 'scout', which needs no such table"
    )
