"""Gauges against an interpreter that knows Definition 2 and nothing of errands: in all four machines, lowered, and counted."""

from __future__ import annotations

import random
import re
from itertools import product
from typing import Any

import pytest

from errands import Task, any_order, at_most, budget, optimum, sequence, within
from errands.errors import SpecError
from errands.machines import NumericRM, Outcome, Sizes, couple, size, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient, objectives
from errands.machines.lower import lower
from errands.tasks.phrases import parse_phrase
from errands.worlds.grid_world import GridWorld

from .definition import walked

SIGNS = "!↓⤓"


def told(value: int, before: int, bound: int) -> str:
    """Proposition 1: one of the paper's three values."""
    return "⤓" if value == bound else "↓" if value < before else "!"


def a_machine(rng: random.Random) -> tuple[dict[str, object], NumericRM]:
    """A random machine with a count of subtasks and one or two gauges; every guard is a cell of a table of all cases."""
    subtasks = ["a", "b", "c"][: rng.randint(1, 3)]
    gauges = {"fuel": (rng.randint(1, 4), 0, rng.choice([None, None, "x", "", "a"]))}
    if rng.random() < 0.4:
        gauges["near"] = (rng.randint(3, 5), rng.randint(1, 2), None)
    running, ends = ["u0", "u1", "u2"][: rng.randint(1, 3)], ["won", "lost"]
    looks = {u: sorted(rng.sample(["t", *gauges], rng.randint(1, min(2, len(gauges) + 1)))) for u in running}
    rules, lines = {}, []
    for u in running:
        for case in product(*(SIGNS for _ in looks[u])):
            if rng.random() < 0.2:
                continue  # no transition: the machine stays
            target = rng.choice([u, *running, *ends])
            rules[u, case] = target
            guard = " & ".join(f"{name}{sign}" for name, sign in zip(looks[u], case, strict=True))
            lines.append(f"{u} -> {target} : {guard} ; {len(rules)}")
    lines += [f"{u} -> {u} : false ; 0" for u in (*running[:1],) if not any(line.startswith(f"{u} ") for line in lines)]
    numeric: dict[str, object] = {"t": subtasks}
    for name, (start, bound, each) in gauges.items():
        numeric[name] = {"from": start, "to": bound} | ({} if each is None else {"each": each or "true"})
    named = {word for line in lines for word in line.split(" : ")[0].split(" -> ")}
    completing = {u: ["t"] if u in looks and "t" in looks[u] else [] for u in running if u in named}
    machine = NumericRM.of("u0", [e for e in ends[:1] if e in named], lines, [e for e in ends[1:] if e in named],
                           numeric=numeric, completing=completing)  # fmt: skip
    return {"subtasks": subtasks, "gauges": gauges, "looks": looks, "rules": rules, "order": list(rules)}, machine


def a_step(rng: random.Random, gauges: dict[str, tuple[int, int, str | None]]) -> frozenset[str]:
    true = {name for name in "abcx" if rng.random() < 0.3}
    for name, (start, bound, each) in gauges.items():
        if each is None and rng.random() < 0.6:
            true.add(f"{name}={rng.randint(bound - 1, start + 1)}" if rng.random() < 0.5 else f"{name}-{rng.randint(0, 2)}")
    return frozenset(true)


def interpreted(made: dict[str, object], trace: list[frozenset[str]]) -> tuple[list[float], str]:
    """Definition 2 word by word: what is paid, and the state at the end."""
    state, left = "u0", list(made["subtasks"])
    values = {name: start for name, (start, _, _) in made["gauges"].items()}
    paid = []
    for true in trace:
        signs = {}
        for name, (_, bound, each) in made["gauges"].items():
            before = values[name]
            if each is not None:
                values[name] = before - (each == "" or each in true)
            for word in true:
                if word.startswith(f"{name}=") and each is None:
                    values[name] = min(values[name], int(word.split("=")[1]))
                if word.startswith(f"{name}-") and each is None and "=" not in word:
                    values[name] = min(values[name], before - int(word.split("-")[1]))
            values[name] = max(bound, values[name])
            signs[name] = told(values[name], before, bound)
        was = len(left)
        if "t" in made["looks"][state]:
            done = next((s for s in left if s in true), None)
            left = [s for s in left if s != done]
        signs["t"] = told(len(left), was, 0)
        case = (state, tuple(signs[name] for name in made["looks"][state]))
        target = made["rules"].get(case)
        paid.append(0.0 if target is None else float(made["order"].index(case) + 1))
        state = target or state
        if state in ("won", "lost"):
            break
    return paid, state


def check(seed: int) -> None:
    rng = random.Random(seed)
    made, machine = a_machine(rng)
    trace = [a_step(rng, made["gauges"]) for _ in range(7)]
    paid, end = interpreted(made, trace)
    agenda, boolean = unfold_agenda(machine), unfold_boolean(machine)
    for form in (machine, agenda, boolean, couple(agenda)):
        outcome = walked(form, trace)
        assert list(outcome.rewards) == paid, (seed, form)
        assert (outcome.terminal, outcome.success) == (end in ("won", "lost"), end == "won"), (seed, form)
    for listed in (agenda, boolean):
        table = lower(listed, trace)
        at, got = table.initial, []
        for label in range(len(paid)):
            got.append(float(table.reward[at, label]))
            at = table.next[at, label]
        assert got == paid, (seed, listed)
    counted, quotient = size(machine), Quotient(machine)
    assert counted == Sizes(len(boolean), len(agenda), len(couple(agenda)), counted.policies), seed
    assert [quotient.label(state) for state in agenda.states] == list(agenda.labels), seed


