"""Fresh memory, memory with more room, and copies that later steps do not change."""

from __future__ import annotations

import numpy as np

from errands.learners.scout.kernel import memory as me
from errands.learners.scout.tabular import new_agent, new_known, roomier, snapshot


def test_nothing_is_known_at_first() -> None:
    known = new_known(5, 3, 2)
    assert known.target.shape == known.hits.shape == (5, 3, 2)
    assert not known.tried.any()
    assert not known.hits.any()
    assert (known.cell_label == -1).all()


def test_more_room_keeps_what_is_known() -> None:
    known = new_known(2, 1, 1)
    known.target[1, 0, 0], known.hits[1, 0, 0], known.tried[1, 0] = 1, 4, 4
    wider = roomier(known)
    assert wider.target.shape == (2, 1, 2)
    assert wider.target[1, 0].tolist() == [1, 0]
    assert wider.hits[1, 0].tolist() == [4, 0]
    assert wider.tried is known.tried


def test_a_snapshot_is_not_changed_by_later_steps() -> None:
    known = new_known(3, 2, 1)
    kept = snapshot(known)
    me.observe(known, 0, 1, 2, 0, False)
    assert known.tried[0, 1] == 1
    assert kept.tried[0, 1] == 0
    assert all(a is not b for a, b in zip(known, kept, strict=True))


def test_an_agent_waits_for_its_first_episode_with_room_for_any_path() -> None:
    agent = new_agent(states=4, limit=9, words=2, labels=3)
    assert (agent.at[me.CLOCK], agent.at[me.LEVEL]) == (-1, 1)
    assert agent.path.shape == agent.expect.shape == (10,)
    assert agent.mask.shape == (2,)
    assert agent.effect.shape == (3,)
    assert new_agent(20, 9, 1, 1).path.shape == (21,)


def test_each_outcome_of_a_pair_is_remembered_and_counted() -> None:
    """Action 0 in cell 0 leads to 1, 2, 2: two outcomes, the second the usual one from the third time on."""
    known = new_known(3, 1, 3)
    fresh = [me.observe(known, 0, 0, there, 0, False) for there in (1, 2, 2)]
    assert fresh == [True, False, False]
    assert known.hits[0, 0].tolist() == [1, 2, 0]
    assert known.target[0, 0].tolist()[:2] == [1, 2]
    assert known.mode[0, 0] == 1
    assert known.facts[me.RANDOM] == 1
    assert known.facts[me.PAIRS] == 1


def test_a_cell_with_two_labels_shows_that_features_are_events() -> None:
    known = new_known(3, 2, 2)
    me.observe(known, 0, 0, 1, 5, False)
    assert known.facts[me.EVENTS] == 0
    me.observe(known, 2, 0, 1, 6, False)
    assert known.facts[me.EVENTS] == 1
    assert np.array_equal(known.cell_label, [-1, 5, -1])
