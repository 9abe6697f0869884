"""QCoRM+'s greedy policy as a value: by landmark."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from errands.kernels.hashing import node_slot
from errands.kernels.stepping import TIME, advance, outcome, reward, start
from errands.learners.qcorm_plus.kernel.agenda import Agenda
from errands.learners.qcorm_plus.kernel.loop import actions_of, decide, weigh
from errands.learners.qcorm_plus.kernel.memory import NODE, NUMERIC, PLANNED, STALE, UNTRIED, Memory, Settings
from errands.learners.qcorm_plus.kernel.plan import aim, take_aim
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS, AgendaTable, Ints, RandomGenerator, WorldTable


def settled(
    agenda: Agenda, machine: AgendaTable, memory: Memory, settings: Settings, first: int, whole: bool = False
) -> Memory:
    """A copy that training does not touch and that needs no more planning; `whole` copies what is only read as well."""
    # What planning writes to. Values are large and only read, so they are shared with training unless the copy has to
    # last.
    planned = ("position", "weight", "open", "worth", "choice", "order", "mask")
    fresh = {name: getattr(memory, name).copy() for name in planned}
    # Untried pairs have optimistic values, which are for exploring; a greedy policy must not trust them.
    if memory.position[UNTRIED] > 0:
        fresh["q"] = np.where(memory.last[:, :, None] < 0, 0.0, memory.q)
        fresh["v"] = fresh["q"].max(axis=1)
        fresh["position"][UNTRIED], fresh["position"][STALE] = 0, 1
    elif whole:
        fresh.update(q=memory.q.copy(), v=memory.v.copy())
    if whole:
        fresh.update({name: getattr(memory, name).copy() for name in ("keys", "values", "flagged")})
    copy = memory._replace(**fresh)
    copy.position[TIME], copy.position[NODE], copy.position[NUMERIC], copy.mask[0] = 0, 0, machine.initial, machine.full
    # Before any step, so that a plan is due.
    copy.position[PLANNED] = -(1 << 60)
    if agenda.listed:
        decide(agenda, copy, 0, first)
    else:
        # A generator of its own with a fixed seed: the local search is then repeatable and leaves training alone.
        take_aim(machine, copy, settings, first, RandomGenerator(0))
    return copy


@dataclass(frozen=True)
class LandmarkPolicy:
    """Goes for the landmark that is worth most in the agenda state; needs no memory of its own."""

    agenda: Agenda = field(repr=False)
    machine: AgendaTable = field(repr=False)
    memory: Memory = field(repr=False)
    known: dict[State, Ints] = field(default_factory=dict, repr=False, compare=False)
    """The actions of all cells, by agenda state, as far as they were asked for."""

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action."""
        if machine_state not in self.known:
            self.known[machine_state] = self.actions(machine_state)
        return int(self.known[machine_state][world_state]), None

    def actions(self, machine_state: State) -> Ints:
        """The greedy action of every cell in an agenda state; 0 in one that the world's labels do not lead to."""
        u, mask = machine_state[0], np.uint64(machine_state[1])
        greedy, n = np.zeros(len(self.memory.q), np.int32), 0
        if self.agenda.listed:
            agenda = self.agenda
            n = int(agenda.slots[node_slot(agenda.numeric, agenda.mask, agenda.slots, u, mask)])
        if n < 0 or self.machine.status[u] != RUNNING:
            return greedy
        if self.agenda.listed:
            weigh(self.agenda, self.memory, n)
        else:
            self.memory.position[NUMERIC], self.memory.mask[0] = u, mask
            aim(self.machine, self.memory, 0)
        actions_of(self.agenda, self.memory, n, greedy)
        return greedy


def episode(
    world: WorldTable, agenda: Agenda, machine: AgendaTable, frozen: Memory, limit: int, rng: np.random.Generator
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode in a world of tables."""
    policy = LandmarkPolicy(agenda, machine, frozen)
    # In Python, unlike other learners' episodes: the actions of all cells of an agenda state are computed at once
    # anyway.
    s, u, mask, total = int(start(world, rng)), machine.initial, machine.full, 0.0
    for t in range(limit):
        a, _ = policy.act(s, (int(u), int(mask)), None)
        o = outcome(world, s, a, rng)
        entry, mask, _ = advance(machine, u, np.uint64(mask), world.label[s, a, o])
        u = machine.next[entry]
        total += reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
        if machine.status[u] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, bool(machine.status[u] == SUCCESS)
        s = int(world.next[s, a, o])
    return limit, total, False
