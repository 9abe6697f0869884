"""Ctrl-C and SIGTERM: a checkpoint at the next safe place, one sentence, the code of the signal, and the same end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.cli import main
from errands.runs import interrupts
from errands.runs.interrupts import Terminated, exit_code, postponed, terminable
from errands.runs.verify import faults

TRAIN = ["train", "figure-1", "qcorm", "--eval-every", "20", "--checkpoint-every", "1000", "--name", "it", "--quiet"]


def interrupted(folder: Path, number: int, words: list[str], seeds: int) -> tuple[int, str]:
    """The exit code and the words of a command that gets a signal once so many seeds are under way."""
    # A shell's background job inherits that SIGINT is ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from errands.cli import main; sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and len({path.parent for path in folder.glob("runs/it/**/moment-*")}) < seeds:
        time.sleep(0.01)
    process.send_signal(number)
    return process.wait(30), process.communicate()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_stores_a_checkpoint_and_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    # No checkpoint is due for a quarter of an hour: the one that is there was stored because of the signal.
    code, said = interrupted(tmp_path, number, [*TRAIN, "--steps", "200000000"], seeds=1)
    assert (code, said) == (128 + number, "errands: stopped; type 'errands resume it' to go on\n")
    assert len([*tmp_path.glob("runs/it/seed-0/checkpoint-*.json")]) == 1
    assert not list(faults(tmp_path / "runs" / "it"))
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "it", "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["seeds"]
    assert verdict["steps"] > 20


def test_seeds_in_processes_of_their_own_store_their_checkpoints_too(tmp_path: Path) -> None:
    words = [*TRAIN, "--steps", "200000000", "--seeds", "2", "--jobs", "2"]
    code, said = interrupted(tmp_path, signal.SIGTERM, words, seeds=2)
    assert (code, said) == (143, "errands: stopped; type 'errands resume it' to go on\n")
    assert len([*tmp_path.glob("runs/it/seed-*/checkpoint-*.json")]) == 2


def signalled(number: int, times: int, done: list[int], rest: float = 0.0) -> None:
    """Send this process a signal so often while such signals are put off."""
    with terminable(), postponed() as wish:
        for _ in range(times):
            os.kill(os.getpid(), number)
            time.sleep(rest)
            done.append(wish.asked)


@pytest.fixture
def usual() -> Iterator[None]:
    """Signals are answered as in a process of its own: Ray, which other tests start, leaves a handler of SIGTERM behind."""
    known = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in known.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("usual")
def test_what_was_put_off_is_raised_at_the_end_and_a_second_one_at_once() -> None:
    done: list[int] = []
    with pytest.raises(Terminated) as stop:
        signalled(signal.SIGTERM, 1, done)
    assert (exit_code(stop.value), done) == (143, [signal.SIGTERM])
    with pytest.raises(KeyboardInterrupt) as interrupt:
        signalled(signal.SIGINT, 3, done)
    assert (exit_code(interrupt.value), done) == (130, [signal.SIGTERM, signal.SIGINT])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("usual")
def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE", 0.05)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        signalled(signal.SIGINT, 1, [], rest=10)
    assert time.monotonic() - began < 5
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("usual")
def test_handlers_of_others_are_left_alone() -> None:
    taken: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        with postponed() as wish:
            os.kill(os.getpid(), signal.SIGINT)
        assert (taken, wish.asked) == ([signal.SIGINT], 0)
    finally:
        signal.signal(signal.SIGINT, before)
