"""Ctrl-C and SIGTERM: a checkpoint at the next safe place, one sentence, the code of the signal, and the same end."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.cli import main
from errands.runs import train
from errands.runs.checkpoint import documents
from errands.runs.folder import create
from errands.runs.interrupts import Terminated, exit_code, postponed, terminable, told_at_once
from errands.runs.request import Request
from errands.runs.verify import faults
from errands.tables import Evaluation
from errands.tasks import load

# Nothing but a signal brings such a run to a checkpoint: by itself none is due for days, and the end is as far away.
STEPS = 10**12
TRAIN = ["train", "figure-1", "qcorm", "--steps", f"{STEPS}", "--eval-every", "20", "--checkpoint-every", "1000000",
         "--name", "it", "--quiet"]  # fmt: skip
HANGS = 300
"""Seconds after which what was asked to end is taken to go on for ever."""


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
    try:
        while process.poll() is None and len({path.parent for path in folder.glob("runs/it/**/moment-*")}) < seeds:
            time.sleep(0.01)
        process.send_signal(number)
        said = process.communicate(timeout=HANGS)[1]
        return process.returncode, said
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_stores_a_checkpoint_and_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    code, said = interrupted(tmp_path, number, TRAIN, seeds=1)
    assert (code, said) == (128 + number, "errands: stopped; run 'errands resume it' to go on\n")
    (stored,) = documents(tmp_path / "runs" / "it" / "seed-0")
    # The signal comes once the first evaluation, at step 20, is noted, and may be answered at that very step.
    assert stored.step in range(20, STEPS, 20)
    assert not list(faults(tmp_path / "runs" / "it"))
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "it", "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["seeds"]
    assert (verdict["steps"], verdict["tables"], verdict["differences"]) == (stored.step, True, [])


def test_seeds_in_processes_of_their_own_store_their_checkpoints_too(tmp_path: Path) -> None:
    code, said = interrupted(tmp_path, signal.SIGTERM, [*TRAIN, "--seeds", "2", "--jobs", "2"], seeds=2)
    assert (code, said) == (143, "errands: stopped; run 'errands resume it' to go on\n")
    assert len([*tmp_path.glob("runs/it/seed-*/checkpoint-*.json")]) == 2


def signalled(number: int, times: int, done: list[int], rest: float = 0.0, patience: float = 3.0) -> None:
    """Send this process a signal so often while such signals are put off."""
    with terminable(), postponed(patience) as wish:
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
def test_patience_ends() -> None:
    slept: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        signalled(signal.SIGINT, 1, slept, rest=60, patience=0.05)
    assert slept == []
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("usual")
def test_an_interrupt_that_is_lost_comes_again() -> None:
    lost: list[bool] = []

    @postponed(patience=0.05, again=0.05)
    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            time.sleep(60)
        except KeyboardInterrupt:  # as happens to it in what a C library calls back
            lost.append(True)
        time.sleep(60)
        lost.append(False)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert lost == [True]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("usual")
def test_patience_does_not_end_while_the_checkpoint_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = train.checkpoints.write_checkpoint

    def slowly(*given: object) -> object:
        time.sleep(0.2)
        return write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(train.checkpoints, "write_checkpoint", slowly)
    task = load("figure-1")
    run = create(tmp_path / "run", Request.of(task, "qcorm", settings=["eval_every=20"], steps=100), git={})
    (job,) = train.jobs_of(run)

    def interrupt(evaluation: Evaluation, run: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train.train_job(run, job, watchers=[interrupt], timing=train.Timing(patience=0.05))
    assert [stored.step for stored in documents(run.seed(0).path)] == [20]


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


@pytest.mark.usefixtures("usual")
def test_an_interrupt_is_told_at_once_while_compiled_code_runs() -> None:
    """Python's own handler waits until the digest is done, which takes longer than any thread needs to say a word."""
    events = []
    with told_at_once(lambda: events.append("told")), postponed(patience=60.0) as wish:
        threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 3_000_000)
        events.append("computed")
        assert wish.asked == signal.SIGINT
        wish.asked = 0
    assert events == ["told", "computed"]


def test_a_run_that_is_interrupted_says_at_once_that_it_stops_after_this_chunk(tmp_path: Path) -> None:
    code, said = interrupted(tmp_path, signal.SIGINT, [word for word in TRAIN if word != "--quiet"], seeds=1)
    first = said.index("stopping after this chunk of training, with a checkpoint; Ctrl-C again stops at once\n")
    assert code == 130
    assert said.index("errands: stopped; run 'errands resume it' to go on\n") > first
