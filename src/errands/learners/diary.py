"""What training met in an environment: features, completed subtasks, ends of episodes. Nobody learns from it; who fails is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from errands.errors import StoreError
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State, Stepper
from errands.tables import FAILURE, RUNNING, SUCCESS

MAX_MOVES = 20_000
"""Moves of the machine that are remembered; then it is asked anew."""
SUCCEEDED, FAILED, ENDED, CUT = "succeeded", "failed", "ended by the environment", "cut by the limit"


class Diary:
    """The steps of one environment, told one by one.

    >>> import errands
    >>> diary = Diary(errands.any_order("a", "b"))
    >>> for features in ({"a"}, {"c"}, {"b"}):
    ...     diary.note(frozenset(features), ended=False, cut=False)
    >>> diary.completed, diary.ends
    (Counter({'a': 1, 'b': 1}), Counter({'succeeded': 1}))
    """

    def __init__(self, machine: NumericRM) -> None:
        self.stepper = Stepper(machine)
        self.features, self.completed, self.ends = Counter[str](), Counter[str](), Counter[str]()
        """Steps by what was true, completions by objective, episodes by how they ended."""
        self.furthest = Counter[str]()
        """Episodes by how many objectives were completed in them."""
        self._moves: dict[tuple[State, frozenset[str]], tuple[State, tuple[str, ...], int]] = {}
        self.begin()

    def begin(self) -> None:
        """A new episode."""
        self.state, self.done = self.stepper.start, 0

    def note(self, features: frozenset[str], ended: bool, cut: bool) -> None:
        """A step, whether the environment ended the episode with it, and whether it was cut off there."""
        key = self.state, features
        if (move := self._moves.get(key)) is None:
            if len(self._moves) >= MAX_MOVES:
                self._moves.clear()
            step = self.stepper.step(self.state, features)
            names = self.stepper.completed(self.state, step)
            move = self._moves[key] = step.state, names, self.stepper.status[step.state[0]]
        for name in features:
            self.features[name] += 1
        self.state, names, status = move
        for name in names:
            self.completed[name] += 1
        self.done += len(names)
        if status != RUNNING or ended or cut:
            self.ends[{SUCCESS: SUCCEEDED, FAILURE: FAILED}.get(status, ENDED if ended else CUT)] += 1
            self.furthest[str(self.done)] += 1
            self.begin()

    def save(self) -> dict[str, Any]:
        """All of it as plain data."""
        counts = {name: dict(getattr(self, name)) for name in _COUNTS}
        return {**counts, "state": list(self.state), "done": self.done}

    def restore(self, saved: Any) -> None:
        """Go on from what `save` gave; a StoreError where it is something else."""
        try:
            counts = {name: Counter({str(key): int(n) for key, n in saved[name].items()}) for name in _COUNTS}
            u, mask = (int(part) for part in saved["state"])
            if not 0 <= u < len(self.stepper.status) or not 0 <= mask <= self.stepper.full:
                raise ValueError
            self.done = int(saved["done"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StoreError("the stored counts of what training met are damaged; resume from an older checkpoint") from None
        self.state = u, mask
        for name, count in counts.items():
            setattr(self, name, count)


_COUNTS = ("features", "completed", "ends", "furthest")


def total(diaries: Iterable[Diary], name: str) -> Counter[str]:
    """One of the counts of several diaries, added up."""
    return sum((getattr(diary, name) for diary in diaries), Counter[str]())
