"""A machine as arrays for compiled learners: states listed, feature sets numbered, what a step completes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, combinations
from typing import Literal

import numpy as np

from errands.errors import TaskError
from errands.machines.counting import objectives
from errands.machines.lower import entries, lower
from errands.machines.rewards import linear_pay
from errands.machines.unfolding import AgendaRM, BooleanRM, mask_of, unfold_agenda, unfold_boolean
from errands.tables import RUNNING, Flags, Floats, Ints, MachineTable
from errands.tasks.task import Task

# U machine states, L labels (numbered feature sets), K objectives, C completions of one step. Deep learners list all
# states, unlike the stepping machine, because their tables are gathered from on the device.
Kind = Literal["boolean", "agenda"]
MAX_FEATURES = 10
MAX_STATES = 70_000
MAX_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class MachineArrays:
    """An enumerated machine against numbered labels, with what each step completes and what is open."""

    task: Task
    rm: AgendaRM | BooleanRM
    labels: tuple[frozenset[str], ...]
    """The feature set behind each label."""
    table: MachineTable
    objectives: tuple[str, ...]
    """U': what low-level policies are learnt for."""
    completed: Ints
    """[U, L, C] the objectives that a step completes, -1 behind the last; C is 1 unless a step can complete several."""
    open: Flags
    """[U, K] the objectives of the coupled states that are occupied together."""
    masks: Ints
    """[U] the remaining subtasks."""
    numeric: Ints
    """[U] the numeric state."""
    attempt: int | None = None
    """Steps after which an attempt is given up, where this is the machine of one of DiRL's edges."""

    @property
    def limit(self) -> int:
        """Steps after which an episode is cut off."""
        return self.task.world.limit if self.attempt is None else min(self.attempt, self.task.world.limit)

    @cached_property
    def numbers(self) -> dict[frozenset[str], int]:
        """The label of each set of features that the machine looks at."""
        known = frozenset(self.task.machine.features)
        # Backwards, so that of labels that look the same to the machine the first one wins.
        return {label & known: i for i, label in reversed(list(enumerate(self.labels)))}

    @cached_property
    def reachable(self) -> Flags:
        """[U, U] whether the second state can still be reached from the first, itself included."""
        count = len(self.rm)
        reach = np.eye(count, dtype=np.bool_)
        # One more step with each round; flags are multiplied as floats, for which numpy has a fast product.
        edges = np.zeros_like(reach)
        edges[np.arange(count)[:, None], self.table.next] = True
        while True:
            wider = reach | (edges.astype(np.float32) @ reach.astype(np.float32) > 0)
            if (wider == reach).all():
                return reach
            reach = wider

    @cached_property
    def pays(self) -> Floats:
        """[U, L, 1 + signals] the constant that a step pays, and the factor of each signal, functions of signals among them."""
        return self.pay(self.table.reward, self.table.signal)

    def pay(self, factor: Floats, signal: Ints) -> Floats:
        """[..., 1 + signals] the same for some entries of the table."""
        return linear_pay(self.task.machine.compounds, self.task.reported, factor, signal)

    @property
    def running(self) -> Flags:
        """[U] whether the task goes on."""
        flags: Flags = self.table.status == RUNNING
        return flags


@lru_cache(maxsize=16)
def machine_arrays(task: Task, kind: Kind = "agenda") -> MachineArrays:
    """The machine of a task, unfolded and lowered against the labels that can occur."""
    rm: AgendaRM | BooleanRM
    rm = unfold_boolean(task.machine, MAX_STATES) if kind == "boolean" else unfold_agenda(task.machine, MAX_STATES)
    labels = labels_of(task)
    if len(rm) * len(labels) > MAX_ENTRIES:
        raise TaskError(
            f"{len(rm):,} machine states times {len(labels):,} labels are too many for a deep learner; use 'scout'"
        )
    signals = task.signals
    # States of a Boolean machine hold the order of completions where those of an agenda machine hold a mask.
    masks = [s[1] if isinstance(s[1], int) else mask_of(rm.stepper, s[1]) for s in rm.states]
    numeric = np.array([s[0] for s in rm.states], np.int32)
    table, names = lower(rm, labels, signals), objectives(task.machine)
    open_ = _open(rm, table, numeric, masks, names)
    completed = _completed(rm, labels, signals, table, numeric, np.array(masks, np.uint64), open_)
    return MachineArrays(
        task, rm, labels, table, names, completed, open_, np.array(masks, np.int64).astype(np.int32), numeric
    )


