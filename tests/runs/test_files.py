"""Files are replaced in one move, read within bounds, refused with what to do; the same arrays give the same bytes."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from errands.errors import StoreError
from errands.runs.files import WriteError, make_folder, pack, read_file, refusal, unpack, write_file


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Files of this process cannot grow beyond 1,000 bytes: the kernel refuses, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"old")
    write_file(tmp_path / "a", b"new")
    assert read_file(tmp_path / "a", 10) == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_keeps_the_old_file_and_says_what_to_do(tmp_path: Path, small_disk: None) -> None:
    write_file(tmp_path / "a", b"old")
    with pytest.raises(WriteError, match=r"the disk is full; free some space, then 'errands resume latest'"):
        write_file(tmp_path / "a", b"x" * 5000)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_what_a_crash_left_half_written_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".a.new").write_bytes(b"half")
    write_file(tmp_path / "a", b"whole")
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_planted_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / ".a.new").symlink_to(tmp_path / "victim")
    (tmp_path / "a").symlink_to(tmp_path / "victim")
    write_file(tmp_path / "a", b"data")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "a").is_symlink()


def test_links_pipes_folders_and_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "huge", "wb") as out:
        out.truncate(1 << 40)
    for name, why in (("link", "it is a link"), ("pipe", "not a plain file"), ("folder", "not a plain file")):
        with pytest.raises(StoreError, match=why):
            read_file(tmp_path / name, 1000)
    with pytest.raises(StoreError, match=r"1,099,511,627,776 bytes, and at most 1,000 were expected"):
        read_file(tmp_path / "huge", 1000)
    with pytest.raises(StoreError, match="is missing"):
        read_file(tmp_path / "none", 1000)


def test_a_folder_is_never_taken_twice(tmp_path: Path) -> None:
    make_folder(tmp_path / "runs" / "a")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "runs" / "a")


def test_a_file_in_place_of_the_runs_folder_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises((WriteError, FileExistsError)):
        make_folder(tmp_path / "runs" / "a")


def test_a_read_only_folder_is_told_as_such() -> None:
    assert "you may not write there" in str(refusal(Path("x"), OSError(30, "Read-only file system")))
    assert "fix that" in str(refusal(Path("x"), OSError(5, "Input/output error")))


def test_bytes_depend_on_names_and_numbers_only() -> None:
    table = np.arange(6.0).reshape(2, 3)
    first = pack({"a": table, "b": np.array(3)})
    second = pack({"b": np.array(3), "a": np.asfortranarray(table)})
    assert first == second
    assert unpack(first, Path("x"))["b"].shape == ()


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0{}junk", (2**62).to_bytes(8, "little") + b"{}"])
def test_what_is_no_safetensors_file_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="not a safetensors file"):
        unpack(data, Path("x"))
