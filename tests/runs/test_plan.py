"""Plans: lists and ranges become cells, each once and in order; what is wrong is refused before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.errors import ConfigError, ErrandsError, UnknownName
from errands.runs.plan import Cell, expand, make_block, read_plan, spread


def test_lists_and_ranges_are_written_out() -> None:
    assert spread("delivery-2..4, office-3") == ["delivery-2", "delivery-3", "delivery-4", "office-3"]
    assert spread("0..2") == ["0", "1", "2"]
    assert spread("cheetah-bcd") == ["cheetah-bcd"]


def test_the_plan_of_the_issue_has_seven_times_four_cells() -> None:
    block = make_block({"task": "delivery-2..8", "learner": "qcorm,crm,hrm,qrm", "machine": "agenda", "seeds": 10})
    cells = expand([block])
    assert len(cells) == 28
    assert sum(cell.seeds for cell in cells) == 280
    assert cells[0] == Cell(
        task="delivery-2", map_seed=0, learner="qcorm", machine=None, preset="tuned", settings=(), steps=None, seeds=10
    )
    assert cells[1].machine == "agenda"


def test_a_learner_with_its_own_machine_is_not_repeated_for_each() -> None:
    cells = expand([make_block({"task": "figure-1", "learner": "qcorm,crm", "machine": "agenda,boolean"})])
    assert [(c.learner, c.machine) for c in cells] == [("qcorm", None), ("crm", "agenda"), ("crm", "boolean")]


def test_a_file_has_defaults_and_blocks() -> None:
    blocks = read_plan("""
        learner = "crm"
        seeds = 3
        set = ["eval_every=10"]
        [[runs]]
        task = ["delivery-2..3"]
        machine = ["agenda", "boolean"]
        [[runs]]
        task = "office-2"
        seeds = 1
        vary = { alpha = [0.1, 0.5] }
    """)
    cells = expand(blocks)
    assert [(c.task, c.machine, c.seeds, c.settings) for c in cells] == [
        ("delivery-2", "agenda", 3, ("eval_every=10",)),
        ("delivery-2", "boolean", 3, ("eval_every=10",)),
        ("delivery-3", "agenda", 3, ("eval_every=10",)),
        ("delivery-3", "boolean", 3, ("eval_every=10",)),
        ("office-2", "agenda", 1, ("eval_every=10", "alpha=0.1")),
        ("office-2", "agenda", 1, ("eval_every=10", "alpha=0.5")),
    ]


def test_what_two_blocks_share_is_run_once() -> None:
    block = make_block({"task": "figure-1", "learner": "crm"})
    assert len(expand([block, block])) == 1


def test_a_plan_of_ten_thousand_runs_needs_no_world() -> None:
    cells = expand([make_block({"task": "delivery-2..11", "learner": "qcorm,crm", "map_seed": "0..49", "seeds": 10})])
    assert sum(cell.seeds for cell in cells) == 10_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "delivrey-2"}, "did you mean 'delivery-2'"),
        ({"task": "delivery-4..2"}, "it must go up"),
        ({"task": "delivery-1..999999"}, "it must go up"),
        ({"learner": "qcrom"}, "did you mean 'qcorm'"),
        ({"machine": "bool"}, "did you mean 'boolean'"),
        ({"preset": "papr"}, "did you mean 'paper'"),
        ({"map_seed": "a"}, "map_seed"),
        ({"seeds": 0}, "seeds"),
        ({"steps": -1}, "steps"),
        ({"stpes": 1}, "stpes"),
        ({"task": []}, "task"),
        ({"map_seed": "0..99999", "task": "delivery-2..9"}, "sweep it in parts"),
        ({"task": "missing.toml"}, "there is no file"),
    ],
)
def test_what_is_wrong_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ErrandsError, match=said):
        expand([make_block({"task": "figure-1", "learner": "qcorm", **changes})])


@pytest.mark.parametrize("text", ["x = ", "runs = 3", "[[runs]]\nrun = 1", "a = " + "[" * 5000, "task = 'a'\n" * 2])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="plan"):
        read_plan(text)


def test_a_task_file_may_be_swept(tmp_path: Path) -> None:
    from errands.tasks import load

    path = tmp_path / "mine.toml"
    path.write_text(load("figure-1").text)
    assert expand([make_block({"task": str(path), "learner": "qcorm"})])[0].task == str(path)
    path.write_text("nonsense")
    with pytest.raises(ErrandsError, match="not TOML"):
        expand([make_block({"task": str(path), "learner": "qcorm"})])


def test_unknown_names_are_of_their_kind() -> None:
    with pytest.raises(UnknownName, match="no learner is called 'x'"):
        expand([make_block({"task": "figure-1", "learner": "x"})])


def test_several_steps_are_a_run_each() -> None:
    (block,) = read_plan('task = "delivery-2"\nlearner = "dirl"\nsteps = [1_000, 2_000]')
    assert [cell.steps for cell in expand([block])] == [1_000, 2_000]
    assert [cell.steps for cell in expand([make_block({**block.model_dump(), "steps": None})])] == [None]
