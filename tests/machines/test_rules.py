"""Rules between subtasks: every machine kind, table and size against the definition, on random machines and by pencil."""

from __future__ import annotations

import hashlib
import random
from itertools import pairwise, permutations
from math import comb, factorial

import numpy as np
import pytest

from errands.errors import SpecError, TaskError
from errands.kernels.stepping import advance, open_subtasks
from errands.machines import NumericRM, Stepper, couple, size, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient
from errands.machines.lower import entries, lower
from errands.machines.numeric import parse_transition
from errands.machines.rules import Rules, read_rules, write_rules
from errands.tables import RUNNING
from errands.tasks import load
from errands.tasks.phrases import any_order, either, repeat, sequence

from .definition import defined, walked
from .examples import random_ruled_machine, random_trace


@pytest.mark.parametrize("seed", range(8))
def test_rewards_and_ends_are_equal_across_all_kinds_on_machines_with_rules(seed: int) -> None:
    """8 x 42 machines x 30 traces: 10,080 traces in all."""
    chance = random.Random(1000 + seed)
    for _ in range(42):
        machine = random_ruled_machine(chance)
        agenda = unfold_agenda(machine)
        kinds = [machine, unfold_boolean(machine), agenda, couple(agenda)]
        for _ in range(30):
            trace = random_trace(chance, machine, chance.randint(0, 14))
            signals = [{"cost": chance.random()} for _ in trace]
            expected = defined(machine, trace, signals)
            assert [walked(kind, trace, signals) for kind in kinds] == [expected] * len(kinds), str(machine)


@pytest.mark.parametrize("seed", range(4))
def test_sizes_of_machines_with_rules_equal_those_built(seed: int) -> None:
    chance = random.Random(1100 + seed)
    for _ in range(50):
        machine = random_ruled_machine(chance)
        agenda = unfold_agenda(machine)
        coupled = couple(agenda)
        sizes = size(machine)
        built = (len(unfold_boolean(machine)), len(agenda), len(coupled), len(coupled.objectives))
        assert (sizes.boolean, sizes.agenda, sizes.coupled, sizes.policies) == built, str(machine)
        wanted = {name for state in agenda.states for name in agenda.stepper.alternatives(state)}
        assert wanted <= set(coupled.objectives)
        quotient = Quotient(machine)
        assert [quotient.label(state).remaining for state in agenda.states] == [x.remaining for x in agenda.labels]


@pytest.mark.parametrize("seed", range(4))
def test_tables_of_machines_with_rules_walk_as_the_machine_does(seed: int) -> None:
    chance = random.Random(1200 + seed)
    for _ in range(25):
        machine = random_ruled_machine(chance)
        stepper = Stepper(machine)
        labels = [set(), {"p"}, {"q", "r"}, *(random_trace(chance, machine, 12))]
        table = lower(machine, labels, ["cost"])
        for _ in range(10):
            state = stepper.start
            for _ in range(10):
                label = chance.randrange(len(labels))
                step = stepper.step(state, labels[label])
                mask = np.uint64(state[1])
                assert int(open_subtasks(table, state[0], mask)) == stepper.open(state)
                entry, left, done = advance(table, state[0], mask, label)
                many = [x[:, label] for x in entries(table, state[0], np.array([mask]))]
                assert [int(entry), int(left), int(done)] == [int(found[0]) for found in many]
                assert (int(table.next[entry]), int(done)) == (step.state[0], step.completed)
                state = step.state
                if stepper.status[state[0]] != RUNNING:
                    break
                assert int(left) == state[1]


def test_two_pairs_interleave_freely_in_three_to_the_number_of_pairs_states() -> None:
    for pairs in range(1, 7):
        machine = any_order(*(sequence(f"p{i}", f"d{i}") for i in range(pairs)))
        sizes = size(machine)
        orders = sum(  # prefixes of linear extensions: choose which pairs are done, which are begun, and the order
            factorial(2 * done + begun) // 2**done * comb(pairs, done) * comb(pairs - done, begun)
            for done in range(pairs + 1)
            for begun in range(pairs + 1 - done)
        )
        assert (sizes.agenda, sizes.boolean, sizes.policies) == (3**pairs, orders, 2 * pairs)
    many = size(any_order(*(sequence(f"p{i}", f"d{i}") for i in range(20))))
    assert (many.agenda, many.policies) == (3**20, 40)


def test_a_drop_off_waits_for_its_pick_up() -> None:
    machine = any_order(sequence("p1", "d1"), sequence("p2", "d2"))
    for order in permutations(["p1", "d1", "p2", "d2"]):
        legal = order.index("p1") < order.index("d1") and order.index("p2") < order.index("d2")
        assert machine.run([{name} for name in order]).success is legal
    agenda = unfold_agenda(machine)
    assert str(agenda.labels[0]) == "0{p1,d1,p2,d2}{p1,p2}"


