"""Completion scripts: read by the shell itself, they propose what the verbs take."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from errands.cli import main
from errands.cli.completion import words_of
from errands.cli.verbs import VERBS
from errands.learners import LEARNERS


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(text: str, *words: str) -> list[str]:
    """What bash proposes for the last of these words."""
    line = " ".join(f"'{w}'" for w in words)
    asked = f"{text}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _errands; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_verbs_learners_tasks_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    text = script(capsys, "bash")
    assert completed(text, "errands", "re") == ["reproduce", "resume"]
    assert completed(text, "errands", "train", "fig") == ["figure-1"]
    assert completed(text, "errands", "train", "figure-1", "qco") == ["qcorm", "qcorm-0", "qcorm-plus"]
    assert completed(text, "errands", "solve", "corridor", "--one") == ["--one-policy-per-subtask"]
    assert completed(text, "errands", "show", "figure-1", "--as") == ["--as"]


def test_zsh_reads_the_same_script_through_its_own_bridge(capsys: pytest.CaptureFixture[str]) -> None:
    assert script(capsys, "zsh") == "autoload -U +X bashcompinit && bashcompinit\n" + script(capsys, "bash")


def test_fish_has_a_line_for_each_verb_and_one_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    lines = script(capsys, "fish").splitlines()
    assert len(lines) == len(VERBS) + 1
    assert all(line.startswith("complete -c errands ") for line in lines)


def test_what_can_follow_a_verb() -> None:
    assert words_of("tasks") == ["--map-seed", "--import", "--json", "--help"]
    assert set(LEARNERS) <= set(words_of("train"))
    assert not set(LEARNERS) & set(words_of("solve"))


def test_another_shell_is_refused_and_json_holds_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    capsys.readouterr()
    assert main(["completion", "fish", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["shell"], document["script"]) == ("fish", script(capsys, "fish").rstrip("\n"))
