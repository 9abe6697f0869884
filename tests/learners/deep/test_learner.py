"""The greedy policy of a deep learner as a value, beside the evaluation that the device makes of the same agent."""

import dataclasses

import numpy as np
import pytest

from errands.errors import ConfigError, StoreError
from errands.learners.engines.deep.learner import DeepLearner, DeepTeam, policy_of
from errands.learners.engines.deep.team import team_of
from errands.learners.presets import deep_preset
from errands.oracle.episode import walk
from errands.tasks import load

TASK = load("figure-1")


def team(learner, kind="agenda", seeds=(0, 1)):
    config = dataclasses.replace(deep_preset(learner, "tuned", TASK), width=8, depth=1, batch=2, capacity=50)
    return team_of(TASK, learner, config, seeds, kind)


def test_it_walks_as_the_device_evaluates():
    """Untrained agents wander; the walk of the policy and the trial on the device must end alike."""
    ours = team("crm")
    for place, evaluation in enumerate(ours.evaluate()):
        walked = walk(policy_of(ours, place), TASK)
        assert (len(walked.actions), walked.success) == (evaluation.episode_length, evaluation.success)


def test_cells_and_observations_are_the_same_to_it():
    policy = policy_of(team("crm"), 0)
    start = policy.agent.machine.rm.states[0]
    for cell in range(12):
        seen = (np.arange(12) == cell).astype(np.float32)
        assert policy.act(cell, start, None) == policy.act(seen, start, None)


def test_every_seed_has_a_policy_of_its_own():
    ours = team("crm")
    first, second = (policy_of(ours, place) for place in range(2))
    start = first.agent.machine.rm.states[0]
    assert [first.act(cell, start, None)[0] for cell in range(12)] != [
        second.act(cell, start, None)[0] for cell in range(12)
    ]


def test_a_copy_does_not_change_with_later_training():
    ours = team("crm")
    policy = policy_of(ours, 1)
    start = policy.agent.machine.rm.states[0]
    before = [policy.act(cell, start, None) for cell in range(12)]
    ours.advance(200)
    assert [policy.act(cell, start, None) for cell in range(12)] == before


def test_the_boolean_machine_is_followed_by_the_order_of_completions():
    policy = policy_of(team("crm", "boolean"), 0)
    rm = policy.agent.machine.rm
    empty, both, carrying = (0, 0b11), (1, 0b01), (0, 0b01)
    _, memory = policy.act(0, empty, None)
    _, memory = policy.act(0, both, memory)
    _, memory = policy.act(0, carrying, memory)
    order, _ = memory[1]
    assert order == (1,)
    assert rm.states[rm.index[(0, order)]] == (0, (1,))


def test_a_deep_learner_is_a_learner_whose_policy_walks_a_finite_world():
    task = load("figure-1")
    config = dataclasses.replace(
        deep_preset("qcorm-0", "tuned", task),
        width=48,
        depth=1,
        capacity=5_000,
        epsilon="1..0.1@0,4500",
        alpha=1e-3,
        eval_every=3_000,
    )
    learner = DeepLearner(task, config, 0, "qcorm-0")
    evaluations = list(learner.train(8_000))
    assert [e.step for e in evaluations] == [3_000, 6_000, 8_000]
    assert learner.evaluation_steps == sum(e.episode_length for e in evaluations)
    walked = walk(learner.policy, task)
    assert (walked.length, walked.success) == (evaluations[-1].episode_length, True)
    assert learner.order == walked.order
    assert learner.steps_to_go["3{}s"] >= 1.0
    assert set(learner.steps_to_go) <= {"0{b1,b2}b1", "0{b1,b2}b2", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s"}


def same(ours, theirs) -> None:
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


@pytest.mark.parametrize(
    ("world", "learner"), [("on the device", "qcorm"), ("on the host", "qcorm"), ("on the host", "qcorm-plus")]
)
def test_a_team_is_resumed_from_its_members_checkpoints_byte_for_byte(world, learner, line):
    task = load("figure-1") if world == "on the device" else line()
    small = {"width": 16, "depth": 1, "batch": 8, "warmup": 20, "capacity": 500, "eval_every": 150}
    config = dataclasses.replace(deep_preset(learner, "tuned", task), **small)
    whole, first, second = (DeepTeam(task, config, (4, 2, 7), learner) for _ in range(3))
    seen = list(whole.train(300))
    assert [e.step for e in seen[0]] == [150] * 3
    before = list(first.train(150))
    assert before == seen[:1]
    for member, saved in zip(first.members, first.save(), strict=True):
        same(member.save(), saved)
    second.restore([member.save() for member in first.members])
    assert [member.step for member in second.members] == [150] * 3
    assert list(second.train(300)) == seen[1:]
    for ours, theirs in zip(second.save(), whole.save(), strict=True):
        same(ours, theirs)
    alone = DeepLearner(task, config, 2, learner)
    alone.restore(whole.members[1].save())
    assert alone.measure() == seen[-1][1]
    assert (alone.step, alone.evaluation_steps) == (300, whole.members[1].evaluation_steps)


def test_members_of_a_team_train_and_are_restored_together():
    task = load("figure-1")
    config = dataclasses.replace(deep_preset("crm", "tuned", task), width=8, depth=1, batch=4, capacity=100)
    team = DeepTeam(task, config, (0, 1), "crm")
    with pytest.raises(ConfigError, match="seed 1 is a member of a team and is trained with it"):
        team.members[1].advance(1)
    other = DeepTeam(task, config, (0, 1), "crm")
    other.advance(5)
    with pytest.raises(StoreError, match="stand at the same step; these checkpoints were taken at 0, 5"):
        team.restore([team.members[0].save(), other.members[1].save()])
