import dataclasses
import math
from types import SimpleNamespace

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.errors import TaskError
from errands.features import parse_guard
from errands.learners.engines.deep import host
from errands.learners.engines.deep.device import device_world, valued
from errands.learners.engines.deep.host_envs import host_envs_of
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import team_of
from errands.learners.presets import deep_preset
from errands.machines import NumericRM, Transition
from errands.machines.rewards import Reward
from errands.tasks import load
from errands.tasks.task import Task
from errands.worlds import GymnasiumWorld

SMALL = {"width": 48, "depth": 2, "capacity": 4_000, "eval_every": 3_000, "alpha": 1e-3, "warmup": 300}


def test_td3_reaches_two_places_on_a_line(line):
    task = line()
    small = {**SMALL, "batch": 64, "eval_every": 2_000}
    config = dataclasses.replace(deep_preset("qcorm-0", "tuned", task), **small, polyak=0.02, action_noise=0.3)
    (evaluations,) = team_of(task, "qcorm-0", config, (0, 1)).train(2_000)
    # Three steps to one side and five to the other are the fewest.
    assert all(e.success and e.episode_length <= 10 for e in evaluations)


FIGURE = load("figure-1")
NUMBERED = dataclasses.replace(deep_preset("crm", "tuned", FIGURE), **SMALL, epsilon="1..0.1@0,3000")


def test_a_numbered_world_on_the_host_reaches_the_same_optimum():
    (evaluations,) = team_of(FIGURE, "crm", NUMBERED, (0,), host=True).train(3_000)
    assert evaluations[0].episode_length == 10


def test_a_run_on_the_host_resumes_byte_for_byte():
    whole, first, second = (team_of(FIGURE, "crm", NUMBERED, (1,), host=True) for _ in range(3))
    whole.advance(520)
    first.advance(310)
    first.evaluate()
    second.restore(first.save())
    second.advance(210)
    assert second.step == 520
    ours, theirs = second.save(), whole.save()
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


def test_on_a_gpu_actions_are_asked_for_before_the_next_update_is_sent(monkeypatch):
    """A CPU that calls itself a GPU: the order of calls, and the same bytes as without."""
    plain, asked = (team_of(FIGURE, "crm", NUMBERED, (1,), host=True) for _ in range(2))
    plain.advance(320)
    calls = []

    def noted(owner, name):
        work = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: (calls.append(name), work(*given))[1])

    noted(host, "learn")
    noted(host, "turn")
    noted(type(jnp.zeros(1)), "copy_to_host_async")
    monkeypatch.setattr(type(jnp.zeros(1)), "devices", lambda array: [SimpleNamespace(platform="gpu")])
    asked.advance(320)
    assert calls == ["learn", "turn", "copy_to_host_async"] * 320
    monkeypatch.undo()
    ours, theirs = asked.save(), plain.save()
    assert {name: ours[name].tobytes() for name in ours} == {name: theirs[name].tobytes() for name in theirs}


def test_an_environment_that_reports_no_numbers_stops_the_run(line):
    task = line(broken=True)
    envs = host_envs_of(machine_arrays(task), (0,))
    envs.reset()
    with pytest.raises(TaskError, match="observed nan as entry 0; fix it"):
        envs.step(np.zeros((1, 1), np.float32))


def test_where_there_is_chance_an_evaluation_is_the_mean_of_several_episodes_with_an_interval():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    text = load("cheetah-bcd").text
    drawn, fixed = (Task.from_toml(text.replace('"fixed"', f'"{word}"\nlimit = 30')) for word in ("drawn", "fixed"))
    config = dataclasses.replace(deep_preset("crm", "tuned", drawn), width=4, depth=1, batch=2, capacity=20)
    team = team_of(drawn, "crm", config, (0, 1))
    first, again = team.measure(), team.measure()
    assert first == again
    assert [(e.episodes, e.episode_length, e.success, e.success_low) for e in first] == [(20, 30, 0, 0)] * 2
    totals = {tuple(e.total_reward for e in team.evaluate(number)) for number in range(20)}
    assert len(totals) == 20, "each episode has a start of its own"
    assert team_of(fixed, "crm", config, (0, 1)).measure()[0].episodes == 1


class Trolley(gym.Env):
    """Two cells further with every action."""

    observation_space, action_space = gym.spaces.Box(0.0, 99.0, (1,), np.float32), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.at = 0.0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at += 2.0
        return np.array([self.at], np.float32), 0.0, False, False, {}


def trolley():
    machine = NumericRM("u0", ("u1",), (), (), (
        Transition("u0", "u0", parse_guard("~end"), Reward.of(lambda signals: signals["speed"] ** 2 / 8, "speed")),
        Transition("u0", "u1", parse_guard("end"), Reward.of(lambda signals: 3 * max(signals["speed"], 0.5), "speed")),
    ))  # fmt: skip
    signals = {"speed": lambda before, action, after: 0.0 if before is None else float(after[0] - before[0])}
    return Task.from_env(Trolley, {"end": {"index": 0, "above": 5}}, machine, signals=signals, limit=20)


def test_functions_of_signals_are_paid_to_networks():
    """Three steps of two cells: 4/8, 4/8 and 3 times 2."""
    task = trolley()
    config = dataclasses.replace(deep_preset("crm", "tuned", task), **{**SMALL, "width": 8, "eval_every": 100}, reward_scale=1.0)
    team = team_of(task, "crm", config, (0,))
    (evaluations,) = team.train(100)
    assert [(e.episode_length, e.total_reward, e.success) for e in evaluations] == [(3, 7.0, True)]


def test_functions_of_signals_are_columns_of_tables_on_the_device():
    """FrozenLake without ice: two moves down and one to the right pay nothing, the way to the goal one."""
    lake = {"id": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "features": {"goal": [15]}}
    twice = Transition("u0", "u1", parse_guard("goal"), Reward.of(lambda signals: 2 * signals["reward"] + 0.25, "reward"))
    task = Task("lake", GymnasiumWorld(**lake), NumericRM("u0", ("u1",), (), (), (twice,)))
    world, rewards = device_world(machine_arrays(task)), []
    state = world.start(jnp.float32(0.5))
    for action in (1, 1, 2, 2, 1, 2):
        state, _, _, signals = world.step(state, jnp.array([action]), jnp.float32(0.5))
        rewards.append(signals.tolist())
    assert rewards == [[0.0, 0.25]] * 5 + [[1.0, 2.25]]


def test_a_function_is_traced_where_jax_can_and_else_called_on_the_host():
    speeds = jnp.array([2.0, -1.0])
    for function, wanted in (
        (lambda signals: jnp.sqrt(signals["speed"] ** 2), [2.0, 1.0]),
        (lambda signals: 3 * max(signals["speed"], 0.5), [6.0, 1.5]),  # a traced number has no order
        (lambda signals: math.floor(signals["speed"] / 4), [0.0, -1.0]),
        (lambda signals: 7, [7.0, 7.0]),
    ):
        reward = Reward.of(function, "speed")
        assert jax.jit(jax.vmap(lambda speed, reward=reward: valued(reward, {"speed": speed})))(speeds).tolist() == wanted
