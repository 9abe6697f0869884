from __future__ import annotations

import pytest

from errands.errors import SpecError, TaskError
from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.machines.numeric import Label, Outcome, Transition, parse_transition
from errands.machines.rewards import Reward, parse_reward

from .definition import walked
from .examples import FIGURE_1B, boxes


def test_figure_1b_pays_one_for_two_delivered_boxes() -> None:
    trace = [{"b2"}, set(), {"s"}, {"b1"}, {"b2"}, {"s"}, {"b1"}]
    assert boxes(2).run(trace) == Outcome((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), True, True)


def test_a_second_box_is_ignored_while_one_is_carried() -> None:
    assert boxes(2).run([{"b1"}, {"b2"}, {"s"}, {"s"}]) == Outcome((0.0, 0.0, 0.0, 0.0), False, False)


def test_two_subtasks_in_one_step_the_first_declared_is_completed_and_the_other_waits() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> u0 : n↓ ; 2", "u0 -> won : n⤓ ; 5"], numeric={"n": ["x", "y"]})
    assert machine.run([{"x", "y"}, {"x"}, {"x", "y"}]).rewards == (2.0, 0.0, 5.0)


def test_with_nothing_remaining_a_numeric_feature_stands_at_its_bound() -> None:
    """Proposition 1, case 3: unchanged at the bound is `reached`."""
    lines = ["u0 -> u1 : n↓ | n⤓ ; 0", "u1 -> won : n⤓ & key ; 1", "u1 -> u0 : n! & key ; 0"]
    machine = NumericRM.of("u0", ["won"], lines, numeric={"n": ["x"]})
    assert machine.run([{"x"}, set(), {"key"}]) == Outcome((0.0, 0.0, 1.0), True, True)


def test_no_matching_transition_stays_with_reward_zero() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : a & b ; 3"])
    assert machine.run([{"a"}, {"b"}, set()]) == Outcome((0.0, 0.0, 0.0), False, False)


def test_success_and_failure_are_different_ends() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : a & ~d ; 1", "u0 -> lost : d ; -1"], failure=["lost"])
    assert machine.run([{"a"}]) == Outcome((1.0,), True, True)
    assert machine.run([{"a", "d"}]) == Outcome((-1.0,), True, False)


def test_several_transitions_between_two_states_all_count() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : a & ~b ; 1", "u0 -> won : b & ~a ; 7"])
    assert machine.run([{"a"}]).rewards == (1.0,)
    assert machine.run([{"b"}]).rewards == (7.0,)


def test_a_signal_is_paid_with_its_sign_and_its_lack_is_told() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> u0 : ~a ; -cost", "u0 -> won : a ; 10"])
    assert machine.run([set(), {"a"}], [{"cost": 0.25}, {"cost": 9.0}]).rewards == (-0.25, 10.0)
    with pytest.raises(TaskError, match="signal 'cost'"):
        machine.run([set()])


def test_non_determinism_names_both_transitions_and_the_features_that_show_it() -> None:
    with pytest.raises(SpecError) as fault:
        NumericRM.of("u0", ["won"], ["u0 -> won : a & ~c ; 1", "u0 -> u1 : b ; 0", "u1 -> won : a ; 1"])
    assert "'u0 -> won : a & ~c ; 1' and 'u0 -> u1 : b ; 0' both fire on {a, b}" in str(fault.value)


def test_equal_targets_with_different_rewards_disagree_and_equal_rewards_agree() -> None:
    with pytest.raises(SpecError, match="disagree"):
        NumericRM.of("u0", ["won"], ["u0 -> won : a ; 1", "u0 -> won : b ; 2"])
    assert len(NumericRM.of("u0", ["won"], ["u0 -> won : a ; 1", "u0 -> won : b ; 1"])) == 2


