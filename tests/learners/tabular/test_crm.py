"""CRM: a step teaches every machine state that can still come; its table ends at the optimal values."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.tabular.crm import CRM
from errands.learners.tabular.qrm import QRMConfig
from errands.tables import RUNNING
from errands.tasks import Task, load

GAMMA = 0.9


def drawn(extra: str = "") -> Task:
    """Two places in a row: p at the left end, q at the right."""
    return Task.from_toml(
        f'name = "t"\n[world]\nkind = "grid"\nrows = ["p.A.q"]\nlegend = {{ p = "p", q = "q" }}\n{extra}\n'
        '[machine]\nphrase = "any_order(p, q)"\n'
    )


def optimal(learner: CRM) -> np.ndarray:
    """[U, S, A] by value iteration over the product, written out here."""
    world, machine = learner.world.table, learner.machine
    q = np.zeros((len(machine.status), *world.next.shape[:2]))
    for _ in range(200):
        value = q.max(axis=2)
        for u in np.flatnonzero(machine.status == RUNNING):
            for s, a in np.ndindex(world.next.shape[:2]):
                label, there = world.label[s, a, 0], world.next[s, a, 0]
                v = machine.next[u, label]
                goes_on = machine.status[v] == RUNNING and not world.ends[s, a, 0]
                q[u, s, a] = machine.reward[u, label] + (GAMMA * value[v, there] if goes_on else 0.0)
    return q


@pytest.mark.parametrize("kind", ["agenda", "boolean"])
def test_the_table_ends_at_the_optimal_values(kind: str) -> None:
    learner = CRM(drawn(), QRMConfig(alpha=1.0, epsilon=1.0, gamma=GAMMA), 0, kind)  # type: ignore[arg-type]
    learner.advance(20_000)
    running = learner.machine.status == RUNNING
    found = learner.q.transpose(2, 0, 1)[running]
    assert np.allclose(found, optimal(learner)[running])


def test_one_step_teaches_all_states_at_once() -> None:
    """The first step onto q pays in the state in which only q remains, though the agent was never in it."""
    learner = CRM(drawn(), QRMConfig(alpha=1.0, epsilon=1.0, gamma=GAMMA), 0)
    while int(learner.where[0]) != 4:
        learner.advance(1)
    only_q = learner.enumerated.index[(0, 0b10)]  # type: ignore[index]
    assert learner.q[3, 1, only_q] == 1.0
    assert learner.q[3, 1, 0] == 0.0


def test_where_things_vanish_only_states_that_can_still_come_are_taught() -> None:
    """Carrying the last box of Figure 1, nothing is learnt about the start."""
    learner = CRM(load("figure-1"), QRMConfig(), 0)
    labels = [str(label) for label in learner.enumerated.labels]  # type: ignore[union-attr]
    last, start = labels.index("3{}s"), labels.index("0{b1,b2}{b1,b2}")
    alive = learner.alive

    def taught(i: int) -> set[int]:
        return {int(u) for u in alive.running[alive.slice[i, 0] : alive.slice[i, 1]]}

    assert taught(last) == {last}
    assert taught(start) == set(range(6))
    everywhere = CRM(drawn(), QRMConfig(), 0).alive
    assert len({tuple(row) for row in everywhere.slice.tolist()}) == 1


def test_a_machine_whose_tables_would_not_fit_is_refused() -> None:
    with pytest.raises(TaskError, match=r"the tables of CRM would take [\d,.]+ GB and this machine has"):
        CRM(load("delivery-14"), QRMConfig(), 0, "boolean")
