"""Several agents as one environment: two on a line written here, and simple_spread of mpe2 where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.cli import main
from errands.errors import TaskError
from errands.tasks import Task

SETTINGS = {
    "width": 16, "depth": 1, "capacity": 2_000, "warmup": 50, "platform": "cpu", "eval_every": 250, "epsilon": 0.5, "alpha": 0.001,
}  # fmt: skip


class Walkers:
    """Two agents on a line of five cells; the second numbers its moves from 1, and leaves after three steps."""

    possible_agents = ("one", "two")
    metadata = {"render_modes": []}  # noqa: RUF012

    def observation_space(self, name: str) -> Any:
        return gym.spaces.Box(-2, 2, (1,), np.float32)

    def action_space(self, name: str) -> Any:
        return gym.spaces.Discrete(2, start=int(name == "two"))

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.at, self.time = list(self.possible_agents), {"one": 0, "two": 0}, 0
        return self._seen(), {"one": {}, "two": {"old": True}}

    def _seen(self) -> dict[str, Any]:
        return {name: np.array([self.at[name]], np.float32) for name in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        assert set(actions) == set(self.agents)
        self.time += 1
        for name, action in actions.items():
            assert action in self.action_space(name)
            self.at[name] = max(-2, min(2, self.at[name] + (1 if action == self.action_space(name).start + 1 else -1)))
        seen, names = self._seen(), list(self.agents)
        ended = {name: name == "two" and self.time == 3 for name in names}
        self.agents = [name for name in names if not ended[name] and self.time < 6]
        return seen, dict.fromkeys(names, 0.5), ended, dict.fromkeys(names, self.time == 6), {name: {} for name in names}

    def render(self) -> None: ...

    def close(self) -> None: ...


def test_agents_act_at_once_and_one_that_has_ended_stays_as_it_was_last_seen() -> None:
    env = errands.joint(Walkers)()
    assert env.action_space == gym.spaces.MultiDiscrete([2, 2])
    assert list(env.observation_space) == ["one", "two"]
    seen, info = env.reset(seed=3)
    assert (float(seen["one"][0]), info["two"]) == (0, {"old": True})
    told = [env.step([1, 0]) for _ in range(6)]
    assert [(float(t[0]["one"][0]), float(t[0]["two"][0])) for t in told] == [(1, -1), (2, -2), (2, -2), (2, -2), (2, -2), (2, -2)]
    assert [t[1] for t in told] == [1, 1, 1, 0.5, 0.5, 0.5]
    assert [(t[2], t[3]) for t in told] == [(False, False)] * 5 + [(False, True)]


def test_a_joint_environment_is_learnt_and_what_is_none_is_refused() -> None:
    def features(before: Any, action: Any, after: Any, info: Any) -> set[str]:
        apart = {name: float(row[0]) for name, row in after.items()}
        return {"apart"} if apart == {"one": 2.0, "two": -2.0} else set()

    task = Task.from_env(errands.joint(Walkers()), features, "apart", limit=6, name="walkers")
    assert errands.train(task, "crm", steps=1_000, settings=SETTINGS).evaluate(3).length.mean == 2
    with pytest.raises(TaskError, match="joint was given a int; give a ParallelEnv"):
        errands.joint(3)
    with pytest.raises(TaskError, match="joint was given a dict"):
        errands.joint(dict)()


def test_continuous_agents_share_one_box_and_too_many_choices_are_refused() -> None:
    class Pushed(Walkers):
        def action_space(self, name: str) -> Any:
            return gym.spaces.Box(-1, 1, (2,) if name == "two" else (1,), np.float32)

    class Many(Walkers):
        def action_space(self, name: str) -> Any:
            return gym.spaces.Discrete(100)

    env = errands.joint(Pushed)()
    assert env.action_space.shape == (3,)
    assert [part.tolist() for part in env._divided(np.array([0.5, -1, 1]))] == [[0.5], [-1, 1]]
    with pytest.raises(TaskError, match="more than 4,096 joint actions"):
        errands.joint(Many)()


def test_simple_spread_of_mpe2_is_a_joint_environment() -> None:
    spread = pytest.importorskip("mpe2.simple_spread_v3", reason="mpe2 is not installed")
    env = errands.joint(lambda: spread.parallel_env(N=2, max_cycles=4))()
    seen, _ = env.reset(seed=0)
    assert seen in env.observation_space
    told = [env.step(env.action_space.sample()) for _ in range(4)]
    assert [t[3] for t in told] == [False, False, False, True]
    assert len({id(t[4]["agent_0"]) for t in told}) == 4  # mpe2 itself hands out one and the same


@pytest.mark.filterwarnings("ignore")  # what pygame says of its own age
def test_the_example_of_simple_spread_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mpe2", reason="mpe2 is not installed")
    folder = Path(__file__).parents[2] / "examples" / "goals"
    monkeypatch.syspath_prepend(folder)
    assert main(["check", str(folder / "spread.toml"), "--import", "spread", "--steps", "3000"]) == 0
    assert "was never true" not in capsys.readouterr().out
