"""Sweeps: stored with their plan, priced before, continued where they were, ended by a clock, summarised from small files."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from errands.cli import main
from errands.errors import ErrandsError, StoreError, UnknownName
from errands.learners.base import memory
from errands.runs import sweep as sweeping
from errands.runs.cost import Cost, cost
from errands.runs.documents import Cell
from errands.runs.folder import RunFolder, SweepFolder, create, open_sweep
from errands.runs.plan import make_block
from errands.runs.progress import Progress
from errands.runs.request import Request
from errands.runs.sweep import (
    SHOWN,
    Forecast,
    begin,
    extend,
    forecast,
    rows,
    train_run,
    train_sweep,
    unfinished,
    write_table,
)
from errands.runs.verify import faults
from errands.tasks import load

PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm", "seeds": 2, "steps": 2000, "eval_every": 500}


def test_a_sweep_is_the_same_when_stopped_and_continued(
    tmp_path: Path, kept: Callable[[SweepFolder], dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, torn = begin([make_block(PLAN)], tmp_path / "whole"), begin([make_block(PLAN)], tmp_path / "torn")
    train_sweep(whole, 1, quiet=True)
    def stop(self: Progress, job: object, result: object) -> None:
        raise KeyboardInterrupt

    for left in (3, 2):
        with monkeypatch.context() as patched:
            patched.setattr(Progress, "end", stop)
            with pytest.raises(KeyboardInterrupt):
                train_sweep(open_sweep(torn.path), 1, quiet=True)
        assert sum(len(seeds) for _, seeds in unfinished(torn)) == left
    train_sweep(open_sweep(torn.path), 1, quiet=True)
    assert list(unfinished(torn)) == []
    assert kept(torn) == kept(whole)
    assert not list(faults(torn.path))


def test_the_rows_say_what_was_run_and_open_in_a_spreadsheet(tmp_path: Path) -> None:
    sweep = begin([make_block({**PLAN, "vary": {"epsilon": [0.2, 0.3]}})], tmp_path / "sweep")
    train_sweep(sweep, 1, quiet=True)
    found = rows(sweep)
    assert [(r["task"], r["settings"][-1], r["seed"]) for r in found[:3]] == [
        ("figure-1", "epsilon=0.2", 0),
        ("figure-1", "epsilon=0.2", 1),
        ("figure-1", "epsilon=0.3", 0),
    ]
    assert {r["optimum"] for r in found if r["task"] == "figure-1"} == {10}
    with open(write_table(sweep, found), newline="") as source:
        read = list(csv.DictReader(source))
    assert len(read) == 8
    assert read[0]["task"] == "figure-1"
    assert read[0]["optimum"] == "10"
    with open(write_table(sweep, [{**found[0], "task": "=HYPERLINK(1)"}]), newline="") as source:
        assert next(csv.DictReader(source))["task"] == "'=HYPERLINK(1)"


def test_a_task_file_is_kept_inside_the_sweep(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(load("figure-1").text)
    sweep = begin([make_block({**PLAN, "task": str(path), "seeds": 1})], tmp_path / "sweep")
    path.unlink()
    train_sweep(open_sweep(sweep.path), 1, quiet=True)
    assert rows(sweep)[0]["error"] is None


def test_settings_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'epsilon'"):
        begin([make_block({**PLAN, "set": "epsilno=1"})], tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_a_sweep_is_never_overwritten(tmp_path: Path) -> None:
    begin([make_block(PLAN)], tmp_path / "sweep")
    with pytest.raises(StoreError, match="never overwritten"):
        begin([make_block(PLAN)], tmp_path / "sweep")


def test_a_damaged_or_linked_sweep_is_told(tmp_path: Path) -> None:
    sweep = begin([make_block(PLAN)], tmp_path / "sweep")
    first = sweeping.opened(sweep, sweep.document.cells[0]).path
    first.rename(tmp_path / "elsewhere")
    first.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        rows(sweep)
    head = sweep.path / "sweep.json"
    head.write_bytes(head.read_bytes().replace(b"figure-1", b"figure-2", 1))
    with pytest.raises(StoreError, match=r"sweep\.json is damaged"):
        open_sweep(sweep.path)


def test_a_cell_that_cannot_be_prepared_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = begin([make_block(PLAN)], tmp_path / "sweep")
    load_task = sweeping.task_of

    def refuse(sweep: SweepFolder, cell: object) -> object:
        task = load_task(sweep, cell)  # type: ignore[arg-type]
        if task.name == "figure-1":
            raise UnknownName("task", "figure-1", ["figure-2"])
        return task

    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "task_of", refuse)
        train_sweep(sweep, 1, quiet=True)
    assert [row["error"] is None for row in rows(sweep)] == [False, False, True, True]
    train_sweep(sweep, 1, quiet=True)
    assert all(row["error"] is None for row in rows(sweep))


def test_a_sweep_takes_in_more_cells_and_keeps_those_it_has(tmp_path: Path) -> None:
    small = make_block({"task": "figure-1", "learner": "qcorm-0", "seeds": 1, "steps": 200})
    more = make_block({"task": "figure-1", "learner": "qcorm-0,crm", "seeds": 1, "steps": 200})
    sweep = begin([small], tmp_path / "sweep")
    train_sweep(sweep, 1, quiet=True)
    before = (sweep.cell(sweep.document.cells[0]) / "seed-0" / "result.json").read_bytes()
    wider = extend(open_sweep(tmp_path / "sweep"), [more])
    assert [cell.learner for cell in open_sweep(wider.path).document.cells] == ["qcorm-0", "crm"]
    assert [cell.learner for cell, _ in unfinished(wider)] == ["crm"]
    assert (wider.cell(wider.document.cells[0]) / "seed-0" / "result.json").read_bytes() == before
    assert extend(wider, [more, small]) is wider


TASK = load("figure-1")


def made(path: Path, seeds: list[int]) -> RunFolder:
    return create(path, Request.of(TASK, "crm", steps=2_000, seeds=seeds), git={})


def test_every_seed_ends_and_what_has_ended_is_left_alone(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [0, 3])
    assert not run.finished
    train_run(run, jobs=1, quiet=True)
    assert run.finished
    assert [(r.seed, r.steps) for r in run.results()] == [(0, 2_000), (3, 2_000)]
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()}
    train_run(run, jobs=1, quiet=True)
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == before


def test_a_seed_that_was_lost_is_trained_again_to_the_same_bytes(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [0, 1])
    train_run(run, quiet=True)
    table = run.seed(1).table
    kept, other = table.read_bytes(), run.seed(0).finish.stat().st_mtime_ns
    shutil.rmtree(run.seed(1).path)
    train_run(run, quiet=True)
    assert table.read_bytes() == kept
    assert run.seed(0).finish.stat().st_mtime_ns == other


def test_what_is_told_goes_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_run(made(tmp_path / "a", [0]), jobs=1, quiet=True)
    assert capsys.readouterr() == ("", "")


def test_the_first_fault_is_raised(tmp_path: Path) -> None:
    """The Boolean machine of fourteen boxes would take millions of gigabytes."""
    task = load("delivery-14")
    run = create(tmp_path / "a", Request.of(task, "crm", "boolean", steps=10), git={})
    with pytest.raises(ErrandsError, match="the tables of CRM would take"):
        train_run(run, jobs=1, quiet=True)


def cell(folder: str, seeds: int = 2) -> Cell:
    return Cell(task="figure-1", map_seed=0, learner="crm", machine="agenda", preset="tuned", settings=(),
                steps=10, seeds=seeds, folder=folder)  # fmt: skip


A, B = cell("a", 3), cell("b", 1)
COSTS = {"a": Cost(2.0, 1_000_000, True), "b": Cost(9.0, 5_000_000, False)}


def test_work_is_shared_but_no_seed_is_split() -> None:
    """3 x 2 + 9 = 15 seconds of work: 15 on one process; on two the 9-second seed and the others side by side."""
    waiting = [(A, [0, 1, 2]), (B, [0])]
    assert Forecast(waiting, COSTS, 1).runs == 4
    assert Forecast(waiting, COSTS, 1).seconds == 15.0
    assert Forecast(waiting, COSTS, 2).seconds == 9.0
    assert Forecast([(A, [0, 1, 2])], COSTS, 2).seconds == 3.0


def test_memory_is_that_of_the_largest_seeds_that_run_together() -> None:
    waiting = [(A, [0, 1, 2]), (B, [0])]
    assert [Forecast(waiting, COSTS, n).bytes for n in (1, 2, 3, 8)] == [5_000_000, 6_000_000, 7_000_000, 8_000_000]


def test_nothing_left_costs_nothing() -> None:
    done = Forecast([], {}, 4)
    assert (done.runs, done.bytes) == (0, 0)
    assert done.seconds == 0


def test_it_is_told_in_one_line_and_in_one_document() -> None:
    expected = Forecast([(A, [0, 1, 2]), (B, [0])], COSTS, 2)
    assert expected.document() == {"runs": 4, "seconds": 9.0, "bytes": 6_000_000, "workers": 2}
    assert expected.summary().startswith("4 runs on 2 processes: about ")
    assert expected.summary().endswith("6 MB of tables")


def test_a_long_plan_is_shown_by_its_first_cells() -> None:
    many = [(cell(f"c{i}"), [0]) for i in range(SHOWN + 5)]
    console = Console(record=True, width=120, file=StringIO())
    console.print(Forecast(many, {c.folder: COSTS["b"] for c, _ in many}, 2).table())
    text = console.export_text()
    assert text.count("figure-1") == SHOWN
    assert "and 5 more" in text
    assert "~9.00" in text


def test_what_is_left_of_a_sweep_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = make_block({"task": "figure-1", "learner": "qcorm,crm", "seeds": 2, "steps": 1000})
    sweep = begin([block], tmp_path / "s")
    expected = forecast(sweep, 2, calibration_seconds=float("inf"))  # the first may have to be compiled
    assert (expected.runs, expected.workers) == (4, 2)
    assert all(c.measured and c.bytes > 0 for c in expected.costs.values())
    assert forecast(sweep, 8, available=10).workers == 1
    train_sweep(sweep, 1, quiet=True)
    assert forecast(sweep, 2).runs == 0


SITTINGS = ["--task", "figure-1,corridor", "--learner", "crm", "--seeds", "2", "--steps", "30000", "--jobs", "1",
            "--quiet", "--json"]  # fmt: skip


def printed_rows(text: str) -> list[dict[str, object]]:
    clocks = ("wall_seconds", "training_seconds")
    return [{k: v for k, v in row.items() if k not in clocks} for row in json.loads(text)["runs"]]


def test_sittings_give_what_one_sweep_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *SITTINGS, "--name", "whole"]) == 0
    whole = printed_rows(capsys.readouterr().out)
    assert main(["sweep", *SITTINGS, "--name", "parts", "--seconds", "0.001"]) == 0
    first = printed_rows(capsys.readouterr().out)
    assert len(first) < len(whole) == 4
    assert main(["resume", "parts", "--seconds", "600", "--quiet", "--json", "--jobs", "1"]) == 0
    assert printed_rows(capsys.readouterr().out) == whole
    tables = [p.read_bytes() for name in ("whole", "parts") for p in sorted(Path(f"runs/{name}").rglob("evaluations.csv"))]
    assert tables[:4] == tables[4:]


def test_a_run_is_not_ended_by_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "crm", "--steps", "1000", "--name", "one", "--quiet"]) == 0
    assert main(["resume", "one", "--seconds", "5"]) == 2
    assert "--seconds is for sweeps" in capsys.readouterr().err


def test_more_steps_cost_more_and_tables_have_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a millisecond whenever it is asked: two of equal length would cost the same."""
    ticks = count()
    monkeypatch.setattr("errands.runs.cost.time", SimpleNamespace(perf_counter=lambda: next(ticks) / 1000))
    task = load("delivery-4")
    few, many = (cost(Request.of(task, "crm", steps=n)) for n in (10_000, 100_000_000))
    assert few.measured
    assert many.seconds > 100 * few.seconds
    # 31 agenda states, 100 cells, 4 actions, 8 bytes each
    assert 31 * 100 * 4 * 8 <= many.bytes < 2 * 31 * 100 * 4 * 8


