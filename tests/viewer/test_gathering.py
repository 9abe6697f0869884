"""Which moments of training are shown, and what is told about them."""

from __future__ import annotations

import numpy as np
import pytest

import errands
from errands.analysis.curve import curve_of
from errands.learners import make_learner
from errands.viewer.gathering import chosen_steps, curves_document, exact_of, history, replay_policy


@pytest.mark.parametrize("count", [1, 3, 10, 11, 1000])
def test_moments_are_evaluated_steps_spread_evenly_on_a_logarithmic_axis(count: int) -> None:
    steps = list(range(1000, 1000 * count + 1, 1000))
    chosen = chosen_steps(steps, 10)
    assert len(chosen) <= 10
    assert chosen[-1] == steps[-1]
    assert chosen[0] == steps[0]
    assert set(chosen) <= set(steps)
    if count == 1000:
        ratios = np.diff(np.log(chosen))[2:]  # the first ones lie as the evaluations do
        assert ratios.max() < 1.2 * ratios.min()


def test_training_again_shows_what_the_run_did() -> None:
    task = errands.load("office-2")
    run = errands.train(task, "crm", steps=10_000)
    again = make_learner(task, "crm", 0, None, run.config)
    known = {e.step: (e.episode_length, e.success) for e in run.evaluations}
    shown = list(history(again, run.evaluations, 5))
    assert len(shown) >= 4
    for step, recording, _, _ in shown:
        assert (recording.length, recording.success) == known[step]


def test_curves_are_thinned_but_keep_their_end() -> None:
    rows = [errands.Evaluation(1000 * i, 30 - min(i // 100, 10), 1.0, True) for i in range(1, 2001)]
    document = curves_document([(curve_of("x", "t", [rows, rows[:-1]], 20.0), [2.0, 1.9])], points=50)
    (line,) = document["lines"]
    assert len(line["steps"]) == 50
    assert line["steps"][-1] == 2_000_000
    assert line["median"][-1] == 20.0
    assert document["optimum"] == 20.0


def test_exact_steps_to_go_are_for_small_certain_worlds() -> None:
    assert exact_of(errands.load("figure-1"))["0{b1,b2}b2"] == 10.0
    assert exact_of(errands.load("delivery-16")) == {}
    assert exact_of(errands.load("water-2")) == {}


def test_any_policy_can_be_replayed() -> None:
    class Right:
        def act(self, world_state: int, machine_state: tuple[int, int], memory: object) -> tuple[int, object]:
            return 1, None

    replay = replay_policy(errands.load("figure-1"), Right(), "right")
    assert replay.learner == "right"
    assert not replay.episodes[-1].success
    assert replay.episodes[-1].maps[0]["actions"] == [1] * 12
