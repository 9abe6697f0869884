"""Lowering: any machine to the flat tables that compiled loops read, against the labels of a world."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import groupby, product
from typing import overload

import numpy as np

from errands.errors import TaskError
from errands.features import Change
from errands.machines.counting import objectives
from errands.machines.numeric import NumericRM, Transition
from errands.machines.stepping import OrderMasks, Stepper, Values
from errands.machines.unfolding import AgendaRM, BooleanRM, CoupledRM, extend, mask_of
from errands.tables import AgendaTable, Ints, MachineTable, Masks, OrderTable

# The digits 0, 1, 2 by which entries are numbered.
CHANGES = (Change.UNCHANGED, Change.DECREASED, Change.REACHED)
MAX_MENTIONED = 8
Labels = Sequence[Set[str]]


@overload
def lower(machine: NumericRM | CoupledRM, labels: Labels, signals: Sequence[str] = ()) -> AgendaTable: ...
@overload
def lower(machine: AgendaRM | BooleanRM, labels: Labels, signals: Sequence[str] = ()) -> MachineTable: ...
def lower(
    machine: NumericRM | BooleanRM | AgendaRM | CoupledRM, labels: Labels, signals: Sequence[str] = ()
) -> AgendaTable | MachineTable:
    """The tables of a machine: stepping ones for numeric and coupled machines, enumerated ones for the other two.

    Parameters:
        machine: any of the four.
        labels: the sets of features that the world can report, by their number in its table.
        signals: the names of the numbers that it reports, by their number.

    >>> import errands
    >>> table = lower(errands.any_order("a", "b"), [set(), {"a"}, {"b"}])
    >>> type(table).__name__
    'AgendaTable'
    """
    if isinstance(machine, CoupledRM):
        machine = machine.numeric
    if isinstance(machine, NumericRM):
        return _stepping(Stepper(machine), labels, signals)
    return _enumerated(machine, labels, signals)


def _stepping(stepper: Stepper, labels: Labels, signals: Sequence[str]) -> AgendaTable:
    machine = stepper.machine
    if len(machine.subtasks) > 64:
        raise TaskError(
            f"compiled loops hold at most 64 subtasks, this machine has {len(machine.subtasks)}; use 'scout'"
        )
    names = objectives(machine)
    position = {name: i for i, name in enumerate(names)}
    width = [3 ** len(m) for m in stepper.mentioned]
    rows: list[tuple[int, float, int, int]] = []
    open_: list[list[int]] = []
    for u, group in groupby(entry_values(stepper), lambda entry: entry[0]):
        values = [v for _, v in group]
        # Entries are laid out as offset[u] + label * width[u] + q, where q reads the values of the variables that u
        # mentions as digits to base 3, the first variable lowest. Open objectives depend on u and q, not on the label.
        for label, v in product(labels, values):
            *read, taken = read_entry(stepper, u, label, v, signals)
            fired = stepper.fired(u, taken, v) if taken is not None else None
            rows.append((*read, position.get(fired or "", -1)))  # type: ignore[arg-type]
        open_.extend([position[n] for n in stepper.boolean_objectives(u, v) if n in position] for v in values)
    blocks = np.cumsum([0, *(w * len(labels) for w in width)])
    first = np.cumsum([0, *(len(m) for m in stepper.mentioned)])
    return AgendaTable(
        initial=stepper.start[0],
        full=np.uint64(stepper.full),
        active=np.array(stepper.active, np.uint64),
        label_bits=np.array([stepper.bits(label) for label in labels], np.uint64),
        variable_bits=np.array(stepper.variable_bits, np.uint64),
        first=first.astype(np.int32),
        variables=np.array([v for m in stepper.mentioned for v in m], np.int32),
        offset=blocks[:-1].astype(np.int32),
        width=np.array(width, np.int32),
        next=np.array([r[0] for r in rows], np.int32),
        reward=np.array([r[1] for r in rows], np.float64),
        signal=np.array([r[2] for r in rows], np.int32),
        fired=np.array([r[3] for r in rows], np.int32),
        status=np.array(stepper.status, np.int8),
        subtask_objective=np.array([position[n] for n in machine.subtasks], np.int32),
        alternative_first=np.cumsum([0, *map(len, open_)]).astype(np.int32),
        alternative_row=np.cumsum([0, *width[:-1]]).astype(np.int32),
        alternatives=np.array([k for row in open_ for k in row], np.int32),
        order=lower_order(stepper.order),
    )


def lower_order(order: OrderMasks) -> OrderTable:
    """The rules of a machine as flat arrays of one word; nothing but `ruled` where there are none."""
    groups = [*order.choices, *order.capacities]
    before = order.before if order.ruled else ()
    return OrderTable(
        ruled=order.ruled,
        before=np.array(before, np.uint64),
        ends=np.uint64(order.ends),
        enough=np.array([n for n, _ in order.choices], np.int32),
        room=np.array([n for n, _ in order.capacities], np.int32),
        part_first=np.cumsum([0, *(len(parts) for _, parts in groups)]).astype(np.int32),
        part=np.array([part for _, parts in groups for part in parts], np.uint64),
    )


def entry_values(stepper: Stepper) -> list[tuple[int, Values]]:
    """Every entry as (numeric state, values of the variables that it mentions): state by state, the first value fastest."""
    most = max(map(len, stepper.mentioned))
    if most > MAX_MENTIONED:
        raise TaskError(
            f"the guards out of one state mention {most} numeric features, and at most {MAX_MENTIONED} are read; split the state"
        )
    return [
        (u, tuple(reversed(values)))
        for u, mentioned in enumerate(stepper.mentioned)
        for values in product(CHANGES, repeat=len(mentioned))
    ]


def read_entry(
    stepper: Stepper, u: int, label: Set[str], values: Values, signals: Sequence[str]
) -> tuple[int, float, int, Transition | None]:
    """What an entry says about a label: next numeric state, reward or factor, signal or -1, the transition taken."""
    target, t = stepper.follow(u, label, values)
    return target, *(t.reward.lowered(signals, stepper.machine.compounds) if t else (0.0, -1)), t


def entries(table: AgendaTable, u: int, masks: Masks) -> tuple[Ints, Masks, Masks]:
    """A step from u with each label, [masks, labels]: the entry read, the mask after the step, those completed."""
    from errands.kernels.search import expand

    shape = (len(masks), len(table.label_bits))
    entry, after, completed = np.empty(shape, np.int32), np.empty(shape, np.uint64), np.empty(shape, np.uint64)
    expand(table, u, masks, entry, after, completed)
    return entry, after, completed


def _enumerated(machine: AgendaRM | BooleanRM, labels: Labels, signals: Sequence[str]) -> MachineTable:
    stepper = machine.stepper
    table = _stepping(stepper, labels, signals)
    count = len(machine)
    us = np.array([state[0] for state in machine.states], np.int32)
    if isinstance(machine, AgendaRM):
        masks = np.array([state[1] for state in machine.states], np.uint64)
    else:
        masks = np.array([mask_of(stepper, order) for _, order in machine.states], np.uint64)
    shape = (count, len(labels))
    following, reward = np.zeros(shape, np.int32), np.zeros(shape)
    signal = np.full(shape, -1, np.int32)
    for u, status in enumerate(stepper.status):
        here = np.flatnonzero(us == u)
        if status:  # a terminal keeps its state and pays nothing more
            following[here] = here[:, None]
            continue
        entry, after, completed = entries(table, u, masks[here])
        reward[here], signal[here] = table.reward[entry], table.signal[entry]
        for label in range(len(labels)):
            reached = table.next[entry[:, label]]
            following[here, label] = _found(machine, here, reached, after[:, label], completed[:, label])
    return MachineTable(0, following, reward, signal, np.array(stepper.status, np.int8)[us])


def _found(machine: AgendaRM | BooleanRM, here: np.ndarray, u: Ints, after: Masks, completed: Masks) -> list[int]:
    if isinstance(machine, AgendaRM):
        failed = np.array(machine.stepper.status)[u] == 2
        masks = np.where(failed, np.uint64(0), after)
        return [machine.index[(int(t), int(m))] for t, m in zip(u, masks, strict=True)]
    return [
        machine.index[extend(machine.stepper, int(t), machine.states[i][1], int(c))]
        for i, t, c in zip(here, u, completed, strict=True)
    ]
