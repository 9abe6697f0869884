"""Scout's exploration: remember every step, and walk to the nearest action that was tried too seldom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import jit
from errands.kernels.scout_machine import ScoutMachine, advance
from errands.kernels.stepping import outcome
from errands.tables import FAILURE, RUNNING, Codes, Flags, Ints, Masks, WorldTable

CELL, STATE, CLOCK, LEVEL, AT, END, GUIDED, FRESH, FOLLOWING, MOVED, STAMP = range(11)
RANDOM, EVENTS, PAIRS = range(3)
SPENT, DUE, DRY, FULL, ENDED, CHANGED = range(6)


class Known(NamedTuple):
    """What was seen: each pair (cell, action) with its outcomes, an outcome being (target, label, ends)."""

    tried: Ints
    """[S, A] how often the action was taken in the cell."""
    target: Ints
    """[S, A, B]"""
    label: Ints
    """[S, A, B]"""
    ends: Flags
    """[S, A, B]"""
    hits: Ints
    """[S, A, B] how often the outcome came; outcomes fill from the front."""
    mode: Ints
    """[S, A] the outcome that came most often."""
    cell_label: Ints
    """[S] the label with which the cell was entered first, -1 for a cell not seen."""
    started: Ints
    """[S] how often an episode started in the cell."""
    facts: NDArray[np.int64]
    """[3] whether a pair showed two outcomes, whether a cell showed two labels, the number of pairs tried."""


class Agent(NamedTuple):
    """Where the agent is and what it is about to do, with the scratch space of its searches."""

    at: NDArray[np.int64]
    """[11] the cell, the numeric state, the episode's clock (-1: about to start), the level below which a pair is scarce,
    position in and end of the path, whether a planner wrote it, new pairs since the last plan, whether a route is
    followed, whether the last step changed the machine, the stamp of the last search."""
    mask: Masks
    after: Masks
    path: Ints
    """The actions ahead, and in `expect` the cells they should lead to (-1: anywhere)."""
    expect: Ints
    final: Codes
    """[L] whether entering a cell with this label ends the task now."""
    seen: Ints
    """[S] stamps of the last search that met the cell, then its parent, the action from it, and the queue."""
    parent: Ints
    via: Ints
    queue: Ints


@jit
def refresh(machine: ScoutMachine, agent: Agent) -> None:
    """Find which labels end the task in the agent's machine state."""
    for label in range(machine.next.shape[0]):
        row = advance(machine, agent.at[STATE], agent.mask, label, agent.after)
        agent.final[label] = machine.status[machine.next[label, row]] != RUNNING


@jit
def begin(known: Known, machine: ScoutMachine, agent: Agent, s: int, label: int) -> None:
    """A new episode in cell s, whose label is seen and not consumed."""
    at = agent.at
    at[CELL], at[STATE], at[CLOCK], at[AT], at[END] = s, machine.initial, 0, 0, 0
    agent.mask[:] = machine.full
    known.started[s] += 1
    if known.cell_label[s] < 0:
        known.cell_label[s] = label
    elif known.cell_label[s] != label:
        known.facts[EVENTS] = 1
    refresh(machine, agent)


@jit
def observe(known: Known, s: int, a: int, there: int, label: int, ends: bool) -> bool:
    """Remember one step; whether its pair was new."""
    o = 0
    while known.hits[s, a, o] > 0 and (
        known.target[s, a, o] != there or known.label[s, a, o] != label or known.ends[s, a, o] != ends
    ):
        o += 1
    if known.hits[s, a, o] == 0:
        known.target[s, a, o], known.label[s, a, o], known.ends[s, a, o] = there, label, ends
        if o > 0:
            known.facts[RANDOM] = 1
    known.hits[s, a, o] += 1
    if known.hits[s, a, o] > known.hits[s, a, known.mode[s, a]]:
        known.mode[s, a] = o
    known.tried[s, a] += 1
    if known.cell_label[there] < 0:
        known.cell_label[there] = label
    elif known.cell_label[there] != label:
        known.facts[EVENTS] = 1
    fresh = known.tried[s, a] == 1
    if fresh:
        known.facts[PAIRS] += 1
    return fresh


@jit
def scarce(known: Known, agent: Agent, s: int) -> int:
    """The least tried action of a cell that is below the level; those that end the episode less often; -1 for none."""
    best, fewest = -1, agent.at[LEVEL]
    for a in range(known.tried.shape[1]):
        n = known.tried[s, a]
        if n < fewest:
            o = known.mode[s, a]
            if n < 2 + agent.at[LEVEL] // 4 or not (known.ends[s, a, o] or agent.final[known.label[s, a, o]]):
                best, fewest = a, n
    return best


