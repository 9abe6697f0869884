"""Runs that are trained further: the bytes of a longer run, schedules that stay, settings that change, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import errands
from errands.cli import main
from errands.errors import ConfigError
from errands.runs.checkpoint import newest
from errands.runs.files import pack
from errands.runs.folder import open_run
from errands.runs.verify import faults, verify_seed

from . import line


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(name: str, seed: int) -> tuple[bytes, bytes]:
    """The arrays of a seed's newest checkpoint, and its table."""
    folder = Path("runs") / name / f"seed-{seed}"
    checkpoint = newest(folder, seed)
    assert checkpoint is not None
    return pack(checkpoint.arrays), (folder / "evaluations.csv").read_bytes()


@pytest.mark.parametrize("learner", ["qcorm", "qcorm-0", "hrm", "qrm", "qcorm-plus", "scout"])
def test_a_run_that_is_trained_further_has_the_bytes_of_one_that_was_asked_for_all_at_once(learner: str) -> None:
    """The shorter run ends at no multiple of the steps between two evaluations: its last one leaves the table."""
    task, (short, long) = "office-3" if learner != "hrm" else "figure-1", (150, 400) if learner == "scout" else (1_500, 4_000)
    settings = {"eval_every": 100 if learner == "scout" else 200}
    errands.train(task, learner, steps=long, seeds=2, name="whole", settings=settings)
    errands.train(task, learner, steps=short, seeds=2, name="further", settings=settings)
    runs = errands.resume("further", steps=long)
    assert isinstance(runs, list)
    for run in runs:
        assert stored("further", run.seed) == stored("whole", run.seed)
        assert verify_seed(open_run(Path("runs/further")), run.seed).differences == ()
    assert list(faults(Path("runs/further"))) == []
    assert [before.steps for before in open_run(Path("runs/further")).document.extended] == [short]
    alone = errands.train(task, learner, steps=short, seed=1, settings=settings)
    whole = errands.open("whole", 1)
    more = alone.learn(long - short)
    assert (more.evaluations, more.evaluation_steps, more.order) == (whole.evaluations, whole.evaluation_steps, whole.order)
    assert alone.steps == short  # the shorter one stays what it was
    assert more.kept is not None
    assert more.kept.evaluation == (whole.kept and whole.kept.evaluation)


def test_seeds_of_a_team_go_on_together_and_with_another_schedule_from_where_they_are() -> None:
    task = line.task()
    settings = {**line.SETTINGS, "epsilon": "1.0..0.1@0,150"}
    errands.train(task, "crm", steps=200, seeds=2, settings=settings, name="whole")
    errands.train(task, "crm", steps=150, seeds=2, settings=settings, name="further")
    errands.resume("further", task, steps=200)
    assert [stored("further", seed) for seed in (0, 1)] == [stored("whole", seed) for seed in (0, 1)]
    errands.resume("further", task, steps=250, settings={"epsilon": 0.3})
    folder = open_run(Path("runs/further"), task)
    (first, second) = folder.document.extended
    assert (first.steps, first.config, second.config, second.reached) == (150, {}, {"epsilon": "1.0..0.1@0,150"}, [200, 200])
    assert [(end, request.config.epsilon) for end, request in folder.parts(0)] == [(200, "1.0..0.1@0,150"), (250, 0.3)]  # type: ignore[attr-defined]
    assert verify_seed(folder, 1, steps=250).differences == ()


def test_the_command_says_what_keeps_its_schedule_and_what_it_had_been_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "figure-1", "crm", "--steps", "2000", "--name", "a", "--set", "epsilon=1..0.1@0,2000", "--quiet"]) == 0
    assert main(["train", "figure-1", "crm", "--name", "a"]) == 2
    assert "'errands resume a', and --steps TOTAL to go further" in capsys.readouterr().err
    assert main(["resume", "a", "--steps", "4k"]) == 0
    out, err = capsys.readouterr()
    assert "a goes on from 2,000 to 4,000 steps; it keeps epsilon=1.0..0.1@0,2000, as it was begun; --set epsilon=" in err
    assert "trained further: 2,000, then 4,000 steps" in out
    assert main(["resume", "a", "--steps", "5k", "--set", "epsilon=0.2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "a goes on from 4,000 to 5,000 steps\n" in err
    told = json.loads(out)
    assert told["extended"] == [{"steps": 2000, "config": {}}, {"steps": 4000, "config": {"epsilon": "1.0..0.1@0,2000"}}]
    assert told["runs"][0]["steps"] == 5_000
    assert main(["verify", "a", "--steps", "5000"]) == 0


def test_a_condition_that_ended_a_seed_ends_it_no_more_unless_it_is_asked_for_again() -> None:
    words = ["train", "figure-1", "qcorm", "--steps", "50000", "--name", "a", "--quiet", "--stop-when", "plateau=2"]
    assert main([*words, "--stop-when", "success=1"]) == 0
    stopped = errands.open("a")
    assert stopped.steps < 50_000
    assert main(["resume", "a", "--steps", "60000", "--quiet"]) == 0
    assert open_run(Path("runs/a")).document.stop_when == ["plateau=2"]  # success=1 had ended it


def test_what_cannot_go_on_is_refused_and_leaves_the_run_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    errands.train("figure-1", "qcorm", steps=2_000, name="a")
    errands.train("figure-1", "dirl", steps=2_000, name="shared")
    errands.train("figure-1", "scout", name="proved")
    head = Path("runs/a/run.json").read_bytes()
    for name, steps, settings, said in (
        ("a", 2_000, {}, "2,000 is a total too; give more than 2,000"),
        ("a", None, {"epsilon": 0.1}, "train it further: give more steps"),
        ("a", 3_000, {"epsilon": 3}, "epsilon is 3"),
        ("shared", 3_000, {}, "'dirl' shares its steps out before it begins"),
        ("proved", 90_000, {}, "nothing left to learn"),
    ):
        with pytest.raises(ConfigError, match=said):
            errands.resume(name, steps=steps, settings=settings)
    task = line.task()
    errands.train(task, "crm", steps=100, settings=line.SETTINGS, name="deep")
    with pytest.raises(ConfigError, match=r"width cannot change in a run that has begun: the saved array"):
        errands.resume("deep", task, steps=200, settings={"width": 7})
    assert Path("runs/a/run.json").read_bytes() == head
    (Path("plan.toml")).write_text('[[runs]]\ntask = "figure-1"\nlearner = "crm"\nsteps = 1000\n')
    assert main(["sweep", "plan.toml", "--name", "many", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["resume", "many", "--steps", "5000"]) == 2
    assert "many is a sweep, and --steps is for a run" in capsys.readouterr().err
