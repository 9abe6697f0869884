"""A numeric machine as Scout's kernels read it, lowered label by label as labels are met (Definition 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import product

import numpy as np

from errands.errors import TaskError
from errands.features import Change, holds
from errands.kernels.scout_machine import ScoutMachine
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Forced, State, Stepper, Values
from errands.tables import RUNNING, Flags, Ints, Masks

CHANGES = (Change.UNCHANGED, Change.DECREASED, Change.REACHED)
MAX_MENTIONED = 8


class Lowering:
    """The machine's tables, which grow when a new feature set is met."""

    def __init__(self, machine: NumericRM, labels: Iterable[Set[str]], signals: Sequence[str]) -> None:
        self.stepper = Stepper(machine)
        self.signals = signals
        self.words = max(1, -(-len(machine.subtasks) // 64))
        self.looked_at = frozenset(machine.features)
        self.number: dict[frozenset[str], int] = {}
        self.labels: list[frozenset[str]] = []
        most = max(map(len, self.stepper.mentioned))
        if most > MAX_MENTIONED:
            raise TaskError(
                f"the guards out of one state mention {most} numeric features, and at most {MAX_MENTIONED} are read; split it"
            )
        self.entries: list[tuple[int, Values]] = []
        row = []
        for u, mentioned in enumerate(self.stepper.mentioned):
            row.append(len(self.entries))
            self.entries += [(u, tuple(reversed(v))) for v in product(CHANGES, repeat=len(mentioned))]
        self.row = np.array(row, np.int32)
        self.add(labels)

    def add(self, labels: Iterable[Set[str]]) -> None:
        """Lower the machine against more feature sets, numbered on from those known."""
        for label in map(frozenset, labels):
            self.number.setdefault(label, len(self.labels))
            self.labels.append(label)
        self.machine = self._lowered()

    def _lowered(self) -> ScoutMachine:
        stepper = self.stepper
        old = getattr(self, "machine", None)
        fresh = self.labels[0 if old is None else old.next.shape[0] :]
        rows = [[self._entry(label, u, values) for u, values in self.entries] for label in fresh]
        shape = (len(fresh), len(self.entries))
        parts = [np.array([[e[i] for e in row] for row in rows]).reshape(shape) for i in range(3)]
        tables = parts[0].astype(np.int32), parts[1].astype(np.float64), parts[2].astype(np.int32)
        bits = self._masks([self.bits(label) for label in fresh])
        if old is not None:
            bits = np.concatenate((old.label_bits, bits))
            tables = tuple(np.concatenate(pair) for pair in zip((old.next, old.reward, old.signal), tables, strict=True))
        first = np.cumsum([0, *map(len, stepper.mentioned)]).astype(np.int32)
        return ScoutMachine(
            stepper.start[0],
            self._masks([stepper.full])[0],
            self._masks(stepper.active),
            self._masks(stepper.variable_bits),
            first,
            np.array([v for m in stepper.mentioned for v in m], np.int32),
            self.row,
            np.array(stepper.status, np.int8),
            bits,
            *tables,
        )

    def _entry(self, label: Set[str], u: int, values: Values) -> tuple[int, float, int]:
        """(next numeric state, reward or factor, signal or -1)."""
        stepper = self.stepper
        changes = dict(zip((stepper.variables[v] for v in stepper.mentioned[u]), values, strict=True))
        for t in stepper.leaving[u]:
            if holds(t.guard, label, changes):
                signal = -1 if t.reward.signal is None else self.signals.index(t.reward.signal)
                return stepper.index[t.target], t.reward.value, signal
        return u, 0.0, -1

    def bits(self, label: Set[str]) -> int:
        """The subtasks whose feature is true in a label."""
        found = 0
        for name in label:
            found |= self.stepper.bits_of.get(name, 0)
        return found

    def _masks(self, numbers: Sequence[int]) -> Masks:
        word = (1 << 64) - 1
        split = [[number >> 64 * w & word for w in range(self.words)] for number in numbers]
        return np.array(split, np.uint64).reshape(len(numbers), self.words)

    def words_of(self, mask: int) -> Masks:
        """A mask as words."""
        return self._masks([mask])[0]

    def mask_of(self, words: Masks) -> int:
        """Words as a mask."""
        return sum(int(word) << 64 * w for w, word in enumerate(words))

    def options(self, absent: Iterable[str] = ()) -> tuple[Ints, Ints, Flags]:
        """What an unseen cell could do: the numeric states that each entry can lead to, and a table [entry, state] of
        those that remain possible when the features of `absent` are false there."""
        stepper = self.stepper
        forced: Forced = tuple((name, False) for name in sorted(absent))
        allowed = np.zeros((len(self.entries), len(stepper.status)), np.bool_)
        reached: list[list[int]] = []
        for i, (u, values) in enumerate(self.entries):
            if stepper.status[u] != RUNNING:
                reached.append([])
                continue
            found = self._targets(u, values, ())
            reached.append(sorted(found))
            allowed[i, sorted(self._targets(u, values, forced) if forced else found)] = True
        first = np.cumsum([0, *map(len, reached)]).astype(np.int32)
        return first, np.array([u for row in reached for u in row], np.int32), allowed

    def reached(self, entry: int) -> list[int]:
        """The numeric states that an entry can lead to, whatever features are true."""
        u, values = self.entries[entry]
        return sorted(self._targets(u, values, ())) if self.stepper.status[u] == RUNNING else []

    def _targets(self, u: int, values: Values, forced: Forced) -> set[int]:
        return {self.stepper.index[t.target] if t else u for t, _ in self.stepper.options(u, values, forced)}

    def step(self, state: State, label: int) -> State:
        """The agenda state after a step with this label."""
        return self.stepper.step(state, self.labels[label]).state
