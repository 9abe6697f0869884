import dataclasses

from errands.learners.deep.learner import DeepLearner
from errands.learners.deep.presets import deep_preset
from errands.oracle.episode import walk
from errands.tasks import load


def test_a_deep_learner_is_a_learner_whose_policy_walks_a_finite_world():
    task = load("figure-1")
    config = dataclasses.replace(
        deep_preset("qcorm-0", "tuned", task), width=48, depth=1, capacity=5_000, epsilon_step=2e-4, alpha=1e-3, eval_every=3_000
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
