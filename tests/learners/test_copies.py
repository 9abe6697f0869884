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
from errands.tables import RUNNING  # noqa: E402

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
        ({"revisit": -1.0}, "revisit is -1.0"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"entropy": -1.0}, "entropy is -1.0"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    kind = PPOConfig if set(settings) & {"clip", "epochs", "entropy"} else PQNConfig
    with pytest.raises(ConfigError, match=said):
        kind(**settings)


FEW = ["envs=3", "rollout=7", "width=8", "minibatches=3", "eval_every=21", "cut=9", "eval_episodes=1"]
LEFT = {"left": {"index": 0, "below": -0.02}, "right": {"index": 0, "above": 0.02}}
HALVES = {"left": {"index": 1, "below": 0.0}, "right": {"index": 1, "above": 0.0}}


def stepped(learner: str, env: str = "CartPole-v1", seeds: tuple[int, ...] = (0, 1), **more: str) -> DeepTeam:
    sides = HALVES if env == "Pendulum-v1" else LEFT
    task = errands.Task.from_env(env, sides, "any_order(left, right)", limit=40)
    words = [*FEW, *(f"{name}={value}" for name, value in more.items())]
    return DeepTeam(task, config_of(learner, "tuned", task, words), seeds, learner)  # type: ignore[arg-type]


@pytest.mark.parametrize(("learner", "env"), [("pqn", "CartPole-v1"), ("ppo", "CartPole-v1"), ("ppo", "Pendulum-v1")])
def test_environments_of_the_host_go_on_where_they_were_saved(learner: str, env: str) -> None:
    whole, torn, resumed = (stepped(learner, env) for _ in range(3))
    list(whole.train(84))
    list(torn.train(42))
    resumed.restore(torn.save())
    list(resumed.train(84))
    assert [arrays(resumed, i) for i in (0, 1)] == [arrays(whole, i) for i in (0, 1)]
    if jax.devices()[0].platform == "cpu":
        alone = stepped(learner, env, (1,))
        list(alone.train(84))
        assert {**arrays(alone, 0), "evaluation_steps": b""} == {**arrays(whole, 1), "evaluation_steps": b""}


def test_a_rollout_on_the_host_is_what_the_machine_and_the_environments_say() -> None:
    team = stepped("pqn", elsewhere="0.0").team
    machine, seen, time = team.agent.machine, [], np.zeros((2, 3), int)
    for _ in range(6):
        rollout, rows = team._rollout()
        seen.append(jax.tree.map(np.asarray, rollout))
        team.put(team.state._replace(rows=rows, step=team.state.step + 21))
    # Seeds, then steps, then environments.
    whole = type(seen[0])(*(np.concatenate(part, axis=1) for part in zip(*seen, strict=True)))
    reached = machine.table.next[whole.state, whole.label]
    for t in range(41):
        time += 1
        # CartPole ends where its pole falls; training cuts an episode after 9 steps.
        over = (machine.table.status[reached[:, t]] != RUNNING) | whole.ends[:, t] | (time >= 9)
        assert (whole.over[:, t] == over).all()
        assert (whole.state[:, t + 1] == np.where(over, 0, reached[:, t])).all()
        assert (whole.observation[:, t + 1] == whole.following[:, t]).all(axis=-1)[~over].all()
        assert (np.abs(whole.observation[:, t + 1][over]) <= 0.05).all()  # CartPole begins within 0.05 of 0 in every entry
        position = whole.following[:, t, :, 0]
        told = [machine.labels[k] for k in whole.label[:, t].ravel()]
        assert [("left" in x, "right" in x) for x in told] == [(x < -0.02, x > 0.02) for x in position.ravel()]
        time[over] = 0
    assert whole.over.any()


def test_on_the_host_episodes_begin_in_any_state_and_observations_are_scaled_by_what_was_seen() -> None:
    team = stepped("pqn", elsewhere="1.0").team
    begun = set[int]()
    for _ in range(6):
        rollout, rows = team._rollout()
        over, state = np.asarray(rollout.over), np.asarray(rollout.state)
        begun |= set(state[:, 1:][over[:, :-1]].tolist())
        team.put(team.state._replace(rows=rows, step=team.state.step + 21))
    running = set(np.flatnonzero(team.agent.machine.table.status == RUNNING).tolist())
    assert len(running) == 3  # both open, left open, right open
    assert begun == running
    before = np.asarray(team.state.agent_states.trained.scale.mean).copy()
    team.advance(21)
    assert (np.asarray(team.state.agent_states.trained.scale.mean) != before).any(axis=-1).all()


def test_what_the_host_cannot_do_is_told_in_a_sentence() -> None:
    with pytest.raises(TaskError, match=r"learner 'pqn' chooses among actions, and those of 'Pendulum-v1' are numbers; use ppo"):
        stepped("pqn", "Pendulum-v1")
    with pytest.raises(ConfigError, match="needs a world on the device"):
        stepped("pqn", revisit="0.5")

