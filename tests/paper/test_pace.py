"""Forecasts: the sums that they are, with a warm-up whose numbers are given here."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("jax")

from errands.paper import pace
from errands.paper.continuous import CHUNK, METHODS, TeamCell
from errands.paper.pace import RELATIVE, Forecast, forecast
from errands.paper.paper import Method
from errands.paper.team_store import Kept

CELL = TeamCell("water-2", Method("qcorm"), "tuned", 2, 10_000, width=8)


@pytest.fixture(autouse=True)
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[TeamCell]:
    """100 microseconds per step and 2 seconds until it is ready, whatever is asked."""
    asked: list[TeamCell] = []

    def measured(cell: TeamCell) -> dict[str, float]:
        asked.append(cell)
        return {"us_per_step": 100.0, "ready_s": 2.0}

    monkeypatch.setattr(pace, "pace", measured)
    return asked


def test_the_steps_that_are_left_are_paid_at_the_learners_rate() -> None:
    assert forecast([Kept(CELL)]).seconds == pytest.approx(1.5 * 2 + 10_000 * 1e-4)
    assert forecast([Kept(CELL, step=4_000)]).seconds == pytest.approx(1.5 * 2 + 6_000 * 1e-4)
    slow = replace(CELL, method=Method("hrm", "agenda"))
    assert forecast([Kept(slow)]).seconds == pytest.approx(1.5 * 2 + 10_000 * 1e-4 * RELATIVE["hrm"])


def test_a_runtime_cell_takes_its_repeats_only() -> None:
    """Four stretches of at least 0.2 seconds and a tenth of a chunk."""
    timed = replace(CELL, timed=True, steps=10**9)
    assert forecast([Kept(timed)]).seconds == pytest.approx(3 + 4 * max(CHUNK // 10 * 1e-4, 0.2))
    wide = replace(timed, network="one-hot")
    assert forecast([Kept(wide)]).seconds == pytest.approx(3 + 4 * 4 * max(CHUNK // 10 * 1e-4, 0.2))


def test_each_domain_is_warmed_up_once_with_qcorm(warmed: list[TeamCell]) -> None:
    cheetah = replace(CELL, task="cheetah-bcd", method=Method("crm", "agenda"))
    found = forecast([Kept(replace(CELL, method=m)) for m in METHODS] + [Kept(cheetah)])
    assert [(c.task, c.method.learner, c.timed) for c in warmed] == [
        ("water-2", "qcorm", True),
        ("cheetah-bcd", "qcorm", True),
    ]
    assert found.by == ("qcorm on water-2", "qcorm on cheetah-bcd")
    assert "reckoned from a warm-up of qcorm on water-2 and qcorm on cheetah-bcd" in found.words


def test_what_has_ended_costs_nothing(warmed: list[TeamCell]) -> None:
    done = forecast([Kept(CELL, ended=True)])
    assert (done, warmed) == (Forecast(0.0, ()), [])
    assert done.words == "about 0.0 minutes (nothing is left to measure)"


def test_every_learner_of_the_panels_has_a_relative_cost() -> None:
    assert {m.learner for m in METHODS} <= RELATIVE.keys()
    assert RELATIVE["qcorm"] == 1.0
