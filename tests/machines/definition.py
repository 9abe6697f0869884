"""What a trace earns by Definition 2 alone, with nothing that machines are stepped by; and what each machine's own states say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from errands.features import Change, holds
from errands.machines import Machine, NumericRM, Outcome
from errands.tasks.product import Walker

Signals = Sequence[Mapping[str, float]]


def defined(machine: NumericRM, trace: Sequence[Set[str]], signals: Signals | None = None) -> Outcome:
    """By the definition: one count of remaining subtasks per numeric feature."""
    state, rewards = machine.initial, []
    remaining = _Remaining(machine)
    for i, true in enumerate(trace):
        changes = remaining.step(machine.completing[state], true)
        # No match means staying with reward 0. Where several match they agree: conflicts are refused at birth.
        chosen = next((t for t in machine.leaving[state] if holds(t.guard, true, changes)), None)
        rewards.append(chosen.reward.paid(signals[i] if signals is not None else None) if chosen else 0.0)
        state = chosen.target if chosen else state
        if state in machine.success or state in machine.failure:
            return Outcome(tuple(rewards), True, state in machine.success)
    return Outcome(tuple(rewards), False, False)


def walked(machine: Machine, trace: Sequence[Set[str]], signals: Signals | None = None) -> Outcome:
    """From state to state of any of the four machines, each of which it must have."""
    walker = Walker(machine)
    at, rewards = walker.start, list[float]()
    for i, true in enumerate(trace):
        at, reward, terminal, success = walker.step(at, true, signals[i] if signals is not None else None)
        at = walker.position(walker.index(at))
        rewards.append(reward)
        if terminal:
            return Outcome(tuple(rewards), True, success)
    return Outcome(tuple(rewards), False, False)


class _Remaining:
    """What remains of each numeric feature in a run, by the definition: no masks, nothing that other machines use."""

    def __init__(self, machine: NumericRM) -> None:
        self.names, self.rules = machine.counted, machine.rules
        self.left = set(range(len(self.names)))
        self.gauges = {gauge: gauge.start for gauge in machine.gauges}
        self.ended: set[int] = set()
        """The pairs of `rules.apart` whose visit has ended."""
        low = 0
        self.own: dict[str, range] = {}
        for variable, subtasks in machine.numeric:
            self.own[variable] = range(low, low + len(subtasks))
            low += len(subtasks)

    def open(self, i: int) -> bool:
        """Whether subtask i could be completed now."""
        rules = self.rules
        if i not in self.left or any(p in self.left for p, j in rules.before if j == i):
            return False
        if any(k not in self.ended for k, (_, j) in enumerate(rules.apart) if j == i):
            return False
        for group in rules.capacities:
            begun = [0 < len(self.left.intersection(part)) < len(part) for part in group.parts]
            own = next((k for k, part in enumerate(group.parts) if i in part), None)
            if own is not None and not begun[own] and sum(begun) >= group.number:
                return False
        return True

    def step(self, completing: Set[str], true: Set[str]) -> dict[str, Change]:
        """Complete what one step completes; the values of the numeric features after it."""
        done = {}
        for variable in completing:
            first = next((i for i in self.own[variable] if self.names[i] in true and self.open(i)), None)
            if first is not None:
                done[variable] = first
        # Read before `left` changes: a visit ends in a later step than the one that completed its subtask.
        over = {k for k, (i, _) in enumerate(self.rules.apart) if i not in self.left and self.names[i] not in true}
        self.left -= set(done.values())
        self.ended |= over
        for group in self.rules.choices:
            if sum(not self.left.intersection(part) for part in group.parts) >= group.number:
                self.left -= group.members
        return self._gauged(true) | {
            variable: Change.REACHED
            if not self.left.intersection(own)
            else Change.DECREASED
            if variable in done
            else Change.UNCHANGED
            for variable, own in self.own.items()
        }

    def _gauged(self, true: Set[str]) -> dict[str, Change]:
        """Let the gauges fall; how they read then."""
        before, changes = dict(self.gauges), {}
        for gauge, value in before.items():
            self.gauges[gauge] = now = max(gauge.bound, value - gauge.fall(value, true))
            same = Change.UNCHANGED if now == value else Change.DECREASED
            changes[gauge.name] = Change.REACHED if now == gauge.bound else same
        return changes
