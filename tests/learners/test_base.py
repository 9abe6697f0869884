"""What every learner is: evaluations on time, random states that pack, and settings that can be."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import ConfigError
from errands.learners.base import Learner, LearnerConfig, Saved, pack_rng, unpack_rng
from errands.oracle.episode import Policy
from errands.tables import Evaluation
from errands.tasks import load


class Still(Learner):
    """Learns nothing; its episodes are as long as the steps so far."""

    def advance(self, count: int) -> None:
        self.step += count

    def evaluate(self) -> Evaluation:
        return Evaluation(self.step, self.step, 0.0, False)

    @property
    def policy(self) -> Policy:
        raise NotImplementedError

    def save(self) -> Saved:
        return {}

    def restore(self, saved: Saved) -> None:
        """Nothing."""


def still(every: int) -> Still:
    return Still(load("figure-1"), LearnerConfig(eval_every=every), 0)


@pytest.mark.parametrize(
    ("every", "steps", "at"), [(10, 30, [10, 20, 30]), (10, 25, [10, 20, 25]), (100, 7, [7]), (1, 3, [1, 2, 3])]
)
def test_evaluations_come_on_multiples_and_at_the_last_step(every: int, steps: int, at: list[int]) -> None:
    assert [e.step for e in still(every).train(steps)] == at


def test_training_goes_on_where_it_stopped_and_counts_the_steps_of_evaluations() -> None:
    learner = still(10)
    assert [e.step for e in learner.train(15)] == [10, 15]
    assert [e.step for e in learner.train(30)] == [20, 30]
    assert learner.evaluation_steps == 10 + 15 + 20 + 30
    assert list(learner.train(30)) == []
    assert [e for e in learner.stages(35) if e] == [Evaluation(35, 35, 0.0, False)]
    assert (learner.predicted(99), dict(learner.counts), dict(learner.steps_to_go)) == (99, {}, {})


@pytest.mark.parametrize("draws", [0, 1, 1001])
def test_a_packed_generator_goes_on_as_it_would_have(draws: int) -> None:
    rng = np.random.Generator(np.random.PCG64(7))
    rng.random(draws)
    rng.integers(0, 2**32, dtype=np.uint32)
    words = pack_rng(rng)
    assert words.dtype == np.uint64
    other = np.random.Generator(np.random.PCG64(0))
    unpack_rng(other, words)
    assert np.array_equal(rng.integers(0, 2**32, 9, dtype=np.uint32), other.integers(0, 2**32, 9, dtype=np.uint32))
    assert np.array_equal(rng.random(5), other.random(5))


@pytest.mark.parametrize("wrong", [{"gamma": 0.0}, {"gamma": 1.01}, {"gamma": float("nan")}, {"eval_every": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"{name} is"):
        LearnerConfig(**wrong)  # type: ignore[arg-type]