def test_a_machine_of_219201_states_is_reckoned_and_not_built() -> None:
    task = load("delivery-8")
    found = cost(Request.of(task, "crm", "boolean", steps=1_000_000))
    assert not found.measured
    # Measured for seven and eight boxes: 0.05 to 0.28 ns per state and step; 219,201 states.
    assert 0.05e-3 * 219_201 < found.seconds < 0.28e-3 * 219_201
    # 100 cells, 4 actions and the best of them.
    assert found.bytes == 219_201 * 100 * 5 * 8


def test_the_forecast_of_a_sweep_counts_what_is_left(tmp_path: Path) -> None:
    plan = [make_block({"task": "figure-1,delivery-2", "learner": "qcorm", "seeds": 3, "steps": 2000})]
    sweep = begin(plan, tmp_path / "sweep")
    expected = forecast(sweep, 2)
    assert (expected.runs, expected.workers) == (6, 2)
    assert expected.seconds == pytest.approx(1.5 * sum(expected.costs[cell.folder].seconds for cell, _ in expected.waiting))
    assert "6 runs on 2 processes: about" in expected.summary()
    assert expected.table().row_count == 2
    train_sweep(sweep, 1, quiet=True)
    assert forecast(sweep, 2).runs == 0


def test_what_would_not_fit_into_memory_is_trained_by_fewer_processes(tmp_path: Path) -> None:
    plan = [make_block({"task": "delivery-8", "learner": "crm", "machine": "boolean", "seeds": 1000, "steps": 10})]
    workers = forecast(begin(plan, tmp_path / "sweep"), 1000).workers
    assert 1 <= workers < 1000
    assert workers == 1 or workers * 219_201 * 100 * 5 * 8 <= 0.8 * memory()