@jit
def plan_path(known: Known, agent: Agent) -> bool:
    """Write the shortest known way to a cell with a scarce action into the path; whether there is one."""
    at, seen, queue = agent.at, agent.seen, agent.queue
    at[STAMP] += 1
    stamp = at[STAMP]
    s = at[CELL]
    seen[s] = stamp
    queue[0] = s
    head, tail = 0, 1
    found = -1
    while head < tail and found < 0:
        cell = queue[head]
        head += 1
        for a in range(known.tried.shape[1]):
            o = known.mode[cell, a]
            there = known.target[cell, a, o]
            if known.tried[cell, a] == 0 or seen[there] == stamp:
                continue
            if known.ends[cell, a, o] or agent.final[known.label[cell, a, o]]:
                continue
            seen[there], agent.parent[there], agent.via[there] = stamp, cell, a
            queue[tail] = there
            tail += 1
            if scarce(known, agent, there) >= 0:
                found = there
                break
    if found < 0:
        return False
    length = 0
    cell = found
    while cell != s:
        length += 1
        cell = agent.parent[cell]
    at[AT], at[END], at[GUIDED] = 0, length, 0
    cell = found
    for i in range(length - 1, -1, -1):
        agent.path[i], agent.expect[i] = agent.via[cell], cell
        cell = agent.parent[cell]
    return True


@jit
def choose(known: Known, agent: Agent, route: Ints) -> int:
    """The next action: along the path, by the route, or towards what is scarce; -1 when nothing scarce is in reach."""
    at = agent.at
    if at[AT] < at[END]:
        return agent.path[at[AT]]
    if at[FOLLOWING] and route[at[CELL]] >= 0:
        return route[at[CELL]]
    a = scarce(known, agent, at[CELL])
    if a >= 0:
        return a
    if plan_path(known, agent):
        return agent.path[0]
    return -1


@jit
def absorb(known: Known, machine: ScoutMachine, agent: Agent, a: int, there: int, label: int, ends: bool) -> int:
    """Take in what an action led to: the memory, the machine, the path; RUNNING or how the episode ended."""
    at = agent.at
    if observe(known, at[CELL], a, there, label, ends):
        at[FRESH] += 1
    row = advance(machine, at[STATE], agent.mask, label, agent.after)
    u = machine.next[label, row]
    changed = u != at[STATE]
    for w in range(agent.mask.shape[0]):
        changed = changed or agent.after[w] != agent.mask[w]
        agent.mask[w] = agent.after[w]
    at[STATE], at[CELL], at[MOVED] = u, there, changed
    at[CLOCK] += 1
    if at[AT] < at[END]:
        expected = agent.expect[at[AT]]
        at[AT] += 1
        if (expected >= 0 and expected != there) or (changed and not at[GUIDED]):
            at[END] = 0
    if machine.status[u] != RUNNING:
        return int(machine.status[u])
    if changed and not ends:
        refresh(machine, agent)
    return FAILURE if ends else RUNNING


@jit
def start_table(known: Known, machine: ScoutMachine, agent: Agent, world: WorldTable, rng: np.random.Generator) -> None:
    """Begin an episode of a tabular world; draws a number only where there is more than one start."""
    i = 0
    if world.starts.shape[0] > 1:
        x = rng.random()
        while i < world.starts.shape[0] - 1 and x >= world.start_cumulative[i]:
            i += 1
    begin(known, machine, agent, world.starts[i], world.start_label[i])


@jit
def explore_table(
    world: WorldTable,
    known: Known,
    machine: ScoutMachine,
    agent: Agent,
    route: Ints,
    count: int,
    due: int,
    limit: int,
    pauses: bool,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Up to `count` steps of a tabular world: how many were taken, and why it stopped.

    DUE: `due` pairs are new. DRY: nothing scarce is in reach. FULL: no room for another outcome.
    With `pauses` it also stops when an episode has ENDED or the machine has CHANGED.
    """
    at = agent.at
    last = known.hits.shape[2] - 1
    certain = world.next.shape[2] == 1
    for step in range(count):
        if at[CLOCK] < 0:
            start_table(known, machine, agent, world, rng)
            if pauses:
                return step, CHANGED
        a = choose(known, agent, route)
        if a < 0:
            return step, DRY
        s = at[CELL]
        if not certain and known.hits[s, a, last] > 0:
            return step, FULL
        o = outcome(world, s, a, rng)
        ended = absorb(known, machine, agent, a, world.next[s, a, o], world.label[s, a, o], world.ends[s, a, o])
        if ended != RUNNING or at[CLOCK] >= limit:
            at[CLOCK] = -1
        if at[FRESH] >= due:
            return step + 1, DUE
        if pauses and at[CLOCK] < 0:
            return step + 1, ENDED
        if pauses and at[MOVED]:
            return step + 1, CHANGED
    return count, SPENT