def test_a_conflict_that_needs_unreachable_counts_is_none() -> None:
    """In u0 something always remains, so `n⤓` there means a completion: the two guards never hold together."""
    lines = [
        "u0 -> u0 : n↓ & ~a ; 0",
        "u0 -> u1 : n⤓ ; 0",
        "u0 -> u2 : n↓ & a ; 0",
        "u1 -> won : a ; 1",
        "u2 -> won : a ; 1",
    ]
    NumericRM.of("u0", ["won"], lines, numeric={"n": ["x", "y"]})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"initial": "u9"}, "no transition leaves the initial state 'u9'"),
        ({"success": ["u2", "u7"]}, "no transition names the terminal state 'u7'"),
        ({"success": ["u1"]}, "a transition leaves the terminal state 'u1'"),
        ({"failure": ["u2"]}, "'u2' is a success and a failure"),
        ({"numeric": {}}, "numeric has no 'b'"),
        ({"numeric": {"b": []}}, "counts no subtasks"),
        ({"numeric": {"b": ["b1", "b1"]}}, "names a subtask twice"),
        ({"numeric": {"b": ["b1"], "s": ["x"]}}, "'s' is a numeric feature and a Boolean one"),
        ({"numeric": {"b": ["b 1"]}}, "'b 1' cannot be a name"),
        ({"transitions": ["u0 u1 : a ; 0"]}, "is not a transition"),
        ({"transitions": ["u0 -> u1 : a ; nan"]}, "not a finite number"),
        ({"transitions": ["u0 -> u1 : a ; 1e999"]}, "not a finite number"),
        ({"transitions": ["u0 -> u1 : a ; 3 apples"]}, "neither a number nor the name of a signal"),
    ],
)
def test_a_faulty_machine_cannot_be_made(change: dict[str, object], sentence: str) -> None:
    given: dict[str, object] = {
        "initial": "u0", "success": ["u2"], "failure": [], "numeric": {"b": ["b1", "b2"]}, "transitions": FIGURE_1B
    }  # fmt: skip
    with pytest.raises(SpecError, match=sentence):
        NumericRM.of(**(given | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("completing", "sentence"),
    [
        ({"u7": ["b"]}, "completing speaks of the state 'u7', which no transition names"),
        ({"u1": ["c"]}, "completing says that 'u1' completes 'c', but numeric has no 'c'"),
    ],
)
def test_completing_speaks_of_states_and_numeric_features_that_there_are(completing, sentence) -> None:
    with pytest.raises(SpecError, match=sentence):
        NumericRM.of("u0", ["u2"], FIGURE_1B, numeric={"b": ["b1"]}, completing=completing)


def test_guards_that_no_table_can_hold_are_refused_in_a_sentence() -> None:
    many = " | ".join(f"n{i}! & n{i}⤓ | n{i}↓" for i in range(18))
    with pytest.raises(SpecError, match="too many and too long to be understood"):
        NumericRM.of("u0", ["won"], [f"u0 -> won : {many} ; 1"], numeric={f"n{i}": [f"x{i}"] for i in range(18)})


def test_guards_of_many_features_are_compared_in_no_time_and_exactly() -> None:
    """Two guards of 20 features that share 10: 30 features in all, decided by projecting each onto the shared ones."""
    first = " & ".join(f"f{i}" for i in range(20))
    clash = " & ".join(f"f{i}" for i in range(10, 30))
    with pytest.raises(SpecError, match="both fire on"):
        NumericRM.of("u0", ["won"], [f"u0 -> won : {first} ; 1", f"u0 -> u0 : {clash} ; 2"])
    apart = " & ".join(["~f10", *(f"f{i}" for i in range(11, 30))])
    NumericRM.of("u0", ["won"], [f"u0 -> won : {first} ; 1", f"u0 -> u0 : {apart} ; 2"])


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        (Label(0, ("b1", "b2"), ("b1",)), "0{b1,b2}b1"),
        (Label(0, ("b1", "b2"), ("b1", "b2")), "0{b1,b2}{b1,b2}"),
        (Label(3, (), ("s",)), "3{}s"),
        (Label(4, (), ()), "4{}"),
    ],
)
def test_a_label_is_printed_as_the_paper_prints_it(label: Label, printed: str) -> None:
    assert str(label) == printed


def test_equal_labels_are_one_key_and_any_part_tells_two_apart() -> None:
    label = Label(1, ("b1",), ("s",))
    assert {label: "here"}[Label(1, ("b1",), ("s",))] == "here"
    assert len({label, Label(2, ("b1",), ("s",)), Label(1, (), ("s",)), Label(1, ("b1",), ("t",))}) == 4


