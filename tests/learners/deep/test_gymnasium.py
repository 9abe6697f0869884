"""Users' environments, from training through an interruption to a verified end."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

from errands.learners import make_learner
from errands.learners.base import Learner
from errands.learners.presets import config_of
from errands.oracle.episode import play
from errands.runs.folder import RunFolder, create
from errands.runs.request import Request
from errands.runs.train import ProgressUpdate, Timing, train_seed
from errands.runs.verify import verify_seed
from errands.tasks.task import Task

STRANGERS = {
    "MountainCar-v0": ("{ index = 0, below = -0.52 }", "{ index = 0, above = -0.48 }"),
    "CartPole-v1": ("{ index = 0, below = -0.02 }", "{ index = 0, above = 0.02 }"),
    "Pendulum-v1": ("{ index = 1, below = 0.0 }", "{ index = 1, above = 0.5 }"),
    "Acrobot-v1": ("{ index = 1, below = 0.0 }", "{ index = 1, above = 0.1 }"),
    "MountainCarContinuous-v0": ("{ index = 0, below = -0.52 }", "{ index = 0, above = -0.48 }"),
    "Reacher-v5": ("{ index = 8, below = 0.0 }", "{ index = 8, above = 0.1 }"),
}


def stranger(name: str) -> Task:
    left, right = STRANGERS[name]
    return Task.from_toml(f"""name = "stranger"
[world]
kind = "gymnasium"
id = "{name}"
features = {{ left = {left}, right = {right} }}
limit = 40
[machine]
phrase = "any_order(left, right)"
""")


def begun(path: Path, task: Task, *more: str) -> RunFolder:
    words = ["width=8", "depth=1", "batch=4", "capacity=300", "warmup=20", "eval_every=60", "platform=cpu", *more]
    request = Request.of(task, "crm", settings=words, steps=180, seeds=[3])
    return create(path, request, checkpoint_seconds=1e-9, git={})


class Stop(KeyboardInterrupt):
    pass


@pytest.mark.parametrize(("name", "more"), [*((name, ()) for name in STRANGERS), ("MountainCar-v0", ("envs=4",))])
def test_a_run_on_a_users_environment_is_stopped_resumed_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: tuple[str, ...]
) -> None:
    if name == "Reacher-v5":
        pytest.importorskip("mujoco")
    task = stranger(name)
    whole, torn = (begun(tmp_path / part, task, *more) for part in ("whole", "torn"))
    ended = train_seed(whole, 3, lambda update: None)
    assert ended.steps == 180

    def interrupt(update: ProgressUpdate) -> None:
        if update.step >= 120:
            raise Stop

    with pytest.raises(Stop):
        train_seed(torn, 3, interrupt, timing=Timing(report=0.0))
    resumed = train_seed(torn, 3, lambda update: None)
    assert resumed.evaluations_sha256 == ended.evaluations_sha256
    assert resumed.checkpoint_sha256 == ended.checkpoint_sha256
    verdict = verify_seed(torn, 3, 180)
    assert (verdict.steps, verdict.tables, verdict.differences) == (180, True, ())


class Room(gym.Env):
    """A dot in the middle of a picture of 5 x 5; a pair of choices moves it: along which axis, and which way."""

    observation_space = gym.spaces.Dict({"picture": gym.spaces.Box(0, 255, (5, 5, 1), np.uint8)})
    action_space = gym.spaces.MultiDiscrete([2, 2])

    def __init__(self, render_mode: str | None = None) -> None:
        self.at = np.array([2, 2])

    def picture(self) -> dict[str, np.ndarray]:
        seen = np.zeros((5, 5, 1), np.uint8)
        seen[tuple(self.at)] = 255
        return {"picture": seen}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.array([2, 2])
        return self.picture(), {}

    def step(self, action):
        self.at[action[0]] = np.clip(self.at[action[0]] + 2 * action[1] - 1, 0, 4)
        return self.picture(), 0.0, False, False, {}


def sides(before, action, after, info) -> set[str]:
    column = int(after["picture"].argmax()) % 5
    return {"left"} if column == 0 else {"right"} if column == 4 else set()


def room(learner: str) -> Learner:
    task = Task.from_env(Room, sides, "any_order(left, right)", limit=40, name="room")
    quick = {"width": 32, "depth": 1, "alpha": 1e-3, "gamma": 0.9, "epsilon": "1..0.05@0,950", "explore_steps": 1, "warmup": 50}
    settings = {**quick, "eval_every": 1_500}
    config = config_of(learner, "tuned", task, settings)
    assert config_of(learner, "tuned", task).network == "conv"
    return make_learner(task, learner, config=config)


def test_pictures_and_combined_actions_are_learnt_from_through_a_convolution() -> None:
    """Two steps to one side and four to the other are the fewest."""
    learner = room("crm")
    (evaluation,) = learner.train(1_500)
    assert (evaluation.episode_length, evaluation.success) == (6, True)
    assert play(learner.policy, learner.task, 0)[::2] == (6, True)


def test_the_agenda_as_a_factor_sees_pictures_too() -> None:
    learner = room("qcorm-plus")
    learner.advance(60)
    before = learner.policy.act(Room().picture(), (0, 3), None)[0]
    assert before in range(4)
    moved = jax.tree.leaves(learner.team.agent_states.trained.own.mean)
    assert all(bool((abs(leaf) > 0).any()) for leaf in moved), "every layer learns, filters included"
