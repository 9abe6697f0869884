"""Lint reads a task aloud, measures it, and warns about what is allowed but hardly meant."""

from __future__ import annotations

import pytest

from errands.errors import SpecError
from errands.machines import NumericRM, Sizes
from errands.machines.text2022 import parse_text2022
from errands.tasks import load
from errands.tasks.catalogue import task_text
from errands.tasks.lint import lint, lint_machine, read_aloud
from errands.tasks.ltlf import from_ltlf
from errands.tasks.phrases import any_order, avoid, either, repeat, sequence

NAMES = ["figure-1", "corridor", "delivery-2", "delivery-40", "office-6", "visit-8", "water-3", "cheetah-bcde"]


def grid(rows: str, legend: str, machine: str) -> str:
    return f'name = "x"\n[world]\nkind = "grid"\nrows = [{rows}]\nlegend = {{ {legend} }}\n[machine]\n{machine}\n'


@pytest.mark.parametrize("name", NAMES)
def test_the_catalogue_gives_no_warning(name: str) -> None:
    assert lint(task_text(name)).warnings == ()


def test_figure_1_is_read_and_measured_as_the_paper_tells_it() -> None:
    report = lint(task_text("figure-1"))
    assert report.reading == (
        "Start in u0: do one of b1, b2, then go to u1.",
        "In u1: reach s, then if some of b1, b2 remain go back to u0, else the task is done with reward 1.",
    )
    assert report.sizes == Sizes(9, 7, 8, 3)
    assert report.task is not None
    assert report.task.name == "figure-1"


def test_what_fails_everywhere_is_said_once_and_what_fails_somewhere_where_it_does() -> None:
    assert lint_machine(avoid("lava", sequence("a", "b"))).reading == (
        "Start in u0: reach a, then go to u1.",
        "In u1: reach b, then the task is done with reward 1.",
        "Always: lava fails the task.",
    )
    assert lint_machine(sequence("a", avoid("lava", "b"))).reading[1] == (
        "In u1: reach b, then the task is done with reward 1; but lava fails the task."
    )


def test_rewards_conditions_and_alternatives_are_said() -> None:
    machine = NumericRM.of(
        "u0",
        ["end"],
        [
            "u0 -> u0 : p! ; -cost",
            "u0 -> u0 : p↓ ; 10",
            "u0 -> u1 : p⤓ ; 10",
            "u1 -> end : a & ~b ; 2",
            "u1 -> u2 : b ; 0",
        ],
        numeric={"p": ["x", "y"]},
    )
    assert lint_machine(machine).reading == (
        "Start in u0: do one of x, y, then if others remain stay in u0 with reward 10, else go to u1 with reward 10.",
        "In u0, each step pays -cost while none of x, y is completed.",
        "In u1: reach a and no b, then the task is done with reward 2; or reach b, then go to u2.",
        "In u2: nothing leads on from here.",
    )


def test_many_subtasks_and_a_single_one_are_named_briefly() -> None:
    assert "b1, b2, ..., b40 (40 subtasks)" in lint(task_text("delivery-40")).reading[0]
    assert lint(task_text("visit-1")).reading == ("Start in u0: do v1, then the task is done with reward 1.",)


def test_states_and_terminals_that_are_never_reached_are_named() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : a ; 1", "u5 -> lost : b ; 0"], failure=["lost"])
    assert [w.split(";")[0] for w in lint_machine(machine).warnings] == [
        "the machine state 'u5' is never reached",
        "the terminal 'lost' is never reached",
    ]


def test_a_terminal_behind_a_guard_that_cannot_hold_is_never_reached() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> u1 : b↓ | b⤓ ; 0", "u1 -> won : b! & a ; 1"], numeric={"b": ["x"]})
    assert any("can never succeed" in w for w in lint_machine(machine).warnings)


def test_a_machine_without_success_is_told() -> None:
    assert any("can never succeed" in w for w in lint_machine(NumericRM.of("u0", [], ["u0 -> u1 : a ; 1"])).warnings)


def test_guards_that_overlap_and_agree_are_told_with_the_features_that_show_it() -> None:
    machine = NumericRM.of("u0", ["u1"], ["u0 -> u1 : a ; 1", "u0 -> u1 : b ; 1"])
    (warning,) = lint_machine(machine).warnings
    assert "both fire on {a, b} and do the same" in warning


def test_labels_that_coincide_are_named_with_the_states_behind_them() -> None:
    machine = NumericRM.of(
        "u0",
        ["win"],
        ["u0 -> u1 : a ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> lose : c ; 0"],
        ["lose"],
    )
    (warning,) = lint_machine(machine).warnings
    assert warning.startswith("the label 1{}c stands for two states, u1 and u2")
    both = NumericRM.of(
        "u0", ["win"], ["u0 -> u1 : a ; 0", "u0 -> u2 : b & ~a ; 0", "u1 -> win : c ; 1", "u2 -> win : c ; 2"]
    )
    (warning,) = lint_machine(both).warnings
    assert warning.startswith("the label 1{}c stands for two states, u1 and u2")


