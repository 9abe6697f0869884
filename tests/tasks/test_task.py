"""A task is valid from birth; everything that is derived from it fits together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import errands
from errands.errors import SpecError
from errands.machines import NumericRM
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, repeat, sequence

GYM = """name = "foreign"
[world]
kind = "gymnasium"
id = "{}"
kwargs = {}
features = {{ goal = [{}] }}
[machine]
phrase = "goal"
"""


def test_a_machine_that_asks_for_what_the_world_cannot_report_is_refused_with_every_fault() -> None:
    task = load("figure-1")
    with pytest.raises(SpecError) as told:
        replace(task, machine=sequence("moon", "mars"), removed=())
    assert [p.split(";")[0] for p in told.value.problems] == [
        "the world cannot report the feature 'moon'",
        "the world cannot report the feature 'mars'",
    ]
    with pytest.raises(SpecError, match="cannot report the subtask 'b3'; it reports"):
        replace(task, machine=any_order("b1", "b3"), removed=())


def test_a_signal_that_the_world_does_not_report_is_refused() -> None:
    lines = ["u0 -> u0 : ~s ; -cost", "u0 -> u1 : s ; 1"]
    with pytest.raises(SpecError, match="does not report the signal 'cost'; it reports none"):
        replace(load("figure-1"), machine=NumericRM.of("u0", ["u1"], lines), removed=())


def test_only_subtasks_vanish_and_only_those_used_in_one_way() -> None:
    task = load("figure-1")
    assert task.vanishing == ("b1", "b2")
    with pytest.raises(SpecError, match="removed names 's', which is not a subtask"):
        replace(task, removed=("s",))


def test_a_subtask_behind_walls_is_refused() -> None:
    text = (
        'name = "w"\n[world]\nkind = "grid"\nrows = ["A#g"]\nlegend = { g = "g" }\n[machine]\nphrase = "any_order(g)"\n'
    )
    with pytest.raises(SpecError, match="the subtask 'g' cannot be reached from the start; open a way"):
        Task.from_toml(text)


def test_boxes_of_delivery_vanish_where_the_machine_counts_them_once() -> None:
    own = load("delivery-2")
    assert own.vanishing == ("b1", "b2")
    assert own.finite is not None
    assert own.finite.states == 100
    assert replace(own, machine=sequence("b1", "b2"), text="").vanishing == ()
    assert replace(own, machine=any_order("b1", repeat("b2", 2)), text="").vanishing == ("b1",)


def test_a_task_read_from_what_it_writes_is_equal() -> None:
    task = replace(load("office-2"), text="")
    assert Task.from_toml(task.to_toml()) == task
    assert load("office-2").to_toml() == load("office-2").text


def test_tables_exist_for_finite_worlds_only() -> None:
    task = load("figure-1")
    assert task.finite is not None
    assert len(task.agenda_table.label_bits) == len(task.finite.labels)
    assert task.layout is not None
    assert task.layout.cells == 12
    water = load("water-2")
    assert water.finite is None
    assert water.layout is None
    with pytest.raises(SpecError, match="the world of 'water-2' is continuous"):
        water.agenda_table  # noqa: B018


def test_its_environment_pays_for_the_walk_on_paper() -> None:
    env = load("figure-1").env("numeric")
    env.reset(seed=0)
    up, right, down, left = range(4)
    paid = [env.step(a)[1] for a in (left, left, up, right, left, down, down, down, up, up)]
    assert paid == [0.0] * 10
    _, reward, terminated, _, _ = env.step(up)
    assert (reward, terminated) == (0.0, False)
    _, reward, terminated, _, _ = env.step(right)
    assert (reward, terminated) == (1.0, True)
    env.close()


def test_the_label_of_every_step_is_one_of_the_labels() -> None:
    finite = load("office-3").finite
    assert finite is not None
    assert int(finite.table.label.min()) >= 0
    assert int(finite.table.label.max()) < len(finite.labels)
    assert np.allclose(finite.table.cumulative[..., -1], 1.0)


def test_a_world_is_certain_where_one_episode_says_everything():
    slippery = load("figure-1").to_toml().replace("removed", "slip = 0.1\nremoved")
    assert load("figure-1").certain
    assert load("water-2").certain
    assert not Task.from_toml(slippery).certain
    assert not Task.from_toml(GYM.format("FrozenLake-v1", "{}", 15)).certain


def test_a_world_of_numbered_states_without_a_table_is_not_called_continuous():
    taxi = Task.from_toml(GYM.format("Taxi-v4", "{ fickle_passenger = true }", 16))
    assert taxi.finite is None
    assert taxi.untabled.startswith("has numbered states, but publishes no whole table")
    assert load("water-2").untabled == "is continuous"
    assert load("figure-1").untabled == ""
    assert "continuous" not in errands.optimum(taxi).reason


def test_values_show_themselves_shortly_and_a_task_with_its_picture_in_notebooks() -> None:
    task = load("office-6")
    assert repr(task) == "<Task office-6: office world with 8 features, machine of 4 states and 6 subtasks>"
    lake = Task.from_env("FrozenLake-v1", {"goal": [15]}, "goal")
    assert repr(lake) == "<Task FrozenLake-v1: gymnasium world with 1 feature, machine of 2 states>"
    best = errands.optimum(task)
    judged = errands.certificate(best.policy, task)
    assert all(len(repr(value)) < 400 for value in (best, judged))
    assert "<svg" in task._repr_html_()
    assert repr(errands.unfold_agenda(load("office-3").machine)) == "<AgendaRM: 16 states, 3 subtasks>"
    hostile = replace(task, name="<script>alert(1)</script>")
    assert "<script>" not in hostile._repr_html_()


def test_a_place_that_cannot_be_reached_may_be_one_of_a_choice() -> None:
    text = """name = "x"
[world]
kind = "grid"
rows = ["A.a#b"]
legend = { a = "a", b = "b" }
[machine]
phrase = "PHRASE"
"""
    assert Task.from_toml(text.replace("PHRASE", "either(a, b)")).machine.rules
    with pytest.raises(SpecError, match="the subtask 'b' cannot be reached"):
        Task.from_toml(text.replace("PHRASE", "any_order(a, b)"))
