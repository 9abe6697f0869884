import pytest

from errands.errors import TaskError
from errands.learners.engines.deep.machine import labels_of, machine_arrays
from errands.tasks import load
from errands.tasks.phrases import any_order
from errands.tasks.task import Task
from errands.worlds import Water


def test_a_label_of_water_is_the_bit_pattern_of_the_colours_touched():
    task = load("water-3")
    names, labels = task.machine.features, labels_of(task)
    assert len(labels) == 64
    assert labels[0] == frozenset()
    assert labels[0b101] == {names[0], names[2]}
    assert machine_arrays(task).numbers[frozenset({names[1]})] == 2


def test_figure_1_has_seven_agenda_and_nine_boolean_states():
    task = load("figure-1")
    agenda, boolean = machine_arrays(task), machine_arrays(task, "boolean")
    assert (len(agenda.rm), len(boolean.rm)) == (7, 9)
    assert agenda.objectives == ("b1", "b2", "s")
    assert agenda.open[0].tolist() == [True, True, False]
    assert agenda.open.sum() == 7  # the coupled states but for the last, where nothing is open


@pytest.mark.parametrize("kind", ["agenda", "boolean"])
def test_a_step_completes_the_subtask_it_reports_and_then_the_station(kind):
    machine = machine_arrays(load("figure-1"), kind)
    b2, s, both = (machine.numbers[frozenset(x)] for x in (["b2"], ["s"], []))
    carried = machine.table.next[0, b2]
    assert [machine.objectives[k] for k in machine.completed[0, b2]] == ["b2"]
    assert machine.completed[0, both].tolist() == [-1]
    assert machine.completed[0, s].tolist() == [-1]  # the station is no objective before a box is carried
    assert machine.objectives[machine.completed[carried, s, 0]] == "s"


def test_a_box_that_was_taken_cannot_be_reached_again():
    machine = machine_arrays(load("figure-1"))
    after = machine.table.next[0, machine.numbers[frozenset({"b1"})]]
    assert machine.reachable[0].all()
    assert not machine.reachable[after, 0]
    assert machine.reachable[after, after]


def test_a_continuous_world_with_eleven_features_is_refused():
    class Wide(Water):
        @property
        def features(self):
            return tuple(f"f{i}" for i in range(11))

    task = Task("wide", Wide(), any_order(*(f"f{i}" for i in range(11))))
    with pytest.raises(TaskError, match="looks at 11 features"):
        labels_of(task)
