"""Ctrl-C and SIGTERM: both raise KeyboardInterrupt, and training puts them off until it has stored a checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

PATIENCE_SECONDS = 3.0
"""How long a safe place is waited for; then an interrupt is obeyed wherever the training is."""
AGAIN_SECONDS = 1.0
"""When it is obeyed again: an exception is lost in what a C library calls back, as while code is compiled."""
SHUTDOWN_SECONDS = 30.0
"""Seconds that other processes get to come to a safe place and to store their checkpoints there; then they are killed."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came, as from `kill`, a container or a cluster that is taken down; it is answered as Ctrl-C is."""


def exit_code(stop: KeyboardInterrupt) -> int:
    """What a shell shows of a process that a signal ended: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def resumable(command: str) -> Iterator[None]:
    """Whoever is interrupted inside says what to type to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise type(stop)(f"stopped; run '{command}' to go on") from None


def _terminate(number: int, frame: object) -> None:
    raise Terminated


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM raises Terminated; without this it ends a process before anything can be said."""
    with _answering(_terminate, {signal.SIGTERM: signal.SIG_DFL}):
        yield


class Postponed:
    """Whether the process was asked to end; again, or after `patience` seconds without a safe place, it ends wherever it is."""

    def __init__(self, patience: float = PATIENCE_SECONDS, again: float = AGAIN_SECONDS) -> None:
        self.patience, self.again = patience, again
        self.asked = 0
        """The number of the signal that came; 0 while none has."""
        self.process, self.has_alarm = os.getpid(), False

    def ask(self, number: int, frame: object) -> None:
        """What signals call."""
        # A fork of this process has inherited the handler, and nobody in it looks at `asked`.
        again, forked = bool(self.asked), os.getpid() != self.process
        self.asked = self.asked or number
        if self.has_alarm and not forked:
            signal.setitimer(signal.ITIMER_REAL, self.again if again else self.patience)
        if again or forked:
            self.obey()

    def arrive(self) -> None:
        """A safe place was reached: what is stored there before the end may take its time."""
        if self.has_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def obey(self) -> None:
        """Raise what was put off."""
        if self.asked:
            raise Terminated if self.asked == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def postponed(patience: float = PATIENCE_SECONDS, again: float = AGAIN_SECONDS) -> Iterator[Postponed]:
    """Put Ctrl-C and SIGTERM off: who is inside looks at `asked` where it can stop; what came is raised at the end."""
    wish = Postponed(patience, again)
    with ExitStack() as handlers:
        handlers.enter_context(
            _answering(wish.ask, {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminate})
        )
        if hasattr(signal, "setitimer"):
            wish.has_alarm = bool(handlers.enter_context(_answering(wish.ask, {signal.SIGALRM: signal.SIG_DFL})))
            if wish.has_alarm:
                # Called before the handler goes: an alarm that nobody answers would end the process.
                handlers.callback(signal.setitimer, signal.ITIMER_REAL, 0.0)
        yield wish
    wish.obey()


@contextmanager
def told_at_once(tell: Callable[[], None]) -> Iterator[None]:
    """Inside, a first Ctrl-C calls `tell` from a thread: handlers of Python wait until compiled code has returned."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def listen() -> None:
        told = False
        while numbers := os.read(reading, 64):  # empty once the other end is closed
            if signal.SIGINT in numbers and not told:
                told = True
                tell()

    thread = threading.Thread(target=listen, name="errands-ctrl-c", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)
        thread.join()
        os.close(reading)


@contextmanager
def _answering(handler: Callable[[int, Any], None], usual: Mapping[int, Any]) -> Iterator[list[int]]:
    """Answer those signals that are answered as usual; another's handlers are left alone, and threads have none."""
    main = threading.current_thread() is threading.main_thread()
    ours = [number for number, before in usual.items() if main and signal.getsignal(number) is before]
    try:
        for number in ours:
            signal.signal(number, handler)
        yield ours
    finally:
        for number in ours:
            signal.signal(number, usual[number])
