"""A numeric machine as Scout's kernels read it, lowered label by label as labels are met; its agenda states where they are few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from errands.errors import TaskError
from errands.kernels.hashing import node_slot
from errands.learners.scout.kernel.agenda import NO_ROOM, AgendaStates, enumerate_states, follow
from errands.learners.scout.kernel.memory import ScoutMachine
from errands.machines.gauges import Forced
from errands.machines.lower import entry_values, lower_order, read_entry
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State, Stepper, Values
from errands.tables import FAILURE, RUNNING, Flags, Floats, Ints, Masks


class Lowering:
    """The machine's tables, which grow when a new feature set is met.

    Entries are read as machines.lower reads them; the layout is another one, because masks may have several words here
    and because a world without tables shows its labels one by one: by [label, entry] a new one is a new row.
    """

    def __init__(self, machine: NumericRM, labels: Iterable[Set[str]], signals: Sequence[str]) -> None:
        self.stepper = Stepper(machine)
        self.signals = signals
        # 64 subtasks a word, rounded up.
        self.words = max(1, -(-len(machine.subtasks) // 64))
        if machine.rules and self.words > 1:
            raise TaskError(
                f"{len(machine.subtasks)} subtasks with rules between them are too many; at most 64 are planned with"
            )
        self.number: dict[frozenset[str], int] = {}
        self.labels: list[frozenset[str]] = []
        self.entries = entry_values(self.stepper)
        self._options: dict[Forced, tuple[Ints, Ints, Flags]] = {}
        # A state that mentions k variables has 3^k entries, one for each way to read their digits.
        widths = [3 ** len(mentioned) for mentioned in self.stepper.mentioned]
        self.row = np.cumsum([0, *widths[:-1]]).astype(np.int32)
        self.add(labels)

    def add(self, labels: Iterable[Set[str]]) -> None:
        """Lower the machine against more feature sets, numbered on from those known."""
        for label in map(frozenset, labels):
            # A table may list a feature set twice: both keep their places, and `number` finds the first.
            self.number.setdefault(label, len(self.labels))
            self.labels.append(label)
        self.machine = self._lowered()

    def _lowered(self) -> ScoutMachine:
        stepper = self.stepper
        # None on the first call. Later only new labels are read, which is slow Python; old rows are kept.
        old: ScoutMachine | None = getattr(self, "machine", None)
        fresh = self.labels[0 if old is None else len(old.next) :]
        rows = [
            [read_entry(stepper, u, label, values, self.signals)[:3] for u, values in self.entries] for label in fresh
        ]
        shape = (len(fresh), len(self.entries))
        following: Ints = np.array([[e[0] for e in row] for row in rows], np.int32).reshape(shape)
        reward: Floats = np.array([[e[1] for e in row] for row in rows], np.float64).reshape(shape)
        signal: Ints = np.array([[e[2] for e in row] for row in rows], np.int32).reshape(shape)
        bits = self._masks([self.bits(label) for label in fresh])
        if old is not None:
            following, signal = np.concatenate((old.next, following)), np.concatenate((old.signal, signal))
            reward, bits = np.concatenate((old.reward, reward)), np.concatenate((old.label_bits, bits))
        return ScoutMachine(
            initial=stepper.start[0],
            full=self._masks([stepper.full])[0],
            active=self._masks(stepper.active),
            variable_bits=self._masks(stepper.variable_bits),
            first=np.cumsum([0, *map(len, stepper.mentioned)]).astype(np.int32),
            variables=np.array([v for m in stepper.mentioned for v in m], np.int32),
            row=self.row,
            status=np.array(stepper.status, np.int8),
            label_bits=bits,
            next=following,
            reward=reward,
            signal=signal,
            order=lower_order(stepper.order),
        )

    def bits(self, label: Set[str]) -> int:
        """The subtasks whose feature is true in a label."""
        return self.stepper.bits(label)

    def _masks(self, numbers: Sequence[int]) -> Masks:
        # The lowest word first.
        word = (1 << 64) - 1
        split = [[number >> 64 * w & word for w in range(self.words)] for number in numbers]
        return np.array(split, np.uint64).reshape(len(numbers), self.words)

    def mask_of(self, words: Masks) -> int:
        """Words as a mask."""
        return sum(int(word) << 64 * w for w, word in enumerate(words))

    def options(self, absent: Iterable[str] = ()) -> tuple[Ints, Ints, Flags]:
        """What an unseen cell could do: the numeric states that each entry can lead to, and a table [entry, state] of
        those that remain possible when the features of `absent` are false there."""
        # Sorted, here and below: sets of names have no fixed order, and runs must not depend on it.
        forced: Forced = tuple((name, False) for name in sorted(absent))
        if forced not in self._options:
            self._options[forced] = self._list_options(forced)
        return self._options[forced]

    def _list_options(self, forced: Forced) -> tuple[Ints, Ints, Flags]:
        stepper = self.stepper
        allowed = np.zeros((len(self.entries), len(stepper.status)), np.bool_)
        reached: list[list[int]] = []
        for i, (u, values) in enumerate(self.entries):
            if stepper.status[u] != RUNNING:
                reached.append([])
                continue
            targets = self._targets(u, values, ())
            reached.append(sorted(targets))
            allowed[i, sorted(self._targets(u, values, forced) if forced else targets)] = True
        first = np.cumsum([0, *map(len, reached)]).astype(np.int32)
        return first, np.array([u for row in reached for u in row], np.int32), allowed

    def reached(self, entry: int) -> list[int]:
        """The numeric states that an entry can lead to, whatever features are true."""
        u, values = self.entries[entry]
        return sorted(self._targets(u, values, ())) if self.stepper.status[u] == RUNNING else []

    def _targets(self, u: int, values: Values, forced: Forced) -> set[int]:
        return {target for _, _, target in self.stepper.ways(u, values, forced)}

    def step(self, state: State, label: int) -> State:
        """The agenda state after a step with this label."""
        return self.stepper.step(state, self.labels[label]).state


# Counting needs room for all that it may find: first a little, which is enough for most tasks, then a lot.
FEW_STATES, MAX_STATES = 2_000, 150_000


@dataclass(frozen=True)
class NumberedAgenda:
    """Numbered agenda states with their successors under every label."""

    states: AgendaStates
    delta: Ints
    """[L, X] the state after a step with each label."""
    useful: Flags
    """[L] whether a label can move the machine on without failing."""
    fatal: Flags
    """[L] whether a label fails the task in every running state."""
    layered: bool
    """Whether every move leads to a state with a higher number."""

    def number(self, state: State) -> int:
        """The number of an agenda state, -1 for one that the task cannot be in."""
        # A free slot holds -1, which is then the answer.
        parts = self.states
        return int(parts.slots[node_slot(parts.u, parts.mask, parts.slots, state[0], np.uint64(state[1]))])

    def state(self, x: int) -> State:
        """The agenda state of a number."""
        return int(self.states.u[x]), int(self.states.mask[x])


def number_states(lowering: Lowering, most: int = MAX_STATES) -> NumberedAgenda | None:
    """The agenda states of a machine; None where they are more than `most`."""
    # Agenda kernels hold what remains in one word.
    if lowering.words > 1:
        return None
    options, room = lowering.options()[:2], min(FEW_STATES, most)
    moves = 16 * room
    while True:
        # At least two slots for each state: the hash table is never full, and probing always meets a free slot.
        slots = np.full(max(64, 1 << (2 * room - 1).bit_length()), -1, np.int32)
        us, masks, status = np.empty(room, np.int32), np.empty(room, np.uint64), np.empty(room, np.int8)
        to, done, entry = np.empty(moves, np.int32), np.empty(moves, np.uint64), np.empty(moves, np.int32)
        states = AgendaStates(us, masks, status, slots, np.zeros(room + 1, np.int32), to, done, entry)
        count = enumerate_states(lowering.machine, *options, states)
        if count > 0:
            break
        if count == NO_ROOM and room == most:
            return None
        room, moves = (most, 16 * most) if count == NO_ROOM else (room, 2 * moves)
    k = states.first[count]
    us, masks, status, first = us[:count].copy(), masks[:count].copy(), status[:count].copy(), states.first[: count + 1].copy()
    states = AgendaStates(us, masks, status, slots, first, to[:k].copy(), done[:k].copy(), entry[:k].copy())
    # The state that each move leaves, to see whether all moves lead to higher numbers.
    sources = np.repeat(np.arange(count), np.diff(states.first))
    return with_labels(lowering, states, bool((states.to > sources).all()))


def with_labels(lowering: Lowering, states: AgendaStates, layered: bool) -> NumberedAgenda:
    """The same states under all labels known by now."""
    delta = np.empty((len(lowering.labels), len(states.u)), np.int32)
    scratch = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    follow(lowering.machine, states.u, states.mask, states.slots, delta, *scratch)
    fails = states.status[delta] == FAILURE
    moved = delta != np.arange(len(states.u), dtype=np.int32)
    # Only running states count for `fatal`: ended ones lead to themselves under every label.
    running = states.status == RUNNING
    return NumberedAgenda(states, delta, (moved & ~fails).any(axis=1), fails[:, running].all(axis=1), layered)
