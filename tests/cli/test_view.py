"""`errands view`: a link on standard error, loopback only, and a sentence where the extra is missing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from errands.cli import main


def test_the_printed_link_is_answered_until_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from errands.cli import main; raise SystemExit(main(['view']))"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        link = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", process.stderr.readline())
        assert link is not None
        with urllib.request.urlopen(link[0], timeout=120) as answer:  # noqa: S310 (our own server)
            assert b"<title>errands</title>" in answer.read()
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out == "the page is closed\n"
    finally:
        process.kill()
        process.communicate()


def test_without_the_extra_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "errands.viewer.server", raising=False)
    assert main(["view"]) == 2
    assert "pip install -e '.[viewer]'" in capsys.readouterr().err


def test_an_unknown_run_or_a_taken_port_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", "nothing"]) == 2
    assert "is no run" in capsys.readouterr().err
    assert main(["view", "--port", "99999"]) == 2
    assert "ports are 0" in capsys.readouterr().err
