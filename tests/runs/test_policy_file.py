"""Policy files act as the learner's own policy does, in a process that has numpy and neither JAX nor numba."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errands
from errands.errors import StoreError, TaskError
from errands.oracle.episode import walk
from errands.runs.policy_file import read_policy

SMALL = {"width": 16, "depth": 2, "capacity": 2_000, "warmup": 50, "platform": "cpu", "eval_every": 400}

READER = """
import json, sys
from errands.runs.policy_file import read_policy
agent = read_policy(sys.argv[1])
agent.reset(None)
actions = []
for observation, features in json.load(sys.stdin):
    actions.append(agent.act(observation))
    agent.see(observation, {"features": features})
heavy = [name for name in ("jax", "numba", "gymnasium", "safetensors", "pydantic") if name in sys.modules]
plain = [a if isinstance(a, int) else a.tolist() for a in actions]
print(json.dumps([plain, agent.done, agent.success, heavy]))
"""


def steps_of(run: errands.Run, most: int = 200) -> tuple[list[Any], list[Any], bool]:
    """What an episode shows step by step (observation before, features after), its actions, its success."""
    agent, env = run.agent(), run.task.world.env()
    observation, info = env.reset(seed=3)
    agent.reset(observation, info)
    shown, actions = [], []
    while not agent.done and len(actions) < most:
        actions.append(agent.act(observation))
        before = observation.tolist() if isinstance(observation, np.ndarray) else plain(observation)
        observation, _, terminated, truncated, info = env.step(actions[-1])
        agent.see(observation, info)
        shown.append((before, sorted(info["features"])))
        if terminated or truncated:
            break
    env.close()
    return shown, [a if isinstance(a, int) else a.tolist() for a in actions], agent.success


def plain(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: np.asarray(value).tolist() for name, value in observation.items()}
    return int(observation)


def act_alone(path: Path, shown: list[Any]) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], input=json.dumps(shown), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


CASES = [
    ("figure-1", "crm", None), ("figure-1", "hrm", None), ("office-3", "qcorm", None), ("delivery-3", "scout", None),
    ("figure-1", "qrm", "boolean"), ("figure-1", "qcorm-plus", None),
]  # fmt: skip


@pytest.mark.parametrize(("task", "learner", "machine"), CASES)
def test_a_tabular_policy_acts_alike_with_numpy_alone(tmp_path: Path, task: str, learner: str, machine: str | None) -> None:
    run = errands.train(task, learner, steps=20_000, machine=machine)
    path = run.export(tmp_path / "policy.safetensors")
    shown, actions, success = steps_of(run)
    assert tuple(actions) == walk(run.policy, run.task).actions[:200]
    found, done, won, heavy = act_alone(path, shown)
    assert (found, won, heavy) == (actions, success, [])
    assert done == (success or done)


@pytest.mark.parametrize("learner", ["hrm", "qcorm"])
def test_a_network_acts_alike_with_numpy_alone(tmp_path: Path, learner: str) -> None:
    run = errands.train("water-2", learner, steps=800, settings=SMALL)
    path = run.export(tmp_path / "policy.safetensors")
    shown, actions, success = steps_of(run, most=60)
    found, _, won, heavy = act_alone(path, shown)
    assert (found, won, heavy) == (actions, success, [])
    assert len(set(actions)) >= 1


def test_continuous_actions_come_out_within_their_bounds(tmp_path: Path) -> None:
    text = """
name = "pendulum"
[world]
kind = "gymnasium"
id = "Pendulum-v1"
features = { up = { index = 0, above = 0.9 } }
limit = 50
[machine]
phrase = "up"
"""
    small = {"width": 8, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", "eval_every": 100}
    run = errands.train(errands.Task.from_toml(text), "qcorm", steps=100, settings=small)
    path = run.export(tmp_path / "policy.safetensors")
    shown, actions, _ = steps_of(run, most=20)
    found, _, _, heavy = act_alone(path, shown)
    assert heavy == []
    np.testing.assert_allclose(found, actions, rtol=1e-4, atol=1e-5)
    assert np.abs(np.array(found)).max() <= 2.0


def test_situations_that_cannot_be_are_told_and_other_files_are_refused(tmp_path: Path) -> None:
    run = errands.train("figure-1", "crm", steps=5_000)
    agent = read_policy(run.export(tmp_path / "p.safetensors"))
    agent.reset(0)
    start = agent.machine_state
    elsewhere = next(s for s in range(12) if (s, *start, 0) not in agent._choose.rows)
    with pytest.raises(TaskError, match="never gets into this situation"):
        agent.act(elsewhere)
    agent = read_policy(tmp_path / "p.safetensors", features=lambda before, action, after, info: {"b2"})
    agent.act(5)
    agent.see(6)
    assert agent.order == ("b2",)
    (tmp_path / "other").write_bytes(b"x" * 100)
    with pytest.raises(StoreError, match="no policy file"):
        read_policy(tmp_path / "other")
