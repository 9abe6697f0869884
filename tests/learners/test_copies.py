"""PQN and PPO: teams whose seeds do not notice each other, checkpoints, and files that numpy acts by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import errands  # noqa: E402
from errands.errors import ConfigError, StoreError, TaskError  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.ppo.settings import PPOConfig  # noqa: E402
from errands.learners.pqn.settings import PQNConfig  # noqa: E402
from errands.learners.presets import config_of  # noqa: E402

WORDS = ["envs=8", "rollout=5", "width=8", "minibatches=2", "eval_every=200", "cut=50"]
EACH = pytest.mark.parametrize("learner", ["pqn", "ppo"])


def team_of(learner: str, seeds: tuple[int, ...]) -> DeepTeam:
    task = errands.load("water-2")
    return DeepTeam(task, config_of(learner, "tuned", task, WORDS), seeds, learner)  # type: ignore[arg-type]


def arrays(team: DeepTeam, index: int) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in team.save()[index].items()}


@EACH
def test_a_seed_is_the_same_in_a_team_and_after_a_checkpoint(learner: str) -> None:
    whole = team_of(learner, (0, 1))
    list(whole.train(400))
    torn = team_of(learner, (0, 1))
    list(torn.train(200))
    saved = torn.save()
    resumed = team_of(learner, (0, 1))
    resumed.restore(saved)
    list(resumed.train(400))
    assert [arrays(resumed, i) for i in (0, 1)] == [arrays(whole, i) for i in (0, 1)]
    if jax.devices()[0].platform == "cpu":
        alone = team_of(learner, (1,))
        list(alone.train(400))
        assert {**arrays(alone, 0), "evaluation_steps": b""} == {**arrays(whole, 1), "evaluation_steps": b""}
    wrong = [{**part, "positions.state": part["positions.state"] + 99} for part in saved]
    with pytest.raises(StoreError, match=r"positions\.state"):
        team_of(learner, (0, 1)).restore(wrong)


@EACH
def test_a_stored_run_acts_by_numpy_alone(learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = errands.train("water-2", learner, steps=400, settings=WORDS, name="mine")
    run.export("mine.safetensors")
    alone, ours, env = errands.read_policy("mine.safetensors"), run.agent(), run.task.world.env()
    observation, info = env.reset(seed=0)
    for agent in (alone, ours):
        agent.reset(observation, info)
    over = False
    while not (ours.done or over):
        action = alone.act(observation)
        assert action == ours.act(observation)
        observation, _, _, over, info = env.step(action)
        for agent in (alone, ours):
            agent.see(observation, info)
    assert (alone.done, alone.order) == (ours.done, ours.order)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"minibatches": 7}, "minibatches is 7"),
        ({"eval_every": 1_500}, "eval_every is 1500"),
        ({"epsilon_low": 0.6}, "epsilon_high is 0.5"),
        ({"alpha": "fast"}, "alpha is 'fast'"),
        ({"trace": 2.0}, "trace is 2.0"),
        ({"elsewhere": -0.1}, "elsewhere is -0.1"),
        ({"roam": 1.1}, "roam is 1.1"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"entropy": -1.0}, "entropy is -1.0"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    kind = PPOConfig if set(settings) & {"clip", "epochs", "entropy"} else PQNConfig
    with pytest.raises(ConfigError, match=said):
        kind(**settings)


@EACH
def test_a_world_that_is_stepped_on_the_host_is_refused(learner: str) -> None:
    task = errands.Task.from_env("CartPole-v1", {"right": {"index": 0, "above": 1.0}}, "right")
    with pytest.raises(TaskError, match="needs a world on the device"):
        errands.train(task, learner, steps=1000)
