"""PQN: values of every machine state."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import errands  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.pqn.settings import PQNConfig  # noqa: E402
from errands.machines.stepping import Stepper  # noqa: E402
from errands.tables import RUNNING, SUCCESS  # noqa: E402

CELLS = PQNConfig(
    envs=16, rollout=8, width=32, minibatches=2, alpha="0.002..0.0001@0,60000", average=0.02, eval_every=61_440
)  # fmt: skip


def test_every_machine_state_learns_the_discounted_steps_that_breadth_first_search_finds() -> None:
    task = errands.load("figure-1")
    team = DeepTeam(task, CELLS, (0,), "pqn")
    (evaluation,) = list(team.train(61_440))[-1]
    assert (evaluation.success, evaluation.episode_length) == (1.0, 10)  # the paper: 10 steps
    copies, layers = team.team.copies, jax.tree.map(lambda part: part[0], team.team.agent_states.trained)
    start = team.team.world.start(0.5)
    learnt = np.asarray(copies.values.values(layers, team.team.world.observe(start))).max(axis=1)
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


def test_the_ways_that_it_comes_back_to_lead_to_success_in_the_steps_that_they_say() -> None:
    """Walked by the environment and the machine's stepper, not by the code under test."""
    task = errands.load("water-2")
    config = PQNConfig(revisit=0.5, envs=16, rollout=10, width=16, eval_every=4_800, epsilon_high=1.0, cut=80)
    team = DeepTeam(task, config, (0,), "pqn")
    team.advance(24_000)
    ways = jax.tree.map(lambda part: np.asarray(part)[0], team.team.state.ways)
    known = np.flatnonzero(ways.length <= 80)
    assert len(known) > 0
    for group in known:
        env, stepper = task.world.env(), Stepper(task.machine)
        env.reset()
        state, steps = stepper.start, 0
        while stepper.status[state[0]] == RUNNING:
            *_, info = env.step(int(ways.way[group, steps]))
            state, steps = stepper.step(state, frozenset(info["features"])).state, steps + 1
        assert (stepper.status[state[0]], steps) == (SUCCESS, ways.length[group])


def test_a_team_that_comes_back_to_its_ways_goes_on_to_the_same_bytes() -> None:
    task = errands.load("water-2")
    config = PQNConfig(revisit=0.5, envs=16, rollout=10, width=16, eval_every=4_800)
    whole, torn, resumed = (DeepTeam(task, config, (0,), "pqn").team for _ in range(3))
    whole.advance(9_600)
    torn.advance(4_800)
    resumed.restore(torn.save())
    resumed.advance(4_800)
    for name, array in whole.save().items():
        assert array.tobytes() == resumed.save()[name].tobytes(), name


def test_the_step_size_falls_with_the_steps_of_all_copies() -> None:
    """After 256 steps it is 0, and nothing is learnt any more."""
    config = PQNConfig(envs=16, rollout=8, width=8, minibatches=2, alpha="0.002..0@0,256", eval_every=128)
    team = DeepTeam(errands.load("figure-1"), config, (0,), "pqn").team
    seen = []
    for _ in range(4):
        team.advance(128)
        seen.append(np.asarray(team.state.training[0][0][0]).copy())
    assert not np.array_equal(seen[0], seen[1])
    assert np.array_equal(seen[1], seen[2])
    assert np.array_equal(seen[2], seen[3])
