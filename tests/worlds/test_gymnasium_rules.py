"""Rules for features of foreign environments, and one sentence for each fault."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import SpecError
from errands.worlds.gymnasium.rules import Between, InBox, InStates, read_rule

CELLS = gym.spaces.Discrete(16)
BOX = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)


def test_states_hold_where_listed() -> None:
    rule = read_rule("goal", [15, 3], CELLS)
    assert rule == InStates(frozenset({3, 15}))
    assert rule.holds(np.int64(15))
    assert not rule.holds(14)


def test_bounds_are_exclusive_and_may_come_in_pairs() -> None:
    assert read_rule("C", {"index": 0, "above": 2}, BOX) == InBox((Between(0, above=2.0),))
    rule = read_rule("mid", {"index": 1, "above": -1.0, "below": 1.0}, BOX)
    assert [rule.holds(np.array([9, x, 9, 9])) for x in (-1.0, 0.0, 1.0)] == [False, True, False]


@pytest.mark.parametrize(
    ("spec", "space", "sentence"),
    [
        ([16], CELLS, "feature 'f' lists 16; states are whole numbers from 0 to 15"),
        ([True], CELLS, "feature 'f' lists True"),
        ([], CELLS, "feature 'f' lists no state and could never hold"),
        ([1], BOX, "feature 'f' lists states, but observations are Box"),
        ({"index": 0, "above": 1}, CELLS, "feature 'f' bounds an entry, but observations are Discrete"),
        ({"index": 0}, BOX, "feature 'f' has the keys .'index'.; give { index = 0, above = 2.0 }"),
        ({"above": 0, "below": 1}, BOX, "feature 'f' has the keys"),
        ({"index": 0, "over": 1}, BOX, "feature 'f' has the keys"),
        ({"index": 4, "above": 1}, BOX, "feature 'f' has index 4; observations have entries 0 to 3"),
        ({"index": 0, "above": "2"}, BOX, "feature 'f' has above = '2'; give a number"),
        ({"index": 0, "above": 2, "below": 1}, BOX, "asks for above 2.0 and below 1.0, which nothing is"),
        ("goal", CELLS, "feature 'f' is 'goal'; give a list of states"),
    ],
)
def test_each_fault_is_one_sentence(spec: Any, space: gym.Space[Any], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        read_rule("f", spec, space)


def test_numpys_numbers_and_arrays_are_as_good_as_pythons() -> None:
    assert read_rule("f", np.array([3, 5]), CELLS) == read_rule("f", {np.int64(3), 5}, CELLS) == read_rule("f", [3, 5], CELLS)
    disc = {"index": np.arange(2), "centre": np.zeros(2), "radius": np.float32(0.5)}
    assert read_rule("f", disc, BOX) == read_rule("f", {"index": [0, 1], "centre": [0.0, 0.0], "radius": 0.5}, BOX)