def test_one_at_a_time_finishes_a_part_before_the_next_begins() -> None:
    machine = any_order(sequence("p1", "d1"), sequence("p2", "d2"), one_at_a_time=True)
    assert machine.run([{"p1"}, {"d1"}, {"p2"}, {"d2"}]).success
    outcome = machine.run([{"p1"}, {"p2"}, {"d1"}, {"d2"}])
    assert not outcome.terminal
    assert machine == any_order(sequence("p1", "d1"), sequence("p2", "d2"), capacity=1)
    assert size(machine).agenda == 8  # nothing, 1 begun, 1 done, then the other: 1 + 2 + 2 + 2 + 1


def test_a_capacity_of_two_lets_two_parts_be_begun() -> None:
    pairs = [sequence(f"p{i}", f"d{i}") for i in "123"]
    machine = any_order(*pairs, capacity=2)
    assert not machine.run([{"p1"}, {"p2"}, {"p3"}, {"d1"}, {"d2"}, {"d3"}]).success
    assert machine.run([{"p1"}, {"p2"}, {"d1"}, {"p3"}, {"d2"}, {"d3"}]).success


def test_a_choice_ends_when_enough_is_done() -> None:
    machine = any_order("a", "b", "c", "d", choose=2)
    assert machine.run([{"d"}, {"b"}]).success
    assert not machine.run([{"d"}, {"d"}]).terminal
    assert str(unfold_agenda(machine).labels[-1]) == "2{}"
    routes = either(sequence("a", "b"), sequence("c", "d"))
    assert routes.run([{"a"}, {"c"}, {"d"}]).success
    assert not routes.run([{"b"}, {"d"}]).terminal


@pytest.mark.parametrize("machine", [repeat("a", 3), any_order(repeat("a", 3), choose=1), any_order(repeat("a", 3))])
def test_a_visit_ends_when_the_feature_has_been_false(machine: NumericRM) -> None:
    assert not machine.run([{"a"}] * 20).terminal
    outcome = machine.run([{"a"}, set(), {"a"}, {"a"}, {"b"}, {"a"}])
    assert outcome.success
    assert outcome.rewards == (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def test_a_part_is_begun_by_its_own_subtasks_not_by_the_end_of_a_visit() -> None:
    machine = NumericRM.of(
        "u0", ["won"], ["u0 -> u0 : n↓ ; 0", "u0 -> won : n⤓ ; 1"], numeric={"n": ["a", "a", "c", "d", "e"]},
        before=[["a#2", "c"], ["d", "e"]], apart=[["a", "a#2"]], capacity=[(1, [["a"], ["a#2", "c"], ["d", "e"]])],
    )  # fmt: skip
    trace = [{"a"}, set(), {"d"}, {"e"}, {"a"}, {"c"}]
    assert machine.run(trace).success
    assert Stepper(machine).run(trace) == unfold_boolean(machine).run(trace) == machine.run(trace)


def test_two_passengers_may_have_one_goal() -> None:
    machine = any_order(sequence("p1", "d"), sequence("p2", "d"))
    assert machine.run([{"p1"}, {"p2"}, {"d"}, {"d"}]).success
    assert machine.run([{"p1"}, {"d"}, {"p2"}, {"d"}]).success
    assert not machine.run([{"d"}, {"p1"}, {"p2"}, {"d"}]).terminal


def test_rules_are_written_with_names_and_read_back() -> None:
    chance = random.Random(5)
    for _ in range(50):
        machine = random_ruled_machine(chance)
        written = write_rules(machine.counted, machine.rules)
        groups = {key: [(g["number"], g["of"]) for g in written.get(key, [])] for key in ("choose", "capacity")}
        again = read_rules(machine.counted, written.get("before", ()), written.get("apart", ()), **groups)
        assert again == machine.rules


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"before": [["a", "b"], ["b", "a"]]}, "before goes in a circle through a, b"),
        ({"before": [["a", "x"]]}, "before names 'x', which is not a subtask; subtasks are a, b"),
        ({"before": [["a"]]}, "before holds pairs of subtasks"),
        ({"choose": [(3, [["a"], ["b"]])]}, "choose=3 is out of range"),
        ({"capacity": [(0, [["a"], ["b"]])]}, "capacity=0 is out of range"),
        ({"choose": [(1, [["a"], ["a", "b"]])]}, "choose needs parts that are not empty and have no subtask in common"),
    ],
)
def test_a_faulty_rule_is_one_sentence(rules: dict[str, object], sentence: str) -> None:
    lines = ["u0 -> u0 : n↓ ; 0", "u0 -> won : n⤓ ; 1"]
    with pytest.raises(SpecError, match=sentence):
        NumericRM.of("u0", ["won"], lines, numeric={"n": ["a", "b"]}, **rules)


