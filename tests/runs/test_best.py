"""The best policy is kept beside the newest, and conditions end a training: in Python, in folders, by command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import errands
from errands.cli import main
from errands.errors import ConfigError, StoreError
from errands.runs.best import CONFIRMING, NAME, Best, read_best
from errands.runs.folder import open_run
from errands.runs.verify import faults, verify_seed
from errands.tables import Evaluation

from . import line


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Scripted:
    """A learner whose larger samples are written down beforehand."""

    def __init__(self, *samples: tuple[float, float]) -> None:
        self.samples = list(samples)
        self.asked: list[int] = []

    def average(self, episodes: int, first: int = 0) -> Evaluation:
        success, length = self.samples.pop(0)
        self.asked.append(episodes)
        return Evaluation(7, length, 0.0, success, episodes, length, length, success, success)

    def acting(self) -> dict[str, object]:
        return {}


def noted(best: Best, learner: Scripted, step: int, length: float, success: float, episodes: int = 1) -> bool:
    best.note(Evaluation(step, length, 0.0, success, episodes), learner)  # type: ignore[arg-type]
    return best.evaluation is not None and best.evaluation.step == step


def test_success_comes_first_then_length_and_the_earlier_of_two_that_are_equal() -> None:
    best, nobody = Best(), Scripted()
    assert not noted(best, nobody, 1, 3, False)  # a short failure is no success
    assert best.value is None and best.since == 0  # noqa: PT018
    assert noted(best, nobody, 2, 50, 0.5, episodes=0)
    assert noted(best, nobody, 3, 60, True)
    assert not noted(best, nobody, 4, 60, True)
    assert not noted(best, nobody, 5, 10, 0.9, episodes=0)
    assert best.since == 2
    assert noted(best, nobody, 6, 59, True)
    assert nobody.asked == []  # what is exact needs no second sample


def test_a_mean_of_few_episodes_must_be_confirmed_by_a_larger_sample() -> None:
    best, learner = Best(), Scripted((0.5, 80), (0.45, 70), (0.9, 75))
    assert noted(best, learner, 1, 60, 0.8, episodes=5)
    assert not noted(best, learner, 2, 70, 0.4, episodes=5)  # worse than what was confirmed: nobody asks
    assert not noted(best, learner, 3, 70, 1.0, episodes=5)  # luck
    assert noted(best, learner, 4, 75, 0.8, episodes=5)
    assert learner.asked == [5 * CONFIRMING] * 3
    assert best.value is not None
    assert (best.value.success, best.value.episodes) == (0.9, 15)


def test_the_best_of_a_stored_run_is_that_of_the_same_run_without_a_folder_and_survives_an_interruption() -> None:
    """QCoRM on Office with one office is at its shortest early on, and worse at 3,000 steps by this seed."""
    whole = errands.train("office-3", "qcorm", steps=60_000, seed=1, name="whole")
    rank = lambda e: (-e.success, e.episode_length)  # noqa: E731
    first = min((e for e in whole.evaluations if e.success), key=rank)
    assert whole.kept is not None
    assert whole.kept.evaluation == first
    assert (whole.best.steps, whole.best.evaluations[-1]) == (first.step, first)
    assert whole.best.certificate.length == first.episode_length
    plain = errands.train("office-3", "qcorm", steps=60_000, seed=1)
    assert plain.best.steps_to_go == whole.best.steps_to_go == errands.open("whole", best=True).steps_to_go
    assert errands.open(plain.save("kept"), best=True).order == whole.best.order

    def stop(evaluation: Evaluation) -> None:
        if evaluation.step == first.step + 2_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        errands.train("office-3", "qcorm", steps=60_000, seed=1, name="again", on_evaluation=stop)
    errands.resume("again")
    one, two = (Path("runs") / name / "seed-1" / NAME for name in ("whole", "again"))
    assert one.read_bytes() == two.read_bytes()
    data = bytearray(one.read_bytes())
    data[-1] ^= 1
    one.write_bytes(data)
    assert any(f"{NAME} is damaged" in fault for fault in faults(Path("runs/whole")))
    two.unlink()
    with pytest.raises(StoreError, match="was not kept"):
        errands.open("again", best=True)


def test_a_best_policy_of_another_seed_is_refused() -> None:
    errands.train("figure-1", "qcorm", steps=2_000, seeds=2, name="a")
    run = open_run(Path("runs/a"))
    (run.seed(1).path / NAME).write_bytes((run.seed(0).path / NAME).read_bytes())
    with pytest.raises(StoreError, match="belongs to another run or seed"):
        read_best(run.seed(1).path, 1, run.document.id)


def test_seeds_of_a_team_keep_the_best_of_each_confirmed_by_more_episodes_and_act_by_it() -> None:
    task = line.task(slip=0.1)
    runs = errands.train(task, "crm", steps=600, seeds=2, settings=line.SETTINGS, name="team")
    for run in runs:
        assert {e.episodes for e in run.evaluations} == {20}
        assert run.kept is not None
        assert run.kept.value is not None
        assert (run.kept.value.episodes, run.kept.value.step) == (60, run.kept.evaluation.step)  # type: ignore[union-attr]
        best = errands.open("team", run.seed, task, best=True)
        assert best.steps == run.kept.value.step < 600
        assert best.evaluations[-1] == run.kept.value
        again = best.evaluate(60, seed=(run.seed * 1_000_003 + best.steps) % 2**31 + (1 << 20))
        assert (again.success.mean, again.length.mean) == (run.kept.value.success, run.kept.value.episode_length)
    assert verify_seed(open_run(Path("runs/team"), task), 1).differences == ()


def test_conditions_end_a_training_and_a_callback_may_take_the_run_so_far() -> None:
    best = errands.optimum(errands.load("office-3")).length
    seen: list[errands.RunSoFar] = []
    run = errands.train(
        "office-3", "qcorm", steps=200_000, on_evaluation=[errands.StopWhenOptimal(), lambda e, run: seen.append(run)]
    )
    assert run.certificate.length == best
    assert [e.optimal(best) for e in run.evaluations] == [False] * (len(run.evaluations) - 1) + [True]
    assert (seen[-1].step, seen[-1].seed, seen[-1].folder, seen[-1].steps) == (run.steps, 0, None, 200_000)
    assert seen[-1].task == run.task
    assert seen[-1].run().order == run.order
    flat = errands.train("figure-1", "qcorm", steps=50_000, on_evaluation=errands.StopOnPlateau(5))
    assert [e.episode_length for e in flat.evaluations] == [10] * 6
    ice = errands.load("figure-1").text.replace("[machine]", "slip = 0.2\n\n[machine]")
    sure = errands.train(errands.Task.from_toml(ice), "qcorm", steps=50_000, on_evaluation=errands.StopOnSuccess(0.9))
    assert sure.evaluations[-1].success >= 0.9 > max((e.success for e in sure.evaluations[:-1]), default=0)
    with pytest.raises(ConfigError, match="plateau of 0 evaluations"):
        errands.StopOnPlateau(0)


def test_the_command_stops_says_why_and_takes_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    said = ["train", "office-3", "qcorm", "--steps", "60000", "--seed", "1", "--name", "a", "--stop-when", "plateau=12", "--quiet"]
    assert main(said) == 0
    out = " ".join(capsys.readouterr().out.split())
    result = open_run(Path("runs/a")).results()[0]
    assert (result.stopped, result.planned) == ("plateau=12", 60_000)
    assert f"seed 1 was stopped after {result.steps:,} of 60,000 steps: plateau=12" in out
    assert result.best is not None
    assert result.steps == result.best.step + 12_000
    if result.better_before:
        assert f"seed 1 was better after {result.best.step:,} steps: {result.best.length:g} steps, success" in out
    assert main(["evaluate", "a", "--best", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["length"]["mean"] == result.best.length
    assert main(["export", "a", "--best", "--as", "policy", "--html", "a.html", "--output", "best.safetensors"]) == 0
    capsys.readouterr()
    told = open_run(Path("runs/a")).document
    assert told.stop_when == ["plateau=12"]
    assert main(["resume", "a", "--json", "--quiet"]) == 0  # it has ended
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert (row["stopped"], row["steps"], row["best"]["step"]) == ("plateau=12", result.steps, result.best.step)
    for word, words in {
        "plato=5": "condition to stop", "plateau": "write optimal, plateau=5, success=0.99 or epsilon=0.01",
        "plateau=x": "is a number", "success=2": "above 0 and not above 1",
    }.items():  # fmt: skip
        assert main(["train", "figure-1", "--stop-when", word]) == 2
        assert words in capsys.readouterr().err


def test_a_training_cannot_stop_at_an_optimum_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cheetah-b", "--stop-when", "optimal", "--name", "b"]) == 2
    assert "is not known, so no training can stop there; stop at plateau=5 or success=0.99" in capsys.readouterr().err
    assert not Path("runs/b").exists()
