"""Every example runs, stays short and prints what it promises; the numbers are the paper's or were found by hand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import errands

EXAMPLES = Path(__file__).parent.parent / "examples"

SAID = {
    "01_first_machine": [
        r"success True\n(.*\n)*.*coupled  rewards \[0, 0, 0, 0, 0, 1\]",
        r"0\{p1,p2\}p1 0\{p1,p2\}p2 ",
    ],
    "02_sizes": [r" 2 +3 +9 +7 +8 +3\n", r"12 +3 +2,604,122,689 +8,191 +28,672 +13\n"],
    "03_solve_a_grid": [r"shortest episode: 37 steps", r"optimum 20, one policy per subtask 21"],
    "04_steps_to_go": [
        r"10 steps, 0 more than the optimum",
        r"0\{b1,b2\}b2 +10\.0 +10\n",
        r"0\{b1,b2\}b1 +1\d\.\d +12\n",
    ],
    "05_stable_baselines3": [r"done in 12 steps|needs Stable-Baselines3"],
    "06_scout": [r"figure-1 .* 10 .* b2 s b1 s", r"office-3 .* 26 ", r"office-6 .* 60 "],
    "07_own_environment": [r"episode 300: +10 steps, done, ends in 3\{\}"],
    "08_random_world": [r"0\.0 +9\.0000 +crm +9\.0000 +1\.0000 "],
    "09_sweep": [r"delivery-3 +qcorm +29 ", r"office-2 +crm +20 ", r"P\(qcorm ends shorter than crm\)"],
}


def test_the_examples_are_numbered_without_a_gap_and_each_is_tested() -> None:
    names = sorted(path.stem for path in EXAMPLES.glob("*.py"))
    assert [name[:3] for name in names] == [f"{number:02}_" for number in range(1, len(names) + 1)]
    assert names == sorted(SAID)


@pytest.mark.parametrize("name", sorted(SAID))
def test_an_example_runs_and_says_what_it_promises(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{name}.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60
    assert lines[0].startswith('"""')
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    for wanted in SAID[name]:
        assert re.search(wanted, done.stdout), done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_goals_that_move_are_learnt_by_the_settings_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 18 of 20 episodes, as docs/how-to/when-it-does-not-learn.md says; two minutes."""
    monkeypatch.syspath_prepend(EXAMPLES / "goals")
    page = (EXAMPLES.parent / "docs" / "how-to" / "when-it-does-not-learn.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^errands train goals.toml crm .*$", page, re.MULTILINE)
    steps, settings = int(re.findall(r"--steps (\d+)", command)[0]), re.findall(r"--set (\S+)", command)
    assert len(settings) == 4
    task = errands.load(EXAMPLES / "goals" / "goals.toml", imports=["goals"])
    run = errands.train(task, "crm", steps=steps, settings=settings)
    assert run.evaluate(episodes=20).success.mean >= 0.9
