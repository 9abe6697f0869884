"""QCoRM+: act on the best landmark, learn all landmarks from every step, plan the order from what was learnt."""

from __future__ import annotations

import numpy as np

from errands.kernels import hot, jit
from errands.kernels.stepping import ACTION, OUTCOME, STATE, TIME, outcome, scheduled, start
from errands.learners.qcorm_plus.kernel import memory as me
from errands.learners.qcorm_plus.kernel.agenda import Agenda
from errands.learners.qcorm_plus.kernel.plan import TINY, due, look, plan
from errands.learners.qcorm_plus.kernel.values import (
    arrival,
    best_believed,
    lift,
    replay_backwards,
    replay_some,
    settle,
    sight,
)
from errands.tables import RUNNING, SUCCESS, Floats, Ints, WorldTable

UNKNOWN = -1
INTERVAL = 128
"""Steps between two backward replays in an episode that goes on."""


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
        # v is a copy of the highest q, bit for bit (see lift), so that this finds an action and ends.
        while q[s, a, goal] != v[s, goal]:
            a += 1
    return best, a


@jit
def decide(agenda: Agenda, memory: me.Memory, n: int, s: int) -> float:
    """Weigh what to go for in node n from cell s, planning anew where that is due; what it promises."""
    best = look(agenda, memory, n, s)
    # Look first: `due` follows the plan from the goal that `look` has written.
    if due(agenda, memory, n):
        plan(agenda, memory)
        best = look(agenda, memory, n, s)
    return best


@jit
def notice(memory: me.Memory, s: int, a: int, s2: int) -> None:
    """Note that a pair led to a state for the first time, and whether that shows the world to be random."""
    position = memory.position
    # Called only where last[s, a] is not s2: the pair is new, or it has led elsewhere before.
    if memory.last[s, a] < 0:
        position[me.UNTRIED] -= 1
        if position[me.UNTRIED] == 0:
            # Nothing is left to be tried: plans that counted on STAR are void, and it must not be gone for.
            position[me.STALE] = 1
            memory.weight[me.STAR] = 0.0
    elif position[me.RANDOM] == 0:
        # For good. Values are no upper bounds any more: no least value, no corrections from here on.
        position[me.RANDOM] = position[me.STALE] = 1
        position[me.CORRECTED] = 0
        memory.numbers[me.LEAST] = 0.0
        memory.flagged[:] = False
        memory.keys[:] = -1
    memory.last[s, a] = s2


@jit
def close(memory: me.Memory, settings: me.Settings) -> None:
    """After an episode: learn again backwards where that can change something, else plan on what was learnt."""
    position = memory.position
    if position[me.RANDOM] == 0 and position[me.CHANGED] == 1:
        replay_backwards(memory, settings)
    elif position[me.TOUCHED] == 1:
        position[me.STALE] = 1
    position[me.CHANGED] = 0


@hot
def pick(agenda: Agenda, memory: me.Memory, settings: me.Settings, s: int, n: int, rng: np.random.Generator) -> int:
    """The next action; random where nothing is known to lead on, and now and then in a random world."""
    position, numbers, actions = memory.position, memory.numbers, memory.q.shape[1]
    if not memory.seen[s]:
        memory.seen[s] = True
        position[me.UNTRIED] += actions
    # While moves look certain nothing is drawn here: optimistic values alone make the agent try everything.
    x = rng.random() if position[me.RANDOM] == 1 else 1.0
    epsilon = scheduled(settings.epsilon, position[me.STEP])
    if x < epsilon:
        a = min(int(x / epsilon * actions), actions - 1)
    elif memory.flagged[n]:
        numbers[me.PROMISED], a = best_believed(agenda, memory, n, s)
    else:
        numbers[me.PROMISED], a = greedy(memory.q, memory.v, memory.weight, memory.open, position[me.OPEN], s)
    return a if a >= 0 else min(int(rng.random() * actions), actions - 1)


