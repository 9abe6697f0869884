"""PQN: values of every machine state."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import errands  # noqa: E402
from errands.learners.engines.deep.learner import DeepTeam  # noqa: E402
from errands.learners.pqn.settings import PQNConfig  # noqa: E402
from errands.tables import RUNNING  # noqa: E402

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
