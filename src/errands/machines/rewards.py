"""What a transition pays: a number, a signal of the world, a sum of both, or any function of the signals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from errands.errors import SpecError, TaskError, words_of
from errands.features import is_name
from errands.tables import Floats, Ints

MAX_TERMS = 64
Function = Callable[[Mapping[str, float]], float]


@dataclass(frozen=True, slots=True)
class Reward:
    """A number, or a signal of the world times a number; `terms` or a `function` make it a compound one.

    >>> parse_reward("1000 - control_cost + 2*speed").paid({"control_cost": 1.0, "speed": 3.0})
    1005.0
    """

    value: float = 0.0
    """The constant; the factor where there is a signal."""
    signal: str | None = None
    terms: tuple[tuple[float, str], ...] = ()
    """(factor, signal) pairs that are added to the constant."""
    function: Function | None = None
    """Any function of the signals in `terms`, in place of their sum; made in Python, never read from a file."""

    def __post_init__(self) -> None:
        if not self.terms or self.function is not None:
            return
        # One form for each sum, so that what is printed is read back as the same.
        factors = dict[str, float]() if self.signal is None else {self.signal: self.value}
        for factor, name in self.terms:
            factors[name] = factors.get(name, 0.0) + factor
        constant = self.value if self.signal is None else 0.0
        single = len(factors) == 1 and constant == 0.0
        ((signal, value), *_) = factors.items()
        object.__setattr__(self, "value", value if single else constant)
        object.__setattr__(self, "signal", signal if single else None)
        object.__setattr__(self, "terms", () if single else tuple((factor, name) for name, factor in factors.items()))

    @staticmethod
    def of(function: Function, *signals: str) -> Reward:
        """What a function of these signals gives; it takes a mapping from their names to numbers."""
        return Reward(0.0, None, tuple((1.0, name) for name in signals), function)

    def __str__(self) -> str:
        if self.function is not None:
            return f"{getattr(self.function, '__name__', 'function')}({', '.join(self.signals)})"
        parts = [(self.value, self.signal)] if self.signal is not None or self.value or not self.terms else []
        words = [_word(factor, name) for factor, name in (*parts, *self.terms)]
        return words[0] + "".join(f" - {w[1:]}" if w.startswith("-") else f" + {w}" for w in words[1:])

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it depends on."""
        return (*(() if self.signal is None else (self.signal,)), *(name for _, name in self.terms))

    @property
    def compound(self) -> bool:
        """Whether it is more than a number or a signal times a number."""
        return bool(self.terms) or self.function is not None

    @property
    def finite(self) -> bool:
        """Whether all its numbers are."""
        return all(map(math.isfinite, (self.value, *(factor for factor, _ in self.terms))))

    def paid(self, signals: Mapping[str, float] | None) -> float:
        """The number that is paid in a step with these signals."""
        for name in self.signals:
            if signals is None or name not in signals:
                raise TaskError(f"the reward is the signal '{name}', which this step does not report; pass signals=")
        known = signals or {}
        if self.function is not None:
            try:
                if math.isfinite(paid := float(self.function({name: known[name] for name in self.signals}))):
                    return paid
                raise ValueError(f"it gave {paid}")
            except KeyboardInterrupt:
                raise
            except BaseException as fault:  # one that exits would take the run's last words with it
                raise TaskError(f"the reward {self} cannot be reckoned ({words_of(fault)}); let it give a number") from fault
        first = self.value if self.signal is None else self.value * known[self.signal]
        return first + sum(factor * known[name] for factor, name in self.terms) if self.terms else first

    def lowered(self, signals: Sequence[str], compounds: Sequence[Reward]) -> tuple[float, int]:
        """(number, -1) or (factor, index of the signal); the machine's compound rewards are the last signals."""
        if self.compound:
            # Found as the value that it is: two functions can print alike.
            index = len(signals) - len(compounds) + compounds.index(self)
            if index >= 0 and signals[index] == str(self):
                return 1.0, index
        elif self.signal is None or self.signal in signals:
            return self.value, -1 if self.signal is None else list(signals).index(self.signal)
        name = str(self) if self.compound else self.signal
        raise TaskError(f"the reward is the signal '{name}', which the world does not report")


NOTHING = Reward()


def compound_rows(rewards: Sequence[Reward], signals: Sequence[str], table: Floats) -> Floats:
    """[K + compound, ...] the table [K, ...] of a world's signals with a row for each compound reward."""
    reported = table[: len(signals)]
    columns = np.moveaxis(reported, 0, -1).reshape(math.prod(table.shape[1:]), len(signals))
    rows = [[reward.paid(dict(zip(signals, column, strict=True))) for column in columns] for reward in rewards]
    return np.concatenate([reported, np.array(rows).reshape(len(rows), *table.shape[1:])])


def linear_pay(rewards: Sequence[Reward], signals: Sequence[str], factor: Floats, index: Ints) -> Floats:
    """[..., 1 + signals + functions] the constant and the factors that entries pay; index as `lowered` gives it.

    Indices past the signals are those of the compound rewards. A function's value is a column of its own behind the signals.
    """
    functions = [reward for reward in rewards if reward.function is not None]
    pay = np.zeros((*factor.shape, 1 + len(signals) + len(functions)))
    for k in range(-1, len(signals)):
        # Index -1 is a plain number: its factor goes to column 0.
        pay[..., k + 1] = np.where(index == k, factor, 0.0)
    for k, reward in enumerate(rewards, len(signals)):
        here = index == k
        if reward.function is not None:
            pay[..., 1 + len(signals) + functions.index(reward)] += np.where(here, factor, 0.0)
            continue
        pay[..., 0] += np.where(here, factor * reward.value, 0.0)
        for weight, name in reward.terms:
            pay[..., 1 + list(signals).index(name)] += np.where(here, factor * weight, 0.0)
    return pay


def _word(factor: float, name: str | None) -> str:
    # All digits, since it is read back; a whole number without its point.
    digits = repr(float(factor)).removesuffix(".0")
    return digits if name is None else {1.0: "", -1.0: "-"}.get(factor, f"{digits}*") + name


_TERM = re.compile(r"\s*([+-]?)\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:\*\s*([^\W\d]\w*))?|([^\W\d]\w*))\s*")


def parse_reward(text: str) -> Reward:
    """The reward that a text means: a finite number, a signal, or a sum such as `1000 - 0.5*control_cost`."""
    word = text.strip()
    try:
        value = float(word)
    except ValueError:
        return _sum(word)
    if not math.isfinite(value):
        raise SpecError(f"the reward '{word[:40]}' is not a finite number")
    return Reward(value)


def _sum(word: str) -> Reward:
    constant, terms = 0.0, list[tuple[float, str]]()
    position, count = 0, 0
    while position < len(word) or not count:
        term = _TERM.match(word, position)
        if not term or (count and not term[1]) or count == MAX_TERMS:
            raise SpecError(
                f"the reward '{word[:40]}' is neither a number nor the name of a signal, nor a sum such as 1000 - 0.5*cost"
            )
        sign, number, times, alone = term.groups()
        factor = float(number or 1.0) * (-1.0 if sign == "-" else 1.0)
        name = times or alone
        if name is not None and (not is_name(name) or name.lower() in ("nan", "inf", "infinity")):
            raise SpecError(f"'{name[:40]}' in the reward '{word[:40]}' is not the name of a signal")
        if name is None:
            constant += factor
        else:
            terms.append((factor, name))
        position, count = term.end(), count + 1
    reward = Reward(constant, None, tuple(terms))
    if not reward.finite:
        raise SpecError(f"the reward '{word[:40]}' is not finite")
    return reward
