"""What training costs: of a run, a short piece is measured or its size reckoned with; of this machine, each learner on Delivery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from errands.errors import ErrandsError, TaskError
from errands.learners import is_finite, make_learner
from errands.machines import size
from errands.runs.request import Request
from errands.tasks.catalogue import load

SAMPLE = 0.02
"""Seconds for which a learner is measured."""
MAX_STATES = 20_000
"""Enumerated machines above this size are not built for a measurement."""
PER_STATE = {"crm": (0.2, 1), "hrm": (0.3, 3)}
"""Of learners that update every machine state: nanoseconds for each state in a step, and tables of Q's size."""


@dataclass(frozen=True)
class Cost:
    """The expected cost of one seed."""

    seconds: float
    bytes: int
    measured: bool


def cost(request: Request) -> Cost:
    """The cost of one seed of a run."""
    task, states = request.task, _enumerated(request)
    if task.finite is not None and states > MAX_STATES:
        nanoseconds, tables = PER_STATE[request.learner]
        rows = task.finite.table.next.shape[0] * (task.finite.table.next.shape[1] + 1)
        return Cost(request.steps * nanoseconds * states * 1e-9, 8 * tables * rows * states, False)
    return _measured(request)


def _enumerated(request: Request) -> int:
    """How many states a learner that enumerates its machine has to build."""
    if request.learner not in PER_STATE:
        return 0
    sizes = size(request.task.machine)
    return int(sizes.boolean if request.machine == "boolean" else sizes.agenda)


def _measured(request: Request) -> Cost:
    learner = request.new_learner(request.seeds[0])
    training = learner.stages(request.steps)
    # The first stage may have to compile; it is left out of the measurement.
    next(training, None)
    began, first = time.perf_counter(), learner.step
    for _ in training:
        if time.perf_counter() - began >= SAMPLE:
            break
    spent, done = time.perf_counter() - began, learner.step - first
    held = sum(x.nbytes for x in learner.save(copy=False).values())
    return Cost(spent / done * request.steps if done and not learner.finished else spent, held, True)


def quick(request: Request, seeds: int) -> bool:
    """Whether all seeds take less time than starting other processes for them."""
    return is_finite(request.task) and cost(request).seconds * seeds < 3.0


SIZES = (2, 8, 16, 30)
STEPS = 1_000_000
"""A learner is measured from its first step on, for at most so many: early steps can cost more than later ones."""
MAX_BENCHED = 300_000
"""Enumerated machines above this size are not built for a benchmark."""
REFERENCE: dict[tuple[str, int], float] = {
    ("qcorm", 2): 42, ("qcorm-plus", 2): 53, ("qrm agenda", 2): 25, ("crm agenda", 2): 33, ("hrm agenda", 2): 34,
    ("crm boolean", 2): 30,
    ("qcorm", 8): 42, ("qcorm-plus", 8): 70, ("qrm agenda", 8): 48, ("crm agenda", 8): 235, ("hrm agenda", 8): 435,
    ("crm boolean", 8): 222_000,
    ("qcorm", 16): 63, ("qcorm-plus", 16): 273, ("qrm agenda", 16): 235, ("crm agenda", 16): 152_000,
    ("qcorm", 30): 81, ("qcorm-plus", 30): 864,
}  # fmt: skip
"""Nanoseconds per step of the prototypes, on one core, on Delivery, without evaluations."""


class Benched(NamedTuple):
    """A learner on a machine."""

    learner: str
    machine: str | None = None

    @property
    def name(self) -> str:
        """Learner and machine in one word or two."""
        return f"{self.learner} {self.machine}" if self.machine else self.learner


BENCHED = (
    Benched("qcorm"),
    Benched("qcorm-0"),
    *(Benched(learner, machine) for learner in ("crm", "hrm", "qrm") for machine in ("agenda", "boolean")),
    Benched("qcorm-plus"),
)
"""What is measured: methods whose steps all do the same kind of work."""


@dataclass(frozen=True)
class Speed:
    """One learner on Delivery with this many boxes; None with the reason where it was not measured."""

    method: str
    subtasks: int
    nanoseconds: float | None
    """CPU time of this thread per training step, without evaluations."""
    megabytes: float | None
    """All arrays that a checkpoint would hold."""
    reference: float | None
    reason: str = ""


def speeds(seconds: float, sizes: tuple[int, ...] = SIZES, large: bool = False) -> Iterator[Speed]:
    """Measure every learner for each size, each for a million steps or about so many seconds."""
    for method in BENCHED:
        for n in sizes:
            yield _speed(method, n, seconds, large)


def _speed(method: Benched, n: int, seconds: float, large: bool) -> Speed:
    known = REFERENCE.get((method.name, n))
    try:
        _check(method, n, large)
        learner = make_learner(load(f"delivery-{n}"), method.learner, 0, method.machine)
        # Compiling happens before the clock starts; this one step is taken off below.
        learner.advance(1)
        began = time.thread_time()
        while (spent := time.thread_time() - began) < seconds and learner.step < STEPS:
            # Pieces grow with the steps done, so that the fixed cost of a call does not count.
            learner.advance(max(100, learner.step // 2))
        nanoseconds = spent / (learner.step - 1) * 1e9
    except (ErrandsError, MemoryError) as fault:
        return Speed(method.name, n, None, None, known, str(fault) or "out of memory")
    held = sum(array.nbytes for array in learner.save(copy=False).values()) / 2**20
    return Speed(method.name, n, nanoseconds, held, known)


def _check(method: Benched, n: int, large: bool) -> None:
    """Refuse a machine that would take minutes to build."""
    if method.machine is None or method.learner == "qrm":
        return
    sizes = size(load(f"delivery-{n}").machine)
    states = sizes.boolean if method.machine == "boolean" else sizes.agenda
    most = MAX_BENCHED if large else MAX_BENCHED // 10
    if states > most:
        hint = "" if large or states > MAX_BENCHED else "; ask for it with --large"
        count = f"{states:,}" if states < 1e9 else f"{float(states):.1e}"
        raise TaskError(f"its {method.machine} machine has {count} states{hint}")


_CHILD = """
import json, sys, time
from errands.learners import make_learner
from errands.tasks.catalogue import load
task = load("delivery-2")
began = time.perf_counter()
learner = make_learner(task, sys.argv[1], 0, sys.argv[2] or None)
learner.advance(10)
learner.evaluate()
print(json.dumps(time.perf_counter() - began))
"""


def compile_seconds(method: Benched) -> tuple[float, float]:
    """Seconds to the first steps of a learner in a new process: with an empty cache of kernels, then with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_child(method, folder) for _ in range(2))
    return first, second


def _child(method: Benched, cache: str) -> float:
    # -P: modules that lie in the working folder are not imported by accident.
    command = [sys.executable, "-P", "-c", _CHILD, method.learner, method.machine or ""]
    done = subprocess.run(  # noqa: S603 (this interpreter, words of our own)
        command, env={**os.environ, "ERRANDS_CACHE": cache}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise TaskError(f"{method.name} could not be compiled in a new process: {done.stderr.strip()[-200:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
