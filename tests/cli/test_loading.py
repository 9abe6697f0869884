"""What a user means by the name of a task, and files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from errands.cli import main
from errands.cli.options import machine_named
from errands.errors import SpecError, UnknownName
from errands.machines import unfold_agenda
from errands.tasks.catalogue import load, read_text, task_text


def test_a_catalogue_name_a_task_file_and_a_2022_text_are_all_machines(tmp_path: Path) -> None:
    task = tmp_path / "t.toml"
    task.write_text(task_text("figure-1"), encoding="utf-8")
    assert machine_named("figure-1") == machine_named(str(task)) == load("figure-1").machine
    old = tmp_path / "m.txt"
    old.write_text("0\n[-1]\n(0,0,'!a',ConstantRewardFunction(0))\n(0,-1,'a',ConstantRewardFunction(1))\n")
    assert len(unfold_agenda(machine_named(str(old)))) == 2


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'figure-1'"):
        machine_named("figure-l")


def test_text_is_read_whole_in_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("b↓ | b⤓", encoding="utf-8")
    assert read_text(path) == "b↓ | b⤓"
    path.write_text("")
    assert read_text(path) == ""


def test_a_file_may_be_as_large_as_the_limit_and_no_larger(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 100)
    assert read_text(path, most=100) == "x" * 100
    with pytest.raises(SpecError, match="is larger than 99 bytes"):
        read_text(path, most=99)


def test_what_is_no_text_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"there is no file '.*/none'; give the path of a task file or a name"):
        read_text(tmp_path / "none")
    with pytest.raises(SpecError, match="cannot be read as a task file"):
        read_text(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="cannot be read as a plan"):
        read_text(tmp_path / "bytes", "a plan")


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero")):
        with pytest.raises(SpecError, match="it is no plain file"):
            read_text(path)
    assert main(["lint", str(tmp_path / "pipe.toml")]) == 2
    assert main(["sweep", str(tmp_path / "pipe.toml")]) == 2


def test_marks_of_the_encoding_and_lines_of_windows_do_not_matter(tmp_path: Path) -> None:
    text = load("figure-1").to_toml()
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load(tmp_path / "a.toml") == load("figure-1")
