"""Tabular learners: ns per step, ratios to plain-Python twins in the same run, memory, start-up.

python benchmarks/tabular.py [--quick]
python benchmarks/tabular.py --base PATH_OF_OLD_CHECKOUT    # ns per step of both, in turns; 1 where a loop is over 5 % slower
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from checkouts import checkouts, in_turns, show
from plain import PlainCRM, PlainQCoRM

from errands.learners import make_learner
from errands.learners.base import Learner
from errands.tasks import load

QUICK = "--quick" in sys.argv


def ns_per_step(learner: Learner, steps: int, pieces: int = 3) -> float:
    """Processor time of the best of some pieces, after a warm-up that also compiles."""
    learner.advance(max(steps // 4, 1_000))
    best = float("inf")
    for _ in range(pieces):
        begun = time.thread_time()
        learner.advance(steps // pieces)
        best = min(best, (time.thread_time() - begun) / (steps // pieces) * 1e9)
    return best


def loops() -> dict[str, float]:
    """The loops that issue 2 must not have slowed down, each in twenty pieces; and small runs of Scout, made and trained."""
    cases = [("qcorm", 8, None), ("qcorm-0", 16, None)]
    cases += [(name, 8, "agenda") for name in ("qrm", "crm", "hrm")] + [("qcorm-plus", 8, None)]
    figures = {}
    for name, n, machine in cases:
        learner = make_learner(load(f"delivery-{n}"), name, 0, machine)
        figures[f"{name} N={n}"] = ns_per_step(learner, 4_000_000, 20)
    task, spent = load("delivery-8"), []
    for _ in range(100):
        begun = time.thread_time()
        list(make_learner(task, "scout").train(418))  # its proof ends it there
        spent.append((time.thread_time() - begun) / 418 * 1e9)
    return {**figures, "scout N=8, a run of 418 steps": min(spent)}


def speeds() -> dict[str, float]:
    cases = [("qcorm-0", n, None) for n in (2, 8, 16, 30, 64)] + [("qcorm", 8, None)]
    cases += [("qrm", n, "agenda") for n in (2, 8)] + [("crm", n, "agenda") for n in (2, 4, 8, 10)]
    cases += [("hrm", n, "agenda") for n in (2, 8)] + [("qrm", 8, "boolean"), ("crm", 5, "boolean")]
    found = {}
    for name, n, machine in cases:
        steps = 20_000 if machine == "boolean" and name == "crm" else 200_000 if QUICK else 2_000_000
        learner = make_learner(load(f"delivery-{n}"), name, 0, machine)
        case = f"{name} {machine or 'coupled'} N={n}"
        found[case] = round(ns_per_step(learner, steps), 1)
        print(f"{case:24} {found[case]:10,.1f} ns per step", flush=True)
    return found


def ratios() -> dict[str, float]:
    """Plain Python against compiled, over the very same early steps of the same seed; CRM also once it has learnt.

    Processor time, the best of a few runs each: a twin takes long enough to be interrupted, a kernel does not.
    """
    task = load("delivery-8")
    twins = {
        "qcorm-0": lambda: PlainQCoRM(task, 0, 1.0, 0.9, 0.1, 1.0, 0.05),
        "crm": lambda: PlainCRM(task, 0, 1.0, 0.9, 0.1, 1.0),
    }
    told = {}
    for name, make in twins.items():
        steps = 3_000 if name == "crm" else 60_000
        plain = float("inf")
        for _ in range(3):
            twin = make()
            twin.train(2_000)
            begun = time.thread_time()
            twin.train(steps)
            plain = min(plain, time.thread_time() - begun)
        compiled = float("inf")
        for _ in range(9):
            learner = make_learner(task, name, 0)
            learner.advance(2_000)
            begun = time.thread_time()
            learner.advance(steps)
            compiled = min(compiled, time.thread_time() - begun)
        told[name] = round(plain / compiled, 1)
        each = f"{plain / steps * 1e9:,.0f} and {compiled / steps * 1e9:,.0f} ns per step"
        print(f"{name} N=8, plain Python and compiled: {each}, {told[name]:,.0f} times")
        if name == "crm":
            learnt = ns_per_step(learner, 1_000_000)
            told["crm learnt"] = round(plain / steps * 1e9 / learnt, 1)
            print(f"crm N=8, compiled after 10^6 steps and more: {learnt:,.0f} ns, {told['crm learnt']:,.0f} times")
    return told


def ten_seeds() -> float:
    """How much faster ten seeds run in two threads than one after the other."""
    learners = [make_learner(load("delivery-8"), "crm", seed) for seed in range(10)]
    for learner in learners:
        learner.advance(1_000)
    begun = time.perf_counter()
    for learner in learners:
        learner.advance(50_000)
    alone = time.perf_counter() - begun
    begun = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda learner: learner.advance(50_000), learners))
    return round(alone / (time.perf_counter() - begun), 2)


MEMORY = """
from errands.learners import make_learner
from errands.tasks import load
learner = make_learner(load("delivery-30"), "qcorm-0")
learner.advance(1_000_000)
print(next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def start_up() -> dict[str, float]:
    """Seconds from the command to its first result, with a cold and with a warm kernel cache."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "errands", "train", "figure-1", "qcorm", "--steps", "20000", "--json"],
                env={"ERRANDS_CACHE": cache, "PATH": "", "HOME": cache},
                cwd=cache,
                check=True,
                capture_output=True,
            )
            found[kind] = round(time.perf_counter() - begun, 2)
    return found


def main() -> None:
    if "--loops" in sys.argv:
        print(json.dumps(loops()))
        return
    if "--base" in sys.argv:
        both = checkouts(sys.argv[sys.argv.index("--base") + 1])
        sys.exit(show(in_turns([__file__, "--loops"], both, 3), both, "ns per step") > 1.05)
    found = speeds()
    document = {"ns_per_step": found, "times_plain_python": ratios(), "two_threads": ten_seeds()}
    memory = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True)
    document["megabytes_qcorm_30"] = int(memory.stdout)
    document["start_up_seconds"] = start_up()
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
