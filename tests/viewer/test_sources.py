"""Which moments of training are shown, and what is told about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import errands
from errands.analysis.curve import curve_of
from errands.errors import ConfigError, StoreError
from errands.runs.folder import create, open_run
from errands.runs.request import Request
from errands.runs.train import train_seed
from errands.tasks import load
from errands.viewer.sources import (
    curves_document,
    curves_of,
    exact_of,
    maps_of,
    progress_of,
    replay_stored,
)


def test_stored_moments_show_what_the_run_did_from_before_it_learnt(tmp_path: Path) -> None:
    task = errands.load("office-2")
    run = create(tmp_path / "r", Request.of(task, "crm", settings=["eval_every=100"], steps=3_000, seeds=[0]), 60.0, {})
    train_seed(run, 0, lambda update: None)
    known = {e.step: (e.episode_length, e.success) for e in run.seed(0).evaluations()}
    replay = replay_stored(run, 0)
    assert [e.step for e in replay.episodes] == [0, 100, 200, 400, 800, 1_600, 3_000]
    assert replay.episodes[0].title == "before training"
    assert not replay.episodes[0].success
    assert [(e.length, e.success) for e in replay.episodes[1:]] == [known[e.step] for e in replay.episodes[1:]]


def test_a_moment_with_a_changed_byte_is_left_out(tmp_path: Path) -> None:
    task = errands.load("figure-1")
    run = create(tmp_path / "r", Request.of(task, "crm", settings=["eval_every=100"], steps=400, seeds=[0]), 60.0, {})
    train_seed(run, 0, lambda update: None)
    (path,) = run.seed(0).path.glob("moment-200-*")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    assert [e.step for e in replay_stored(run, 0).episodes] == [0, 100, 400]


def test_curves_are_thinned_but_keep_their_end() -> None:
    rows = [errands.Evaluation(1000 * i, 30 - min(i // 100, 10), 1.0, True) for i in range(1, 2001)]
    document = curves_document([curve_of("x", "t", [rows, rows[:-1]], 20.0)], points=50)
    (line,) = document["lines"]
    assert len(line["steps"]) == 50
    assert line["steps"][-1] == 2_000_000
    assert line["median"][-1] == 20.0
    assert document["optimum"] == 20.0


def test_exact_steps_to_go_are_for_small_certain_worlds() -> None:
    assert exact_of(errands.load("figure-1"))["0{b1,b2}b2"] == 10.0
    assert exact_of(errands.load("delivery-16")) == {}
    assert exact_of(errands.load("water-2")) == {}


def test_any_policy_can_be_replayed(replay_policy: Any) -> None:
    class Right:
        def act(self, world_state: int, machine_state: tuple[int, int], memory: object) -> tuple[int, object]:
            return 1, None

    replay = replay_policy(errands.load("figure-1"), Right())
    assert not replay.episodes[-1].success
    assert replay.episodes[-1].maps[0]["actions"] == [1] * 12


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


def test_a_run_under_way_shows_its_newest_checkpoint(runs: Path, tmp_path: Path) -> None:
    request = Request.of(load("figure-1"), "qcorm", settings=["eval_every=500"], steps=5_000, seeds=[0, 1])
    run = create(tmp_path / "live", request, checkpoint_seconds=60.0, git={})
    with pytest.raises(StoreError, match="no checkpoint yet"):
        replay_stored(run, 0)
    assert progress_of(run)["seeds"][0]["step"] == 0
    train_seed(run, 0, lambda update: None)
    (run.path / "seed-0" / "result.json").unlink()
    now = progress_of(run)
    assert (now["finished"], now["seeds"][0]["step"], now["seeds"][0]["checkpoint"]) == (False, 5_000, 5_000)
    replay = replay_stored(run, 0)
    assert [e.step for e in replay.episodes] == [0, 500, 1_000, 2_000, 4_000, 5_000]
    assert not replay.facts["finished"]


def test_a_seed_that_does_not_exist_is_told(runs: Path) -> None:
    with pytest.raises(ConfigError, match="has no seed 7; it has 0, 1, 2"):
        replay_stored(open_run(runs / "fig"), 7)


def test_a_method_without_values_gets_a_map_of_actions_for_each_stage() -> None:
    task = errands.load("figure-1")
    maps = maps_of(task, errands.train(task, "scout", steps=2_000).policy, None)
    assert [(m["name"], m["values"]) for m in maps] == [
        ("0{b1,b2}{b1,b2}", None), ("1{b1}s", None), ("2{b1}b1", None), ("3{}s", None),
    ]  # fmt: skip


def test_worlds_without_cells_have_no_maps() -> None:
    class Still:
        def act(self, world_state: object, machine_state: tuple[int, int], memory: object) -> tuple[int, object]:
            return 0, None

    task = errands.load("water-2")
    assert maps_of(task, Still(), None) == []
