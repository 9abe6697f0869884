"""What Scout remembers and where it is: the machine as it steps it, every step with its outcomes, one rehearsed episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernels import hot, jit
from errands.kernels.stepping import outcome, settled, unheld
from errands.tables import FAILURE, RUNNING, SUCCESS, Codes, Flags, Floats, Ints, Masks, OrderTable, WorldTable

# Typed constants: compiled arithmetic of a uint64 with a signed number would become a float and lose bits.
# Throughout, x & (~x + ONE) is the lowest set bit of x: the subtask that was declared first.
ONE, ZERO = np.uint64(1), np.uint64(0)


class ScoutMachine(NamedTuple):
    """A numeric machine lowered label by label: U states, L labels, V variables, R entries, masks of W words.

    An entry is one way to read the guards of u: row[u] + q, where q writes the values of the variables that u mentions
    in base 3, the first mentioned one as the lowest digit (0 unchanged, 1 decreased, 2 at its bound). Tables over
    [label, entry] grow by rows, so that a label met late costs one row and moves nothing.
    """

    initial: int
    full: Masks
    """[W] the mask of all subtasks."""
    active: Masks
    """[U, W] the subtasks that can be completed in u."""
    variable_bits: Masks
    """[V, W] the subtasks that numeric variable v counts."""
    first: Ints
    """[U + 1] slice of `variables` that u's guards mention."""
    variables: Ints
    row: Ints
    """[U] the first entry of u."""
    status: Codes
    """[U] RUNNING, SUCCESS or FAILURE."""
    label_bits: Masks
    """[L, W] the subtasks whose feature is true in label l."""
    next: Ints
    """[L, R] the numeric state after the step."""
    reward: Floats
    """[L, R] the constant reward, or the factor of the signal."""
    signal: Ints
    """[L, R] index of the signal that is paid, -1 for a constant."""
    order: OrderTable
    """The rules between the subtasks; a machine that has some has one word."""


@hot
def entry_of(machine: ScoutMachine, u: int, mask: np.uint64, low: np.uint64) -> int:
    """The entry of u when `low` was completed (0 for nothing) and `mask` remains."""
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        bits = machine.variable_bits[machine.variables[i], 0]
        # The bound comes first: completing a variable's last subtask reads as digit 2, not as a decrease.
        if mask & bits == ZERO:
            q += 2 * scale
        elif low & bits != ZERO:
            q += scale
        scale *= 3
    return machine.row[u] + q


@jit
def advance_ruled(machine: ScoutMachine, u: int, mask: Masks, label: int, after: Masks) -> int:
    """The same step as `advance` where rules hold subtasks back."""
    hit = unheld(machine.order, mask[0], machine.label_bits[label, 0] & machine.active[u, 0] & mask[0])
    # All visits that can end do so in one step; of each variable only one subtask is completed.
    low = hit & machine.order.ends
    for v in range(machine.variable_bits.shape[0]):
        own = hit & machine.variable_bits[v, 0]
        if own != ZERO:
            low |= own & (~own + ONE)
    after[0] = settled(machine.order, mask[0] & ~low)
    return entry_of(machine, u, after[0], low)


@hot
def advance(machine: ScoutMachine, u: int, mask: Masks, label: int, after: Masks) -> int:
    """The entry that a step with this label reads; `after` receives the mask after the step."""
    # A step that hits none of the open subtasks completes nothing, whatever the rules are.
    if machine.order.ruled and machine.label_bits[label, 0] & machine.active[u, 0] & mask[0] != ZERO:
        return advance_ruled(machine, u, mask, label, after)
    words = mask.shape[0]
    for w in range(words):
        after[w] = mask[w]
    q = 0
    scale = 1
    for i in range(machine.first[u], machine.first[u + 1]):
        # Only variables that u's guards mention can be completed in u; of each, the first subtask that is true.
        v = machine.variables[i]
        left, done = False, False
        for w in range(words):
            bits = machine.variable_bits[v, w]
            hit = machine.label_bits[label, w] & machine.active[u, w] & mask[w] & bits
            if hit != ZERO and not done:
                after[w] &= ~(hit & (~hit + ONE))
                done = True
            left = left or after[w] & bits != ZERO
        if not left:
            q += 2 * scale
        elif done:
            q += scale
        scale *= 3
    return machine.row[u] + q


CELL, STATE, CLOCK, LEVEL, AT, END, GUIDED, FRESH, FOLLOWING, MOVED, UNTIL, STAMP = range(12)
"""Fields of Explorer.at."""
FIELDS = 12
RANDOM, EVENTS, PAIRS = range(3)
"""Fields of Known.facts."""
GREEDY, SEEKING = 1, 2
"""Values of the field FOLLOWING besides 0, which explores."""
IDLE, TURNS, FINAL = range(3)
"""Values of Explorer.effect."""


class Known(NamedTuple):
    """What was seen: S cells, A actions, up to B different outcomes (target, label, ends) of a pair (cell, action).

    Invariants: hits[s, a] sums to tried[s, a] and is positive for the first outcomes only; mode[s, a] is one of them, or
    0; in a certain world B is 1. The last place of a pair is free or the caller makes room (`roomier`) before the next step.
    """

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
    sense: Ints
    """[S, A] the outcome that the action is meant to have, where that is established; -1 where not (kernel.robust)."""
    base: Ints
    """[S, A, B] `hits` when it was established."""
    cell_label: Ints
    """[S] the label with which the cell was entered first, -1 for a cell not seen."""
    started: Ints
    """[S] how often an episode started in the cell."""
    facts: NDArray[np.int64]
    """[3] whether a pair showed two outcomes, whether a cell showed two labels, the number of pairs tried."""


