"""Hours of use in minutes: each command prints one line of JSON with what it did, how long that took and how much memory.

python benchmarks/soak.py viewer --clients 50 --minutes 10     a page's questions, asked by many clients at once
python benchmarks/soak.py sweep --cells 500                     a sweep of many small cells, then a resume that finds all done
python benchmarks/soak.py compare --runs 200                    runs in one table
python benchmarks/soak.py evaluations --count 10000             memory per evaluation of every tabular learner
python benchmarks/soak.py ray --kills 2                         a cluster whose nodes are killed; bytes equal to the local engine's

Without a command all of them, the viewer for one minute.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import http.client
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

QUESTIONS = ("runs", "replay?run={run}", "curves?run={run}", "progress?run={run}", "sizes?family=delivery", "tasks")
ERRANDS = [sys.executable, "-m", "errands"]


def resident(process: int | str = "self") -> float:
    """Resident megabytes of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def trained(folder: Path, count: int, steps: int) -> list[str]:
    """Run folders, each of two seeds of QCoRM or CRM on an office task."""
    from errands.runs.folder import create
    from errands.runs.request import Request
    from errands.runs.sweep import train_run
    from errands.tasks import load

    task = load("office-3")
    for i in range(count):
        learner = ("qcorm", "crm")[i % 2]
        request = Request.of(task, learner, settings=[f"eval_every={steps // 20}"], steps=steps, seeds=(2 * i, 2 * i + 1))
        train_run(create(folder / f"run-{i}", request, checkpoint_seconds=60.0, git={}), 1, quiet=True)
    return [f"run-{i}" for i in range(count)]


def client(link: str, runs: list[str], until: float, seed: int, times: dict[str, list[float]], answers: Counter[str]) -> None:
    """Ask one thing after another until the time is over, with pauses of a quarter of a second on average."""
    host, _, token = link.removeprefix("http://").rstrip("/").partition("/")
    draw = random.Random(seed)
    while time.monotonic() < until:
        question = draw.choice(QUESTIONS)
        began = time.perf_counter()
        try:
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request("GET", f"/{token}/api/{question.format(run=draw.choice(runs))}")
            answer = connection.getresponse()
            answer.read()
            status = str(answer.status)
            connection.close()
        except OSError as fault:
            status = type(fault).__name__
        times[question.partition("?")[0]].append(time.perf_counter() - began)
        answers[status] += 1
        time.sleep(draw.random() * 0.5)


def viewer(clients: int, minutes: float, runs: int) -> dict[str, Any]:
    """The viewer under load: times of requests, and the server's memory at the start, after a minute, at the end."""
    with tempfile.TemporaryDirectory() as folder:
        names = trained(Path(folder) / "runs", runs, 20_000)
        command = [*ERRANDS, "view", "--port", "0", "--no-open"]
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        link = server.stderr.readline().split()[-1]
        times: dict[str, list[float]] = defaultdict(list)
        answers: Counter[str] = Counter()
        memory = [resident(server.pid)]
        asked = (link, names, time.monotonic() + 60 * minutes)
        threads = [threading.Thread(target=client, args=(*asked, i, times, answers)) for i in range(clients)]
        for thread in threads:
            thread.start()
        time.sleep(min(60.0, 30 * minutes))
        memory.append(resident(server.pid))
        for thread in threads:
            thread.join()
        memory.append(resident(server.pid))
        server.terminate()
        server.wait()
    every = sorted(t for spent in times.values() for t in spent)
    return {
        "clients": clients, "minutes": minutes, "runs": runs, "requests": len(every), "answers": dict(answers),
        "median_s": round(statistics.median(every), 4), "p99_s": round(every[int(0.99 * len(every))], 3),
        "max_s": round(every[-1], 3), "memory_mb": [round(m, 1) for m in memory],
        "median_and_max_s": {k: [round(statistics.median(v), 4), round(max(v), 3)] for k, v in sorted(times.items())},
    }  # fmt: skip


