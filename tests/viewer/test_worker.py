"""The process that trains for the page ends by itself: in time, and with the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from errands.runs.folder import RunFolder, create
from errands.runs.request import prepare
from errands.tasks import load


@pytest.fixture
def endless(tmp_path: Path) -> RunFolder:
    document = prepare(load("delivery-8"), "crm", None, "tuned", [], 10**9, [0], 60.0, {})
    return create(tmp_path / "endless", document, load("delivery-8"))


def started(run: RunFolder, seconds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "errands.viewer.worker", str(run.path), str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def test_it_stops_when_its_time_is_over(endless: RunFolder) -> None:
    with started(endless, 1) as process:
        assert process.wait(timeout=60) == 3


def test_it_ends_with_the_server(endless: RunFolder) -> None:
    with started(endless, 100) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 1
    assert not endless.finished