def test_rules_join_and_move_together() -> None:
    first, second = Rules(before=((0, 1),)), Rules(apart=((0, 1),))
    assert first.joined(second.shifted(2)) == Rules(before=((0, 1),), apart=((2, 3),))
    assert not Rules()


def test_not_unchanged_is_decreased_or_reached() -> None:
    """`~b!` and `b↓ | b⤓` are the same guard and give the same machine, alone and inside a larger formula."""
    assert parse_transition("u -> v : ~b! ; 0") == parse_transition("u -> v : b↓ | b⤓ ; 0")
    first, second = (
        NumericRM.of(
            "u0",
            ["won"],
            [f"u0 -> u1 : {guard} ; 0", "u1 -> won : s & b⤓ ; 1", "u1 -> u0 : s & b! ; 0"],
            numeric={"b": ["x", "y"]},
        )
        for guard in ("~(b! | false)", "b↓ | b⤓")
    )
    chance = random.Random(3)
    assert unfold_agenda(first).states == unfold_agenda(second).states
    for _ in range(200):
        trace = [{n for n in ("x", "y", "s") if chance.random() < 0.4} for _ in range(8)]
        assert first.run(trace) == second.run(trace)
    assert size(first) == size(second)
    assert any(
        first.run([{n for n in ("x", "y", "s") if chance.random() < 0.5} for _ in range(12)]).success for _ in range(50)
    )


def test_large_machines_with_rules_are_refused_before_they_are_built() -> None:
    """To build 43 million states would take the memory of several machines."""
    machine = any_order(*(sequence(f"p{i}", f"d{i}") for i in range(16)))
    with pytest.raises(TaskError, match="the agenda machine would have 43,046,721 states"):
        unfold_agenda(machine)
    with pytest.raises(TaskError, match="the Boolean machine would have"):
        unfold_boolean(machine)


# Made with the code before rules came (commit cafa811): machines, states, labels, objectives and sizes.
BEFORE = {
    "figure-1": "bb4e23be52c1", "corridor": "dc6e1ae81d87", "delivery-2": "03160f7f3608", "delivery-5": "327b29f233dc",
    "office-3": "45a09070e2bd", "office-6": "a6687ed9d199", "visit-4": "15d2012ed06c", "water-3": "81b18bc6476e",
    "cheetah-bcde": "2fe73ccf8f74",
}  # fmt: skip


@pytest.mark.parametrize("name", BEFORE)
def test_an_old_task_gives_the_same_machines_as_before(name: str) -> None:
    machine = load(name).machine
    agenda = unfold_agenda(machine)
    coupled, sizes = couple(agenda), size(machine)
    value = (
        name, machine.initial, machine.success, machine.failure, machine.numeric, [str(t) for t in machine.transitions],
        agenda.states, [str(x) for x in agenda.labels], [str(x) for x in coupled.labels], coupled.objectives,
        unfold_boolean(machine).states, [sizes.boolean, sizes.agenda, sizes.coupled, sizes.policies],
    )  # fmt: skip
    assert hashlib.sha256(repr(value).encode()).hexdigest()[:12] == BEFORE[name]


def test_rules_of_many_subtasks_are_read_or_refused() -> None:
    """Work that grew with the square of a thousand subtasks, or with their subsets, would not end."""
    names = [f"x{i}" for i in range(1_000)]
    lines = ["u0 -> u0 : n↓ ; 0", "u0 -> won : n⤓ ; 1"]
    chain = NumericRM.of("u0", ["won"], lines, numeric={"n": names}, before=list(pairwise(names)))
    assert size(chain).agenda == 1_001
    with pytest.raises(SpecError, match=r"before goes in a circle through x0, x1, \.\.\., x999"):
        NumericRM.of("u0", ["won"], lines, numeric={"n": names}, before=list(zip(names, [*names[1:], "x0"], strict=True)))
    with pytest.raises(SpecError, match="at most 128 choices"):
        NumericRM.of("u0", ["won"], lines, numeric={"n": names}, choose=[(1, [[n]]) for n in names])
    with pytest.raises(SpecError, match="500 subtasks before each of 500 are too many"):
        any_order(sequence(any_order(*names[:500]), any_order(*names[500:])), "y")


def test_what_precedes_what_is_followed_through_others() -> None:
    rules = Rules(before=((0, 1), (1, 2)), apart=((2, 3),))
    assert rules.precedes(0, 3)
    assert not rules.precedes(3, 0)
    assert not rules.precedes(1, 1)
    assert rules.circle(4) == []
