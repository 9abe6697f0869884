"""The local engine: seeds trained in this process, or in fresh processes that end when this one does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from errands.errors import ErrandsError, StoreError
from errands.runs.documents import ResultDocument
from errands.runs.files import WriteError
from errands.runs.folder import RunFolder, open_run
from errands.runs.progress import Progress
from errands.runs.train import Beat, Job, Report, ended_well, failed, train_job
from errands.worlds.imports import allow, allowed


def train_here(jobs: Iterable[Job], told: Progress, strict: bool) -> None:
    """Train jobs one after the other in this process; `strict` raises the first fault instead of recording it."""
    for job in jobs:
        told.end(job, attempt(job, partial(told.beat, job), strict))


def attempt(job: Job, report: Report, strict: bool) -> list[ResultDocument]:
    """Train a job; a fault becomes the result of its seeds, except that nothing goes on when nothing can be written."""
    began = time.perf_counter()
    run = None
    try:
        run = open_run(job.path)
        return train_job(run, job, report)
    except WriteError:
        raise
    except Exception as fault:  # whatever a learner runs into must not stop the other seeds
        if strict or run is None:
            raise
        return record(run, job, fault, time.perf_counter() - began)


def record(run: RunFolder, job: Job, fault: BaseException, seconds: float = 0.0) -> list[ResultDocument]:
    """Write down that the seeds of a job could not be trained; those that had ended before keep their results."""
    results = []
    for place in map(run.seed, job.seeds):
        result = ended_well(place)
        if result is None:
            result = failed(place.seed, fault, seconds)
            place.end(result)
        results.append(result)
    return results


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    job: Job | None = None


def train_apart(jobs: Iterable[Job], count: int, told: Progress, strict: bool) -> None:
    """Train seeds in `count` processes; a process that dies is replaced and its seed recorded as failed."""
    waiting = iter(jobs)
    workers = [_start() for _ in range(count)]
    try:
        busy = [worker for worker in workers if _hand(worker, waiting, strict)]
        while busy:
            for connection in wait([worker.connection for worker in busy], timeout=1.0):
                worker = next(w for w in busy if w.connection is connection)
                if _listen(worker, told, strict):
                    busy.remove(worker)
                    # The seed of a dead worker was recorded by _listen; the other seeds still want as many workers.
                    if not worker.process.is_alive():
                        workers.remove(worker)
                        worker = _start()
                        workers.append(worker)
                    if _hand(worker, waiting, strict):
                        busy.append(worker)
    finally:
        # A kill loses little: files are replaced in one move, and resuming goes on from the last checkpoints.
        for worker in workers:
            worker.connection.close()
            worker.process.kill()
            worker.process.join()


def _start() -> _Worker:
    # Not fork: it would copy locks that threads of numerical libraries hold, without the threads that release them.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, allowed()), daemon=True)
    with _isolated():
        process.start()
    # Only the worker may hold its end of the pipe, else its death would not be seen as an end of file on ours.
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _isolated() -> Iterator[None]:
    """Python processes started inside do not look for modules in the working folder, where anybody's files may lie."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _hand(worker: _Worker, waiting: Iterator[Job], strict: bool) -> bool:
    """Give a worker its next seed; False when there is none."""
    worker.job = next(waiting, None)
    if worker.job is not None:
        worker.connection.send((worker.job, strict))
    return worker.job is not None


def _listen(worker: _Worker, told: Progress, strict: bool) -> bool:
    """Hear one message of a worker; True when its seed has ended."""
    job = worker.job
    if job is None:
        return True
    try:
        message = worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode
        why = f"ended with code {code}" + (", perhaps for want of memory" if code == -signal.SIGKILL else "")
        fault = ErrandsError(f"the process that trained {job.name} {why}; try again, or with fewer --jobs")
        if strict:
            raise fault from None
        message = record(open_run(job.path), job, fault)
    if isinstance(message, Beat):
        told.beat(job, message)
        return False
    if isinstance(message, list):
        told.end(job, message)
        return True
    raise message


def _work(connection: Connection, imports: tuple[str, ...]) -> None:
    """What a worker process does: one seed after the other, until there are no more or its parent has died."""
    # Ctrl-C reaches every process of the terminal; the parent alone answers it, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    allow(imports)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            job, strict = connection.recv()
            try:
                message: object = attempt(job, connection.send, strict)
            # Faults are told as plain ones: a library's exception may not survive the way through a pipe.
            except StoreError as fault:
                message = StoreError(str(fault))
            except Exception as fault:  # noqa: BLE001 (it is told by the parent)
                known = isinstance(fault, ErrandsError)
                message = ErrandsError(str(fault) if known else f"{type(fault).__name__}: {fault}")
            connection.send(message)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A daemon process ends with a parent that ends in order; this also sees a parent that was killed.
        # os._exit, since a thread cannot end a main thread that is busy training in any other way.
        wait([parent.sentinel])
        os._exit(1)