def timed(words: list[str], folder: Path) -> tuple[float, Any]:
    """Seconds and JSON document of an errands command."""
    began = time.perf_counter()
    done = subprocess.run([*ERRANDS, *words, "--json"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return round(time.perf_counter() - began, 2), json.loads(done.stdout)


def largest() -> float:
    """Megabytes of the largest process that was started and has ended."""
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3, 1)


def sweep(cells: int) -> dict[str, Any]:
    """A sweep of so many cells (maps of Delivery-2 with two learners), resumed when done, and looked through for damage."""
    from errands.runs.verify import faults

    with tempfile.TemporaryDirectory() as folder:
        plan = ["--task", "delivery-2", "--learner", "qcorm,crm", "--map-seed", f"0..{cells // 2 - 1}", "--seeds", "1"]
        spent, document = timed(["sweep", *plan, "--steps", "5000", "--name", "soak", "--quiet"], Path(folder))
        again, _ = timed(["resume", "soak", "--quiet"], Path(folder))
        began = time.perf_counter()
        damaged = list(faults(Path(folder) / "runs" / "soak"))
        looked = time.perf_counter() - began
    return {"cells": len(document["runs"]), "seconds": spent, "resumed_s": again, "looked_through_s": round(looked, 2),
            "faults": damaged, "largest_process_mb": largest()}  # fmt: skip


def compare(runs: int) -> dict[str, Any]:
    """So many runs of two seeds in one table."""
    with tempfile.TemporaryDirectory() as folder:
        names = trained(Path(folder) / "runs", runs, 5_000)
        spent, document = timed(["compare", *names], Path(folder))
    seeds = sum(row["seeds"] for row in document["runs"])
    return {"runs": runs, "seeds": seeds, "rows": len(document["runs"]), "seconds": spent, "largest_process_mb": largest()}


LEARNERS = ("qrm", "crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "scout", "dirl")


class MallocInfo(ctypes.Structure):
    """What glibc's mallinfo2 tells; the fields that are not read have letters for names."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("a", "b", "c", "d", "hblkhd", "e", "f", "uordblks", "g", "h")]


def in_use() -> int:
    """Bytes that malloc has handed out and not got back; with PYTHONMALLOC=malloc those of Python's objects are among them."""
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MallocInfo
    known = library.mallinfo2()
    return int(known.uordblks + known.hblkhd)


def evaluations(count: int, learners: Sequence[str] = LEARNERS) -> dict[str, Any]:
    """Bytes that stay behind per evaluation, over the last three quarters of `count`, for certain and for random moves."""
    # Of resident memory one cannot tell what is left behind from pages that the allocator keeps for later.
    if os.environ.get("PYTHONMALLOC") != "malloc":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONMALLOC": "malloc"})  # noqa: S606
    from errands.learners import make_learner
    from errands.tasks import Task, load

    slippery = Task.from_toml(load("figure-1").to_toml().replace("[world]", "[world]\nslip = 0.1", 1))
    found = {}
    for name in learners:
        for world, task in (("certain", load("figure-1")), ("slippery", slippery)):
            learner = make_learner(task, name, 0, settings={"edge_steps": 200, "rollouts": 5} if name == "dirl" else {})
            learner.advance(2_000)
            # A sampled one (HRM where moves slip) is a hundred episodes: there a tenth is enough.
            many = count // 10 if learner.measure().episodes > 1 else count
            for i in range(many):
                learner.measure()
                if i == many // 4:
                    before = in_use()
            found[f"{name}, {world}"] = round((in_use() - before) / (many - many // 4), 2)
            print(f"{name}, {world}: {found[f'{name}, {world}']} bytes in {many:,}", file=sys.stderr, flush=True)
    return {"evaluations": count, "bytes_per_evaluation": found, "largest": max(found.values())}


def on_ray(kills: int) -> dict[str, Any]:
    """A sweep on a Ray of two nodes; its worker node is killed again and again, a new one joins each time."""
    import ray
    from ray.cluster_utils import Cluster

    from errands.runs import sweep as sweeping
    from errands.runs.plan import make_block
    from errands.runs.progress import Progress
    from errands.runs.verify import faults

    plan = {"task": "figure-1,delivery-2", "learner": "qcorm,crm", "seeds": 6, "steps": 100_000, "eval_every": 1000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1)]
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    ended = 0
    finish: Callable[..., None] = Progress.end

    def end(self: Progress, job: Any, results: Any) -> None:
        nonlocal ended
        ended += 1
        if len(nodes) <= kills and ended == 24 * len(nodes) // (kills + 1):
            cluster.remove_node(nodes[-1], allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1))
        finish(self, job, results)

    Progress.end = end  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        away = sweeping.begin([make_block(plan)], Path(folder) / "away")
        sweeping.train_sweep(away, 2, quiet=True, engine="ray")
        spent = time.perf_counter() - began
        ray.shutdown()
        cluster.shutdown()
        Progress.end = finish  # type: ignore[method-assign]
        here = sweeping.begin([make_block(plan)], Path(folder) / "here")
        sweeping.train_sweep(here, 1, quiet=True)
        equal = sum(stored(a) == stored(b) for a, b in zip(seeds(away.path), seeds(here.path), strict=True))
        return {"seeds": ended, "kills": len(nodes) - 1, "seconds": round(spent, 1), "equal_to_local": equal,
                "faults": list(faults(away.path))}  # fmt: skip


def seeds(folder: Path) -> list[Path]:
    """The seed folders of a sweep."""
    return sorted(folder.glob("*/seed-*"))


def stored(place: Path) -> dict[str, bytes]:
    """What a seed must have in common with the same seed trained elsewhere: its evaluations and its last arrays."""
    from errands.runs.checkpoint import steps

    names = ("evaluations.csv", f"checkpoint-{steps(place)[0]}.safetensors")
    return {name: (place / name).read_bytes() for name in names}


def main() -> None:
    """Run one command or all, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("viewer", help=viewer.__doc__)
    one.add_argument("--clients", type=int, default=50)
    one.add_argument("--minutes", type=float, default=1.0)
    one.add_argument("--runs", type=int, default=40)
    commands.add_parser("sweep", help=sweep.__doc__).add_argument("--cells", type=int, default=500)
    commands.add_parser("compare", help=compare.__doc__).add_argument("--runs", type=int, default=200)
    many = commands.add_parser("evaluations", help=evaluations.__doc__)
    many.add_argument("--count", type=int, default=10_000)
    many.add_argument("--learners", nargs="*", default=LEARNERS)
    commands.add_parser("ray", help=on_ray.__doc__).add_argument("--kills", type=int, default=2)
    given = vars(parser.parse_args())
    work: dict[str, Callable[..., dict[str, Any]]] = {
        "viewer": viewer, "sweep": sweep, "compare": compare, "evaluations": evaluations, "ray": on_ray,
    }  # fmt: skip
    command = given.pop("command")
    if command is None:
        for name in work:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    load = [round(x, 1) for x in os.getloadavg()]
    report = work[command](**given)
    print(json.dumps({"command": command, **report, "cores": os.cpu_count(), "load_before": load}), flush=True)


if __name__ == "__main__":
    main()
