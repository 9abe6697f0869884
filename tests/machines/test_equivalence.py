"""All four kinds pay the same for the same trace; automata-lib is asked about small machines independently."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.features import And, Boolean, Change, Guard, Not, Numeric, Or, decreasing, holds, parse_guard
from errands.machines import AgendaRM, BooleanRM, NumericRM, couple, size, unfold_agenda, unfold_boolean
from errands.machines.lower import lower
from errands.tables import SUCCESS

from .definition import defined, walked
from .examples import FIGURE_1B, boxes, random_guard, random_machine, random_ruled_machine, random_trace

MACHINES, TRACES = 400, 30


@pytest.mark.parametrize("seed", range(8))
def test_rewards_and_ends_are_equal_across_all_kinds_on_random_machines_and_traces(seed: int) -> None:
    """8 x 50 machines x 30 traces: 12,000 traces in all."""
    chance = random.Random(seed)
    for _ in range(MACHINES // 8):
        machine = random_machine(chance)
        agenda = unfold_agenda(machine)
        kinds = [machine, unfold_boolean(machine), agenda, couple(agenda)]
        for _ in range(TRACES):
            trace = random_trace(chance, machine, chance.randint(0, 12))
            signals = [{"cost": chance.random()} for _ in trace]
            expected = defined(machine, trace, signals)
            assert [walked(kind, trace, signals) for kind in kinds] == [expected] * len(kinds), str(machine)


def _reworded(chance: random.Random, guard: Guard) -> Guard:
    """The same condition in other words, by the laws of Boolean algebra and by the three values of a numeric feature."""
    match guard:
        case Numeric(name, change):
            others = tuple(Numeric(name, c) for c in Change if c is not change)
            plain: Guard = chance.choice([guard, Not(Or(others)), And((Not(others[0]), Not(others[1])))])
        case Boolean():
            plain = guard
        case Not(inner):
            plain = Not(_reworded(chance, inner))
        case And(parts) | Or(parts):
            words = [_reworded(chance, part) for part in parts]
            chance.shuffle(words)
            join, dual = (And, Or) if isinstance(guard, And) else (Or, And)
            plain = join(tuple(words)) if chance.random() < 0.5 else Not(dual(tuple(map(Not, words))))
    if chance.random() < 0.2:
        return Not(Not(plain))
    if chance.random() < 0.2:
        aside: Guard = chance.choice([Boolean("q"), Boolean("r")])
        return chance.choice([Or((And((plain, aside)), And((plain, Not(aside))))), Or((plain, And((plain, aside))))])
    return plain


@pytest.mark.parametrize("seed", range(6))
def test_the_wording_of_guards_changes_nothing_in_any_of_the_four_machines(seed: int) -> None:
    chance = random.Random(300 + seed)
    for turn in range(25):
        machine = random_machine(chance) if turn % 2 else random_ruled_machine(chance)
        lines = tuple(replace(t, guard=_reworded(chance, t.guard)) for t in machine.transitions)
        other = replace(machine, transitions=lines, completing={})
        assert other.completing == machine.completing, str(lines)
        agenda = unfold_agenda(other)
        for _ in range(15):
            trace = random_trace(chance, machine, chance.randint(0, 10))
            signals = [{"cost": chance.random()} for _ in trace]
            expected = defined(machine, trace, signals)
            for kind in (other, unfold_boolean(other), agenda, couple(agenda)):
                assert walked(kind, trace, signals) == expected, str(lines)


@given(st.integers(0, 2**32))
def test_a_state_completes_b_where_some_guard_holds_with_a_decrease_and_not_without(seed: int) -> None:
    """By trying every value of every other feature."""
    chance = random.Random(seed)
    guards = [random_guard(chance, ["p", "q", "r"], ["m", "n"], 3) for _ in range(2)]
    completed = set()
    for own, other in (("m", "n"), ("n", "m")):
        for guard, change, row in itertools.product(guards, Change, range(8)):
            true = {name for i, name in enumerate("pqr") if row >> i & 1}
            with_, without = (holds(guard, true, {own: c, other: change}) for c in (Change.DECREASED, Change.UNCHANGED))
            if with_ and not without:
                completed.add(own)
    assert {name for guard in guards for name in decreasing(guard)} == completed


@pytest.mark.parametrize("last", ["s & b!", "s & ~(b↓ | b⤓)", "s & ~b↓ & ~b⤓", "~(~s | b↓ | b⤓)"])
def test_figure_1b_pays_after_four_steps_whatever_the_words_of_its_last_guard(last: str) -> None:
    """With `s & ~(b↓ | b⤓)` the second box used to be taken in u1, and success came after two steps."""
    machine = NumericRM.of("u0", ["u2"], [*FIGURE_1B[:-1], f"u1 -> u0 : {last} ; 0"], numeric={"b": ["b1", "b2"]})
    assert machine.completing == {"u0": {"b"}, "u1": set(), "u2": set()}
    agenda = unfold_agenda(machine)
    for kind in (machine, unfold_boolean(machine), agenda, couple(agenda)):
        assert walked(kind, [{"b2"}, {"b1", "s"}, {"b1"}, {"s"}]).rewards == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("guard", "completes"),
    [("~b!", True), ("b↓", True), ("s | b↓", True), ("b⤓", False), ("~b⤓", False), ("b! | b↓", False), ("~b↓", False),
     ("s & ~(b↓ | b⤓)", False), ("b↓ & c!", True), ("b↓ & ~b↓", False)],
)  # fmt: skip
def test_what_a_guard_completes_is_what_it_means(guard: str, completes: bool) -> None:
    assert ("b" in decreasing(parse_guard(guard))) is completes


def test_machines_that_complete_against_their_words_are_the_same_four_times_over() -> None:
    chance = random.Random(9)
    for _ in range(60):
        machine = random_ruled_machine(chance)
        names = [name for name, _ in machine.numeric]
        machine = replace(machine, completing={s: {n for n in names if chance.random() < 0.5} for s in machine.states})
        agenda = unfold_agenda(machine)
        for _ in range(15):
            trace = random_trace(chance, machine, chance.randint(0, 10))
            signals = [{"cost": chance.random()} for _ in trace]
            expected = defined(machine, trace, signals)
            for kind in (machine, unfold_boolean(machine), agenda, couple(agenda)):
                assert walked(kind, trace, signals) == expected, str(machine.restated)


@pytest.mark.parametrize("seed", range(4))
def test_predicted_sizes_equal_those_of_the_machines_built(seed: int) -> None:
    chance = random.Random(100 + seed)
    for _ in range(60):
        machine = random_machine(chance)
        agenda = unfold_agenda(machine)
        coupled = couple(agenda)
        sizes = size(machine)
        built = (len(unfold_boolean(machine)), len(agenda), len(coupled), len(coupled.objectives))
        assert (sizes.boolean, sizes.agenda, sizes.coupled, sizes.policies) == built, str(machine)


@pytest.mark.parametrize("seed", range(4))
def test_lowered_tables_walk_as_the_machine_does(seed: int) -> None:
    chance = random.Random(200 + seed)
    for _ in range(25):
        machine = random_machine(chance)
        labels = [
            set(),
            {"p"},
            {"q", "r"},
            set(machine.subtasks),
            *({n} for n in machine.subtasks),
            {"p", *machine.subtasks[:1]},
        ]
        for kind in (unfold_agenda(machine), unfold_boolean(machine)):
            table = lower(kind, labels, ["cost"])
            for _ in range(10):
                steps = [chance.randrange(len(labels)) for _ in range(8)]
                outcome = defined(machine, [labels[i] for i in steps], [{"cost": 0.5}] * 8)
                at, rewards = table.initial, []
                for i in steps:
                    factor = 0.5 if table.signal[at, i] >= 0 else 1.0
                    rewards.append(float(table.reward[at, i]) * factor)
                    at = int(table.next[at, i])
                    if table.status[at]:
                        break
                assert tuple(rewards) == outcome.rewards
                assert (bool(table.status[at]), table.status[at] == SUCCESS) == (outcome.terminal, outcome.success)


def _language(machine: AgendaRM | BooleanRM, names: tuple[str, ...]) -> Any:
    """The traces that succeed, as automata-lib sees them: one letter for each set of features."""
    letters = [set(c) for k in range(len(names) + 1) for c in itertools.combinations(names, k)]
    table = lower(machine, letters, ["cost"])
    automata = pytest.importorskip("automata.fa.dfa", reason="automata-lib is not installed")
    return automata.DFA(
        states=set(range(len(machine))),
        input_symbols={str(i) for i in range(len(letters))},
        transitions={u: {str(i): int(table.next[u, i]) for i in range(len(letters))} for u in range(len(machine))},
        initial_state=0,
        final_states={u for u in range(len(machine)) if table.status[u] == SUCCESS},
    )


def test_automata_lib_finds_boolean_and_agenda_machines_equivalent() -> None:
    chance = random.Random(7)
    for machine in [boxes(1), boxes(2), *(random_machine(chance) for _ in range(25))]:
        names = machine.features[:5]
        first, second = (_language(kind, names) for kind in (unfold_boolean(machine), unfold_agenda(machine)))
        assert first == second
        assert len(second.minify().states) <= len(second.states)


def test_automata_lib_tells_two_tasks_apart() -> None:
    """The witness that the comparison above can fail."""
    once = NumericRM.of("u0", ["won"], ["u0 -> won : a ; 1"])
    twice = NumericRM.of("u0", ["won"], ["u0 -> u1 : a ; 0", "u1 -> won : a ; 1"])
    assert _language(unfold_agenda(once), ("a",)) != _language(unfold_agenda(twice), ("a",))
