"""Figure 2 of the paper, the closed forms of facts.md; agenda machines against a walk that knows nothing of masks."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations
from math import factorial
from typing import Any

import pytest

from errands.errors import SpecError, TaskError
from errands.machines import NumericRM, Stepper, couple, size, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient
from errands.machines.unfolding import AgendaRM, extend, mask_of
from errands.tasks import load
from errands.tasks.phrases import any_order, sequence

from .examples import boxes, random_machine, random_trace

AGENDA = {"0{b1,b2}{b1,b2}", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s", "4{}"}
COUPLED = (AGENDA - {"0{b1,b2}{b1,b2}"}) | {"0{b1,b2}b1", "0{b1,b2}b2"}


def test_figure_2_has_nine_seven_and_eight_states_with_its_labels() -> None:
    machine = boxes(2)
    agenda = unfold_agenda(machine)
    coupled = couple(agenda)
    assert len(machine) == 3
    assert len(unfold_boolean(machine)) == 9
    assert {str(label) for label in agenda.labels} == AGENDA
    assert len(agenda) == 7
    assert {str(label) for label in coupled.labels} == COUPLED
    assert len(coupled) == 8
    assert coupled.objectives == ("b1", "b2", "s")


@pytest.mark.parametrize("n", range(1, 9))
def test_sizes_are_the_closed_forms(n: int) -> None:
    machine = boxes(n)
    sizes = size(machine)
    assert sizes.boolean == 1 + 2 * sum(factorial(n) // factorial(n - k) for k in range(1, n + 1))
    assert sizes.agenda == 2 ** (n + 1) - 1 == len(unfold_agenda(machine))
    assert sizes.coupled == n * 2 ** (n - 1) + 2**n == len(couple(unfold_agenda(machine)))
    assert sizes.policies == n + 1
    if n < 7:
        assert sizes.boolean == len(unfold_boolean(machine))


def test_sizes_named_in_the_facts() -> None:
    assert [size(boxes(n)).boolean for n in range(2, 9)] == [9, 31, 129, 651, 3_913, 27_399, 219_201]
    assert len(unfold_agenda(boxes(16))) == 131_071


def test_a_machine_over_budget_is_refused_with_its_predicted_size() -> None:
    with pytest.raises(TaskError, match="2,604,122,689 states"):
        unfold_boolean(boxes(12))
    with pytest.raises(TaskError, match=r"agenda machine would have 7 states, more than the budget of 6"):
        unfold_agenda(boxes(2), budget=6)


def test_sixty_four_and_more_subtasks_are_stepped() -> None:
    for count in (64, 200):
        trace = [{f"b{i // 2 + 1}"} if i % 2 == 0 else {"s"} for i in range(2 * count)]
        outcome = Stepper(boxes(count)).run(trace)
        assert outcome.success
        assert len(outcome.rewards) == 2 * count


def test_sequence_a_b_a_keeps_equal_objectives_at_different_depths_apart() -> None:
    coupled = couple(unfold_agenda(sequence("a", "b", "a")))
    assert [str(label) for label in coupled.labels] == ["0{}a", "1{}b", "2{}a", "3{}"]
    assert coupled.objectives == ("a", "b")


def test_labels_do_not_identify_states_in_general() -> None:
    """The counterexample to Proposition 2 in facts.md."""
    lines = ["u0 -> u1 : a & ~b ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> lose : c ; 0"]
    agenda = unfold_agenda(NumericRM.of("u0", ["win"], lines, failure=["lose"]))
    assert [str(label) for label in agenda.labels].count("1{}c") == 2
    assert len(set(agenda.states)) == len(agenda)


def test_a_failure_is_one_state_whatever_remains() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; 0"]
    machine = NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x", "y", "z"]})
    assert len(unfold_agenda(machine)) == 2**3 + 1
    assert len(unfold_boolean(machine)) == 1 + 3 + 6 + 6 + 1


def test_depth_is_the_shortest_distance_also_without_building() -> None:
    agenda = unfold_agenda(boxes(4))
    quotient = Quotient(boxes(4))
    assert [quotient.label(state) for state in agenda.states] == list(agenda.labels)


def test_two_variables_open_at_once_share_one_objective_set() -> None:
    lines = ["u0 -> u0 : (n↓ | m↓ | n⤓ | m⤓) & ~(n⤓ & m⤓) ; 0", "u0 -> won : n⤓ & m⤓ ; 1"]
    machine = NumericRM.of("u0", ["won"], lines, numeric={"n": ["x"], "m": ["y", "z"]})
    agenda = unfold_agenda(machine)
    assert str(agenda.labels[0]) == "0{x,y,z}{x,y,z}"
    assert len(agenda) == 2 * 4


def test_the_agenda_of_two_boxes_is_figure_2b() -> None:
    agenda = unfold_agenda(boxes(2))
    found = {(agenda.numeric.states[u], agenda.remaining((u, mask))) for u, mask in agenda.states}
    assert found == {
        ("u0", ("b1", "b2")), ("u1", ("b2",)), ("u1", ("b1",)), ("u0", ("b2",)), ("u0", ("b1",)), ("u1", ()), ("u2", ()),
    }  # fmt: skip
    assert agenda.depths == (0, 1, 1, 2, 2, 3, 4)


def test_states_are_found_in_the_order_of_their_depth_and_looked_up_by_position() -> None:
    agenda = unfold_agenda(boxes(4))
    assert list(agenda.depths) == sorted(agenda.depths)
    assert [agenda.index[state] for state in agenda.states] == list(range(31))
    assert [label.depth for label in agenda.labels] == list(agenda.depths)


def test_a_machine_without_subtasks_has_one_agenda_state_for_each_of_its_own() -> None:
    agenda = unfold_agenda(NumericRM.of("u0", ["u2"], ["u0 -> u1 : a ; 0", "u1 -> u2 : b ; 1"]))
    assert [str(label) for label in agenda.labels] == ["0{}a", "1{}b", "2{}"]


def walked(agenda: AgendaRM, trace: list[set[str]]) -> set[tuple[int, int]]:
    """The states that a trace passes, by stepping one set of features at a time."""
    state, passed = agenda.stepper.start, {agenda.stepper.start}
    for true in trace:
        if agenda.stepper.status[state[0]]:
            break
        state, _, _ = agenda.stepper.step(state, true)
        passed.add(state)
    return passed


@pytest.mark.parametrize("seed", range(40))
def test_no_random_walk_leaves_the_states_that_were_found(seed: int) -> None:
    chance = random.Random(seed)
    agenda = unfold_agenda(random_machine(chance))
    for _ in range(20):
        assert walked(agenda, random_trace(chance, agenda.numeric, 30)) <= agenda.index.keys()


@pytest.mark.parametrize("seed", range(15))
def test_every_state_that_was_found_is_met_by_long_random_walks(seed: int) -> None:
    chance = random.Random(100 + seed)
    agenda = unfold_agenda(random_machine(chance))
    met: set[tuple[int, int]] = set()
    for _ in range(4_000):
        met |= walked(agenda, random_trace(chance, agenda.numeric, 12))
        if len(met) == len(agenda):
            break
    assert met == set(agenda.states)


def test_a_machine_larger_than_the_budget_is_refused_before_it_is_built() -> None:
    assert len(unfold_agenda(boxes(3), budget=15)) == 15
    with pytest.raises(TaskError, match="would have 15 states, more than the budget of 14"):
        unfold_agenda(boxes(3), budget=14)


def test_the_states_of_three_boxes_are_all_ordered_choices() -> None:
    machine = unfold_boolean(boxes(3))
    carrying = {order for k in (1, 2, 3) for order in permutations(range(3), k)}
    expected = {(0, ()), *((0, order) for order in carrying if len(order) < 3), *((1, order) for order in carrying)}
    expected |= {(2, order) for order in permutations(range(3), 3)}
    assert [machine.numeric.states[u] for u in range(3)] == ["u0", "u1", "u2"]
    assert set(machine.states) == expected
    assert machine.states[0] == (0, ())
    assert machine.index[machine.states[17]] == 17


def test_a_mask_holds_what_an_order_leaves() -> None:
    stepper = Stepper(boxes(3))
    assert mask_of(stepper, ()) == 0b111
    assert mask_of(stepper, (1,)) == 0b101
    assert mask_of(stepper, (2, 0)) == mask_of(stepper, (0, 2)) == 0b010


def test_an_order_grows_by_what_is_completed_and_a_failure_forgets_it() -> None:
    lines = ["u0 -> u0 : n↓ & ~d ; 0", "u0 -> won : n⤓ & ~d ; 1", "u0 -> lost : d ; 0"]
    stepper = Stepper(NumericRM.of("u0", ["won"], lines, failure=["lost"], numeric={"n": ["x", "y"]}))
    lost = stepper.index["lost"]
    assert extend(stepper, 0, (1,), 0b01) == (0, (1, 0))
    assert extend(stepper, 0, (1,), 0) == (0, (1,))
    assert extend(stepper, lost, (1,), 0b01) == (lost, ())


def test_its_own_walk_pays_signals_and_stops_at_the_end() -> None:
    machine = unfold_boolean(NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"]))
    outcome = machine.run([set(), set(), {"g"}, {"g"}], [{"cost": 2.0}, {"cost": 3.0}, {}, {}])
    assert outcome.rewards == (-2.0, -3.0, 1.0)
    assert outcome.success


def test_a_boolean_machine_larger_than_the_budget_is_refused() -> None:
    assert len(unfold_boolean(boxes(3), budget=31)) == 31
    with pytest.raises(TaskError, match="Boolean machine would have 31 states, more than the budget of 30"):
        unfold_boolean(boxes(3), budget=30)


def test_an_agenda_state_is_split_by_its_open_objectives() -> None:
    coupled = couple(unfold_agenda(boxes(2)))
    assert [[str(coupled.labels[j]) for j in group] for group in coupled.groups] == [
        ["0{b1,b2}b1", "0{b1,b2}b2"], ["1{b2}s"], ["1{b1}s"], ["2{b2}b2"], ["2{b1}b1"], ["3{}s"], ["4{}"],
    ]  # fmt: skip


def test_the_groups_divide_all_states() -> None:
    coupled = couple(unfold_agenda(boxes(5)))
    assert sorted(j for group in coupled.groups for j in group) == list(range(len(coupled)))
    assert len(coupled) == 5 * 2**4 + 2**5


def test_an_end_has_one_state_without_objective() -> None:
    coupled = couple(unfold_agenda(sequence("a", "b")))
    assert coupled.states[-1] == (2, None)
    assert str(coupled.labels[-1]) == "2{}"


def test_objectives_are_the_subtasks_first_and_each_once() -> None:
    assert couple(unfold_agenda(boxes(3))).objectives == ("b1", "b2", "b3", "s")
    assert couple(unfold_agenda(any_order("p", "q", after="h"))).objectives == ("p", "q", "h")
    assert couple(unfold_agenda(sequence("a", "b", "a", "b"))).objectives == ("a", "b")


def test_two_boolean_objectives_open_at_once_are_two_states() -> None:
    lines = ["u0 -> u1 : a & ~b ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> win : c ; 1"]
    coupled = couple(unfold_agenda(NumericRM.of("u0", ["win"], lines)))
    assert len(coupled.groups[0]) == 2
    assert len(coupled.agenda) == 4
    assert len(coupled) == 5


def test_a_trace_may_leave_by_any_of_the_occupied_states() -> None:
    coupled = couple(unfold_agenda(boxes(2)))
    for first, second in (("b1", "b2"), ("b2", "b1")):
        assert coupled.run([{first}, {"s"}, {second}, {"s"}]).success
    assert not coupled.run([{"b1"}, {"b2"}, {"s"}]).terminal


@pytest.mark.parametrize("verb", [size, unfold_agenda, unfold_boolean])
def test_a_task_in_place_of_its_machine_is_told_so(verb: Callable[[Any], object]) -> None:
    with pytest.raises(SpecError, match=r"a Task is no numeric machine; give a NumericRM, which a task has as task\.machine"):
        verb(load("figure-1"))


def test_only_agenda_machines_are_coupled() -> None:
    with pytest.raises(SpecError, match=r"a NumericRM is no agenda machine; give couple\(unfold_agenda\(machine\)\)"):
        couple(load("figure-1").machine)  # type: ignore[arg-type]
