"""PPO: returns, and the way that breadth-first search finds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import errands  # noqa: E402
from errands.learners.engines.copies import Rollout  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.ppo.settings import PPOConfig  # noqa: E402
from errands.learners.ppo.team import PPO, PolicyAndValue  # noqa: E402
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


def test_numbers_are_drawn_from_the_normal_distributions_that_the_network_tells() -> None:
    norm = pytest.importorskip("scipy.stats").norm
    policy = PolicyAndValue(3, 2, 2, True, CELLS)
    means, logs = np.array([0.3, -2.0]), np.array([-1.0, 0.2])
    told, deviations = jnp.asarray([*means, *(logs + 0.5)], jnp.float32), np.exp(logs)  # at first the deviation is exp(-0.5)
    uniforms = np.random.default_rng(0).uniform(0.01, 0.99, (20, 2))
    wanted = norm.ppf(uniforms, means, deviations)
    rows = jnp.broadcast_to(told, (20, 4))
    drawn = policy.drawn(rows, jnp.asarray(uniforms, jnp.float32))
    assert np.asarray(drawn) == pytest.approx(wanted, abs=1e-4)
    likely, entropy = (np.asarray(part) for part in policy.likelihood(rows, drawn))
    assert likely == pytest.approx(norm.logpdf(wanted, means, deviations).sum(axis=1), abs=1e-3)
    assert entropy == pytest.approx(np.full(20, norm.entropy(means, deviations).sum()), abs=1e-4)
    assert np.asarray(policy.greedy(told)) == pytest.approx([0.3, -1.0])  # actions lie between -1 and 1


def test_choices_are_drawn_as_often_as_their_logits_say() -> None:
    policy = PolicyAndValue(3, 2, 3, False, CELLS)
    chances = np.array([0.2, 0.5, 0.3])
    told = jnp.broadcast_to(jnp.log(jnp.asarray(chances, jnp.float32)) + 7.0, (10, 3))
    uniforms = (np.arange(10) + 0.5) / 10
    drawn = policy.drawn(told, jnp.asarray(uniforms, jnp.float32)[:, None])
    assert np.asarray(drawn)[:, 0].tolist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    likely, entropy = (np.asarray(part) for part in policy.likelihood(told, drawn))
    assert likely == pytest.approx(np.log(chances[np.asarray(drawn)[:, 0].astype(int)]), abs=1e-5)
    assert entropy == pytest.approx(np.full(10, -(chances * np.log(chances)).sum()), abs=1e-5)


@pytest.mark.parametrize(
    ("likely", "gained", "expected"),
    [
        # Ratios 2 and 1, advantages scaled to 1 and -1: the better one's gain is cut at 1.2.
        ((np.log(2.0), 0.0), (3.0, 1.0), -(1.2 - 1.0) / 2),
        # The worse one has become likelier: its loss is not cut.
        ((0.0, np.log(2.0)), (3.0, 1.0), -(1.0 - 2.0) / 2),
        # And less likely by half: its gain is cut at 0.8.
        ((0.0, np.log(0.5)), (3.0, 1.0), -(1.0 - 0.8) / 2),
    ],
)
def test_the_surrogate_is_clipped_from_the_side_that_gains_and_entropy_pays(likely, gained, expected) -> None:  # type: ignore[no-untyped-def]
    """By pencil; values are half a step off, which adds 0.125, and an entropy of 2 earns 0.1 each."""
    told = np.zeros((2, 3), np.float32)
    policy = SimpleNamespace(
        outputs=lambda layers, seen, state: (told, np.array([1.5, 1.5], np.float32)),
        likelihood=lambda told, action: (np.array(likely, np.float32), np.array([2.0, 2.0], np.float32)),
    )
    method = SimpleNamespace(policy=policy, config=PPOConfig(clip=0.2, entropy=0.1))
    none = np.zeros((2, 1), np.float32)
    loss = PPO.loss.__wrapped__ if hasattr(PPO.loss, "__wrapped__") else PPO.loss
    goal = np.array([1.0, 1.0], np.float32)
    found = loss(method, [], none, np.zeros(2, np.int32), none, np.zeros(2, np.float32), np.array(gained, np.float32), goal)
    assert float(found) == pytest.approx(expected + 0.125 - 0.2, abs=1e-5)
