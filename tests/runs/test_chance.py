"""Runs in random worlds: every number is an expectation, and none is held to one drawn episode."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from errands.learners import make_learner
from errands.oracle.certificate import certificate
from errands.oracle.episode import walk
from errands.oracle.optimum import optimum
from errands.runs.checkpoint import newest
from errands.runs.folder import create
from errands.runs.request import Request
from errands.runs.run import final, train
from errands.runs.sweep import train_run
from errands.runs.verify import verify_seed
from errands.tasks.task import Task

ICE = """
name = "ice"
[world]
kind = "grid"
rows = ["1..#..", "......", "A.~..2", "...#.."]
legend = { 1 = "flag_1", 2 = "flag_2", "~" = "hole" }
slip = 0.1
[machine]
phrase = "avoid(hole, any_order(flag_1, flag_2))"
"""


def slippery(number: int) -> Task:
    """A random map with slips, two flags and sometimes a hole."""
    rng = np.random.default_rng(number)
    cells = rng.permutation(20)
    grid = np.full(20, ".")
    grid[cells[:3]] = ["A", "1", "2"]
    hole = number % 2 == 1
    grid[cells[3]] = "~" if hole else "."
    rows = ["".join(row) for row in grid.reshape(4, 5)]
    phrase = "avoid(hole, any_order(f1, f2))" if hole else "any_order(f1, f2)"
    legend = '{ 1 = "f1", 2 = "f2", "~" = "hole" }' if hole else '{ 1 = "f1", 2 = "f2" }'
    slip = 0.05 + 0.3 * rng.random()
    world = f"[world]\nkind = 'grid'\nrows = {json.dumps(rows)}\nlegend = {legend}\nslip = {slip}\nlimit = 200\n"
    return Task.from_toml(f"name = 'map-{number}'\n{world}[machine]\nphrase = '{phrase}'\n")


@pytest.mark.parametrize("number", range(20))
def test_no_gap_is_negative_on_random_slippery_maps(number: int) -> None:
    task = slippery(number)
    best = optimum(task, orders=False).length
    for learner in ("crm", "qcorm"):
        run = train(task, learner, steps=6_000, seed=number, settings={"eval_every": 2_000})
        for evaluation in run.evaluations:
            assert evaluation.episodes == 0
            gap = evaluation.gap(best)
            assert gap is None or gap >= 0
        row = run.row(best)
        assert row["final_gap"] is None or row["final_gap"] >= 0
        assert (row["final_gap"] is not None) == (row["final_success"] == 1 and best is not None)


def test_the_last_evaluation_is_what_the_certificate_says_and_what_many_episodes_come_to() -> None:
    task = Task.from_toml(ICE)
    run = train(task, "crm", steps=20_000, seed=0)
    last, judged = run.evaluations[-1], certificate(run.policy, task)
    assert last.episode_length == pytest.approx(judged.length, rel=1e-9)
    assert last.success == pytest.approx(judged.success, rel=1e-9)
    episodes = [walk(run.policy, task, seed) for seed in range(2_000)]
    assert np.mean([e.success for e in episodes]) == pytest.approx(last.success, abs=0.03)
    assert np.mean([e.length for e in episodes]) == pytest.approx(last.episode_length, rel=0.1)
    assert np.mean([sum(e.rewards) for e in episodes]) == pytest.approx(last.total_reward, abs=0.03)


def test_a_policy_that_may_fail_is_not_optimal_however_short_its_episodes(tmp_path: Path) -> None:
    """The map of examples/08: crm takes the risk of the hole, and one lucky episode of 9 steps is no optimum of 51."""
    task = Task.from_toml(ICE)
    run = create(tmp_path / "ice", Request.of(task, "crm", steps=30_000, seeds=(0, 1)))
    train_run(run, jobs=1, quiet=True)
    for result in run.results():
        assert result.optimum == pytest.approx(51.3931, abs=1e-4)
        assert 0 < result.final_success < 1
        assert result.final_episodes == 0
        assert result.final_gap is None
        assert not result.optimal
        assert result.first_optimal_step is None
        assert result.evaluation_steps == 0
    table = (run.seed(0).path / "evaluations.csv").read_text()
    assert table.startswith("step,episode_length,total_reward,success,episodes,length_low")
    assert run.seed(0).evaluations() == list(newest(run.seed(0).path, 0).evaluations)
    assert verify_seed(run, 0, steps=3_000).differences == ()


def test_chains_too_large_to_be_followed_are_averages_with_intervals() -> None:
    learner = make_learner(Task.from_toml(ICE), "crm", 0)
    learner.max_situations = 3
    *_, last = learner.train(3_000)
    assert last.episodes == 100
    assert last.length_low <= last.episode_length <= last.length_high
    assert last.success_low <= last.success <= last.success_high
    assert final([last], 51.3931)["final_gap"] is None
    assert learner.evaluation_steps > 300