def test_numeric_features_that_count_for_nothing_are_told() -> None:
    unused = NumericRM.of("u0", ["u1"], ["u0 -> u1 : a ; 1"], numeric={"b": ["x", "y"]})
    assert any("'b' stands in no guard" in w for w in lint_machine(unused).warnings)
    never = NumericRM.of("u0", ["u1"], ["u0 -> u1 : b⤓ ; 1"], numeric={"b": ["x", "y"]})
    assert any("no state completes subtasks of 'b'" in w for w in lint_machine(never).warnings)
    waiting = NumericRM.of("u0", ["u1"], ["u0 -> u1 : b⤓ ; 1", "u0 -> u0 : b↓ | b! ; -1"], numeric={"b": ["x", "y"]})
    assert any("no state completes subtasks of 'b'" in w for w in lint_machine(waiting).warnings)
    said = NumericRM.of("u0", ["u1"], ["u0 -> u1 : b⤓ ; 1"], numeric={"b": ["x", "y"]}, completing={"u0": ["b"]})
    assert lint_machine(said).warnings == ()


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("~(b↓ | b⤓) & m", "reach m, then if none of s, g is completed"),
        ("~b↓ & ~b⤓ & ~(m | n)", "reach no m and no n, then if none of s, g is completed"),
        ("(b! | b↓) & m", "reach m, then if some of s, g remain"),
        ("~(m & n) & k", "reach (no m or no n) and k, then"),
        ("~b! & m", "reach m, then if one of s, g is completed or none remains"),
    ],
)
def test_guards_that_count_are_read_as_english(guard: str, words: str) -> None:
    lines = [f"u0 -> u1 : {guard} ; 0", "u1 -> won : k ; 1"]
    machine = NumericRM.of("u0", ["won"], lines, numeric={"b": ["s", "g"]}, completing={"u0": ["b"]})
    assert read_aloud(machine)[0] == f"Start in u0: {words} go to u1."


def test_a_formula_whose_items_are_counted_is_read_as_english() -> None:
    assert read_aloud(from_ltlf("F s & F g & (!m U s)"))[0] == (
        "Start in u0: reach s, then if some of s, g remain go to u1, else the task is done with reward 1; "
        "but m and no s fails the task."
    )


def test_two_subtasks_on_one_cell_are_told_where_both_are_open() -> None:
    world = """name = "x"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
features = { a = [3, 4], b = [4, 6] }
"""
    (warning,) = lint(world + '[machine]\nphrase = "any_order(b, a)"\n').warnings
    assert warning.startswith("b and a hold at once and are both open in u0; one step completes only b")
    assert lint(world + '[machine]\nphrase = "sequence(a, b)"\n').warnings == ()


def test_features_of_guards_that_the_grid_cannot_reach_are_told() -> None:
    (warning,) = lint(grid('"A1#2"', '1 = "a", 2 = "b"', 'phrase = "avoid(b, a)"')).warnings
    assert warning.startswith("guards mention 'b'")


def test_many_warnings_of_one_kind_are_counted() -> None:
    lines = [f"u0 -> u1 : f{i} ; 1" for i in range(6)]
    warnings = lint_machine(NumericRM.of("u0", ["u1"], lines)).warnings
    assert len(warnings) == 6
    assert warnings[-1] == "and 10 more warnings like the last one"


def test_a_file_that_is_not_well_formed_is_refused_with_all_problems() -> None:
    with pytest.raises(SpecError) as fault:
        lint(grid('"A1", "."', '1 = "a"', 'phrase = "any_order(a, a)"'))
    assert len(fault.value.problems) == 2


def test_a_machine_of_the_2022_format_is_linted_alone() -> None:
    report = lint_machine(parse_text2022("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))"))
    assert (report.task, report.warnings) == (None, ())
    assert report.sizes == Sizes(2, 2, 2, 1)


def test_large_tasks_are_measured_without_being_built() -> None:
    report = lint_machine(any_order(*(f"b{i}" for i in range(200)), after="s"))
    assert report.sizes is not None
    assert report.sizes.agenda == 2**201 - 1


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (
            sequence("a", "b"),
            ["Start in u0: reach a, then go to u1.", "In u1: reach b, then the task is done with reward 1."],
        ),
        (
            any_order("b1", "b2", after="s"),
            [
                "Start in u0: do one of b1, b2, then go to u1.",
                "In u1: reach s, then if some of b1, b2 remain go back to u0, else the task is done with reward 1.",
            ],
        ),
        (
            avoid("x", "y", any_order("p", "q")),
            [
                "Start in u0: do one of p, q, then if others remain stay in u0, else the task is done with reward 1.",
                "Always: x or y fails the task.",
            ],
        ),
        (any_order("only"), ["Start in u0: do only, then the task is done with reward 1."]),
    ],
)
def test_a_phrase_is_said_in_words(machine: NumericRM, said: list[str]) -> None:
    assert list(read_aloud(machine)) == said


