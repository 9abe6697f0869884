"""QRM and CRM: single updates by hand, states born as they are met, every state taught; settings that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import ConfigError, TaskError
from errands.kernels.q_learning import FIELDS, Rates, begin, greedy_episode, qrm_loop
from errands.kernels.stepping import ACTION, MACHINE, STATE, TIME
from errands.learners.qrm.settings import QRMConfig
from errands.learners.qrm.tabular import CRM, QRM
from errands.learners.schedule import Schedule
from errands.machines import unfold_agenda
from errands.machines.lower import lower
from errands.tables import RUNNING
from errands.tasks import Task, load

CORRIDOR = Task.from_toml(
    'name = "t"\n[world]\nkind = "grid"\nrows = ["A.g"]\nlegend = { g = "g" }\n[machine]\nphrase = "g"\n'
)
RIGHT = 1


def test_one_episode_moves_the_reward_back_by_one_cell_each_time() -> None:
    """Three cells, gamma 1/2, alpha 1, always right: after one episode q[1] = 1, after two q[0] = 1/2."""
    assert CORRIDOR.finite is not None
    world, machine = CORRIDOR.finite.table, lower(unfold_agenda(CORRIDOR.machine), CORRIDOR.finite.labels)
    q = np.zeros((3, 4, 2))
    q[:, RIGHT, 0] = 1e-9
    q[:, :, 1] = 5.0  # nothing follows the end, whatever its table holds
    where = np.zeros(FIELDS, np.int64)
    where[ACTION] = -1
    rng = np.random.default_rng(0)
    rates = Rates(1.0, 0.5, Schedule.of(0).line, 100)
    begin(world, machine, where, rng)
    assert qrm_loop(world, machine, q, where, rates, 0, 2, rng) == 2
    assert q[1, RIGHT, 0] == 1.0
    assert (where[STATE], where[MACHINE], where[TIME]) == (0, 0, 0)
    qrm_loop(world, machine, q, where, rates, 2, 1, rng)
    assert q[0, RIGHT, 0] == 0.5
    assert (where[STATE], where[TIME]) == (1, 1)
    assert greedy_episode(world, machine, q, 100, rng) == (2, 1.0, True)
    assert greedy_episode(world, machine, np.zeros((3, 4, 2)), 7, rng) == (7, 0.0, False)


def test_a_small_rate_moves_part_of_the_way() -> None:
    """With alpha 1/4 the cell before the goal holds 1 - (3/4)^n after n visits, for a whole number n."""
    learner = QRM(CORRIDOR, QRMConfig(alpha=0.25, epsilon=0.5, gamma=0.5), 3)
    learner.advance(60)
    visits = np.log1p(-learner.q[0, 1, RIGHT]) / np.log(0.75)
    assert visits >= 1
    assert visits == pytest.approx(round(visits), abs=1e-6)


@pytest.mark.parametrize(("kind", "states"), [("agenda", 7), ("boolean", 9)])
def test_machine_states_are_born_as_they_are_met(kind: str, states: int) -> None:
    learner = QRM(load("figure-1"), QRMConfig(q_init=1.0), 0, kind)  # type: ignore[arg-type]
    assert len(learner.machine) == 1
    learner.advance(20_000)
    assert len(learner.machine) == states
    assert learner.evaluate().success


def test_figure_1_is_learnt_to_its_ten_steps() -> None:
    learner = QRM(load("figure-1"), QRMConfig(alpha=1.0, q_init=1.0), 0)
    learner.advance(20_000)
    assert (learner.evaluate().episode_length, learner.order) == (10, ("b2", "s", "b1", "s"))


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"epsilon": -0.1}, {"gamma": 0.0}, {"eval_every": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"{name} is"):
        QRMConfig(**wrong)  # type: ignore[arg-type]


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
    while int(learner.position[0]) != 4:
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
