"""Thousands of damaged checkpoints of tabular learners, Scout and DiRL: refused in a sentence, or taken without leaving an array.

    python benchmarks/fuzz_saved.py [COUNT] [--bounds]    COUNT for each; --bounds: every index checked by the compiler
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

LEARNERS = Path(__file__).parents[1] / "tests" / "learners"


def module(path: Path) -> ModuleType:
    """The tests' own fuzzer; the two files have one name."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_saved", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def main() -> None:
    """Fuzz one learner after the other, each in a process that a signal may end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1_000)
    parser.add_argument("--bounds", action="store_true")
    given = parser.parse_args()
    variables = {"NUMBA_BOUNDSCHECK": "1"} if given.bounds else {}
    tabular, others = module(LEARNERS / "tabular" / "test_saved.py"), module(LEARNERS / "test_saved.py")
    begun, total = time.perf_counter(), {"refused": 0, "taken": 0}
    for name in (*tabular.LEARNERS, *others.CASES):
        ask = tabular.in_a_process(given.count, (name,), **variables) if name in tabular.LEARNERS else None
        tally = (ask or others.in_a_process(given.count, name, **variables))[name]
        total = {key: total[key] + tally[key] for key in total}
        print(f"{name}: {tally['refused']:,} refused, {tally['taken']:,} taken and alive", flush=True)
    words = f"{sum(total.values()):,} damaged checkpoints: {total['refused']:,} refused, {total['taken']:,} taken and alive"
    print(f"{words}, in {time.perf_counter() - begun:.0f} s{', every index checked' if given.bounds else ''}", file=sys.stdout)


if __name__ == "__main__":
    main()
