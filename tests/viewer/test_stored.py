"""What the viewer reads of run folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.folder import create, open_run
from errands.runs.request import prepare
from errands.tasks import load
from errands.viewer.stored import curves_of, progress_of, replay_stored


def test_the_last_moment_is_what_the_run_stored(runs: Path) -> None:
    run = open_run(runs / "fig")
    for seed in (0, 2):
        replay = replay_stored(run, seed)
        result = run.seed(seed).result()
        assert replay.facts["seed"] == seed
        assert replay.episodes[-1].length == result.final_length
        assert list(replay.episodes[-1].order) == result.order


def test_curves_are_those_of_the_store(runs: Path) -> None:
    run = open_run(runs / "fig")
    (line,) = curves_of([run])["lines"]
    for seed, row in enumerate(line["seeds"]):
        rows = run.seed(seed).evaluations()
        assert line["steps"] == [e.step for e in rows]
        assert row == [float(e.episode_length) if e.success else None for e in rows]
    assert line["seconds"] == [round(r.wall_seconds, 3) for r in run.results()]


def test_a_run_under_way_shows_its_newest_checkpoint(runs: Path, tmp_path: Path) -> None:
    document = prepare(load("figure-1"), "qcorm", None, "tuned", ["eval_every=500"], 5_000, [0, 1], 60.0, {})
    run = create(tmp_path / "live", document, load("figure-1"))
    with pytest.raises(StoreError, match="no checkpoint yet"):
        replay_stored(run, 0)
    assert progress_of(run)["seeds"][0]["step"] == 0
    from errands.runs.train import train_seed

    train_seed(run, 0, lambda beat: None)
    (run.path / "seed-0" / "result.json").unlink()
    now = progress_of(run)
    assert (now["finished"], now["seeds"][0]["step"], now["seeds"][0]["checkpoint"]) == (False, 5_000, 5_000)
    replay = replay_stored(run, 0)
    assert [e.step for e in replay.episodes] == [5_000]
    assert not replay.facts["finished"]


def test_a_seed_that_does_not_exist_is_told(runs: Path) -> None:
    with pytest.raises(StoreError, match="has no seed 7; it has 0, 1, 2"):
        replay_stored(open_run(runs / "fig"), 7)
