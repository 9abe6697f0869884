"""PQN: values of every machine state, teams whose seeds do not notice each other, checkpoints, and files that numpy acts by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import errands  # noqa: E402
from errands.errors import ConfigError, StoreError, TaskError  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.pqn.settings import PQNConfig  # noqa: E402
from errands.tables import RUNNING  # noqa: E402

SMALL = PQNConfig(envs=8, rollout=5, width=8, minibatches=2, eval_every=200, cut=50)
CELLS = PQNConfig(
    envs=16, rollout=8, width=32, minibatches=2, alpha="0.002..0.0001@0,60000", average=0.02, eval_every=61_440
)  # fmt: skip


def test_every_machine_state_learns_the_discounted_steps_that_breadth_first_search_finds() -> None:
    task = errands.load("figure-1")
    team = DeepTeam(task, CELLS, (0,), "pqn")
    (evaluation,) = list(team.train(61_440))[-1]
    assert (evaluation.success, evaluation.episode_length) == (1.0, 10)  # the paper: 10 steps
    copies, layers = team.team.copies, jax.tree.map(lambda part: part[0], team.team.agent_states.trained)
    start = copies.world.start(0.5)
    learnt = np.asarray(copies.values.values(layers, copies.world.observe(start))).max(axis=1)
    table, machine = task.finite.table, copies.machine
    for state in np.flatnonzero(machine.table.status == RUNNING):
        # Layers of (cell, machine state) until one is terminal: all that pays in Figure 1 is a success.
        seen, layer, steps = {(int(start), int(state))}, {(int(start), int(state))}, 0
        while all(machine.table.status[u] == RUNNING for _, u in layer):
            steps += 1
            moves = {(int(table.next[s, a, 0]), int(machine.table.next[u, table.label[s, a, 0]]))
                     for s, u in layer for a in range(task.finite.actions)}  # fmt: skip
            layer = moves - seen
            seen |= layer
        assert learnt[state] == pytest.approx(0.97 ** (steps - 1), abs=0.03)


def arrays(team: DeepTeam, index: int) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in team.save()[index].items()}


def test_a_seed_is_the_same_in_a_team_and_after_a_checkpoint() -> None:
    task = errands.load("water-2")
    whole = DeepTeam(task, SMALL, (0, 1), "pqn")
    list(whole.train(400))
    torn = DeepTeam(task, SMALL, (0, 1), "pqn")
    list(torn.train(200))
    saved = torn.save()
    resumed = DeepTeam(task, SMALL, (0, 1), "pqn")
    resumed.restore(saved)
    list(resumed.train(400))
    assert [arrays(resumed, i) for i in (0, 1)] == [arrays(whole, i) for i in (0, 1)]
    if jax.devices()[0].platform == "cpu":
        alone = DeepTeam(task, SMALL, (1,), "pqn")
        list(alone.train(400))
        assert {**arrays(alone, 0), "evaluation_steps": b""} == {**arrays(whole, 1), "evaluation_steps": b""}
    wrong = [{**part, "positions.state": part["positions.state"] + 99} for part in saved]
    with pytest.raises(StoreError, match=r"positions\.state"):
        DeepTeam(task, SMALL, (0, 1), "pqn").restore(wrong)


def test_a_stored_run_acts_by_numpy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["envs=8", "rollout=5", "width=8", "minibatches=2", "eval_every=200", "cut=50"]
    run = errands.train("water-2", "pqn", steps=400, settings=words, name="mine")
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
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PQNConfig(**settings)


def test_a_world_that_is_stepped_on_the_host_is_refused() -> None:
    task = errands.Task.from_env("CartPole-v1", {"right": {"index": 0, "above": 1.0}}, "right")
    with pytest.raises(TaskError, match="needs a world that lives on the device"):
        errands.train(task, "pqn", steps=1000)
