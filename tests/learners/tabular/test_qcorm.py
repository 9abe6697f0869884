from __future__ import annotations

import math

import numpy as np
import pytest

from errands.errors import ConfigError
from errands.learners import make_learner
from errands.learners.qcorm import kernel
from errands.learners.qcorm.kernel import Coefficients, CoupledValues
from errands.learners.qcorm.settings import QCoRMConfig
from errands.learners.qcorm.tabular import QCoRM
from errands.oracle.optimum import steps_to_go
from errands.tasks import load

TABLE = {
    "0{b1,b2}b1": 12, "0{b1,b2}b2": 10, "1{b1}s": 6, "1{b2}s": 9, "2{b1}b1": 2, "2{b2}b2": 8, "3{}s": 1
}  # fmt: skip


@pytest.mark.parametrize("name", ["qcorm", "qcorm-0"])
@pytest.mark.parametrize("seed", range(3))
def test_figure_1_takes_box_2_first_and_its_steps_to_go_are_the_papers(name: str, seed: int) -> None:
    """With epsilon and then xi annealed to zero: within 1 % on the optimal way and on the other branch."""
    anneal = {"epsilon": "0.1..0@100000,150000", "xi": "1..0@0,300000 steps"}
    joint = {"joint": True} if name == "qcorm" else {"joint": False, "alpha": 1.0, "q_init": 1.0}
    learner = QCoRM(load("figure-1"), QCoRMConfig(**joint, **anneal), seed)  # type: ignore[arg-type]
    last = list(learner.train(300_000))[-1]
    assert (last.episode_length, last.success) == (10, True)
    assert learner.order == ("b2", "s", "b1", "s")
    learnt = learner.steps_to_go
    for label, value in TABLE.items():
        assert learnt[label] == pytest.approx(value, rel=0.01), label


def test_the_table_above_is_also_what_the_oracle_says() -> None:
    exact = steps_to_go(load("figure-1"))
    assert {label: exact[label] for label in TABLE} == TABLE


def _values(best_duration: float, shortest: float) -> CoupledValues:
    learner = QCoRM(load("figure-1"), QCoRMConfig(), 0)
    learner.values.best_duration[0] = best_duration
    learner.values.shortest_episode[0] = shortest
    return learner.values


def _rates(**changes: float) -> Coefficients:
    return QCoRM(load("figure-1"), QCoRMConfig(gamma=0.5), 0)._rates()._replace(**changes)


@pytest.mark.parametrize(
    ("best", "shortest", "duration", "length", "episode", "gated", "printed"),
    [
        (4.0, 10.0, 4, 10, 1.0, 1.0, 1.0),
        (4.0, 10.0, 6, 9, 1.0, 1.0, 1.0),
        (4.0, 10.0, 3, 10, 1.0, 1.0, 0.5**2),
        (4.0, 10.0, 1, 8, 1.0, 1.0, 0.5**4),
        (4.0, 10.0, 4, 13, 0.5**4, 0.5**4, 0.5**4),
        (4.0, 10.0, 2, 11, 0.5**2, 0.5**3, 0.5**3),
        (math.inf, 10.0, 2, 10, 1.0, 1.0, 1.0),
    ],
)
def test_the_reward_of_theorem_1_by_hand_in_three_readings(
    best: float, shortest: float, duration: int, length: int, episode: float, gated: float, printed: float
) -> None:
    """delta = length - shortest; the larger of that and best - duration, where the episode is long, or always; gamma 1/2."""
    for reading, expected in ((kernel.EPISODE, episode), (kernel.GATED, gated), (kernel.PRINTED, printed)):
        reward = kernel.final_reward(_values(best, shortest), _rates(delta=reading), 0, duration, length)
        assert reward == pytest.approx(expected)


def test_the_reward_of_theorem_1_with_a_step_cost_by_hand() -> None:
    """gamma^2 + (gamma^(1 - 3) - gamma^1) / (1 - gamma) * (-0.1) = 1/4 - (4 - 1/2) / (1/2) / 10 = -0.45."""
    rates = _rates(min_step_reward=-0.1, delta=kernel.PRINTED)
    assert kernel.final_reward(_values(4.0, 10.0), rates, 0, 3, 10) == pytest.approx(-0.45)


def test_the_step_cost_of_theorem_1_is_charged_only_to_legs_faster_than_the_best() -> None:
    """A leg of 6 steps where 4 are best, in an episode 1 too long: gamma^2 alone, however large the cost of a step."""
    for reading in (kernel.EPISODE, kernel.GATED):
        rates = _rates(min_step_reward=-100.0, delta=reading)
        assert kernel.final_reward(_values(4.0, 10.0), rates, 0, 6, 11) == pytest.approx(0.25)


def test_as_printed_a_slow_leg_is_charged_too() -> None:
    """gamma^2 + (gamma^(1 - 6) - gamma) / (1 - gamma) * (-0.1) = 1/4 - (32 - 1/2) / (1/2) / 10 = -6.05."""
    rates = _rates(min_step_reward=-0.1, delta=kernel.PRINTED)
    assert kernel.final_reward(_values(4.0, 10.0), rates, 0, 6, 11) == pytest.approx(-6.05)


def test_estimates_may_begin_with_a_number() -> None:
    learner = make_learner(load("figure-1"), "qcorm", settings={"best_duration_start": 0, "shortest_start": 200})
    assert (learner.values.best_duration == 0).all()  # type: ignore[attr-defined]
    assert learner.values.shortest_episode.tolist() == [200]  # type: ignore[attr-defined]
    learner.advance(3_000)
    assert (learner.values.best_duration > 0).any()  # type: ignore[attr-defined]


def test_xi_may_fall_with_each_episode() -> None:
    """An episode has ten steps at least (the optimum) and as many as the limit at most."""
    learner = make_learner(load("figure-1"), "qcorm", settings={"xi": "1..0@0,10 episodes"})
    learner.advance(2_000)
    ended = learner.values.position[kernel.CHOICES]  # type: ignore[attr-defined]
    assert 2_000 / load("figure-1").world.limit <= ended <= 200


def test_a_reading_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="delta is 'other'; choose from episode, gated, printed"):
        QCoRMConfig(delta="other")  # type: ignore[arg-type]


def test_the_reward_of_theorem_1_never_overflows() -> None:
    """gamma^(1 - K) of the printed formula overflows for K > 6,737 at gamma .9; ours stays a number."""
    rates = _rates(gamma=0.9, min_step_reward=-1.0)
    assert np.isfinite(kernel.final_reward(_values(4.0, 10.0), rates, 0, 20_000, 20_100))


def test_the_order_table_grows_with_the_states_visited() -> None:
    learner = make_learner(load("delivery-12"), "qcorm-0")
    list(learner.train(50_000))
    assert isinstance(learner, QCoRM)
    assert len(learner.table.key) > 1024
    assert learner.table.size[0] <= len(learner.table.key) // 2
    assert all(label[0].isdigit() for label in learner.steps_to_go)


@pytest.mark.parametrize(
    ("field", "value"),
    [("alpha", 2.0), ("epsilon", -0.1), ("gamma", 0.0), ("eval_every", 0), ("full_reward", 0.0)],
)  # fmt: skip
def test_settings_out_of_range_are_refused(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        QCoRMConfig(**{field: value})  # type: ignore[arg-type]


def test_a_long_stretch_of_training_leaves_the_table_as_large_as_it_must_be() -> None:
    """Training pauses every 50,000 steps to look for interrupts; a pause is no reason to make the table larger."""
    learner = make_learner(load("figure-1"), "qcorm")
    learner.advance(300_000)
    assert len(learner.table.key) == 1024
