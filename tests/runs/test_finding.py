"""Runs are found by name, by path, and as the latest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs.folder import find, folders


def begun(path: Path, time: int, head: str = "run.json") -> Path:
    path.mkdir(parents=True)
    (path / head).write_text("{}")
    os.utime(path / head, ns=(time, time))
    return path


def test_the_latest_is_the_one_begun_last_whatever_its_name(tmp_path: Path) -> None:
    begun(tmp_path / "z", 1)
    begun(tmp_path / "m", 3, "sweep.json")
    begun(tmp_path / "a", 2)
    (tmp_path / "zz-killed-before-it-began").mkdir()
    assert [p.name for p in folders(tmp_path)] == ["z", "a", "m"]
    assert find("latest", tmp_path).name == "m"


def test_a_name_and_a_path_are_found(tmp_path: Path) -> None:
    run = begun(tmp_path / "runs" / "one", 1)
    assert find("one", tmp_path / "runs") == run
    assert find(str(run), tmp_path / "elsewhere") == run


def test_what_is_not_there_is_told_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="begin one with 'errands train TASK'"):
        find("latest", tmp_path)
    begun(tmp_path / "delivery-4", 1)
    with pytest.raises(StoreError, match="did you mean 'delivery-4'"):
        find("delivrey-4", tmp_path)
    for hostile in ("", "\0", "x" * 5000):
        with pytest.raises(StoreError, match="no run or sweep"):
            find(hostile, tmp_path / "none")
