"""Where seeds are trained: in this process, in fresh processes that end when this one does, or by the workers of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from errands.errors import ConfigError, ErrandsError, StoreError, install
from errands.runs.documents import MAX_DOCUMENT, ResultDocument
from errands.runs.files import WriteError, read_file, write_file
from errands.runs.folder import HEAD, TASK, RunFolder, open_run
from errands.runs.interrupts import SHUTDOWN_SECONDS, Terminated, exit_code, terminable
from errands.runs.progress import Progress
from errands.runs.train import Job, ProgressUpdate, Report, ended_well, failed, jobs_of, train_job
from errands.tasks.spec import MAX_BYTES
from errands.worlds.imports import allow, allowed, isolated


def train_here(jobs: Iterable[Job], progress: Progress, strict: bool) -> None:
    """Train jobs one after the other in this process; `strict` raises the first fault instead of recording it."""
    for job in jobs:
        progress.end(job, attempt(job, partial(progress.update, job), strict))


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
            result = place.end(failed(place.seed, fault, seconds))
        results.append(result)
    return results


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    job: Job | None = None


def train_in_processes(jobs: Iterable[Job], count: int, progress: Progress, strict: bool) -> None:
    """Train seeds in `count` processes; a process that dies is replaced and its seed recorded as failed."""
    share_gpu()
    waiting = iter(jobs)
    workers = [_start() for _ in range(count)]
    try:
        busy = [worker for worker in workers if _hand(worker, waiting, strict)]
        while busy:
            for connection in wait([worker.connection for worker in busy], timeout=1.0):
                worker = next(w for w in busy if w.connection is connection)
                if _listen(worker, progress, strict):
                    busy.remove(worker)
                    # The seed of a dead worker was recorded by _listen; the other seeds still want as many workers.
                    if not worker.process.is_alive():
                        workers.remove(worker)
                        worker = _start()
                        workers.append(worker)
                    if _hand(worker, waiting, strict):
                        busy.append(worker)
    except KeyboardInterrupt:
        # All at once, so that they store their checkpoints side by side; those that cannot are killed below.
        end = time.monotonic() + SHUTDOWN_SECONDS
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(max(0.0, end - time.monotonic()))
        raise
    finally:
        # A kill loses little: files are replaced in one move, and resuming goes on from the last checkpoints.
        for worker in workers:
            worker.connection.close()
            worker.process.kill()
            worker.process.join()


def share_gpu() -> None:
    """Have this process and those that it starts take a GPU's memory as they need it, unless the user decided otherwise."""
    # By itself JAX takes three quarters of it at the start, and nothing is left for the next process.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _start() -> _Worker:
    # Not fork: it would copy locks that threads of numerical libraries hold, without the threads that release them.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, allowed()), daemon=True)
    with isolated(), _sigint_blocked():
        process.start()
    # Only the worker may hold its end of the pipe, else its death would not be seen as an end of file on ours.
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Processes started inside begin with Ctrl-C put off: until `_work` ignores it, it would end them with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it lifts the mask once it has started its own process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hand(worker: _Worker, waiting: Iterator[Job], strict: bool) -> bool:
    """Give a worker its next seed; False when there is none."""
    worker.job = next(waiting, None)
    if worker.job is not None:
        with suppress(OSError):  # one that has just died takes nothing; _listen, which hears no more of it, records that
            worker.connection.send((worker.job, strict))
    return worker.job is not None


def _listen(worker: _Worker, progress: Progress, strict: bool) -> bool:
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
    if isinstance(message, ProgressUpdate):
        progress.update(job, message)
        return False
    if isinstance(message, list):
        progress.end(job, message)
        return True
    raise message


def _work(connection: Connection, imports: tuple[str, ...]) -> None:
    """What a worker process does: one seed after the other, until there are no more, it is ended, or its parent has died."""
    # Ctrl-C reaches every process of the terminal; the parent alone answers it, and ends its workers by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    allow(imports)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        with terminable():
            _work_on(connection)
    except Terminated as stop:
        sys.exit(exit_code(stop))


def _work_on(connection: Connection) -> None:
    while True:
        try:
            job, strict = connection.recv()
            try:
                message: object = attempt(job, connection.send, strict)
            except Exception as fault:  # noqa: BLE001 (the parent raises it)
                # Faults are sent as plain ones: a library's exception may not survive the way through a pipe.
                said = str(fault) if isinstance(fault, ErrandsError) else f"{type(fault).__name__}: {fault}"
                message = StoreError(said) if isinstance(fault, StoreError) else ErrandsError(said)
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


