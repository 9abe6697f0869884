"""`errands export`: the files that were asked for, and one sentence for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from errands.cli import main
from errands.runs.checkpoint import write_checkpoint
from errands.runs.folder import open_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "figure-1", "qcorm", "--steps", "5000", "--name", "fig", "--quiet"]) == 0
    capsys.readouterr()
    return tmp_path


def test_page_and_film_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: f"out.{kind}" for kind in ("html", "gif")}
    options = [part for kind, file in files.items() for part in (f"--{kind}", file)]
    assert main(["export", "latest", *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"run": "fig", "seed": 0, "files": files}
    starts = {"html": b"<!doctype html>", "gif": b"GIF89a"}
    for kind, file in files.items():
        assert (folder / file).read_bytes().startswith(starts[kind])


def test_mistakes_are_told_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["export", "fig"], "nothing was asked for"),
        (["export", "figg", "--html", "x.html"], "did you mean 'fig'?"),
        (["export", "fig", "--html", "no/x.html"], "cannot be written"),
        (["export", "fig", "--seed", "3", "--html", "x.html"], "has no seed 3"),
    ):
        assert main(words) == 2
        assert said in capsys.readouterr().err


def test_a_checkpoint_that_holds_only_rows_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = open_run(folder / "runs" / "fig").seed(0)
    write_checkpoint(place.path, 0, 5000, {}, place.evaluations(), 1.0, None, run=place.run)
    for words in (["export", "fig", "--html", "x.html"], ["resume", "fig"], ["plot", "route", "fig", "--output", "x.svg"]):
        place.finish.unlink(missing_ok=True)
        assert main(words) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "is missing" in err
        assert "a fault of errands" not in err


def test_a_policy_is_written_as_one_file_that_acts_alone(tmp_path, monkeypatch):
    import errands
    from errands.cli.export import Arguments, run
    from errands.policies.file import read_policy

    monkeypatch.chdir(tmp_path)
    errands.train("figure-1", "qcorm", steps=5_000, name="mine")
    answer = run(Arguments("mine", as_="policy"))
    assert answer.document["files"] == {"policy": "mine.safetensors"}
    assert answer.shown.endswith("\nthe policy file holds every situation")
    agent = read_policy("mine.safetensors")
    agent.reset(5)
    assert agent.act(5) == errands.open("mine").policy.act(5, agent.machine_state, None)[0]


def film(path: Path) -> tuple[tuple[int, int], int]:
    """The size of a video and how many pictures it has, read by the program that plays such files."""
    import imageio_ffmpeg

    frames = imageio_ffmpeg.read_frames(str(path))
    size = next(frames)["size"]
    return size, sum(1 for _ in frames)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # pipes of the reader
def test_a_video_has_a_picture_for_each_state_and_training_can_be_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The optimum of figure-1 takes 10 steps: 11 pictures, whose sides are even."""
    pytest.importorskip("imageio_ffmpeg", reason="videos need the extra [video]")
    monkeypatch.chdir(tmp_path)
    said = ["train", "figure-1", "qcorm", "--steps", "5000", "--eval-every", "500", "--name", "fig", "--quiet"]
    assert main([*said, "--video-every", "2000"]) == 0
    films = sorted((tmp_path / "runs/fig/seed-0/videos").iterdir())
    assert [path.name for path in films] == ["step-2000.mp4", "step-4000.mp4"]
    assert main(["export", "fig", "--mp4", "fig.mp4"]) == 0
    for path in (films[-1], tmp_path / "fig.mp4"):
        (width, height), count = film(path)
        assert (width % 2, height % 2, count) == (0, 0, 11)
    assert main(["verify", "fig"]) == 0
    assert main(["train", "water-2", "crm", "--name", "w", "--video-every", "0"]) == 2
    assert "--video-every is 0; it must lie between 1 and" in capsys.readouterr().err


def test_an_environment_without_pictures_is_not_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="videos need the extra [video]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    example = Path(__file__).parent.parent.parent / "examples" / "warehouse"
    for name in ("warehouse.py", "warehouse.toml"):
        (tmp_path / name).write_bytes((example / name).read_bytes())
    assert main(["train", "warehouse.toml", "crm", "--import", "warehouse", "--video-every", "100", "--name", "w"]) == 2
    assert "'warehouse' cannot be filmed: its environment gives no picture" in capsys.readouterr().err
    assert not (tmp_path / "runs/w").exists()
