"""Enumerated machines for tabular learners: born when first met, or whole, with the states that may learn from a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from errands.errors import TaskError
from errands.kernels.q_learning import Alive, Settled, reachable
from errands.learners.base import Carried, LearnerConfig, Saved
from errands.learners.engines.tabular import SteppedWorld, TabularLearner
from errands.machines.counting import reachable_pairs, size
from errands.machines.lower import lower
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Stepper
from errands.machines.unfolding import AgendaRM, BooleanRM, extend, mask_of, unfold_agenda, unfold_boolean
from errands.policies.tables import MachineStates
from errands.tables import RUNNING, Ints, MachineTable
from errands.tasks.task import Task

UNBORN = -1
Kind = Literal["boolean", "agenda"]


# QRM needs only the states it meets, so even a Boolean machine, which grows like N!, can be stepped. CRM and HRM replay
# a step in all states and have to list them.
class LazyMachine:
    """A Boolean machine (states tell completion orders apart) or an agenda machine, unfolded on demand."""

    def __init__(self, machine: NumericRM, kind: Kind, labels: Sequence[Set[str]], signals: Sequence[str]) -> None:
        self.stepper = Stepper(machine)
        self.kind = kind
        self.labels, self.signals = labels, signals
        self.states: list[tuple[int, tuple[int, ...]]] = [(self.stepper.start[0], ())]
        self.index = {self._key(*self.states[0]): 0}
        self.table = self._blank(64)

    # States of both kinds are kept as (numeric state, order of completions); for an agenda machine, orders with the
    # same subtasks are one state, and the first order met stands for it.
    def _key(self, u: int, order: tuple[int, ...]) -> tuple[int, object]:
        return (u, order if self.kind == "boolean" else mask_of(self.stepper, order))

    def _blank(self, capacity: int) -> MachineTable:
        shape = (capacity, len(self.labels))
        following, signal = np.full(shape, UNBORN, np.int32), np.full(shape, -1, np.int32)
        return MachineTable(0, following, np.zeros(shape), signal, np.zeros(capacity, np.int8))

    @property
    def capacity(self) -> int:
        """How many states the tables have room for."""
        return int(self.table.next.shape[0])

    def _grow(self, capacity: int) -> None:
        """Make room for more states or labels; what is known stays."""
        old, self.table = self.table, self._blank(capacity)
        u, width = old.next.shape
        self.table.next[:u, :width] = old.next
        self.table.reward[:u, :width] = old.reward
        self.table.signal[:u, :width] = old.signal
        self.table.status[:u] = old.status

    def __len__(self) -> int:
        return len(self.states)

    def birth(self, i: int, label: int) -> int:
        """Fill in the transition of state i on a label, with a new state if it leads to one; returns that state."""
        # No matching transition means that the machine stays, with reward 0: `chosen` is then None.
        u, order = self.states[i]
        (target, _), chosen, completed = self.stepper.step((u, mask_of(self.stepper, order)), self.labels[label])
        state = extend(self.stepper, target, order, completed)
        key = self._key(*state)
        if key not in self.index:
            if len(self.states) == self.capacity:
                # Twice as large each time; the learner's own table follows (`supply`).
                self._grow(2 * self.capacity)
            self.index[key] = len(self.states)
            self.states.append(state)
            self.table.status[self.index[key]] = self.stepper.status[target]
        j = self.index[key]
        self.table.next[i, label] = j
        if chosen is not None:
            paid = chosen.reward.lowered(self.signals, self.stepper.machine.compounds)
            self.table.reward[i, label], self.table.signal[i, label] = paid
        return j

    def widen(self) -> None:
        """Make room for labels that were added."""
        self._grow(self.capacity)

    def pack(self) -> tuple[np.ndarray, np.ndarray]:
        """All states as two arrays: (numeric state, length of order) rows, and the orders end to end."""
        heads = np.array([(u, len(order)) for u, order in self.states], np.int32)
        return heads, np.array([bit for _, order in self.states for bit in order], np.int32)

    def born(self) -> np.ndarray:
        """Which transitions are known: by state and label."""
        return np.asarray(self.table.next[: len(self.states)] != UNBORN)

    def unpack(self, heads: np.ndarray, orders: np.ndarray, born: np.ndarray) -> None:
        """The states of a packed machine, with the transitions that were known: an evaluation ends at any other."""
        self.states, at = [], 0
        for u, length in heads.tolist():
            self.states.append((u, tuple(orders[at : at + length].tolist())))
            at += length
        # States before transitions: numbers must be those of the tables that were saved, not the order of a new search.
        self.index = {self._key(*state): i for i, state in enumerate(self.states)}
        self.table = self._blank(max(64, 1 << (len(self.states) - 1).bit_length()))
        for i, (u, _) in enumerate(self.states):
            self.table.status[i] = self.stepper.status[u]
        for i, label in np.argwhere(born).tolist():
            self.birth(i, label)


def same_future(new: MachineTable, old: MachineTable) -> Ints | None:
    """For each state of a machine a state of another from which the same labels do the same; None where its start has none.

    Both are lowered against the same labels. What they pay is not compared: the states are those of the same task.
    """
    for guess in np.flatnonzero(old.status == new.status[new.initial]):
        pair = np.full(len(new.status), -1, np.int32)
        pair[new.initial] = guess
        waiting = [int(new.initial)]
        while waiting:
            x = waiting.pop()
            if new.status[x] != RUNNING:
                continue
            for label, y in enumerate(new.next[x]):
                there = old.next[pair[x], label]
                if pair[y] < 0 and new.status[y] == old.status[there]:
                    pair[y] = there
                    waiting.append(int(y))
                elif pair[y] != there and (new.status[y] != old.status[there] or new.status[y] == RUNNING):
                    waiting, pair[new.initial] = [], -1
                    break
        if pair[new.initial] >= 0:
            return pair
    return None


class CounterfactualLearner(TabularLearner):
    """A learner that replays each world step in every machine state; where things vanish, in those still reachable."""

    settled: Settled
    max_alive = 200_000_000
    """Entries of four bytes in all lists of states that may learn: 0.8 GB."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int, kind: Kind, fields: int) -> None:
        super().__init__(task, config, seed, fields)
        self.kind = kind
        # Counted before anything is unfolded: refusing must not take the memory that it is about.
        predicted = size(task.machine)
        states = predicted.boolean if kind == "boolean" else predicted.agenda
        self.check_size(states)
        if task.vanishing and kind == "agenda":
            self._check_alive(reachable_pairs(task.machine) or 0)
        self.enumerated: AgendaRM | BooleanRM
        self.enumerated = unfold_boolean(task.machine) if kind == "boolean" else unfold_agenda(task.machine)
        self.relabel()

    def check_size(self, states: int) -> None:
        """Refuse a machine whose tables would not fit."""

    def supply(self) -> None:
        """Nothing is ever missing: the machine is enumerated."""

    def load_arrays(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take the tables back; nothing is known to be settled."""
        super().load_arrays(saved, lengths)
        # A record of what needs no work again; leaving it empty costs time but changes no value.
        self.settled.at.fill(-1)

    def relabel(self) -> None:
        """Lower the machine against the labels known now."""
        self.machine = lower(self.enumerated, self.world.labels, self.world.signals)
        self.alive = self._alive(bool(self.task.vanishing))

    def _alive(self, vanishing: bool) -> Alive:
        # [L, U] instead of [U, L]: a step has one label and goes through all machine states.
        following, status = np.ascontiguousarray(self.machine.next.T), self.machine.status
        reward, signal = np.ascontiguousarray(self.machine.reward.T), np.ascontiguousarray(self.machine.signal.T)
        still = (self.machine.next == np.arange(len(status))[:, None]) & (self.machine.reward == 0)
        quiet = (still | (status != RUNNING)[:, None]).all(axis=0)
        # One list of all running states, shared by every state. Where boxes vanish each state has its own list: a state
        # in which a removed box still waits must not learn from a world without it.
        if not vanishing:
            running = np.flatnonzero(status == RUNNING).astype(np.uint32)
            everywhere = np.tile(np.array([0, len(running)], np.int64), (len(status), 1))
            one = np.zeros(len(status), np.int32)
            return Alive(following, reward, signal, status, quiet, everywhere, running, one)
        first, running = np.zeros(len(status) + 1, np.int64), np.zeros(0, np.uint32)
        for _ in range(2):
            stack, seen = np.zeros((2, len(status)), np.int32)
            reachable(self.machine.next, status, seen, stack, first, running)
            self._check_alive(int(first[-1]))
            running = running if len(running) else np.zeros(first[-1], np.uint32)
        # Ascending, so that states numbered without gaps can be run through as a range (quiet_learn).
        for low, high in pairwise(first.tolist()):
            running[low:high].sort()
        slices, own = np.stack([first[:-1], first[1:]], axis=1), np.arange(len(status), dtype=np.int32)
        return Alive(following, reward, signal, status, quiet, slices, running, own)

    def unsettled(self) -> Settled:
        """A record in which no step is known to change nothing."""
        # Only where a pair always gives the same can a step that changed nothing be known to change nothing again.
        certain = self.world.table.next.shape[2] == 1 and not isinstance(self.world, SteppedWorld)
        groups, states, actions = len(np.unique(self.alive.group)), self.world.states, self.world.actions
        return Settled(
            certain=certain, version=np.zeros(states, np.int32), at=np.full((states, actions, groups), -1, np.int32)
        )

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """A learner of a task whose machine states were trained as those of this one; all others are refused."""
        made: Any = type(self)
        new = made(task, config, seed, self.kind)
        new.take_labels(self)
        pair = same_future(new.machine, lower(self.enumerated, new.world.labels, new.world.signals))
        if pair is None:
            raise TaskError(
                f"{made.__name__} learns machine states, and none of the {len(self.enumerated):,} that it trained for "
                f"'{self.task.name}' asks for {task.machine.phrase or 'this'}; use qcorm or scout, or train for it"
            )
        new.take_rows(self, pair)
        return Carried(new, f"the values of {len(np.unique(pair[pair >= 0])):,} of its {len(self.enumerated):,} machine states")

    def machine_states(self) -> MachineStates:
        """The numbers of the machine's states."""
        machine = self.enumerated
        return MachineStates(dict(machine.index), machine.stepper.full, isinstance(machine, BooleanRM))

    def _check_alive(self, entries: int) -> None:
        if entries > self.max_alive:
            raise TaskError(
                f"the lists of reachable machine states would have {entries:,} entries, more than {self.max_alive:,}; "
                "use learner 'qcorm' or 'scout'"
            )
