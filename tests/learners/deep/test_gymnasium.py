"""Users' environments, from training through an interruption to a verified end."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.runs import train
from errands.runs.folder import RunFolder, create
from errands.runs.request import prepare
from errands.runs.train import Beat, train_seed
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


def begun(path: Path, task: Task) -> RunFolder:
    words = ["width=8", "depth=1", "batch=4", "capacity=300", "warmup=20", "eval_every=60", "platform=cpu"]
    document = prepare(task, "crm", None, "tuned", words, 180, seeds=[3], checkpoint_seconds=1e-9, git={})
    return create(path, document, task)


class Stop(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("name", STRANGERS)
def test_a_run_on_a_users_environment_is_stopped_resumed_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "Reacher-v5":
        pytest.importorskip("mujoco")
    task = stranger(name)
    whole, torn = (begun(tmp_path / part, task) for part in ("whole", "torn"))
    ended = train_seed(whole, 3, lambda beat: None)
    assert ended.steps == 180
    monkeypatch.setattr(train, "BEAT", 0.0)

    def interrupt(beat: Beat) -> None:
        if beat.step >= 120:
            raise Stop

    with pytest.raises(Stop):
        train_seed(torn, 3, interrupt)
    resumed = train_seed(torn, 3, lambda beat: None)
    assert resumed.evaluations_sha256 == ended.evaluations_sha256
    assert resumed.checkpoint_sha256 == ended.checkpoint_sha256
    verdict = verify_seed(torn, 3, 180)
    assert (verdict.steps, verdict.tables, verdict.differences) == (180, True, ())
