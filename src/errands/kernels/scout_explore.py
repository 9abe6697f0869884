"""Scout's exploration: remember every step, and walk to the nearest action that was tried too seldom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import jit
from errands.kernels.scout_machine import ONE, ZERO, ScoutMachine, advance
from errands.kernels.stepping import outcome
from errands.tables import FAILURE, RUNNING, Codes, Flags, Ints, Masks, WorldTable

CELL, STATE, CLOCK, LEVEL, AT, END, GUIDED, FRESH, FOLLOWING, MOVED, STAMP = range(11)
RANDOM, EVENTS, PAIRS = range(3)
GREEDY, SEEKING = 1, 2
IDLE, TURNS, FINAL = range(3)
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
    position in and end of the path, whether a planner wrote it, new pairs since the last plan, which route is
    followed (GREEDY, SEEKING what is scarce), whether the last step asks for a new one, the stamp of the last search."""
    mask: Masks
    after: Masks
    path: Ints
    """The actions ahead, and in `expect` the cells they should lead to (-1: anywhere)."""
    expect: Ints
    effect: Codes
    """[L] what entering a cell with this label does now: IDLE, TURNS the machine, or is FINAL."""
    seen: Ints
    """[S] stamps of the last search that met the cell, then its parent, the action from it, and the queue."""
    parent: Ints
    via: Ints
    queue: Ints


@jit
def refresh(machine: ScoutMachine, agent: Agent) -> None:
    """Find what each label does in the agent's machine state; `advance` for all labels at once."""
    u, mask, bits, words = agent.at[STATE], agent.mask, machine.label_bits, agent.mask.shape[0]
    active, counted, variables, following = machine.active, machine.variable_bits, machine.variables, machine.next
    first, last, row, effect = machine.first[u], machine.first[u + 1], machine.row[u], agent.effect
    for label in range(following.shape[0]):
        low, where = ZERO, -1
        for w in range(words):
            hit = bits[label, w] & active[u, w] & mask[w]
            if hit != ZERO:
                low, where = hit & (~hit + ONE), w
                break
        q, scale = 0, 1
        for i in range(first, last):
            v = variables[i]
            left = False
            for w in range(words):
                rest = mask[w] & ~low if w == where else mask[w]
                left = left or rest & counted[v, w] != ZERO
            if not left:
                q += 2 * scale
            elif where >= 0 and low & counted[v, where] != ZERO:
                q += scale
            scale *= 3
        after = following[label, row + q]
        effect[label] = TURNS if where >= 0 or after != u else IDLE
        if machine.status[after] != RUNNING:
            effect[label] = FINAL


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
            if n < 2 + agent.at[LEVEL] // 4 or not (known.ends[s, a, o] or agent.effect[known.label[s, a, o]] == FINAL):
                best, fewest = a, n
    return best


@jit
def plan_path(known: Known, agent: Agent) -> bool:
    """Write the shortest known way to a cell with a scarce action into the path; whether there is one."""
    at, seen, queue, effect = agent.at, agent.seen, agent.queue, agent.effect
    tried, mode, target, labels, ends = known.tried, known.mode, known.target, known.label, known.ends
    level, allowed = at[LEVEL], 2 + at[LEVEL] // 4
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
        for a in range(tried.shape[1]):
            o = mode[cell, a]
            there = target[cell, a, o]
            if tried[cell, a] == 0 or seen[there] == stamp or ends[cell, a, o] or effect[labels[cell, a, o]] == FINAL:
                continue
            seen[there], agent.parent[there], agent.via[there] = stamp, cell, a
            queue[tail] = there
            tail += 1
            for b in range(tried.shape[1]):
                n, k = tried[there, b], mode[there, b]
                if n < level and (n < allowed or not (ends[there, b, k] or effect[labels[there, b, k]] == FINAL)):
                    found = there
            if found >= 0:
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
def wanted_cells(known: Known, agent: Agent) -> Flags:
    """[S] the cells that have a scarce action."""
    wanted = np.zeros(known.tried.shape[0], np.bool_)
    for s in range(known.tried.shape[0]):
        wanted[s] = known.cell_label[s] >= 0 and scarce(known, agent, s) >= 0
    return wanted


