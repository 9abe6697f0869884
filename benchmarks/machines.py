"""Machines: time and memory of building them, and of refusing to.

    python benchmarks/machines.py
"""

from __future__ import annotations

import json
import resource
import time

from errands.errors import TaskError
from errands.machines import Stepper, couple, size, unfold_agenda, unfold_boolean
from errands.tasks.phrases import any_order


def boxes(count: int) -> object:
    return any_order(*(f"b{i + 1}" for i in range(count)), after="s")


def timed(label: str, work: object) -> float:
    begun = time.perf_counter()
    work()  # type: ignore[operator]
    seconds = time.perf_counter() - begun
    print(f"{label:48} {seconds * 1e3:10.2f} ms", flush=True)
    return round(seconds, 4)


def refused(count: int) -> None:
    try:
        unfold_boolean(boxes(count))
    except TaskError:
        return
    raise AssertionError("the machine was built")


def main() -> None:
    twelve, sixteen, many = boxes(12), boxes(16), boxes(64)
    found = {
        "size N=64": timed("sizes of 64 boxes", lambda: size(many)),
        "boolean N=12 refused": timed("Boolean machine of 12 boxes refused", lambda: refused(12)),
        "agenda N=12": timed("agenda machine of 12 boxes", lambda: unfold_agenda(twelve)),
        "agenda N=16": timed("agenda machine of 16 boxes (131,071 states)", lambda: unfold_agenda(sixteen)),
        "agenda N=16 labels": timed("... with its labels", lambda: unfold_agenda(sixteen).labels),
        "coupled N=12": timed("coupled machine of 12 boxes", lambda: couple(unfold_agenda(twelve))),
        "boolean N=7": timed("Boolean machine of 7 boxes (27,399 states)", lambda: unfold_boolean(boxes(7))),
    }
    trace = [{f"b{i // 2 + 1}"} if i % 2 == 0 else {"s"} for i in range(128)]
    stepper = Stepper(many)
    found["64 boxes stepped"] = timed("64 boxes delivered, 128 steps", lambda: stepper.run(trace))
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