def test_what_each_step_costs_is_said_apart() -> None:
    assert read_aloud(load("cheetah-bcd").machine)[-1] == (
        "In u0, each step pays -control_cost while none of B, C, D is completed."
    )


def test_from_the_seventh_on_subtasks_are_counted_instead_of_listed() -> None:
    assert "v1, v2, v3, v4, v5, v6," in read_aloud(load("visit-6").machine)[0]
    assert "v1, v2, ..., v7 (7 subtasks)" in read_aloud(load("visit-7").machine)[0]


def test_a_state_that_nothing_leaves_is_said_to_lead_nowhere() -> None:
    machine = NumericRM.of("u0", ["won"], ["u0 -> won : g & ~x ; 1", "u0 -> stuck : x ; 0"])
    assert read_aloud(machine)[1] == "In stuck: nothing leads on from here."


def test_a_guard_that_can_never_hold_is_told() -> None:
    lines = ["u0 -> u0 : x↓ ; 0", "u0 -> u1 : x⤓ ; 0", "u1 -> won : a & x⤓ ; 1", "u1 -> u0 : a & x! ; 0"]
    machine = NumericRM.of("u0", ["won"], lines, numeric={"x": ["x1", "x2"]})
    (warning,) = lint_machine(machine).warnings
    assert warning.startswith("the guard of 'u1 -> u0 : a & x! ; 0' can never hold in u1")
    both = ["u0 -> u0 : x↓ & y↓ ; 0", "u0 -> won : x⤓ & y⤓ ; 1"]
    fine = NumericRM.of("u0", ["won"], both, numeric={"x": ["x1", "x2"], "y": ["y1", "y2"]})
    assert lint_machine(fine).warnings == ()


def test_failing_that_pays_more_than_succeeding_is_told() -> None:
    lines = ["u0 -> won : a & ~d ; 1", "u0 -> lost : d ; 5"]
    machine = NumericRM.of("u0", ["won"], lines, failure=["lost"])
    assert lint_machine(machine).warnings == (
        "failing by 'u0 -> lost : d ; 5' pays 5, more than any success, which pays 1 at most; change one",
    )


def test_rules_are_read_aloud() -> None:
    machine = any_order(sequence("p1", "d1"), sequence("p2", "d2"), repeat("a", 2), choose=2, capacity=1)
    assert read_aloud(machine)[1:] == (
        "Order: d1 after p1, d2 after p2.",
        "Separate visits: a#2 after a, once a has been false.",
        "Enough: 2 of (p1, d1), (p2, d2), (a, a#2).",
        "At most 1 begun and not finished at a time: (p1, d1), (p2, d2), (a, a#2).",
    )
    assert read_aloud(either("a", "b"))[0] == "Start in u0: do one of a, b, then the task is done with reward 1."


def test_subtasks_of_different_variables_that_hold_at_once_are_no_crowd() -> None:
    grid = """name = "both"
[world]
kind = "grid"
rows = ["A*."]
legend = { "*" = "x1" }
[machine]
initial = "u0"
success = ["won"]
numeric = { x = ["x1"], y = ["x1"] }
transitions = ["u0 -> won : x⤓ & y⤓ ; 1", "u0 -> u0 : x↓ & y↓ ; 0"]
"""
    assert lint(grid).warnings == ()


def test_gauges_are_read_aloud() -> None:
    """The machine of the paper's sentence: boxes, resource usage, distance to a goal."""
    report = lint('''
        name = "delivery with fuel"
        [world]
        kind = "office"
        numbers = { fuel = "moves", distance = "o3" }
        [machine]
        initial = "u0"
        success = ["u1"]
        failure = ["u2"]
        numeric.boxes = ["o1", "o2"]
        numeric.fuel = { from = 12, to = 0 }
        numeric.distance = { from = 9, to = 2 }
        numeric.spare = { from = 2, each = "coffee" }
        transitions = ["u0 -> u1 : boxes⤓ & ~fuel⤓ & distance⤓ ; 1", "u0 -> u2 : fuel⤓ ; 0",
            "u0 -> u0 : boxes↓ & distance↓ & ~fuel⤓ ; 2"]
    ''')
    falling = "one of o1, o2 is completed and others remain and distance falls and is above 2"
    assert report.reading == (
        "Start in u0: if none of o1, o2 remains and distance is at 2 the task is done with reward 1.",
        f"In u0, each step pays 2 while {falling} and fuel is above 0.",
        "Always: fuel is at 0 fails the task.",
        "fuel falls from 12 to 0, as the world reports it.",
        "distance falls from 9 to 2, as the world reports it.",
        "spare falls from 2 to 0, by one in each step that has coffee.",
    )
    (warning,) = report.warnings
    assert warning == "the gauge 'spare' stands in no guard; use it, or remove it: the machine has a state for each value"