@jit
def scarce_from(known: Known, agent: Agent, starts: Ints) -> bool:
    """Whether something scarce can be reached from one of these cells; the path is lost."""
    here = agent.at[CELL]
    found = False
    for start in starts:
        agent.at[CELL] = start
        found = found or scarce(known, agent, start) >= 0 or plan_path(known, agent)
    agent.at[CELL], agent.at[END] = here, 0
    return found


@jit
def choose(known: Known, agent: Agent, route: Ints) -> int:
    """The next action: along the path, by the route, or towards what is scarce; -1 when nothing scarce is in reach."""
    at = agent.at
    if at[AT] < at[END]:
        return agent.path[at[AT]]
    a = -1 if at[FOLLOWING] == GREEDY else scarce(known, agent, at[CELL])
    if a >= 0:
        return a
    if at[FOLLOWING] and route[at[CELL]] >= 0:
        return route[at[CELL]]
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
    at[STATE], at[CELL], at[MOVED] = u, there, changed or at[FOLLOWING] == SEEKING
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
def glide(
    reached: Ints,
    label: Ints,
    ends: Flags,
    tried: Ints,
    target: Ints,
    labels: Ints,
    hits: Ints,
    cell_label: Ints,
    facts: NDArray[np.int64],
    at: NDArray[np.int64],
    path: Ints,
    effect: Codes,
    count: int,
    due: int,
    limit: int,
) -> int:
    """The plain steps among `count`, taken fast: certain moves, no search, nothing that the machine heeds; how many.

    It does what `choose` and `absorb` would do; arrays come one by one because passing records costs more than a step.
    """
    actions = tried.shape[1]
    s, clock, ahead, end, fresh = at[CELL], at[CLOCK], at[AT], at[END], at[FRESH]
    taken = 0
    while taken < count and fresh < due and clock + 1 < limit:
        a = -1
        if ahead < end:
            a = path[ahead]
        else:
            for b in range(actions):
                if tried[s, b] == 0:
                    a = b
                    break
        if a < 0:
            break
        there, shown = reached[s, a, 0], label[s, a, 0]
        if effect[shown] != IDLE or ends[s, a, 0] or (cell_label[there] >= 0 and cell_label[there] != shown):
            break
        if tried[s, a] == 0:
            target[s, a, 0], labels[s, a, 0], cell_label[there] = there, shown, shown
            facts[PAIRS] += 1
            fresh += 1
        tried[s, a] += 1
        hits[s, a, 0] += 1
        ahead += ahead < end
        s = there
        clock += 1
        taken += 1
    at[CELL], at[CLOCK], at[AT], at[FRESH] = s, clock, ahead, fresh
    return taken


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
    step = 0
    while step < count:
        if at[CLOCK] < 0:
            start_table(known, machine, agent, world, rng)
            if pauses:
                return step, CHANGED
        if certain and at[LEVEL] == 1 and at[FOLLOWING] == 0:
            step += glide(
                world.next,
                world.label,
                world.ends,
                known.tried,
                known.target,
                known.label,
                known.hits,
                known.cell_label,
                known.facts,
                at,
                agent.path,
                agent.effect,
                count - step,
                due,
                limit,
            )
            if at[FRESH] >= due:
                return step, DUE
            if step == count:
                break
        a = choose(known, agent, route)
        if a < 0:
            return step, DRY
        s = at[CELL]
        if not certain and known.hits[s, a, last] > 0:
            return step, FULL
        o = outcome(world, s, a, rng)
        ended = absorb(known, machine, agent, a, world.next[s, a, o], world.label[s, a, o], world.ends[s, a, o])
        step += 1
        if ended != RUNNING or at[CLOCK] >= limit:
            at[CLOCK] = -1
        if at[FRESH] >= due:
            return step, DUE
        if pauses and at[CLOCK] < 0:
            return step, ENDED
        if pauses and at[MOVED]:
            return step, CHANGED
    return count, SPENT