@pytest.mark.parametrize("block", range(4))
def test_all_four_machines_and_their_tables_do_what_the_definition_says(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        check(seed)


@pytest.mark.slow
def test_four_thousand_of_them() -> None:
    for seed in range(4_000):
        check(seed)


def test_the_stepping_form_has_no_more_entries_than_levels_times_labels() -> None:
    machine = within(500, any_order("a", "b", "c"))
    table = lower(machine, [set(), {"a"}, {"b"}, {"c"}])
    assert len(table.status) == 501 * 3
    assert len(table.next) == 501 * 4 * (3 + 1 + 1)


def test_labels_show_the_values() -> None:
    agenda = unfold_agenda(NumericRM.of("u0", ["u1"], ["u0 -> u1 : a ; 1"], numeric={"fuel": {"from": 2, "to": 1}}))
    assert list(map(str, agenda.labels)) == ["0{fuel=2}a", "1{fuel=2}", "1{fuel=1}", "1{fuel=1}a"]


def test_a_gauge_is_an_objective_only_where_the_machine_waits_for_its_bound() -> None:
    waiting = NumericRM.of("u0", ["u1"], ["u0 -> u1 : far⤓ ; 1"], numeric={"far": {"from": 3}})
    assert objectives(waiting) == ("far⤓",)
    assert objectives(parse_phrase("budget(fuel, any_order(a, b), start=9)")) == ("a", "b")


def test_within_ends_the_task_in_its_last_step_and_success_wins_there() -> None:
    machine = within(3, any_order("a", "b"))
    assert machine.run([{"a"}, set(), {"b"}]).success
    assert machine.run([{"a"}, set(), set(), {"b"}]) == Outcome((0.0, 0.0, 0.0), True, False)
    assert size(within(3, sequence("a"))).agenda == 3 + 3 + 1  # waiting with 3, 2, 1 steps left; success with 2, 1, 0; failure


def test_an_empty_tank_fails_also_where_the_goal_is_reached() -> None:
    machine = budget("fuel", any_order("a", "b"), start=3)
    assert machine.run([{"fuel-1", "a"}, {"fuel-1", "b"}]).success
    assert not machine.run([{"fuel-2", "a"}, {"fuel-1", "b"}]).success
    assert machine.run([{"fuel=2", "a"}, {"fuel=3"}, {"fuel=1", "b"}]).success  # the least value read counts


def test_at_most_counts_steps_with_the_feature() -> None:
    machine = at_most(2, "toll", any_order("a", "toll"))
    assert machine.run([{"toll"}, {"toll"}, {"a"}]).success
    assert machine.run([{"toll"}, {"toll"}, {"toll"}, {"a"}]) == Outcome((0.0, 0.0, 0.0), True, False)


@pytest.mark.parametrize(
    "text",
    ["within(9, at_most(1, x, budget(fuel, sequence(a, b), start=5, bound=2)))", "avoid(x, within(4, any_order(a, b, after=s)))",
     "within(7, within(4, a))", "sequence(at_most(2, a, b), c)"],
)  # fmt: skip
def test_phrases_are_printed_as_they_are_read(text: str) -> None:
    machine = parse_phrase(text)
    assert str(machine.phrase) == text
    assert len(unfold_agenda(machine)) == size(machine).agenda


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sequence(a, within(3, b))", "only its first part can have them"),
        ("any_order(a, within(3, b))", "cannot be an item of any_order"),
        ("budget(fuel, a)", "as in budget(fuel, any_order(a, b), start=12)"),
        ("budget(fuel, budget(fuel, a, start=2), start=3)", "limited twice"),
        ("budget(fuel, fuel, start=3)", "'fuel' cannot name a gauge"),
        ("within(0, a)", "a whole number from 1 to 19,999"),
        # Each gauge makes the machine ask four times as much; fourteen of two values each took 23 seconds.
        ("".join(f"budget(f{k}, " for k in range(7)) + "a" + ", start=1)" * 7, "at most 6 gauges"),
    ],
)
def test_what_phrases_cannot_say_is_told(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        parse_phrase(text)


@pytest.mark.parametrize(
    ("gauge", "said"),
    [
        ({"from": 2, "to": 2}, "from must be more than to"),
        ({"from": 30_000}, "30,001 joint values"),
        ({"to": 2}, "write { from = 12, to = 0 }"),
        ({"from": 3, "each": "b↓"}, "takes Boolean features only"),
        ({"from": True}, "write { from = 12, to = 0 }"),
    ],
)
def test_gauges_that_cannot_be_are_refused(gauge: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        NumericRM.of("u0", ["u1"], ["u0 -> u1 : b⤓ & g⤓ ; 1"], numeric={"b": ["a"], "g": gauge})


@pytest.mark.parametrize("bound", ["3", 2.0, None, True])
def test_a_bound_that_is_no_whole_number_is_refused(bound: Any) -> None:
    with pytest.raises(SpecError, match=r"budget.. counts .* it is a whole number from -19,999 to 19,999"):
        budget("fuel", "a", start=3, bound=bound)


def test_what_text_cannot_say_of_a_budget_is_written_as_transitions() -> None:
    task = Task("low", GridWorld(["A..a"], {"a": "a"}, numbers={"fuel": "moves"}), budget("fuel", "a", start=3, bound=-5))
    assert Task.from_toml(task.to_toml()) == task
    assert optimum(task).length == 3


def test_a_reading_of_more_digits_than_python_reads_is_a_feature_like_any_other() -> None:
    assert not budget("fuel", "a", start=3).run([{"fuel=" + "9" * 5_000}]).terminal
