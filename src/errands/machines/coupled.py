"""Coupled reward machines (Definition 4): an agenda state split by its objectives, all occupied at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from errands.machines.agenda import AgendaRM
from errands.machines.counting import objectives
from errands.machines.numeric import Label, Outcome, Signals, Trace
from errands.tables import RUNNING, SUCCESS


@dataclass(frozen=True)
class CoupledRM:
    """The machine in which the agent occupies one state per open objective and may leave by any of them.

    >>> import errands
    >>> machine = errands.couple(errands.unfold_agenda(errands.any_order("a", "b")))
    >>> print(*machine.labels)
    0{a,b}a 0{a,b}b 1{b}b 1{a}a 2{}
    >>> machine.objectives
    ('a', 'b')
    """

    agenda: AgendaRM
    states: tuple[tuple[int, str | None], ...]
    """(index of the agenda state, its objective), coupled states side by side."""

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The label of each state."""
        split = []
        for i, objective in self.states:
            whole = self.agenda.labels[i]
            split.append(Label(whole.depth, whole.remaining, whole.objective if objective is None else (objective,)))
        return tuple(split)

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """U': all subtasks, then all Boolean objectives; one low-level policy each."""
        return objectives(self.agenda.numeric)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The coupled states of each agenda state: those that the agent occupies at once."""
        groups: list[list[int]] = [[] for _ in self.agenda.states]
        for j, (i, _) in enumerate(self.states):
            groups[i].append(j)
        return tuple(map(tuple, groups))

    def __len__(self) -> int:
        return len(self.states)

    def run(self, trace: Trace, signals: Signals | None = None) -> Outcome:
        """What the machine pays for a trace: every occupied state may be the one that is left."""
        occupied, rewards = self.groups[0], []
        stepper = self.agenda.stepper
        for i, true in enumerate(trace):
            # All occupied states belong to one agenda state, so any of them says which.
            here = self.agenda.states[self.states[occupied[0]][0]]
            target, chosen, _ = stepper.step(here, true)
            occupied = self.groups[self.agenda.index[target]]
            rewards.append(chosen.reward.paid(signals[i] if signals is not None else None) if chosen else 0.0)
            if (status := stepper.status[target[0]]) != RUNNING:
                return Outcome(tuple(rewards), True, status == SUCCESS)
        return Outcome(tuple(rewards), False, False)


def couple(agenda: AgendaRM) -> CoupledRM:
    """The coupled machine of an agenda machine: one state per open objective.

    Parameters:
        agenda: the machine whose states are split.

    >>> import errands
    >>> len(couple(errands.unfold_agenda(errands.load("delivery-2").machine)))
    8
    """
    states: list[tuple[int, str | None]] = []
    for i, state in enumerate(agenda.states):
        # Definition 4. A state without an open objective (a terminal, say) is not split.
        states.extend((i, objective) for objective in agenda.stepper.alternatives(state) or (None,))
    return CoupledRM(agenda, tuple(states))
