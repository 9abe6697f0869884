"""All four kinds pay the same for the same trace; automata-lib is asked about small machines independently."""

from __future__ import annotations

import itertools
import random

import pytest
from automata.fa.dfa import DFA

from errands.machines import AgendaRM, BooleanRM, NumericRM, Stepper, couple, size, unfold_agenda, unfold_boolean
from errands.machines.lower import lower
from errands.tables import SUCCESS

from .examples import boxes, random_machine, random_trace

MACHINES, TRACES = 400, 30


@pytest.mark.parametrize("seed", range(8))
def test_rewards_and_ends_are_equal_across_all_kinds_on_random_machines_and_traces(seed: int) -> None:
    """8 x 50 machines x 30 traces: 12,000 traces in all."""
    chance = random.Random(seed)
    for _ in range(MACHINES // 8):
        machine = random_machine(chance)
        agenda = unfold_agenda(machine)
        kinds = [Stepper(machine), unfold_boolean(machine), agenda, couple(agenda)]
        for _ in range(TRACES):
            trace = random_trace(chance, machine, chance.randint(0, 12))
            signals = [{"cost": chance.random()} for _ in trace]
            expected = machine.run(trace, signals)
            assert [kind.run(trace, signals) for kind in kinds] == [expected] * len(kinds), str(machine)


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
                outcome = machine.run([labels[i] for i in steps], [{"cost": 0.5}] * 8)
                at, rewards = table.initial, []
                for i in steps:
                    factor = 0.5 if table.signal[at, i] >= 0 else 1.0
                    rewards.append(float(table.reward[at, i]) * factor)
                    at = int(table.next[at, i])
                    if table.status[at]:
                        break
                assert tuple(rewards) == outcome.rewards
                assert (bool(table.status[at]), table.status[at] == SUCCESS) == (outcome.terminal, outcome.success)


def _language(machine: AgendaRM | BooleanRM, names: tuple[str, ...]) -> DFA:
    """The traces that succeed, as automata-lib sees them: one letter for each set of features."""
    letters = [set(c) for k in range(len(names) + 1) for c in itertools.combinations(names, k)]
    table = lower(machine, letters, ["cost"])
    return DFA(
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
