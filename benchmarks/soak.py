"""The viewer under load: many clients for a while, their requests' times, and the server's memory before and after.

python benchmarks/soak.py --clients 50 --seconds 600 --runs 40     one line of JSON
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

QUESTIONS = ("runs", "replay?run={run}", "curves?run={run}", "progress?run={run}", "sizes?family=delivery", "tasks")


def trained(folder: Path, count: int) -> list[str]:
    """Run folders to be looked at, each of two seeds of QCoRM on an office task."""
    from errands.runs.folder import create
    from errands.runs.request import prepare
    from errands.runs.sweep import train_run
    from errands.tasks import load

    task = load("office-3")
    for i in range(count):
        document = prepare(task, "qcorm", None, "tuned", ["eval_every=1000"], 20_000, range(2), 60.0, {})
        train_run(create(folder / f"run-{i}", document, task), 1, quiet=True)
    return [f"run-{i}" for i in range(count)]


def memory(process: int) -> float:
    """Resident megabytes of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def client(link: str, runs: list[str], until: float, seed: int, times: list[float], answers: Counter[int]) -> None:
    """Ask one thing after another until the time is over."""
    host, _, token = link.removeprefix("http://").rstrip("/").partition("/")
    draw = random.Random(seed)
    while time.monotonic() < until:
        path = draw.choice(QUESTIONS).format(run=draw.choice(runs))
        connection = http.client.HTTPConnection(host, timeout=60)
        began = time.perf_counter()
        connection.request("GET", f"/{token}/api/{path}")
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - began)
        answers[answer.status] += 1
        connection.close()
        time.sleep(draw.random() * 0.5)


def main() -> None:
    """Serve, ask, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = trained(Path(folder) / "runs", args.runs)
        command = [sys.executable, "-m", "errands", "view", "--port", "0", "--no-open"]
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        link = server.stderr.readline().split()[-1]
        times: list[float] = []
        answers: Counter[int] = Counter()
        before, until = memory(server.pid), time.monotonic() + args.seconds
        asked = (link, runs, until)
        threads = [threading.Thread(target=client, args=(*asked, i, times, answers)) for i in range(args.clients)]
        for thread in threads:
            thread.start()
        time.sleep(min(10.0, args.seconds / 2))
        warm = memory(server.pid)
        for thread in threads:
            thread.join()
        report = {
            "clients": args.clients, "seconds": args.seconds, "requests": len(times), "answers": dict(answers),
            "median_s": round(statistics.median(times), 3), "p99_s": round(sorted(times)[int(0.99 * len(times))], 3),
            "max_s": round(max(times), 3), "memory_mb": [round(m, 1) for m in (before, warm, memory(server.pid))],
        }  # fmt: skip
        server.terminate()
        print(json.dumps(report))


if __name__ == "__main__":
    main()