@pytest.mark.parametrize(
    ("trace", "outcome"),
    [
        ([], Outcome((), False, False)),
        ([set()], Outcome((0.0,), False, False)),
        ([{"b1"}, {"s"}, {"b2"}], Outcome((0.0, 0.0, 0.0), False, False)),
        ([{"b2"}, {"s"}, {"b1"}, {"s"}], Outcome((0.0, 0.0, 0.0, 1.0), True, True)),
        ([{"b2"}, {"s"}, {"b1"}, {"s"}, {"b1"}, {"s"}], Outcome((0.0, 0.0, 0.0, 1.0), True, True)),
    ],
)
def test_every_machine_of_figure_1_gives_the_outcome_found_by_hand(trace: list[set[str]], outcome: Outcome) -> None:
    numeric = boxes(2)
    agenda = unfold_agenda(numeric)
    assert [walked(m, trace) for m in (numeric, unfold_boolean(numeric), agenda, couple(agenda))] == [outcome] * 4


def test_a_failure_is_terminal_without_success() -> None:
    lines = ["u0 -> won : g & ~x ; 1", "u0 -> lost : x ; -5"]
    machine = NumericRM.of("u0", ["won"], lines, failure=["lost"])
    assert machine.run([set(), {"g", "x"}, {"g"}]) == Outcome((0.0, -5.0), True, False)


def test_a_line_is_read_in_its_four_parts() -> None:
    found = parse_transition("  u1 -> u2 : s & b⤓ ; 1 ")
    assert (found.source, found.target) == ("u1", "u2")
    assert str(found.guard) == "s & b⤓"
    assert found.reward == Reward(1.0)


@pytest.mark.parametrize(
    "line", ["u0 -> u0 : b! ; 0", "u1 -> u2 : s & b⤓ ; 1", "a -> b : ~(p | q) ; -0.5", "a -> b : p ; -cost"]
)
def test_what_is_printed_is_read_back_as_the_same(line: str) -> None:
    read = parse_transition(line)
    assert parse_transition(str(read)) == read
    assert str(read.reward) == line.split(";")[1].strip()


def test_a_number_is_paid_whatever_is_reported() -> None:
    assert Reward(2.5).paid(None) == 2.5
    assert Reward(2.5).paid({"cost": 9.0}) == 2.5


def test_a_signal_is_paid_times_its_factor() -> None:
    assert parse_reward("-cost").paid({"cost": 3.0}) == -3.0
    assert parse_reward("cost").paid({"cost": 3.0}) == 3.0
    assert Reward(0.5, "cost").paid({"cost": 3.0}) == 1.5
    assert str(Reward(0.5, "cost")) == "0.5*cost"


@pytest.mark.parametrize("signals", [None, {}, {"other": 1.0}])
def test_a_signal_that_the_step_does_not_report_is_named(signals: dict[str, float] | None) -> None:
    with pytest.raises(TaskError, match=r"the signal 'cost', which this step does not report; pass signals="):
        Reward(-1.0, "cost").paid(signals)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "Infinity", "1e999", "-NaN"])
def test_a_reward_that_is_no_finite_number_is_refused(word: str) -> None:
    with pytest.raises(SpecError, match="not a finite number"):
        parse_reward(word)


@pytest.mark.parametrize("word", ["", "two words", "3x", "a;b", "--cost"])
def test_a_reward_that_is_neither_number_nor_name_is_refused(word: str) -> None:
    with pytest.raises(SpecError, match="neither a number nor the name of a signal"):
        parse_reward(word)


@pytest.mark.parametrize("line", ["", "u0 u1 : p ; 0", "u0 -> u1 ; 0", "u0 -> u1 : p", "-> u1 : p ; 0"])
def test_a_line_of_another_shape_is_refused_with_the_shape(line: str) -> None:
    with pytest.raises(SpecError, match="is not a transition; write 'from -> to : guard ; reward'"):
        parse_transition(line)


def test_a_fault_inside_a_line_shows_the_line() -> None:
    with pytest.raises(SpecError, match=r"\(in 'u0 -> u1 : p & ; 0'\)"):
        parse_transition("u0 -> u1 : p & ; 0")
    with pytest.raises(SpecError, match="'u-1' cannot name a machine state"):
        parse_transition("u0 -> u-1 : p ; 0")


def test_the_reward_of_a_transition_is_zero_unless_given() -> None:
    guard = parse_transition("u0 -> u1 : p ; 7").guard
    assert str(Transition("u0", "u1", guard)) == "u0 -> u1 : p ; 0"


@pytest.mark.parametrize("text", ["a->:" * 100_000, "->" * 200_000, "a -> b :" + ";" * 200_000, " " * 200_000 + "a"])
def test_a_hostile_line_is_refused_at_once(text: str) -> None:
    """A regular expression took 14 s for 6,000 characters of the first: for these it would not end."""
    with pytest.raises(SpecError):
        parse_transition(text)
