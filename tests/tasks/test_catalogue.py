"""The catalogue: every name that it lists is a task, and the optima of its smallest tasks are those on paper."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from errands.errors import SpecError, UnknownName
from errands.kernels.search import DONE
from errands.oracle.optimum import optimum
from errands.oracle.product import product
from errands.tasks.catalogue import CATALOGUE, load, load_file, task_text
from errands.tasks.spec import MAX_BYTES
from errands.worlds.grid import distances


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda e: e.shown)
def test_every_family_can_be_loaded_at_both_ends(entry) -> None:  # type: ignore[no-untyped-def]
    for number in {entry.low, min(entry.high, 40)}:
        name = entry.named(number)
        assert load(name).name == name
    assert entry.shown.startswith(f"{entry.name}{entry.dash}N" if entry.high else entry.name)


@pytest.mark.parametrize("name", ["delivery-0", "delivery-501", "office-7", "visit-1001", "water-7", "office-0"])
def test_a_number_out_of_range_is_refused_with_the_range(name: str) -> None:
    family = name.split("-")[0]
    entry = next(e for e in CATALOGUE if e.name == family)
    with pytest.raises(SpecError, match=f"'{name}': {family} takes a number from {entry.low} to {entry.high}"):
        load(name)


@pytest.mark.parametrize("name", ["delivery", "delivery--2", "delivery-2x", "delivery-12345", "", "figure-10"])
def test_another_name_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName):
        load(name)


def test_the_nearest_name_is_proposed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'office-3'"):
        load("ofice-3")


def test_water_avoids_the_colours_that_it_does_not_ask_for() -> None:
    assert 'phrase = "avoid(yellow, cyan, magenta, any_order(red, green, blue))"' in task_text("water-3")
    assert 'phrase = "any_order(red, green, blue, yellow, cyan, magenta)"' in task_text("water-6")


def test_figure_1_takes_the_ten_steps_counted_on_the_drawing() -> None:
    """b2 first: 4 + 4 to the station, then 1 + 1 for b1; b1 first: 3 + 1, then 4 + 4."""
    best = optimum(load("figure-1"))
    assert (best.length, best.order) == (10, ("b2", "s", "b1", "s"))


def test_the_corridor_takes_twenty_steps_by_both_coffees() -> None:
    """A at 6: left coffee 6, o1 1, right coffee 7, o2 6 is 20; the right coffee twice: 2 + 6 + 6 + 7 = 21."""
    best = optimum(load("corridor"))
    assert (best.length, best.order) == (20, ("coffee", "o1", "coffee", "o2"))


@pytest.mark.parametrize(("number", "length"), enumerate((11, 14, 20, 26, 34, 42), 1))
def test_one_coffee_for_all_offices_takes_what_every_order_tried_by_hand_takes(number: int, length: int) -> None:
    task = load(f"office-{number}-one-coffee")
    layout = task.layout
    assert layout is not None
    cells: dict[str, list[int]] = {}
    for name, cell in layout.places:
        cells.setdefault(name, []).append(cell)
    steps = {cell: distances(layout, cell, cells["decoration"]) for cell in range(layout.cells)}
    offices = [cells[f"o{i}"][0] for i in range(1, number + 1)]
    tours = (
        (layout.start, coffee, *order) for coffee in cells["coffee"] for order in itertools.permutations(offices)
    )
    shortest = min(sum(int(steps[a][b]) for a, b in itertools.pairwise(tour)) for tour in tours)
    assert optimum(task).length == shortest == length


def test_a_pipe_or_a_device_is_no_task_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), tmp_path):
        with pytest.raises(SpecError, match="cannot be read as a task file: it is no plain file"):
            load_file(path)


def test_the_folder_of_a_run_names_its_task_file(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("")
    with pytest.raises(SpecError, match=f"it is no plain file; give {tmp_path / 'task.toml'}$"):
        load_file(tmp_path)


def test_map_seeds_draw_other_maps_and_the_same_again() -> None:
    assert load("delivery-3", 5).layout == load("delivery-3", 5).layout
    assert load("delivery-3", 5).layout != load("delivery-3", 6).layout


def test_a_path_is_read_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(task_text("figure-1").replace('"figure-1"', '"mine"', 1), encoding="utf-8")
    assert load(str(path)).name == load(path).name == load_file(path).name == "mine"
    assert load(path).machine == load("figure-1").machine


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"there is no file '.*none\.toml'; give the path of a task file"):
        load(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="cannot be read as a task file"):
        load(tmp_path)


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(SpecError, match=f"larger than {MAX_BYTES:,} bytes"):
        load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot be read as a task file"):
        load(path)


def test_a_task_file_without_its_ending_and_what_is_no_name_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(load("figure-1").to_toml())
    with pytest.raises(SpecError, match=r"a file is named with its ending: mine\.toml"):
        load("mine")
    with pytest.raises(SpecError, match="a dict names no task"):
        load({})  # type: ignore[arg-type]


OFFICE = {1: (66.9, 39.1, 39.1, 34.4, 15.4), 3: (33.4, 32.7, 31.6, 20.5, 6.3)}
"""How often QR-MAX's own value iteration succeeds, in percent, on experiments 1 to 5 of its maps (gamma 0.9)."""


@pytest.mark.parametrize(("number", "experiment"), [(n, e) for n in (1, 3) for e in range(5)])
def test_the_discounted_optimum_of_redrawn_maps_succeeds_as_often_as_theirs(number: int, experiment: int) -> None:
    task = load(f"office-map{number}-exp{experiment + 1}")
    crossed = product(task)
    table, states = crossed.world.table, crossed.world.states
    after = crossed.following[:, table.label]
    v = np.zeros((len(crossed.u), states))
    for _ in range(600):
        q = 0.9 * (crossed.chance * np.where(after == DONE, 1.0, np.where(after >= 0, v[after, table.next], 0.0))).sum(axis=3)
        v = q.max(axis=2)
    best = q.argmax(axis=2)
    machine = np.arange(len(v))[:, None]
    wins = np.zeros(v.shape)
    for _ in range(1_000):
        then = np.where(after == DONE, 1.0, np.where(after >= 0, wins[after, table.next], 0.0))
        wins = (crossed.chance * then).sum(axis=3)[machine, np.arange(states), best]
    assert round(100 * wins[crossed.initial, table.starts[0]], 1) == OFFICE[number][experiment]