RETRIES = 8
AHEAD = 2
"""Seeds handed to the cluster for each of its cores."""
RESULT = "result.json"


def train_on_ray(jobs: Iterable[Job], address: str | None, progress: Progress) -> None:
    """Train seeds on a cluster ('auto' or host:port), or on a Ray of this machine when there is no address."""
    ray = _connected(address)
    train = ray.remote(num_cpus=1, max_retries=RETRIES)(train_in_folder)
    waiting, under_way = iter(jobs), dict[Any, Job]()
    # A bounded number is handed over: jobs are made lazily, and a sweep's folders come into being one by one.
    room = max(2, AHEAD * int(ray.cluster_resources().get("CPU", 1)))
    while True:
        while len(under_way) < room and (job := next(waiting, None)) is not None:
            head, text = read_file(job.path / HEAD, MAX_DOCUMENT), read_file(job.path / TASK, MAX_BYTES)
            under_way[train.remote(head, text, job.seeds, allowed(), os.getcwd())] = job
        if not under_way:
            return
        for done in ray.wait(list(under_way), num_returns=1)[0]:
            job = under_way.pop(done)
            run = open_run(job.path)
            try:
                files, error = ray.get(done)
            except ray.exceptions.RayError as fault:
                files, error = {}, f"{type(fault).__name__}: {str(fault).splitlines()[0]}"
            _store(run, job, files, error)
            progress.end(job, [result for place in map(run.seed, job.seeds) if (result := place.result()) is not None])


def _store(run: RunFolder, job: Job, files: dict[str, bytes], error: str) -> None:
    """Write what a worker brought back, the result of each seed last: it says that the seed has ended."""
    for place in map(run.seed, job.seeds):
        with place.locked():
            for name in sorted(files, key=lambda name: (name.endswith(RESULT), name)):
                path = run.path / name
                # A worker's names may lead nowhere but into the seed's folder, and the folders in it.
                if ".." not in path.parts and path.is_relative_to(place.path):
                    path.parent.mkdir(exist_ok=True)
                    write_file(path, files[name])
    if error:
        record(run, job, ErrandsError(error))


def train_in_folder(
    head: bytes, text: bytes, seeds: Sequence[int], imports: Sequence[str] = (), here: str = "."
) -> tuple[dict[str, bytes], str]:
    """What a worker does: train a job in a folder of its own and bring back the files, or say what went wrong.

    `head` and `text` are the very bytes of run.json and task.toml: files of seeds repeat the checksum of their run.json.
    Modules are imported from `here`, the working folder of the process that asks, where this machine has it.
    """
    with tempfile.TemporaryDirectory(prefix="errands-") as folder, chdir(here if Path(here).is_dir() else "."):
        try:
            allow(imports)
            write_file(Path(folder) / TASK, text)
            write_file(Path(folder) / HEAD, head)
            run = open_run(Path(folder))
            (job,) = jobs_of(run, seeds)
            train_job(run, job, lambda update: None)
        except Exception as fault:  # noqa: BLE001 (whatever a learner runs into is recorded by the driver)
            return {}, f"{type(fault).__name__}: {fault}"
        return {str(path.relative_to(folder)): path.read_bytes()
                for seed in seeds for path in run.seed(seed).path.rglob("*") if path.is_file()}, ""  # fmt: skip


def require_ray() -> Any:
    """The package of the engine; a ConfigError says what to type where it is missing."""
    try:
        import ray
    except ImportError:
        raise ConfigError(f"the engine 'ray' is not installed; run: {install('ray')}") from None
    return ray


def _connected(address: str | None) -> Any:
    ray = require_ray()
    if not ray.is_initialized():
        answered = signal.getsignal(signal.SIGTERM)
        try:
            # Workers look for every module in the folder that this is called in: one in which nobody but root can write.
            with chdir(os.sep), isolated():
                ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
        except (ConnectionError, ValueError, RuntimeError) as fault:
            said = str(fault).splitlines()[0][:200]
            hint = "start one with 'ray start --head'"
            raise ConfigError(f"no Ray cluster answers at '{address}' ({said}); {hint}") from None
        # Ray would exit at SIGTERM without a word.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, answered)
    return ray
