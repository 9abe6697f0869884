"""The greedy policy of a deep learner as a value, beside the evaluation that the device makes of the same mind."""

import dataclasses

import numpy as np

from errands.learners.deep.policy import policy_of
from errands.learners.deep.presets import deep_preset
from errands.learners.deep.team import team_of
from errands.oracle.certificate import walk
from errands.tasks import load

TASK = load("figure-1")


def team(learner, kind="agenda", seeds=(0, 1)):
    config = dataclasses.replace(deep_preset(learner, "tuned", TASK), width=8, depth=1, batch=2, capacity=50)
    return team_of(TASK, learner, config, seeds, kind)


def test_it_walks_as_the_device_evaluates():
    """Untrained minds wander; the walk of the policy and the trial on the device must end alike."""
    ours = team("crm")
    for place, evaluation in enumerate(ours.evaluate()):
        walked = walk(policy_of(ours, place), TASK)
        assert (len(walked.actions), walked.success) == (evaluation.episode_length, evaluation.success)


def test_cells_and_observations_are_the_same_to_it():
    policy = policy_of(team("crm"), 0)
    start = policy.brain.machine.rm.states[0]
    for cell in range(12):
        seen = (np.arange(12) == cell).astype(np.float32)
        assert policy.act(cell, start, None) == policy.act(seen, start, None)


def test_every_seed_has_a_policy_of_its_own():
    ours = team("crm")
    first, second = (policy_of(ours, place) for place in range(2))
    start = first.brain.machine.rm.states[0]
    assert [first.act(cell, start, None)[0] for cell in range(12)] != [
        second.act(cell, start, None)[0] for cell in range(12)
    ]


def test_a_copy_does_not_change_with_later_training():
    ours = team("crm")
    policy = policy_of(ours, 1)
    start = policy.brain.machine.rm.states[0]
    before = [policy.act(cell, start, None) for cell in range(12)]
    ours.advance(200)
    assert [policy.act(cell, start, None) for cell in range(12)] == before


def test_the_boolean_machine_is_followed_by_the_order_of_completions():
    policy = policy_of(team("crm", "boolean"), 0)
    rm = policy.brain.machine.rm
    empty, both, carrying = (0, 0b11), (1, 0b01), (0, 0b01)
    _, memory = policy.act(0, empty, None)
    _, memory = policy.act(0, both, memory)
    _, memory = policy.act(0, carrying, memory)
    assert memory[1] == (1,)
    assert rm.states[rm.index[(0, memory[1])]] == (0, (1,))
