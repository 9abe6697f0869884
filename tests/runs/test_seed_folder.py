"""The files of one seed: certain or refused, one process at a time, and readable while it is trained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from errands.errors import StoreError
from errands.runs import folder as seed_folder
from errands.runs.checkpoint import HEADER, render
from errands.runs.documents import ResultDocument
from errands.runs.files import NEW, digest
from errands.runs.folder import SeedFolder, live
from errands.tables import Evaluation

ROWS = [Evaluation(10, 5, 1.0, True), Evaluation(20, 4, 1.0, True)]


@pytest.fixture
def seed(tmp_path: Path) -> SeedFolder:
    return SeedFolder(tmp_path / "seed-3", 3)


def ended(folder: SeedFolder, seed: int = 3) -> ResultDocument:
    data = render(ROWS)
    result = ResultDocument(
        seed=seed, steps=20, wall_seconds=0.1, evaluations_bytes=len(data), evaluations_sha256=digest(data)
    )
    folder.path.mkdir(exist_ok=True)
    folder.table.write_bytes(data)
    folder.end(result)
    return result


def test_before_it_is_begun_there_is_nothing(seed: SeedFolder) -> None:
    assert not seed.begun
    assert seed.result() is None
    assert seed.evaluations() == []
    assert seed.newest() is None


def test_a_finished_seed_gives_its_result_and_all_evaluations(seed: SeedFolder) -> None:
    result = ended(seed)
    assert seed.result() == result
    assert seed.evaluations() == ROWS


def test_a_changed_table_is_refused_with_what_to_type(seed: SeedFolder) -> None:
    ended(seed)
    seed.table.write_bytes(seed.table.read_bytes().replace(b"20,4", b"20,3"))
    with pytest.raises(StoreError, match=r"evaluations\.csv is damaged.*or type 'errands resume' to write it again"):
        seed.evaluations()


def test_the_result_of_another_seed_is_refused(seed: SeedFolder) -> None:
    ended(seed, seed=4)
    with pytest.raises(StoreError, match="belongs to seed 4; put it back into its own folder"):
        seed.result()


def test_a_table_is_cut_back_and_continued(seed: SeedFolder) -> None:
    seed.path.mkdir()
    seed.table.write_bytes(b"anything else")
    with seed.table_from(ROWS[:1]) as table:
        table.add(ROWS[1])
        table.sync()
        assert live(seed) == ROWS
    assert seed.table.read_bytes() == render(ROWS)


def test_a_line_that_is_being_written_is_left_out_of_what_is_shown(seed: SeedFolder) -> None:
    seed.path.mkdir()
    whole = render(ROWS)
    seed.table.write_bytes(whole[:-3])
    assert live(seed) == ROWS[:1]
    seed.table.write_bytes(HEADER[:-2])
    assert live(seed) == []


def test_leftovers_of_a_killed_process_are_swept_up(seed: SeedFolder) -> None:
    seed.path.mkdir()
    leftover = seed.path / f".result.json{NEW}"
    leftover.write_text("half")
    with seed.locked():
        assert not leftover.exists()


def test_another_process_is_kept_out(seed: SeedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_folder, "PATIENCE", 0.1)
    code = (
        "import sys; from pathlib import Path; from errands.runs.folder import SeedFolder\n"
        "with SeedFolder(Path(sys.argv[1]), 3).locked(): print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(seed.path)]
    other = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with (
        pytest.raises(StoreError, match=r"another process is training in .*seed-3; wait for it or stop it"),
        seed.locked(),
    ):
        pass
    other.communicate("")
    with seed.locked():
        assert seed.begun


def test_a_link_or_a_file_in_its_place_is_refused(seed: SeedFolder, tmp_path: Path) -> None:
    seed.path.write_text("a file")
    with pytest.raises(StoreError, match="is a file, and a folder is wanted; move it away"), seed.locked():
        pass
    seed.path.unlink()
    seed.path.symlink_to(tmp_path)
    with pytest.raises(StoreError, match="is a link"):
        seed.begun  # noqa: B018
