import dataclasses

import pytest

from errands.errors import TaskError
from errands.learners.deep.learner import DeepLearner
from errands.learners.deep.presets import deep_preset
from errands.learners.deep.team import team_of
from errands.tasks import load

SMALL = {"width": 48, "depth": 2, "capacity": 4_000, "eval_every": 3_000, "alpha": 1e-3, "warmup": 300}


@pytest.mark.parametrize("learner", ["qcorm-0", "qcorm-plus"])
def test_td3_reaches_two_places_on_a_line(line, learner):
    task = line()
    config = dataclasses.replace(deep_preset(learner, "tuned", task), **SMALL, polyak=0.02, action_noise=0.3)
    (evaluations,) = team_of(task, learner, config, (0, 1)).train(3_000)
    # Three steps to one side and five to the other are the fewest.
    assert all(e.success and e.episode_length <= 10 for e in evaluations)


def test_a_numbered_world_on_the_host_reaches_the_same_optimum():
    task = load("figure-1")
    config = dataclasses.replace(deep_preset("crm", "tuned", task), **SMALL, epsilon_step=3e-4)
    (evaluations,) = team_of(task, "crm", config, (0,), host=True).train(3_000)
    assert evaluations[0].episode_length == 10


def test_a_run_on_the_host_resumes_byte_for_byte(line):
    task = line()
    config = dataclasses.replace(deep_preset("qcorm", "tuned", task), **(SMALL | {"warmup": 20}))
    whole, first, second = (DeepLearner(task, config, 1, "qcorm") for _ in range(3))
    whole.advance(150)
    first.advance(90)
    second.restore(first.save())
    second.advance(60)
    assert second.step == 150
    ours, theirs = second.save(), whole.save()
    for name in theirs:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


def test_an_environment_that_reports_no_numbers_stops_the_run(line):
    task = line(broken=True)
    config = dataclasses.replace(deep_preset("crm", "tuned", task), **SMALL)
    with pytest.raises(TaskError, match="not a finite number"):
        team_of(task, "crm", config, (0,)).advance(1)
