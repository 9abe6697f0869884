import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from errands.errors import ConfigError, StoreError, TaskError
from errands.learners.engines.deep.agent import HighLevel
from errands.learners.engines.deep.agents import headed
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import team_of
from errands.learners.presets import deep_preset
from errands.learners.qrm.deep import by_state
from errands.tasks import load

FIGURE = load("figure-1")
"""Its shortest episode has 10 steps (12 when b1 comes first)."""


def settings(learner: str, **changes) -> DeepConfig:
    small = {"width": 48, "depth": 1, "capacity": 5_000, "epsilon": "1..0.1@0,4500", "alpha": 1e-3, "eval_every": 4_000}
    return dataclasses.replace(deep_preset(learner, "tuned", FIGURE), **(small | changes))


@pytest.mark.parametrize("learner", ["crm", "qcorm-0", "qcorm-plus"])
def test_the_optimum_of_figure_1_is_reached_from_one_hot_observations(learner):
    team = team_of(FIGURE, learner, settings(learner), (0, 1))
    for evaluations in team.train(8_000):
        last = evaluations
    assert [(e.episode_length, e.total_reward, e.success) for e in last] == [(10, 1.0, True)] * 2
    assert team.orders[0] == ("b2", "s", "b1", "s")


def test_options_over_the_boolean_machine_bring_both_boxes():
    team = team_of(FIGURE, "hrm", settings("hrm"), (0, 1), "boolean")
    for evaluations in team.train(8_000):
        last = evaluations
    assert all(e.success and e.episode_length in (10, 12) for e in last)


def test_an_interrupted_run_ends_byte_for_byte_as_one_that_was_not():
    config = settings("qcorm", eval_every=300)
    whole, first, second = (team_of(FIGURE, "qcorm", config, (3,)) for _ in range(3))
    whole.advance(1_300)
    first.advance(700)
    first.evaluate()
    second.restore(first.save())
    assert second.step == 700
    second.advance(600)
    ours, theirs = second.save(), whole.save()
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name].tobytes() == theirs[name].tobytes(), name
    size = sum(part.nbytes for part in ours.values())
    assert size < whole.checkpoint_bytes
    assert whole.checkpoint_bytes < 2_000_000


def test_a_checkpoint_of_another_network_is_refused():
    saved = team_of(FIGURE, "crm", settings("crm"), (0,)).save()
    with pytest.raises(StoreError, match=r"the saved array .* was wanted"):
        team_of(FIGURE, "crm", settings("crm", width=32), (0,)).restore(saved)


def test_a_gpu_that_is_not_there_is_told():
    with pytest.raises(ConfigError, match="JAX sees only cpu here"):
        team_of(FIGURE, "crm", settings("crm", platform="gpu"), (0,))


def test_settings_and_the_learner_must_agree():
    with pytest.raises(ConfigError, match="'qcorm-0' takes a DeepQCoRM0Config"):
        team_of(FIGURE, "qcorm-0", settings("qcorm"), (0,))
    with pytest.raises(ConfigError, match="takes a DeepHRMConfig"):
        team_of(FIGURE, "hrm", settings("crm"), (0,))


def test_more_heads_than_can_be_afforded_are_refused_with_the_way_out():
    machine, config = machine_arrays(load("visit-5")), settings("crm")
    rule = by_state(machine, config, counterfactual=True)
    with pytest.raises(TaskError, match="32 heads of 4 outputs; use 'qcorm-plus'"):
        headed("crm", machine, config, Spaces(2, 4, False, 0), rule, HighLevel(), max_outputs=127)


def test_water_trains_and_evaluates_on_the_device():
    task = load("water-2")
    config = dataclasses.replace(
        deep_preset("qcorm", "paper", task), width=16, depth=1, capacity=1_000
    )
    team = team_of(task, "qcorm", config, (0, 1))
    team.advance(600)
    assert all(1 <= e.episode_length <= 600 for e in team.evaluate())
    assert np.isfinite(np.asarray(team.agent_states.trained.weights[0][0])).all()


def test_a_team_needs_no_compiler_of_tables():
    """Machines that train networks may have no numba (benchmarks/gpu.py)."""
    code = "import sys; sys.modules['numba'] = None; import errands.learners.engines.deep.team"
    subprocess.run([sys.executable, "-c", code], check=True)
