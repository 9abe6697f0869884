from dataclasses import replace

import pytest

from errands.paper.continuous import EXTENTS, METHODS, PANELS, TeamCell, task_of, team_cells
from errands.paper.paper import Method


def test_full_is_ten_seeds_of_a_million_steps_with_the_papers_networks():
    full = EXTENTS["full"]
    assert (full.seeds, full.steps, full.cheetah_steps, full.width) == (10, 10**6, 10**6, None)
    cell = TeamCell("water-3", Method("qcorm"), "paper", 10, 10**6)
    assert (cell.config.width, cell.config.depth, cell.config.batch, cell.config.alpha) == (512, 3, 32, 1e-5)
    assert cell.config.eval_every == 10_000


def test_every_method_of_the_paper_has_both_presets_and_ours_one():
    run = team_cells([PANELS["water-3"]], EXTENTS["quick"])
    presets = {m.name: [c.preset for c in run if c.method == m] for m in METHODS}
    assert presets.pop("qcorm-plus") == ["tuned"]
    assert set(map(tuple, presets.values())) == {("tuned", "paper")}


def test_runtime_panels_time_heads_and_one_hot_input_over_four_sizes():
    run = team_cells([PANELS["cheetah-runtime"]], EXTENTS["full"])
    assert all(cell.timed for cell in run)
    assert {cell.run for cell in run if cell.task == "cheetah-bc"} == {
        "qcorm", "crm", "hrm", "qrm", "qcorm-plus", "qcorm/one-hot", "crm/one-hot", "hrm/one-hot", "qrm/one-hot",
    }  # fmt: skip
    tasks = dict.fromkeys(cell.task for cell in run)
    assert [len(task_of(task).machine.subtasks) for task in tasks] == [1, 2, 3, 4]


def test_a_task_with_fewer_places_differs_from_the_catalogues_in_its_places_only():
    small, large = task_of("cheetah-bc"), task_of("cheetah-bcd")
    assert (small.name, small.machine.subtasks) == ("cheetah-bc", ("B", "C"))
    assert small.to_toml().replace("cheetah-bc", "cheetah-bcd").replace('"C"', '"C", "D"') == large.to_toml()


@pytest.mark.parametrize(("steps", "every"), [(1_000_000, 10_000), (10_000, 500), (15_000, 500), (2_000, 100), (7, 1)])
def test_evaluations_are_at_least_twenty_and_fall_on_whole_chunks(steps, every):
    assert TeamCell("water-2", Method("qrm", "agenda"), "tuned", 1, steps).every == every


def test_a_short_run_has_a_short_buffer_and_with_small_networks_a_short_warm_up():
    cell = TeamCell("cheetah-bcd", Method("qcorm"), "tuned", 1, 2_000)
    assert (cell.config.capacity, cell.config.warmup) == (2_000, 10_000)
    assert replace(cell, width=64).config.warmup == 200
