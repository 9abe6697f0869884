"""PPO: returns, and the way that breadth-first search finds."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import errands  # noqa: E402
from errands.learners.engines.copies import Rollout  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.ppo.settings import PPOConfig  # noqa: E402
from errands.learners.ppo.team import PPO  # noqa: E402
from errands.tables import RUNNING  # noqa: E402

CELLS = PPOConfig(
    envs=16, rollout=16, width=32, minibatches=2, alpha="0.002..0.0001@0,60000", average=0.02, eval_every=61_440, gamma=0.9
)  # fmt: skip


def test_the_policy_finds_the_shortest_way_and_returns_are_summed_errors() -> None:
    task = errands.load("figure-1")
    team = DeepTeam(task, CELLS, (0,), "ppo")
    (evaluation,) = list(team.train(61_440))[-1]
    assert (evaluation.success, evaluation.episode_length) == (1.0, 10)  # the paper: 10 steps
    copies, layers = team.team.copies, jax.tree.map(lambda part: part[0], team.team.agent_states.trained)
    assert isinstance(copies, PPO)
    # Advantages by their definition (Schulman et al. 2016): errors of one step, discounted by gamma lambda to the end.
    rng, machine, shape = np.random.default_rng(0), copies.machine, (6, 5)
    running = np.flatnonzero(machine.table.status == RUNNING)
    state, label = rng.choice(running, shape), rng.integers(len(machine.labels), size=shape)
    reached = machine.table.next[state, label]
    following = np.eye(task.finite.states, dtype=np.float32)[rng.integers(task.finite.states, size=shape)]
    ends = rng.random(shape) < 0.1
    over = ends | (machine.table.status[reached] != RUNNING) | (rng.random(shape) < 0.1)
    signals, action = np.zeros((*shape, 0), np.float32), np.zeros((*shape, 1), np.float32)
    rollout = Rollout(following, action, state.astype(np.int32), label.astype(np.int32), ends, over, signals, following)
    got = np.asarray(copies.returns(layers, jax.tree.map(jnp.asarray, rollout)))
    later = np.asarray(copies.policy.outputs(layers, jnp.asarray(following), jnp.asarray(reached, jnp.int32))[1])
    for e in range(shape[1]):
        for t in range(shape[0]):
            total, weight = 0.0, 1.0
            for k in range(t, shape[0]):
                on = bool(machine.table.status[reached[k, e]] == RUNNING and not ends[k, e])
                held = 0.0 if k == t else float(later[k - 1, e])  # the value of where a step begins is that of where one ended
                total += weight * (copies.pays[state[k, e], label[k, e], 0] + 0.9 * on * later[k, e] - held)
                weight *= 0.9 * 0.95 * on
                if over[k, e]:
                    break
            assert got[t, e] == pytest.approx(total, abs=1e-4)
