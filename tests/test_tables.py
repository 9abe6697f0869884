"""The flat tables of every finite catalogue world keep the promises that kernels rely on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import get_args, get_type_hints

import numpy as np
import pytest

from errands.machines import unfold_agenda
from errands.machines.lower import lower
from errands.tables import AgendaTable, Evaluation, MachineTable, WorldTable
from errands.tasks import Task, load


def slippery() -> Task:
    """Figure 1's map with moves that go astray."""
    return Task.from_toml(load("figure-1").text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.2'))


TASKS = {"figure-1": lambda: load("figure-1"), "slip": slippery, "office-2": lambda: load("office-2"),
         "delivery-3": lambda: load("delivery-3")}  # fmt: skip


def promised(table: WorldTable | AgendaTable | MachineTable) -> None:
    """Every array has the type that its field is declared with."""
    for name, hint in get_type_hints(type(table)).items():
        value = getattr(table, name)
        if hint is not int and get_args(hint):
            *_, inner = get_args(hint)  # NDArray[T] is ndarray[shape, dtype[T]], and since numpy 2.5 an alias of T alone
            assert value.dtype == (*get_args(inner), inner)[0], name


@pytest.mark.parametrize("name", TASKS)
def test_a_world_leads_from_states_to_states_with_probability_one(name: str) -> None:
    finite = TASKS[name]().finite
    assert finite is not None
    table = finite.table
    promised(table)
    states, actions, outcomes = table.next.shape
    assert table.cumulative.shape == table.label.shape == table.ends.shape == (states, actions, outcomes)
    assert table.signal.shape[1:] == table.next.shape
    assert ((table.next >= 0) & (table.next < states)).all()
    assert (np.diff(table.cumulative, axis=2) >= 0).all()
    assert (table.cumulative[:, :, -1] == 1.0).all()
    assert (np.diff(table.start_cumulative) >= 0).all()
    assert table.start_cumulative[-1] == 1.0
    assert len(table.starts) == len(table.start_cumulative) == len(table.start_label)


def test_slipping_moves_have_three_outcomes_with_the_chances_that_were_given() -> None:
    finite = slippery().finite
    assert finite is not None
    chances = np.diff(finite.table.cumulative, axis=2, prepend=0.0)
    assert chances.shape[2] == 3
    assert np.allclose(np.sort(chances[0, 0]), [0.1, 0.1, 0.8])


@pytest.mark.parametrize("name", TASKS)
def test_entries_of_an_agenda_lie_where_its_offsets_say(name: str) -> None:
    task = TASKS[name]()
    table = task.agenda_table
    promised(table)
    labels = len(table.label_bits)
    ends = table.offset + labels * table.width
    assert table.offset[0] == 0
    assert ends[:-1].tolist() == table.offset[1:].tolist()
    assert ends[-1] == len(table.next) == len(table.reward) == len(table.fired) == len(table.signal)
    assert (table.width == 3 ** np.diff(table.first)).all()
    assert len(table.alternative_first) == table.width.sum() + 1
    assert table.alternative_first[-1] == len(table.alternatives)
    assert len(table.subtask_objective) == len(task.machine.subtasks)


def test_an_enumerated_machine_stays_where_it_has_ended() -> None:
    task = load("office-2")
    assert task.finite is not None
    table = lower(unfold_agenda(task.machine), task.finite.labels)
    promised(table)
    (ended,) = np.nonzero(table.status)
    assert len(ended) == 2
    assert (table.next[ended] == ended[:, None]).all()
    assert (table.reward[ended] == 0).all()


def test_an_evaluation_is_a_value_that_cannot_be_changed() -> None:
    one = Evaluation(1000, 10, 1.0, True)
    assert one == Evaluation(1000, 10, 1.0, True)
    assert one != Evaluation(1000, 11, 1.0, True)
    assert len({one, Evaluation(1000, 10, 1.0, True)}) == 1
    with pytest.raises(FrozenInstanceError):
        one.step = 1  # type: ignore[misc]


def test_one_episode_is_held_to_the_optimum_and_a_mean_is_not() -> None:
    assert Evaluation(5, 12, 1.0, True).gap(10) == 2
    assert Evaluation(5, 10, 1.0, True).optimal(10)
    assert Evaluation(5, 10, 0.0, False).gap(10) is None
    assert Evaluation(5, 10, 1.0, True).gap(None) is None
    mean = Evaluation(5, 9.5, 1.0, 1.0, 100, 9.0, 10.0, 0.96, 1.0)
    assert mean.sure
    assert not mean.exact
    assert mean.gap(10) is None
    assert mean.steps_taken == 950


def test_an_expectation_is_optimal_within_rounding_and_only_where_success_is_sure() -> None:
    assert Evaluation(5, 51.4 + 1e-12, 1.0, 1.0, episodes=0).gap(51.4) == 0
    assert Evaluation(5, 51.4 - 1e-12, 1.0, 1.0, episodes=0).optimal(51.4)
    assert not Evaluation(5, 9.0, 0.945, 0.945, episodes=0).optimal(51.4)
    assert Evaluation(5, 9.0, 0.945, 0.945, episodes=0).gap(51.4) is None
    assert Evaluation(5, 9.0, 0.945, 0.945, episodes=0).steps_taken == 0


def test_success_comes_before_length_in_the_order_of_evaluations() -> None:
    long, short = Evaluation(1, 900, 1.0, True), Evaluation(2, 40, 1.0, True)
    failure, lucky = Evaluation(3, 3, 0.0, False), Evaluation(4, 12.0, 0.9, 0.9, episodes=0)
    assert sorted([failure, long, lucky, short], key=lambda e: e.rank) == [short, long, lucky, failure]
