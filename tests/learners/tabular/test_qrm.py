"""QRM: single updates checked by hand, machine states born as they are met, and settings that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import ConfigError
from errands.kernels.qrm import ACTION, FIELDS, MACHINE, STATE, TIME, Rates, begin, greedy_episode, qrm_loop
from errands.learners.tabular.qrm import QRM, QRMConfig
from errands.machines import unfold_agenda
from errands.machines.lower import lower
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
    rates = Rates(1.0, 0.5, 0.0, 100)
    begin(world, machine, where, rng)
    assert qrm_loop(world, machine, q, where, rates, 2, rng) == 2
    assert q[1, RIGHT, 0] == 1.0
    assert (where[STATE], where[MACHINE], where[TIME]) == (0, 0, 0)
    qrm_loop(world, machine, q, where, rates, 1, rng)
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
