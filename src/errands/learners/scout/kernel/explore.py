"""Scout's exploration: walk to the nearest action that was tried too seldom, in a compiled loop over a world's tables."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.stepping import outcome
from errands.learners.scout.kernel.memory import (
    AT,
    CELL,
    CLOCK,
    END,
    FINAL,
    FOLLOWING,
    FRESH,
    GREEDY,
    GUIDED,
    IDLE,
    LEVEL,
    MOVED,
    PAIRS,
    STAMP,
    Explorer,
    Known,
    ScoutMachine,
    absorb,
    begin,
    has_room,
)
from errands.tables import RUNNING, Flags, Ints, WorldTable

SPENT, DUE, DRY, FULL, ENDED, CHANGED = range(6)
"""Why exploring stopped: all steps taken, new pairs due for a look, nothing scarce in reach, no room for an outcome; where
moves are random also an episode that ended and a machine that changed, for then the route has to be renewed."""


@hot
def scarce(known: Known, agent: Explorer, s: int) -> int:
    """The least tried action of a cell that is below the level; those that end the episode less often; -1 for none."""
    # Among equally tried actions the first one wins; `glide` chooses by the same rule.
    best, fewest = -1, agent.at[LEVEL]
    for a in range(known.tried.shape[1]):
        n = known.tried[s, a]
        if n < fewest:
            o = known.mode[s, a]
            # A step that ends the episode costs the way back, so it is tried less often. An untried pair (n is 0)
            # always passes the first test: its outcome, still unset, decides nothing.
            if n < 2 + agent.at[LEVEL] // 4 or not (known.ends[s, a, o] or agent.effect[known.label[s, a, o]] == FINAL):
                best, fewest = a, n
    return best


@hot
def plan_path(known: Known, agent: Explorer) -> bool:
    """Write the shortest known way to a cell with a scarce action into the path; whether there is one."""
    # Breadth-first over usual outcomes. seen[cell] == stamp marks the cells of this search: a new stamp forgets all of
    # them at once, so that a search costs what it visits and never O(S). Actions that end the task are no way, and count
    # as scarce only for their first few tries (`allowed`).
    at, seen, queue, effect = agent.at, agent.seen, agent.queue, agent.effect
    tried, mode, target, labels, ends = known.tried, known.mode, known.target, known.label, known.ends
    level, allowed = at[LEVEL], 2 + at[LEVEL] // 4
    at[STAMP] += 1
    stamp = at[STAMP]
    s = at[CELL]
    seen[s] = stamp
    queue[0] = s
    head, tail = 0, 1
    goal = -1
    while head < tail and goal < 0:
        cell = queue[head]
        head += 1
        for a in range(tried.shape[1]):
            o = mode[cell, a]
            there = target[cell, a, o]
            # `there` of an untried pair is only a placeholder (0); the first test keeps it out.
            if tried[cell, a] == 0 or seen[there] == stamp or ends[cell, a, o] or effect[labels[cell, a, o]] == FINAL:
                continue
            seen[there], agent.parent[there], agent.via[there] = stamp, cell, a
            queue[tail] = there
            tail += 1
            for b in range(tried.shape[1]):
                n, k = tried[there, b], mode[there, b]
                if n < level and (n < allowed or not (ends[there, b, k] or effect[labels[there, b, k]] == FINAL)):
                    goal = there
            if goal >= 0:
                break
    if goal < 0:
        return False
    length = 0
    cell = goal
    while cell != s:
        length += 1
        cell = agent.parent[cell]
    # Not GUIDED: the search knew the labels' effects in this machine state only, so a change makes the path void.
    at[AT], at[END], at[GUIDED] = 0, length, 0
    cell = goal
    for i in range(length - 1, -1, -1):
        agent.path[i], agent.expect[i] = agent.via[cell], cell
        cell = agent.parent[cell]
    return True


@jit
def wanted_cells(known: Known, agent: Explorer) -> Flags:
    """[S] the cells that have a scarce action."""
    wanted = np.zeros(known.tried.shape[0], np.bool_)
    for s in range(known.tried.shape[0]):
        wanted[s] = known.cell_label[s] >= 0 and scarce(known, agent, s) >= 0
    return wanted


@hot
def scarce_from(known: Known, agent: Explorer, starts: Ints) -> bool:
    """Whether something scarce can be reached from one of these cells; the path is lost."""
    here = agent.at[CELL]
    reachable = False
    for start in starts:
        # The search reads its origin from at[CELL]: it is lent each start, and the agent's own cell put back after.
        agent.at[CELL] = start
        reachable = reachable or scarce(known, agent, start) >= 0 or plan_path(known, agent)
    agent.at[CELL], agent.at[END] = here, 0
    return reachable


@hot
def choose(known: Known, agent: Explorer, route: Ints) -> int:
    """The next action: along the path, by the route, or towards what is scarce; -1 when nothing scarce is in reach."""
    at = agent.at
    # The order matters: first finish the path under way, then what is scarce here, and search only when both fail.
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


@hot
def start_table(known: Known, machine: ScoutMachine, agent: Explorer, world: WorldTable, rng: np.random.Generator) -> None:
    """Begin an episode of a tabular world; draws a number only where there is more than one start."""
    i = 0
    if world.starts.shape[0] > 1:
        x = rng.random()
        while i < world.starts.shape[0] - 1 and x >= world.start_cumulative[i]:
            i += 1
    begin(known, machine, agent, world.starts[i], world.start_label[i])


@hot
def glide(world: WorldTable, known: Known, agent: Explorer, count: int, due: int, limit: int) -> int:
    """The plain steps among `count`, taken fast: certain moves, no search, nothing that the machine heeds; how many.

    glide = `choose` + `absorb`, step for step, for the case LEVEL 1, no route, labels that leave the machine alone (IDLE):
    the action is the next of the path or the first untried one; the memory takes it in at outcome 0. It stops before any
    other step, which the caller then takes by the two themselves, so that leaving glide out changes nothing but the time
    (the host loop has no glide, and a test holds both loops to the same steps). Its state lives in locals and goes back
    into `at` at the end.
    """
    at, tried, cell_label, actions = agent.at, known.tried, known.cell_label, known.tried.shape[1]
    s, clock, ahead, end, fresh = at[CELL], at[CLOCK], at[AT], at[END], at[FRESH]
    taken = 0
    # The step that brings the clock to the limit ends the episode, and is left to the caller.
    while taken < count and fresh < due and clock + 1 < limit:
        a = -1
        if ahead < end:
            a = agent.path[ahead]
        else:
            for b in range(actions):
                if tried[s, b] == 0:
                    a = b
                    break
        if a < 0:
            break
        there, shown = world.next[s, a, 0], world.label[s, a, 0]
        # A cell with another label than before is left to the caller too: `observe` notes that labels are events.
        if agent.effect[shown] != IDLE or world.ends[s, a, 0] or (cell_label[there] >= 0 and cell_label[there] != shown):
            break
        if tried[s, a] == 0:
            known.target[s, a, 0], known.label[s, a, 0], cell_label[there] = there, shown, shown
            known.facts[PAIRS] += 1
            fresh += 1
        tried[s, a] += 1
        known.hits[s, a, 0] += 1
        ahead += ahead < end
        s = there
        clock += 1
        taken += 1
    at[CELL], at[CLOCK], at[AT], at[FRESH] = s, clock, ahead, fresh
    return taken


@hot
def explore_table(
    world: WorldTable, known: Known, machine: ScoutMachine, agent: Explorer, route: Ints, count: int, due: int, limit: int,
    pauses: bool, rng: np.random.Generator,
) -> tuple[int, int]:  # fmt: skip
    """Up to `count` steps of a tabular world: how many were taken, and why it stopped.

    DUE: `due` pairs are new. DRY: nothing scarce is in reach. FULL: no room for another outcome.
    With `pauses` it also stops when an episode has ENDED or the machine has CHANGED.
    """
    at = agent.at
    certain = world.next.shape[2] == 1
    step = 0
    while step < count:
        if at[CLOCK] < 0:
            start_table(known, machine, agent, world, rng)
            # Zero steps, yet CHANGED: the new episode needs a route before its first action.
            if pauses:
                return step, CHANGED
        if certain and at[LEVEL] == 1 and at[FOLLOWING] == 0:
            step += glide(world, known, agent, count - step, due, limit)
            if at[FRESH] >= due:
                return step, DUE
            if step == count:
                break
        a = choose(known, agent, route)
        if a < 0:
            return step, DRY
        s = at[CELL]
        # Asked before the world moves, because an outcome once drawn could not be given back.
        if not certain and not has_room(known, s, a):
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
