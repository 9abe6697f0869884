"""QCoRM+: act on the best landmark, learn all landmarks from every step, plan the order from what was learnt."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.qcorm_plus_agenda import Agenda
from errands.kernels.qcorm_plus_corrections import best_believed, settle
from errands.kernels.qcorm_plus_memory import (
    ACTION,
    CHANGED,
    CORRECTED,
    FULL,
    LANDMARKS,
    LEAST,
    NODE,
    NUMERIC,
    OPEN,
    OUTCOME,
    PLANNED,
    PROMISED,
    RANDOM,
    STALE,
    STATE,
    STEP,
    TIME,
    TOUCHED,
    UNTRIED,
    Memory,
    Settings,
)
from errands.kernels.qcorm_plus_plan import TINY, due, plan, weigh
from errands.kernels.qcorm_plus_tour import aim, leap, plan_tour
from errands.kernels.qcorm_plus_values import arrival, lift, replay_backwards, replay_some, sight
from errands.kernels.stepping import outcome, start
from errands.tables import RUNNING, SUCCESS, AgendaTable, Floats, Ints, WorldTable

UNKNOWN = -1
LEISURE = 5_000
"""Steps between two local searches in a random world, where values never stand still."""


@hot
def greedy(q: Floats, v: Floats, weight: Floats, open_: Ints, count: int, s: int) -> tuple[float, int]:
    """The value of the landmark that is worth most from here, and the first action on the way; -1 for none."""
    best, goal = 0.0, -1
    for i in range(count):
        k = open_[i]
        value = weight[k] * v[s, k]
        if value > best:
            best, goal = value, k
    a = -1
    if goal >= 0:
        a = 0
        while q[s, a, goal] != v[s, goal]:
            a += 1
    return best, a


@jit
def decide(
    agenda: Agenda, machine: AgendaTable, memory: Memory, settings: Settings, n: int, s: int, rng: np.random.Generator
) -> float:
    """Weigh what to go for in node n from cell s, planning anew where that is due; what it promises."""
    where = memory.where
    if not agenda.listed:
        rest = LEISURE if where[RANDOM] == 1 else 0
        if where[TIME] == 0 and where[STALE] + where[TOUCHED] > 0 and where[STEP] - where[PLANNED] >= rest:
            plan_tour(machine, memory, settings, s, rng)
        return aim(machine, memory, s)
    following, status, bound = agenda.next, agenda.status, agenda.bound
    label, ends, worth, v = memory.label, memory.ends, memory.worth, memory.v
    best = weigh(following, status, bound, label, ends, worth, v, memory.weight, memory.open, where, n, s)
    if due(agenda, memory, n):
        plan(agenda, memory)
        best = weigh(following, status, bound, label, ends, worth, v, memory.weight, memory.open, where, n, s)
    return best


@jit
def notice(memory: Memory, s: int, a: int, s2: int) -> None:
    """Note that a pair led to a state for the first time, and whether that shows the world to be random."""
    where = memory.where
    if memory.last[s, a] < 0:
        where[UNTRIED] -= 1
        if where[UNTRIED] == 0:
            where[STALE] = 1
    elif where[RANDOM] == 0:
        where[RANDOM] = where[STALE] = 1
        where[CORRECTED] = 0
        memory.numbers[LEAST] = 0.0
        memory.flagged[:] = False
        memory.keys[:] = -1
    memory.last[s, a] = s2


@jit
def close(memory: Memory, settings: Settings) -> None:
    """After an episode: learn it again backwards where that can change something, else plan on what was learnt."""
    where = memory.where
    if where[RANDOM] == 0 and where[CHANGED] == 1:
        replay_backwards(memory, settings)
    elif where[TOUCHED] == 1:
        where[STALE] = 1
    where[CHANGED] = 0


@jit
def run(
    world: WorldTable, agenda: Agenda, machine: AgendaTable, memory: Memory, settings: Settings, count: int,
    rng: np.random.Generator,
) -> int:
    """Train for `count` steps, or until a table is full or an outcome missing; returns the steps taken."""
    q, v, last, updates, seen, trace = memory.q, memory.v, memory.last, memory.updates, memory.seen, memory.trace
    head, mark_code, mark_next, mark_landmark = memory.head, memory.mark_code, memory.mark_next, memory.mark_landmark
    weight, open_, flagged, where, numbers = memory.weight, memory.open, memory.flagged, memory.where, memory.numbers
    label_, ends_, worth, listed = memory.label, memory.ends, memory.worth, agenda.listed
    following, status, bound, useful, fatal = agenda.next, agenda.status, agenda.bound, agenda.useful, agenda.fatal
    gamma, horizon, actions, ring = settings.gamma, settings.horizon, q.shape[1], trace.shape[0] - 1
    for done in range(count):
        if where[FULL] == 1:
            return done
        s, n, a = where[STATE], where[NODE], where[ACTION]
        if a < 0:
            if not seen[s]:
                seen[s] = True
                where[UNTRIED] += actions
            x = rng.random() if where[RANDOM] == 1 else 1.0
            if x < settings.epsilon:
                a = min(int(x / settings.epsilon * actions), actions - 1)
            elif flagged[n]:
                numbers[PROMISED], a = best_believed(agenda, memory, n, s)
            else:
                numbers[PROMISED], a = greedy(q, v, weight, open_, where[OPEN], s)
            if a < 0:
                a = min(int(rng.random() * actions), actions - 1)
            where[ACTION], where[OUTCOME] = a, outcome(world, s, a, rng)
        o = where[OUTCOME]
        s2, label, ended = int(world.next[s, a, o]), int(world.label[s, a, o]), world.ends[s, a, o]
        if s2 == UNKNOWN:
            return done
        where[ACTION] = -1
        dead = ended or fatal[label]
        if not dead and not seen[s2]:
            seen[s2] = True
            where[UNTRIED] += actions
        if last[s, a] != s2:
            notice(memory, s, a, s2)
        reached = 0
        if useful[label]:
            reached = int(arrival(head, mark_code, mark_next, mark_landmark, s2, 2 * label + ended))
            if reached == 0:
                reached = sight(memory, settings.most, s2, 2 * label + ended)
        updates[s, a] += 1
        rate = (horizon + 1.0) / (horizon + updates[s, a]) if where[RANDOM] == 1 else 1.0
        if lift(q, v, where[LANDMARKS], s, a, s2, reached, dead, gamma, rate, numbers[LEAST]):
            where[CHANGED] = 1
            if head[s] >= 0:
                where[TOUCHED] = 1
        t = where[STEP] & ring
        trace[t, 0], trace[t, 1], trace[t, 2], trace[t, 3], trace[t, 4] = s, a, s2, reached, dead
        where[STEP] += 1
        where[TIME] += 1
        if where[RANDOM] == 1:
            have = min(where[STEP], ring + 1)
            replay_some(q, v, updates, trace, where[LANDMARKS], have, settings.replays, gamma, horizon, rng)
        m = int(following[n, label]) if listed else int(leap(machine, memory, n, label))
        over = ended or status[m] != RUNNING
        given = numbers[PROMISED]
        if over:
            given = gamma if status[m] == SUCCESS else 0.0
        elif m != n:
            if not listed or where[STALE] + where[TOUCHED] + where[RANDOM] > 0:
                given = gamma * decide(agenda, machine, memory, settings, m, s2, rng)
            else:
                given = gamma * weigh(following, status, bound, label_, ends_, worth, v, weight, open_, where, m, s2)
        if settings.correct and listed and where[RANDOM] == 0:
            short = where[CHANGED] == 0 and given < numbers[PROMISED] * (1.0 - TINY)
            if short or flagged[n] or flagged[m]:
                settle(agenda, memory, gamma, n, s, a, m, s2, ended)
        if over or where[TIME] >= settings.limit:
            if where[CHANGED] + where[TOUCHED] > 0:
                close(memory, settings)
            m, s2, where[TIME] = 0, int(start(world, rng)), 0
            where[NUMERIC], memory.mask[0] = machine.initial, machine.full
            if not listed or where[STALE] + where[TOUCHED] + where[RANDOM] > 0:
                decide(agenda, machine, memory, settings, m, s2, rng)
            else:
                weigh(following, status, bound, label_, ends_, worth, v, weight, open_, where, m, s2)
        where[STATE], where[NODE] = s2, m
    return count


@jit
def begin(
    agenda: Agenda, machine: AgendaTable, memory: Memory, settings: Settings, s: int, rng: np.random.Generator
) -> None:
    """Put the agent at the start s of an episode."""
    where = memory.where
    where[STATE], where[NODE], where[TIME], where[ACTION] = s, 0, 0, -1
    where[NUMERIC], memory.mask[0] = machine.initial, machine.full
    decide(agenda, machine, memory, settings, 0, s, rng)


@jit
def actions_of(agenda: Agenda, machine: AgendaTable, memory: Memory, n: int, out: Ints) -> None:
    """The greedy action of every cell in node n, or in the state in hand where none is listed; 0 where none leads on."""
    where = memory.where
    if agenda.listed:
        weigh(
            agenda.next, agenda.status, agenda.bound, memory.label, memory.ends, memory.worth, memory.v,
            memory.weight, memory.open, where, n, 0,
        )  # fmt: skip
    else:
        aim(machine, memory, 0)
    for s in range(out.shape[0]):
        if memory.flagged[n]:
            a = best_believed(agenda, memory, n, s)[1]
        else:
            a = greedy(memory.q, memory.v, memory.weight, memory.open, where[OPEN], s)[1]
        out[s] = max(a, 0)
