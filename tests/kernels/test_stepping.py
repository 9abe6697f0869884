"""Steps of worlds and agenda machines as plain Python, against the machine itself; choices, as often as they should come."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from errands.kernels import stepping
from errands.machines import Stepper
from errands.machines.lower import lower
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, avoid, sequence

kernel: dict[str, Any] = {
    name: getattr(getattr(stepping, name), "py_func", getattr(stepping, name))
    for name in ("lowest_bit", "outcome", "start", "reward")
}


@pytest.mark.parametrize("bit", range(64))
def test_the_lowest_bit_is_found_whatever_lies_above_it(bit: int) -> None:
    assert kernel["lowest_bit"](np.uint64(1 << bit)) == bit
    assert kernel["lowest_bit"](np.uint64((2**64 - 1) & ~((1 << bit) - 1))) == bit


def test_no_bit_is_minus_one() -> None:
    assert kernel["lowest_bit"](np.uint64(0)) == -1


@pytest.mark.parametrize(
    "machine", [any_order("a", "b", "c", after="s"), avoid("x", sequence(any_order("p", "q"), any_order("r", "t")))]
)
def test_a_step_of_the_table_is_a_step_of_the_machine(machine: Any) -> None:
    chance = random.Random(1)
    labels = [set(chance.sample(machine.features, chance.randint(0, 3))) for _ in range(30)]
    table, stepper = lower(machine, labels), Stepper(machine)
    state = stepper.start
    for _ in range(200):
        label = chance.randrange(30)
        entry, mask, completed = stepping.advance(table, state[0], np.uint64(state[1]), label)
        (u, rest), chosen, bit = stepper.step(state, labels[label])
        assert (int(table.next[entry]), completed) == (u, bit)
        assert table.reward[entry] == (chosen.reward.value if chosen else 0.0)
        if stepper.status[u]:
            state = stepper.start
        else:
            assert int(mask) == rest
            state = (u, rest)


def slippery() -> Any:
    text = load("figure-1").text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.3')
    finite = Task.from_toml(text).finite
    assert finite is not None
    return finite.table


def test_outcomes_come_as_often_as_the_table_says() -> None:
    table, rng = slippery(), np.random.default_rng(0)
    met = Counter(kernel["outcome"](table, 4, 1, rng) for _ in range(20_000))
    shares = np.diff(table.cumulative[4, 1], prepend=0.0)
    assert [met[o] / 20_000 for o in range(3)] == pytest.approx(shares.tolist(), abs=0.01)


def test_certain_moves_and_single_starts_draw_nothing() -> None:
    finite = load("figure-1").finite
    assert finite is not None
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert kernel["outcome"](finite.table, 3, 2, rng) == 0
    assert kernel["start"](finite.table, rng) == finite.table.starts[0]
    assert rng.bit_generator.state == before


def test_a_signal_is_paid_times_its_factor() -> None:
    table = slippery()._replace(signal=np.full((1, 12, 4, 3), 0.5))
    assert kernel["reward"](table, -2.0, 0, 1, 1, 1) == -1.0
    assert kernel["reward"](table, -2.0, -1, 1, 1, 1) == -2.0


def interpreted(kernel: Any) -> Callable[..., Any]:
    """The kernel as plain Python: nothing is compiled for it here."""
    found: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return found


best_action, best_value, explore = (interpreted(k) for k in (stepping.best_action, stepping.best_value, stepping.explore))


def table(*row: float) -> np.ndarray:
    """The row as q[1, :, 2], everything else higher."""
    q = np.full((2, len(row), 3), 9.0)
    q[1, :, 2] = row
    return q


class Fixed:
    """Gives one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


@pytest.mark.parametrize(
    ("row", "action"), [((1.0, 3.0, 2.0), 1), ((2.0, 2.0, 1.0), 0), ((-1.0, -1.0, -0.5), 2), ((4.0,), 0)]
)
def test_the_first_of_the_highest_is_taken(row: tuple[float, ...], action: int) -> None:
    assert best_action(table(*row), 1, 2) == action
    assert best_value(table(*row), 1, 2) == max(row)


@pytest.mark.parametrize(("number", "action"), [(0.0, 0), (0.19, 0), (0.2, 1), (0.39, 1), (0.4, 2), (0.599, 2)])
def test_below_epsilon_every_action_is_as_likely(number: float, action: int) -> None:
    assert explore(table(5.0, 0.0, 0.0), 1, 2, 0.6, Fixed(number)) == action


@pytest.mark.parametrize(("number", "action"), [(0.6, 0), (0.79, 0), (0.81, 2), (0.999, 2)])
def test_above_epsilon_ties_are_broken_by_the_same_number(number: float, action: int) -> None:
    assert explore(table(7.0, 1.0, 7.0), 1, 2, 0.6, Fixed(number)) == action


def test_over_many_draws_both_parts_come_as_often_as_they_should() -> None:
    """Epsilon 0.3 over three actions, the last two tied: 0.1, then 0.1 + 0.35 each."""
    rng = np.random.default_rng(0)
    met = Counter(explore(table(0.0, 1.0, 1.0), 1, 2, 0.3, rng) for _ in range(20_000))
    assert [met[a] / 20_000 for a in range(3)] == pytest.approx([0.1, 0.45, 0.45], abs=0.01)


def test_without_epsilon_nothing_but_the_best_is_taken() -> None:
    rng = np.random.default_rng(0)
    assert {explore(table(0.0, 1.0), 1, 2, 0.0, rng) for _ in range(200)} == {1}
