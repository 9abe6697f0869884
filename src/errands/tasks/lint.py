"""Lint: what a task file says, how large its machines are, and what in it is allowed but hardly meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from errands.errors import TaskError
from errands.features import Change, Numeric, atoms
from errands.machines import NumericRM, Sizes, size, unfold_agenda
from errands.machines.counting import Quotient, overlaps
from errands.machines.label import Label
from errands.machines.stepping import State, Stepper
from errands.tables import RUNNING
from errands.tasks.reading import read_aloud
from errands.tasks.task import Task
from errands.worlds.grid import unreachable_features

MOST_LABELS = 20_000
MOST_TOLD = 5


@dataclass(frozen=True)
class LintReport:
    """A well-formed task, read aloud and measured, with a sentence for everything that looks unintended."""

    machine: NumericRM
    reading: tuple[str, ...]
    sizes: Sizes | None
    """None for a machine that can only be measured by building it and is too large for that."""
    warnings: tuple[str, ...]
    task: Task | None = None
    """None where only a machine was read."""


def lint(text: str) -> LintReport:
    """The report on a task file; a SpecError with all problems if it is not well formed."""
    task = Task.from_toml(text)
    report = lint_machine(task.machine)
    warnings = (*report.warnings, *_told(_crowded(task)), *_told(_unreachable(task)))
    return LintReport(task.machine, report.reading, report.sizes, warnings, task)


def lint_machine(machine: NumericRM) -> LintReport:
    """The report on a machine alone."""
    sizes: Sizes | None
    try:
        sizes = size(machine)
    except TaskError:
        sizes = None
    warnings = [*_told(_unused_states(machine)), *_told(_agreeing(machine)), *_told(_uncompleted(machine))]
    if sizes is not None and sizes.agenda <= MOST_LABELS:
        warnings += _told(_coinciding(machine))
    return LintReport(machine, read_aloud(machine), sizes, tuple(warnings))


def _told(warnings: Iterable[str]) -> list[str]:
    """The first few of one kind of warning, and how many more there are."""
    found = list(warnings)
    more = len(found) - MOST_TOLD
    return found if more <= 1 else [*found[:MOST_TOLD], f"and {more} more warnings like the last one"]


def _unused_states(machine: NumericRM) -> Iterator[str]:
    reached = {machine.states[u] for u, _ in Quotient(machine).nodes}
    for name in machine.states:
        if name not in reached:
            kind = "terminal" if name in machine.success or name in machine.failure else "machine state"
            yield f"the {kind} '{name}' is never reached; correct the guards that lead to it, or remove it"
    if not any(name in reached for name in machine.success):
        yield "the task can never succeed; name a success state and a transition that leads to it"


def _agreeing(machine: NumericRM) -> Iterator[str]:
    for pair in overlaps(machine):
        if pair.agree:
            shown = ", ".join(pair.features)
            yield f"'{pair.first}' and '{pair.second}' both fire on {{{shown}}} and do the same; narrow one guard"


def _uncompleted(machine: NumericRM) -> Iterator[str]:
    mentioned = [a for t in machine.transitions for a in atoms(t.guard) if isinstance(a, Numeric)]
    for name, _ in machine.numeric:
        changes = {a.change for a in mentioned if a.name == name}
        if not changes:
            yield f"the numeric feature '{name}' stands in no guard; use it, or remove it with its subtasks"
        elif Change.DECREASED not in changes:
            yield f"no guard mentions {name}↓, so its subtasks are never completed; write {name}↓ where they are done"


def _coinciding(machine: NumericRM) -> Iterator[str]:
    """Labels that two running states share (Proposition 2 of the paper does not hold in general)."""
    agenda = unfold_agenda(machine)
    holders: dict[Label, list[State]] = defaultdict(list)
    for state, label in zip(agenda.states, agenda.labels, strict=True):
        if agenda.stepper.status[state[0]] == RUNNING:
            holders[label].append(state)
    for label, states in holders.items():
        if len(states) > 1:
            first, second = (machine.states[u] for u, _ in states[:2])
            yield (
                f"the label {label} stands for two states, {first} and {second} with the same subtasks left; "
                "errands tells them apart, readers of labels cannot"
            )


def _crowded(task: Task) -> Iterator[str]:
    """Subtasks that are true at once and open at once: the paper assumes that this does not happen."""
    if task.layout is not None:
        together = {task.layout.features_at(cell) for _, cell in task.layout.places}
    else:
        finite = task.world.finite()
        together = set(finite.labels) if finite is not None else set()
    stepper = Stepper(task.machine)
    for label in sorted(together, key=sorted):
        hits = stepper.bits(label)
        for u, active in enumerate(stepper.active):
            both = list(dict.fromkeys(stepper.named(hits & active)))
            if len(both) > 1:
                yield (
                    f"{' and '.join(both)} hold at once and are both open in {task.machine.states[u]}; one step "
                    f"completes only {both[0]}, the first in declared order, so put them apart if that is not meant"
                )


def _unreachable(task: Task) -> Iterator[str]:
    if task.layout is not None:
        for name in unreachable_features(task.layout):
            if name in task.machine.features:
                yield f"guards mention '{name}', but none of its cells can be reached from the start; open a way to one"