def test_long_plans_are_measured_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 0.0, 0.0, *[9.0] * 100])
    plan = [make_block({"task": "figure-1", "learner": "qcorm", "map_seed": "0..9", "seeds": 1, "steps": 1000})]
    sweep = begin(plan, tmp_path / "sweep")
    monkeypatch.setattr(sweeping, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setattr("errands.runs.sweep.cost", lambda request: sweeping.Cost(2.0, 100, True))
    expected = forecast(sweep, 1)
    assert expected.seconds == 20.0
    assert [expected.costs[cell.folder].measured for cell, _ in expected.waiting] == [True] * 2 + [False] * 8


def test_networks_are_priced_by_networks_and_each_kind_by_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step costs 1 with tables; with networks 10 for CRM and 20 for others, and nothing is measured after the clock ran out."""
    blocks = [
        make_block({"task": "delivery-2", "learner": "crm,qrm", "seeds": 1, "steps": 10}),
        make_block({"task": "water-2,water-3", "learner": "crm,qrm,qcorm", "seeds": 2, "steps": 100, "set": ["width=8"]}),
        make_block({"task": "cheetah-b", "learner": "qrm", "seeds": 1, "steps": 50, "set": ["width=8"]}),
    ]
    priced: list[str] = []

    def price(request: Request) -> sweeping.Cost:
        priced.append(f"{request.task.name} {request.learner}")
        each = 1 if request.task.name == "delivery-2" else 10 if request.learner == "crm" else 20
        return sweeping.Cost(float(each * request.steps), 100, True, 5.0 if each > 1 else 0.0)

    ticks = iter([0.0, 0.0, 0.0, 0.0, *[99.0] * 100])
    monkeypatch.setattr(sweeping, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setattr("errands.runs.sweep.cost", price)
    sweep = begin(blocks, tmp_path / "sweep")
    expected = forecast(sweep, 1)
    assert priced == ["delivery-2 crm", "delivery-2 qrm", "water-2 crm", "cheetah-b qrm"]  # one of each domain in any case
    assert [expected.costs[cell.folder].seconds for cell, _ in expected.waiting] == [10, 10, *[1000] * 6, 1000]
    assert expected.seconds == 20 + 12 * 1005 + 1005


def test_within_a_time_the_cheapest_cells_end(tmp_path: Path) -> None:
    """By costs of our own: the second cell is the cheaper one, and time is up after what comes first."""
    sweep = begin([make_block({"task": "delivery-2,figure-1", "learner": "crm", "seeds": 1, "steps": 10**9})], tmp_path / "s")
    costs = {cell.folder: sweeping.Cost(float(cell.task == "delivery-2"), 0, True) for cell in sweep.document.cells}
    train_sweep(sweep, 1, quiet=True, seconds=0.2, costs=costs)
    assert [sweep.head(cell) is not None for cell in sweep.document.cells] == [False, True]