@hot
def absorb(
    agenda: Agenda, memory: me.Memory, settings: me.Settings, s: int, a: int, s2: int, label: int, ended: bool,
    rng: np.random.Generator,
) -> None:
    """Learn from one step: what the pair leads to, a landmark perhaps, and the values of all of them."""
    position, horizon, trace = memory.position, settings.horizon, memory.trace
    # From a dead end no action can be tried, so it adds nothing to UNTRIED.
    dead = ended or agenda.fatal[label]
    if not dead and not memory.seen[s2]:
        memory.seen[s2] = True
        position[me.UNTRIED] += memory.q.shape[1]
    if memory.last[s, a] != s2:
        notice(memory, s, a, s2)
    reached = 0
    if agenda.useful[label]:
        # The code of a mark: the same cell can be entered with several labels, and with the world's end or without.
        code = 2 * label + int(ended)
        reached = int(arrival(memory.head, memory.mark_code, memory.mark_next, memory.mark_landmark, s2, code))
        if reached == 0:
            reached = sight(memory, settings.most, s2, code)
    memory.updates[s, a] += 1
    rate = (horizon + 1.0) / (horizon + memory.updates[s, a]) if position[me.RANDOM] == 1 else 1.0
    # After `sight`, so that a new landmark already learns from the step that found it.
    count, least = position[me.LANDMARKS], memory.numbers[me.LEAST]
    if lift(memory.q, memory.v, count, s, a, s2, reached, dead, settings.gamma, rate, least):
        position[me.CHANGED] = 1
        # s is the cell of a landmark, and the legs of plans begin there.
        if memory.head[s] >= 0:
            position[me.TOUCHED] = 1
    # The ring's size is a power of two; its oldest step is overwritten.
    t = position[me.STEP] & (trace.shape[0] - 1)
    trace[t, 0], trace[t, 1], trace[t, 2], trace[t, 3], trace[t, 4] = s, a, s2, reached, int(dead)
    position[me.STEP] += 1
    position[TIME] += 1
    if position[me.RANDOM] == 1:
        have = min(position[me.STEP], trace.shape[0])
        replay_some(memory.q, memory.v, memory.updates, trace, count, have, settings.replays, settings.gamma, horizon, rng)
    elif position[me.CHANGED] == 1 and position[me.STEP] % INTERVAL == 0:
        replay_backwards(memory, settings)


@hot
def doubtful(agenda: Agenda, memory: me.Memory, n: int, m: int, given: float) -> bool:
    """Whether a step from node n to m may have to correct what was believed: it gave less although nothing was new."""
    position = memory.position
    if position[me.RANDOM] == 1:
        return False
    # If values have changed in this episode, these may explain the loss, and no correction is needed yet.
    short = position[me.CHANGED] == 0 and given < memory.numbers[me.PROMISED] * (1.0 - TINY)
    return short or memory.flagged[n] or memory.flagged[m]


@jit
def run(
    world: WorldTable, agenda: Agenda, memory: me.Memory, settings: me.Settings, count: int, rng: np.random.Generator
) -> int:
    """Train for `count` steps, or until the host must make room or tell an outcome; returns the steps taken."""
    position, status, gamma = memory.position, agenda.status, settings.gamma
    for done in range(count):
        # The host clears FULL when it has made room.
        if position[me.FULL] == 1:
            return done
        s, n = position[STATE], position[me.NODE]
        if position[ACTION] < 0:
            position[ACTION] = pick(agenda, memory, settings, s, n, rng)
            position[OUTCOME] = outcome(world, s, position[ACTION], rng)
        a, o = position[ACTION], position[OUTCOME]
        s2, label, ended = int(world.next[s, a, o]), int(world.label[s, a, o]), world.ends[s, a, o]
        if s2 == UNKNOWN:
            return done
        position[ACTION] = -1
        absorb(agenda, memory, settings, s, a, s2, label, ended, rng)
        m = int(agenda.next[n, label])
        over = ended or status[m] != RUNNING
        # Nothing to plan anew: looking is enough, and is inlined.
        settled = position[me.STALE] + position[me.TOUCHED] + position[me.RANDOM] == 0
        # Within a node the promise counts as given; else it is this step's gamma times what the new place promises.
        given = memory.numbers[me.PROMISED]
        if over:
            given = gamma if status[m] == SUCCESS else 0.0
        elif m != n:
            given = gamma * (look(agenda, memory, m, s2) if settled else decide(agenda, memory, m, s2))
        # Before `close`, which may learn: promise and gain are to be compared on the same values.
        if settings.correct and doubtful(agenda, memory, n, m, given):
            settle(agenda, memory, gamma, n, s, a, m, s2, ended)
        if over or position[TIME] >= settings.limit:
            if position[me.CHANGED] + position[me.TOUCHED] > 0:
                close(memory, settings)
            m, s2, position[TIME] = 0, int(start(world, rng)), 0
            if settled and position[me.STALE] + position[me.TOUCHED] == 0:
                look(agenda, memory, m, s2)
            else:
                decide(agenda, memory, m, s2)
        position[STATE], position[me.NODE] = s2, m
    return count


@jit
def actions_of(agenda: Agenda, memory: me.Memory, n: int, out: Ints) -> None:
    """The greedy action of every cell in node n; 0 where none leads on."""
    look(agenda, memory, n, 0)
    for s in range(out.shape[0]):
        if memory.flagged[n]:
            a = best_believed(agenda, memory, n, s)[1]
        else:
            a = greedy(memory.q, memory.v, memory.weight, memory.open, memory.position[me.OPEN], s)[1]
        out[s] = max(a, 0)