class Explorer(NamedTuple):
    """Where the agent is and what it is about to do, with the scratch space of its searches."""

    at: NDArray[np.int64]
    """[12] the cell, the numeric state, the episode's clock (-1: about to start), the level below which a pair is scarce,
    position in and end of the path, whether a planner wrote it, new pairs since the last plan, which route is
    followed (GREEDY, SEEKING what is scarce), whether the last step asks for a new one, the clock at which the plan that
    is followed has taken too long, the stamp of the last search."""
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


def room_of(states: int, limit: int) -> int:
    """Places of a path: one that is searched meets no cell twice; one that a planner wrote goes on later where it is longer."""
    return max(states, min(limit, 1_000_000)) + 1


@hot
def refresh(machine: ScoutMachine, agent: Explorer) -> None:
    """Find what each label does in the agent's machine state."""
    u, mask = agent.at[STATE], agent.mask
    for label in range(machine.next.shape[0]):
        following = machine.next[label, advance(machine, u, mask, label, agent.after)]
        turns = following != u
        for w in range(mask.shape[0]):
            turns = turns or agent.after[w] != mask[w]
        agent.effect[label] = FINAL if machine.status[following] != RUNNING else TURNS if turns else IDLE


@hot
def begin(known: Known, machine: ScoutMachine, agent: Explorer, s: int, label: int) -> None:
    """A new episode in cell s, whose label is seen and not consumed."""
    at = agent.at
    # LEVEL, FRESH and FOLLOWING stay: they belong to the run and not to one episode.
    at[CELL], at[STATE], at[CLOCK], at[AT], at[END] = s, machine.initial, 0, 0, 0
    for word in range(len(agent.mask)):  # numba takes a second to compile an assignment of one array to another
        agent.mask[word] = machine.full[word]
    known.started[s] += 1
    if known.cell_label[s] < 0:
        known.cell_label[s] = label
    elif known.cell_label[s] != label:
        known.facts[EVENTS] = 1
    refresh(machine, agent)


@hot
def has_room(known: Known, s: int, a: int) -> bool:
    """Whether one more outcome of a pair could be remembered."""
    return known.hits[s, a, known.hits.shape[2] - 1] == 0


@hot
def observe(known: Known, s: int, a: int, there: int, label: int, ends: bool) -> bool:
    """Remember one step; whether its pair was new. An outcome for which there is no room counts as the pair's usual one."""
    o, room = 0, known.hits.shape[2]
    while (
        o < room
        and known.hits[s, a, o] > 0
        and (known.target[s, a, o] != there or known.label[s, a, o] != label or known.ends[s, a, o] != ends)
    ):
        o += 1
    if o == room:
        # Callers ask `has_room` first, or the world is certain. Should one not, memory beyond the row is never touched,
        # and the world is known to be random.
        o = known.mode[s, a]
        known.facts[RANDOM] = 1
    if known.hits[s, a, o] == 0:
        known.target[s, a, o], known.label[s, a, o], known.ends[s, a, o] = there, label, ends
        # Places fill from the front, so using a second one means that the pair has shown two outcomes.
        if o > 0:
            known.facts[RANDOM] = 1
    known.hits[s, a, o] += 1
    # Strictly more often: at a tie the earlier mode stays, and plans that rest on it do not flip.
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


@hot
def absorb(known: Known, machine: ScoutMachine, agent: Explorer, a: int, there: int, label: int, ends: bool) -> int:
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
    # Who is SEEKING needs a new route after each step, since each try can change what is scarce.
    at[STATE], at[CELL], at[MOVED] = u, there, changed or at[FOLLOWING] == SEEKING
    at[CLOCK] += 1
    if at[FOLLOWING] == GREEDY and at[CLOCK] == at[UNTIL]:
        at[MOVED] = 1
    if at[AT] < at[END]:
        expected = agent.expect[at[AT]]
        at[AT] += 1
        # A surprise empties the path. A planner's path (GUIDED) foresaw the machine's changes and survives them.
        if (expected >= 0 and expected != there) or (changed and not at[GUIDED]):
            at[END] = 0
    # The machine's verdict comes before the world's: an episode may end with the very step that succeeds.
    if machine.status[u] != RUNNING:
        return int(machine.status[u])
    # An episode that is over needs no effects; `begin` finds those of the next.
    if changed and not ends:
        refresh(machine, agent)
    return FAILURE if ends else RUNNING


@hot
def rehearse(
    world: WorldTable, machine: ScoutMachine, s: int, actions: Ints, limit: int, rng: np.random.Generator, mask: Masks, after: Masks
) -> tuple[int, float, bool]:
    """Steps, total reward and success of these actions from s; when they run out, action 0 until the limit.

    `mask` is all subtasks, of which it leaves what remains; `after` is scratch.
    """
    u, total = machine.initial, 0.0
    for step in range(limit):
        a = actions[step] if step < actions.shape[0] else 0
        o = outcome(world, s, a, rng)
        label = world.label[s, a, o]
        row = advance(machine, u, mask, label, after)
        k = machine.signal[label, row]
        paid = machine.reward[label, row]
        total += paid if k < 0 else paid * world.signal[k, s, a, o]
        u = machine.next[label, row]
        for word in range(len(mask)):
            mask[word] = after[word]
        if machine.status[u] != RUNNING or world.ends[s, a, o]:
            return step + 1, total, machine.status[u] == SUCCESS
        s = world.next[s, a, o]
    return limit, total, False
