"""Machines of PyCRM become machines of errands that pay the same, counters included."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import errands
from errands.errors import SpecError


def machine(targets: dict, changes: dict | None = None, paid: dict | None = None, c_0: tuple[int, ...] = ()) -> Any:
    """What from_pycrm reads of a machine of PyCRM."""
    paid = paid or {u: {text: 1.0 if v == -1 else 0.0 for text, v in out.items()} for u, out in targets.items()}
    parts: dict[str, Any] = {"_get_state_transition_function": lambda: targets, "_get_reward_transition_function": lambda: paid}
    if changes is not None:
        parts |= {"_get_counter_transition_function": lambda: changes, "c_0": c_0}
    return SimpleNamespace(u_0=0, **parts)


def test_two_coffees_then_the_office_counts_down_to_a_state_for_each_number() -> None:
    texts = {"COFFEE / (NZ)": 0, "OFFICE / (Z)": -1, "/ (-)": 0}
    found = errands.from_pycrm(machine({0: texts}, {0: dict(zip(texts, [(-1,), (0,), (0,)], strict=True))}, c_0=(2,)))
    assert found.states[0] == "u0_2"
    assert {t.target for t in found.transitions} == {"u0_2", "u0_1", "u0_0", "done"}
    assert found.run([{"OFFICE"}, {"COFFEE"}, {"COFFEE"}, {"COFFEE"}, {"OFFICE"}]).rewards == (0, 0, 0, 0, 1)


def test_the_first_transition_that_fires_is_taken() -> None:
    found = errands.from_pycrm(machine({0: {"A": 1, "B": -1, "": 0}, 1: {"A": -1, "": 1}}))
    assert found.run([{"A", "B"}]).terminal is False
    assert found.run([{"B"}]).success is True


def test_words_of_logic_are_read_in_any_case_and_not_between_names_means_and_not() -> None:
    found = errands.from_pycrm(machine({0: {"(A or B) AND not C NOT D": -1, "": 0}}))
    fires = [{*"A"}, {*"B"}]
    rests = [set(), {*"AC"}, {*"BD"}]
    assert [found.run([true]).success for true in (*fires, *rests)] == [True, True, False, False, False]


def test_an_end_that_pays_nothing_is_a_failure_beside_one_that_pays() -> None:
    paid = {0: {"GOAL": 1, "TRAP": -100, "": 0}}
    found = errands.from_pycrm(machine({0: {"GOAL": -1, "TRAP": -1, "": 0}}, paid=paid))
    assert (found.success, found.failure) == (("done",), ("failed",))
    assert found.run([{"TRAP"}]).rewards == (-100.0,)


def test_counters_without_end_are_refused_or_bounded() -> None:
    counting = machine({0: {"A / (-)": 0, "B / (NZ)": -1}}, {0: {"A / (-)": (1,), "B / (NZ)": (0,)}}, c_0=(0,))
    with pytest.raises(SpecError, match=r"too many values, and numeric variables of errands only fall; give the highest count"):
        errands.from_pycrm(counting)
    bounded = errands.from_pycrm(counting, bound=2)
    assert bounded.run([{"B"}, {"A"}, {"A"}, {"B"}]).success is True
    beyond = bounded.run([{"A"}] * 3)
    assert (beyond.terminal, beyond.success) == (True, False)


def test_what_cannot_be_read_is_refused_in_a_sentence() -> None:
    paid = {0: {"A": lambda observation, action, following: 1.0}}
    with pytest.raises(SpecError, match=r"what state 0 pays for 'A' is a function of observations; .* functions=0\.0"):
        errands.from_pycrm(machine({0: {"A": -1}}, paid=paid))
    assert errands.from_pycrm(machine({0: {"A": -1}}, paid=paid), functions=2.0).run([{"A"}]).rewards == (2.0,)
    for text in ("__import__('os') / (-)", "A / (1)", "A / (Z) / (Z)", "A and", "A == B"):
        with pytest.raises(SpecError):
            errands.from_pycrm(machine({0: {text: -1}}))
    with pytest.raises(SpecError, match="no machine of PyCRM"):
        errands.from_pycrm(object())


SHIPPED = [
    ("introduction", {"bound": 4}), ("crm.tabular", {"bound": 2}), ("crm.continuous", {"functions": 0.0}),
    ("crm.discrete", {"functions": 0.0}),
    ("rm.tabular", {}), ("rm.continuous", {"functions": 0.0}), ("rm.discrete", {"functions": 0.0}),
]  # fmt: skip


@pytest.mark.parametrize(("place", "options"), SHIPPED, ids=[place for place, _ in SHIPPED])
def test_machines_that_pycrm_ships_pay_what_they_pay_there(place: str, options: dict, peer: Callable[..., Path]) -> None:
    peer("pyrewardmachines==1.1.1", "--no-binary", ":all:", "--no-build-isolation", inside="pyrewardmachines-1.1.1")
    automaton = importlib.import_module("pycrm.automaton")
    homes = [importlib.import_module(f"examples.{place}.core.{name}") for name in ("machine", "label")]
    theirs = next(v for v in vars(homes[0]).values() if isinstance(v, type) and v.__module__ == homes[0].__name__)()
    symbols = [*next(v for v in vars(homes[1]).values() if isinstance(v, type) and issubclass(v, Enum) and v is not Enum)]
    ours = errands.from_pycrm(theirs, **options)
    if isinstance(theirs, automaton.RewardMachine):
        theirs = automaton.RmToCrmAdapter(theirs)
    rng = random.Random(0)
    ended = 0
    for _ in range(200):
        trace = [{s for s in symbols if rng.random() < 0.4} for _ in range(60)]
        paid, terminal = interpreted(theirs, trace, options)
        outcome = ours.run([{s.name for s in true} for true in trace])
        assert (outcome.rewards, outcome.terminal) == (tuple(paid), terminal)
        ended += terminal
    assert ended > 20


def interpreted(theirs: Any, trace: list[set], options: dict) -> tuple[list[float], bool]:
    """What PyCRM's own interpreter pays until the end, or until a counter passes the bound."""
    u, c, paid = theirs.u_0, theirs.c_0, []
    for true in trace:
        try:
            u, after, reward = theirs.transition(u, c, true)
        except ValueError:  # nothing fires
            paid.append(0.0)
            continue
        constant = reward.__name__ == "constant_reward_function"
        paid.append(reward(None, None, None) if constant else options["functions"])
        grown = any(abs(a) > max(options.get("bound", 100), abs(b)) for a, b in zip(after, c, strict=True))
        c = after
        if u in theirs.F or grown:
            return paid, True
    return paid, False
