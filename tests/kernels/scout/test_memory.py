"""What the agent takes in, step by step, beside the machine itself."""

from __future__ import annotations

import random

import numpy as np

from errands.learners.scout.kernel import memory as me
from errands.learners.scout.kernel.memory import absorb, begin, has_room, observe, refresh
from errands.learners.scout.machine import Lowering
from errands.learners.scout.tabular import new_agent, new_known
from errands.tables import FAILURE, RUNNING, SUCCESS
from errands.tasks.phrases import any_order, avoid

LABELS: list[set[str]] = [set(), {"b1"}, {"b2"}, {"s"}, {"x"}]
LOWERING = Lowering(avoid("x", any_order("b1", "b2", after="s")), LABELS, ())
NOTHING, B1, B2, S, X = range(5)


def started() -> tuple[me.Known, me.Explorer]:
    known, agent = new_known(4, 2, 64), new_agent(4, 20, LOWERING.words, len(LABELS))
    begin(known, LOWERING.machine, agent, 2, NOTHING)
    return known, agent


def take(known: me.Known, agent: me.Explorer, label: int, there: int = 1, ends: bool = False) -> int:
    return int(absorb(known, LOWERING.machine, agent, 0, there, label, ends))


def test_an_episode_begins_in_its_cell_with_everything_to_do() -> None:
    known, agent = started()
    assert (agent.at[me.CELL], agent.at[me.CLOCK], agent.mask.tolist()) == (2, 0, [0b11])
    assert (known.started.tolist(), known.cell_label.tolist()) == ([0, 0, 1, 0], [-1, -1, NOTHING, -1])
    assert agent.effect.tolist() == [me.IDLE, me.TURNS, me.TURNS, me.IDLE, me.FINAL]


def test_what_labels_do_changes_with_the_machine() -> None:
    known, agent = started()
    assert take(known, agent, B1) == RUNNING
    assert agent.mask.tolist() == [0b10]
    assert agent.effect.tolist() == [me.IDLE, me.IDLE, me.IDLE, me.TURNS, me.FINAL]
    take(known, agent, S)
    take(known, agent, B2)
    assert agent.effect[S] == me.FINAL
    assert take(known, agent, S) == SUCCESS
    assert agent.at[me.CLOCK] == 4


def test_a_failure_and_the_worlds_end_are_failures() -> None:
    known, agent = started()
    assert take(known, agent, X) == FAILURE
    known, agent = started()
    assert take(known, agent, NOTHING, ends=True) == FAILURE


def test_an_outcome_without_room_is_counted_and_writes_nothing_beyond_its_row() -> None:
    """Three outcomes of one pair with room for two: the neighbouring pair stays untouched, and the world is random."""
    known = new_known(4, 2, 2)
    for there in (1, 1, 2):
        assert has_room(known, 0, 0)
        observe(known, 0, 0, there, NOTHING, False)
    assert not has_room(known, 0, 0)
    observe(known, 0, 0, 3, NOTHING, False)
    assert known.hits[0, 0].tolist() == [3, 1]
    assert known.hits.sum() == known.tried[0, 0] == 4
    assert known.tried.sum() == 4
    assert known.facts[me.RANDOM] == 1


def test_only_new_pairs_count_as_fresh() -> None:
    known, agent = started()
    take(known, agent, NOTHING, there=2)
    take(known, agent, NOTHING, there=2)
    assert (agent.at[me.FRESH], known.facts[me.PAIRS]) == (1, 1)


def test_a_path_is_left_when_the_world_answers_otherwise() -> None:
    known, agent = started()
    agent.path[:3], agent.expect[:3] = [0, 0, 0], [2, 3, -1]
    agent.at[me.END] = 3
    take(known, agent, NOTHING, there=2)
    assert (agent.at[me.AT], agent.at[me.END]) == (1, 3)
    take(known, agent, NOTHING, there=1)
    assert agent.at[me.END] == 0


def test_random_walks_keep_step_with_the_machine() -> None:
    chance, stepper = random.Random(0), LOWERING.stepper
    known, agent = started()
    state = stepper.start
    for _ in range(500):
        label = chance.choice([NOTHING, B1, B2, S, S, X] if chance.random() < 0.2 else [NOTHING, B1, B2, S])
        status = take(known, agent, label, there=chance.randrange(4))
        state = stepper.step(state, LABELS[label]).state
        assert status == stepper.status[state[0]]
        if status != RUNNING:
            begin(known, LOWERING.machine, agent, 0, NOTHING)
            state = stepper.start
        assert (int(agent.at[me.STATE]), LOWERING.mask_of(agent.mask)) == state
        before = agent.effect.copy()
        refresh(LOWERING.machine, agent)
        assert np.array_equal(agent.effect, before)