def _open(
    rm: AgendaRM | BooleanRM, table: MachineTable, numeric: Ints, masks: list[int], names: tuple[str, ...]
) -> Flags:
    """[U, K] which objectives are open in a state."""
    open_ = np.zeros((len(masks), len(names)), np.bool_)
    position = {name: k for k, name in enumerate(names)}
    for i in np.flatnonzero(table.status == RUNNING):
        alternatives = rm.stepper.alternatives((int(numeric[i]), masks[i]))
        open_[i, [position[name] for name in alternatives if name in position]] = True
    return open_


def labels_of(task: Task) -> tuple[frozenset[str], ...]:
    """The labels of a finite world, else every set of the features that the machine looks at, as a bit pattern."""
    if task.finite is not None:
        return task.finite.labels
    names = task.machine.features
    if len(names) > MAX_FEATURES:
        raise TaskError(
            f"the machine looks at {len(names)} features; without tables a deep learner takes {MAX_FEATURES} at most"
        )
    sets = chain.from_iterable(combinations(range(len(names)), n) for n in range(len(names) + 1))
    # The number of a label must be its bit pattern: worlds without tables (Water, HalfCheetah) compute it so.
    ordered = sorted(sets, key=lambda bits: sum(1 << i for i in bits))
    return tuple(frozenset(names[i] for i in bits) for bits in ordered)


def _completed(
    rm: AgendaRM | BooleanRM,
    labels: tuple[frozenset[str], ...],
    signals: tuple[str, ...],
    table: MachineTable,
    numeric: Ints,
    masks: np.ndarray,
    open_: Flags,
) -> Ints:
    """Stepper.completed of every step as numbers of objectives: of each variable, of visits that ended, the Boolean one."""
    # [U, L, columns]: one per numeric variable, per visit that can end, and last the Boolean objective that fired.
    stepping = lower(rm.numeric, labels, signals)
    columns = [v for v, (_, subtasks) in enumerate(rm.numeric.numeric) for _ in subtasks]
    columns += [len(stepping.variable_bits) + k for k in range(len(rm.numeric.rules.apart))]
    done = np.full((*table.next.shape, 2 + max(columns, default=-1)), -1, np.int32)
    # All agenda states of a numeric state at once: the machine may be large, its numeric states are few.
    for u in range(len(stepping.status)):
        here = np.flatnonzero((numeric == u) & (table.status == RUNNING))
        entry_of, _, low_of = entries(stepping, u, masks[here])
        for label, (entry, low) in enumerate(zip(entry_of.T, low_of.T, strict=True)):
            for completed in np.unique(low[low != 0]):
                for bit in np.flatnonzero(completed >> np.arange(64, dtype=np.uint64) & np.uint64(1)):
                    done[here[low == completed], label, columns[bit]] = stepping.subtask_objective[bit]
            fired = stepping.fired[entry]
            done[here, label, -1] = np.where(open_[here, fired], fired, -1)
    # An objective counts once per step, in its first column; then what is there moves to the front, in order.
    for later in range(1, done.shape[-1]):
        done[..., later][(done[..., :later] == done[..., later : later + 1]).any(axis=-1)] = -1
    done = np.take_along_axis(done, np.argsort(done < 0, axis=-1, kind="stable"), axis=-1)
    return done[..., : max(1, int((done >= 0).sum(axis=-1).max(initial=1)))]
