"""A machine read aloud: one English sentence per state, in the order in which the states come up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from errands.features import TRUE, And, Boolean, Change, Guard, Not, Numeric, Or, conjunction, negation
from errands.machines.counting import Quotient
from errands.machines.numeric import NumericRM
from errands.machines.transition import Reward, Transition

MOST_NAMES = 6


def read_aloud(machine: NumericRM) -> tuple[str, ...]:
    """What the machine asks for, in words."""
    return tuple(_Reader(machine).sentences())


class _Split(NamedTuple):
    """A guard in words: what is to be done or reached, and the standing condition on which the rest depends."""

    asked: str
    condition: str


class _Reader:
    def __init__(self, machine: NumericRM) -> None:
        self.machine = machine
        self.subtasks = dict(machine.numeric)
        self.order = _breadth_first(machine)
        # Where a state can be entered with nothing left to do, "at its bound" announces nothing.
        self.bare = {
            (machine.states[u], name)
            for u, counts in Quotient(machine).nodes
            for (name, _), left in zip(machine.numeric, counts, strict=True)
            if not left
        }

    def sentences(self) -> Iterable[str]:
        """One for each state that is not an end; a failure that threatens in all of them is told once, at the end."""
        running = [s for s in self.order if s not in self.machine.success and s not in self.machine.failure]
        fatal = {s: self._failures(s) for s in running}
        shared = all(fatal[s] == fatal[running[0]] for s in running)
        for i, state in enumerate(running):
            ways = "; or ".join(self._ways(state)) or "nothing leads on from here"
            ends = ["", *(() if shared else (self._fails(state, *failure) for failure in fatal[state]))]
            yield f"{'In' if i else 'Start in'} {state}: {ways}{'; but '.join(ends)}."
            yield from self._paid_waiting(state)
        for failure in fatal[running[0]] if shared else ():
            yield f"Always: {self._fails(running[0], *failure)}."

    def _failures(self, state: str) -> list[tuple[Guard, Reward]]:
        return [(t.guard, t.reward) for t in self.machine.leaving[state] if t.target in self.machine.failure]

    def _fails(self, state: str, guard: Guard, reward: Reward) -> str:
        return f"{self._say(state, guard)} fails the task{_paid(reward)}"

    def _ways(self, state: str) -> list[str]:
        """The ways on from a state; transitions that ask for the same thing stand together."""
        allowed = [negation(guard) for guard, _ in self._failures(state)]
        groups: dict[str, list[tuple[str, str]]] = {}
        for t in self.machine.leaving[state]:
            if t.target not in self.machine.failure and not self._waits(t) and not self._idle(t):
                split = self._split(state, _without(t.guard, allowed))
                groups.setdefault(split.asked, []).append((split.condition, self._consequence(t)))
        return [_joined(asked, ends) for asked, ends in groups.items()]

    def _waits(self, t: Transition) -> bool:
        """Whether a transition stays and completes nothing."""
        return t.source == t.target and not any(self._announces(t.source, part) for part in _parts(t.guard))

    def _idle(self, t: Transition) -> bool:
        """Whether a transition can never fire: the only subtask of a numeric feature cannot leave others behind."""
        parts = (p for p in _parts(t.guard) if isinstance(p, Numeric) and p.change is Change.DECREASED)
        return any(len(self.subtasks[p.name]) == 1 for p in parts)

    def _announces(self, state: str, part: Guard) -> str | None:
        """The numeric feature of which a part of a guard says that a subtask was completed; None if it says no such."""
        atoms = part.parts if isinstance(part, Or) else (part,)
        names = {a.name for a in atoms if isinstance(a, Numeric) and a.change is not Change.UNCHANGED}
        if len(names) != 1 or not all(isinstance(a, Numeric) and a.change is not Change.UNCHANGED for a in atoms):
            return None
        name = names.pop()
        return name if name in self.machine.completing[state] and (state, name) not in self.bare else None

    def _split(self, state: str, guard: Guard) -> _Split:
        done, reached, conditions = [], [], []
        for part in _parts(guard):
            name = self._announces(state, part)
            if name is not None:
                done.append(
                    f"do one of {self._names(name)}" if len(self.subtasks[name]) > 1 else f"do {self._names(name)}"
                )
                if isinstance(part, Numeric) and len(self.subtasks[name]) > 1:
                    conditions.append("none remains" if part.change is Change.REACHED else "others remain")
            elif isinstance(part, Numeric):
                conditions.append(self._say(state, part, clause=True))
            else:
                reached.append(part)
        asked = [*done, *([f"reach {self._say(state, conjunction(reached))}"] if reached else [])]
        return _Split(" and ".join(asked), " and ".join(conditions))

    def _consequence(self, t: Transition) -> str:
        if t.target in self.machine.success:
            return f"the task is done{_paid(t.reward)}"
        if t.target == t.source:
            return f"stay in {t.target}{_paid(t.reward)}"
        back = self.order.index(t.target) < self.order.index(t.source)
        return f"go {'back ' if back else ''}to {t.target}{_paid(t.reward)}"

    def _paid_waiting(self, state: str) -> Iterable[str]:
        for t in self.machine.leaving[state]:
            if self._waits(t) and t.reward != Reward():
                yield f"In {state}, each step pays {t.reward} while {self._say(state, t.guard, clause=True)}."

    def _names(self, variable: str) -> str:
        names = self.subtasks[variable]
        if len(names) <= MOST_NAMES:
            return ", ".join(names)
        return f"{names[0]}, {names[1]}, ..., {names[-1]} ({len(names)} subtasks)"

    def _say(self, state: str, guard: Guard, clause: bool = False) -> str:
        """The guard in words; as a clause ('x holds') or as something to reach ('x')."""
        match guard:
            case Boolean(name):
                return f"{name} holds" if clause else name
            case Numeric(name, change):
                return _counted(change, self._names(name), name in self.machine.completing[state])
            case Not(Boolean(name)):
                return f"{name} does not hold" if clause else f"no {name}"
            case Not(inner):
                return f"not ({self._say(state, inner, clause)})"
            case And(parts):
                said = (self._say(state, p, clause) for p in parts)
                marked = (f"({w})" if isinstance(p, Or) else w for p, w in zip(parts, said, strict=True))
                return " and ".join(marked) or "anything holds"
            case Or(parts):
                return " or ".join(self._say(state, p, clause) for p in parts) or "nothing"


def _counted(change: Change, names: str, completing: bool) -> str:
    if change is Change.REACHED:
        return f"none of {names} remains"
    if change is Change.DECREASED:
        return f"one of {names} is completed and others remain"
    return f"none of {names} is completed" if completing else f"some of {names} remain"


def _parts(guard: Guard) -> tuple[Guard, ...]:
    return guard.parts if isinstance(guard, And) and guard.parts else (guard,)


def _without(guard: Guard, conjuncts: Sequence[Guard]) -> Guard:
    left = [part for part in _parts(guard) if part not in conjuncts]
    return conjunction(left) if left else TRUE


def _paid(reward: Reward) -> str:
    return "" if reward == Reward() else f" with reward {reward}"


def _joined(asked: str, ends: Sequence[tuple[str, str]]) -> str:
    """What is asked for and what follows; two opposite conditions read as if and else."""
    conditions = [condition for condition, _ in ends]
    if conditions == [""]:
        return f"{asked}, then {ends[0][1]}"
    first = asked + ", then " if asked else ""
    if len(ends) == 2:
        (one, end), (other, otherwise) = sorted(ends, key=lambda e: e[0].startswith("none"))
        if other == ("none remains" if one == "others remain" else one.replace("some", "none", 1) + "s"):
            return f"{first}if {one} {end}, else {otherwise}"
    return first + ", ".join(f"if {condition} {end}" if condition else end for condition, end in ends)


def _breadth_first(machine: NumericRM) -> list[str]:
    found = {machine.initial: None}
    queue = [machine.initial]
    for state in queue:
        for t in machine.leaving[state]:
            if t.target not in found:
                found[t.target] = None
                queue.append(t.target)
    return list(found)
