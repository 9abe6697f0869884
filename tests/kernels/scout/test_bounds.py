"""Landmarks and lower bounds on a drawn row, counted on the drawing."""

from __future__ import annotations

import numpy as np
import pytest

from errands.learners.scout.kernel.memory import Known, observe
from errands.learners.scout.kernel.plan import FAR, find_landmarks, incoming, measure
from errands.learners.scout.tabular import new_known

NOTHING, GOAL, FATAL = range(3)
LEFT, RIGHT = range(2)


def row(labels: list[int], without: tuple[tuple[int, int], ...] = ()) -> Known:
    """Cells in a row, each step showing the label of the cell that it enters."""
    cells = len(labels)
    known = new_known(cells, 2, 1)
    known.cell_label[0] = labels[0]
    for s in range(cells):
        for a, d in ((LEFT, -1), (RIGHT, 1)):
            there = min(max(s + d, 0), cells - 1)
            if (s, a) not in without:
                observe(known, s, a, there, labels[there], False)
    return known


USEFUL = np.array([False, True, False])
SAFE = np.array([False, False, False])


def test_landmarks_are_cells_that_a_useful_label_is_met_in() -> None:
    cells, labels = find_landmarks(row([NOTHING, NOTHING, GOAL, NOTHING, GOAL]), USEFUL, 10)
    assert sorted(cells.tolist()) == [2, 4]
    assert labels.tolist() == [GOAL, GOAL]
    assert find_landmarks(row([GOAL] * 5), USEFUL, 3)[0].tolist() == []


def test_steps_to_a_landmark_are_at_least_one() -> None:
    known = row([NOTHING, NOTHING, GOAL, NOTHING])
    marks = measure(known, incoming(known, SAFE), *find_landmarks(known, USEFUL, 10), False)
    assert marks.steps.tolist() == [[2, 1, 2, 1]]
    assert (marks.exit == FAR).all()


def test_fatal_cells_are_not_passed() -> None:
    known = row([NOTHING, FATAL, GOAL, NOTHING])
    marks = measure(known, incoming(known, np.array([False, False, True])), *find_landmarks(known, USEFUL, 10), False)
    assert marks.steps[0].tolist() == [FAR, 1, 2, 1]


@pytest.mark.parametrize(("without", "exits"), [(((3, RIGHT),), [3, 2, 1, 0]), (((0, LEFT), (3, RIGHT)), [0, 1, 1, 0])])
def test_hope_counts_the_steps_to_an_untried_action(without: tuple[tuple[int, int], ...], exits: list[int]) -> None:
    known = row([NOTHING, NOTHING, GOAL, NOTHING], without)
    marks = measure(known, incoming(known, SAFE), *find_landmarks(known, USEFUL, 10), True)
    assert marks.exit.tolist() == exits


def test_a_step_that_ends_the_episode_is_no_way_on() -> None:
    known = row([NOTHING, NOTHING, GOAL, NOTHING])
    known.ends[0, RIGHT, 0] = True
    marks = measure(known, incoming(known, SAFE), *find_landmarks(known, USEFUL, 10), False)
    assert marks.steps[0].tolist() == [FAR, 1, 2, 1]
