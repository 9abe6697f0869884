"""LetterWorld's exact optima over random maps: DeepLTL's five finite formulas, and any_order of 3, 6, 9, 12 letters.

    python benchmarks/letters.py [MAPS]

Beside them the mean steps of successful episodes that DeepLTL published (github.com/mathiasj33/deep-ltl,
results/LetterEnv-v0.csv, mean of its five seeds): policies that draw their actions, on other maps of the same kind, so
differences of a tenth mean nothing.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import errands
from errands.worlds import Letters

FORMULAS = {
    "F (a & (!b U c)) & F d": 9.7,
    "(F d) & (!f U (d & F b))": 7.3,
    "(F ((a | c | j) & F b)) & (F (c & F d)) & F k": 12.2,
    "!a U (b & (!c U (d & (!e U f))))": 12.1,
    "((a | b | c | d) => F (e & (F (f & F g)))) U (h & F i)": 9.5,
}
"""DeepLTL's published steps by formula."""


def main() -> None:
    maps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    begun = time.process_time()
    worlds = [Letters(seed) for seed in range(maps)]
    print(f"{maps} maps, drawn in {time.process_time() - begun:.1f} s of CPU\n")
    print("| task | optimum | on maps | DeepLTL | above |\n|---|---|---|---|---|")
    machines = {formula: (errands.from_ltlf(formula), steps) for formula, steps in FORMULAS.items()}
    machines |= {f"any_order of {n} letters": (errands.any_order(*"abcdefghijkl"[:n]), None) for n in (3, 6, 9, 12)}
    begun = time.process_time()
    for name, (machine, steps) in machines.items():
        found = [errands.optimum(errands.Task(name, world, machine), orders=False).length for world in worlds]
        lengths = np.array([length for length in found if length is not None])
        error = 1.96 * lengths.std() / np.sqrt(len(lengths))
        published = "- | -" if steps is None else f"{steps} | +{100 * (steps / lengths.mean() - 1):.0f} %"
        cell = name.replace("|", "\\|")
        print(f"| `{cell}` | {lengths.mean():.2f} ± {error:.2f} | {len(lengths)} of {maps} | {published} |", flush=True)
    print(f"\n{time.process_time() - begun:.1f} s of CPU; ± is the 95 % interval of the mean over maps")


if __name__ == "__main__":
    main()
