"""QR-MAX's OfficeWorld, where moves slip: Scout and QCoRM+ beside the steps that its authors publish.

python benchmarks/qrmax.py [--maps 0,1,2,3] [--seeds 10] [--steps 40000] [--learners scout,qcorm-plus] [--gamma 0.9]

For each configuration: the seeds whose policy comes within 1 % (and 1e-6) of the optimal E[gamma^T] and stays there, the
median step from which on, the value at the end as a share of the optimum (median, least), and Scout's claim at the end, as
shares of the optimum too: the medians of both ends, and how many of the claims hold. One exact evaluator judges all
policies: the chain of the policy in the product of world and machine, solved.
"""

from __future__ import annotations

import argparse
import statistics
import time

import errands
from errands.learners import make_learner
from errands.oracle.certificate import Bounds, expected

LOOKS = (*range(200, 4_001, 200), *range(4_500, 10_001, 500), *range(11_000, 40_001, 1_000), *range(50_000, 1_000_001, 10_000))
PUBLISHED = {
    (0, 0): (14_483, 4_150), (1, 1): (30_376, 10_964), (1, 2): (27_619, 9_339), (1, 3): (30_325, 6_087), (1, 4): (29_950, 6_062),
    (1, 5): (38_312, 4_107), (2, 1): (83_593, 28_729), (2, 2): (56_445, 19_214), (2, 3): (62_583, 12_415), (2, 4): (61_775, 12_445),
    (2, 5): (83_076, 8_396), (3, 1): (98_663, 33_815), (3, 2): (99_952, 33_853), (3, 3): (110_808, 21_856),
    (3, 4): (112_165, 21_869), (3, 5): (159_597, 14_717),
}  # fmt: skip
"""Steps of QR-MAX and QR-MAXRM by map and experiment: Table 4 (map 0: Table 6) of their paper, paper_results/ of Alee08/qrmax."""
NEVER = float("inf")


def trained(
    task: errands.Task, name: str, seed: int, steps: int, gamma: float, best: float
) -> tuple[float, float, float, Bounds]:
    """From when on one seed stays within 1 % and within 1e-6, its share of the optimum at the end, and what it claims."""
    learner, near, exact, share = make_learner(task, name, seed, settings={"gamma": gamma}), NEVER, NEVER, 0.0
    for look in (n for n in LOOKS if n <= steps):
        learner.advance(look - learner.step)
        share = expected(learner.policy, task, gamma).discounted / best
        near = min(near, look) if share >= 0.99 else NEVER
        exact = min(exact, look) if share >= 1.0 - 1e-6 else NEVER
    return near, exact, share, learner.claim


def reached(since: list[float]) -> str:
    """How many seeds came there, and the median step; of all seeds, so that it is missing where fewer than half came."""
    median = statistics.median(since)
    return f"{sum(n < NEVER for n in since)} | {f'{median:,.0f}' if median < NEVER else '-'}"


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("--maps", default="0,1,2,3")
    read.add_argument("--seeds", type=int, default=10)
    read.add_argument("--steps", type=int, default=40_000)
    read.add_argument("--learners", default="scout,qcorm-plus")
    read.add_argument("--gamma", type=float, default=0.9)
    asked = read.parse_args()
    maps, began = [int(n) for n in asked.maps.split(",")], time.process_time()
    print(f"{asked.seeds} seeds, {asked.steps:,} steps, gamma {asked.gamma:g}; the last two columns are published")
    heads = ("map, exp", "learner", "within 1 %, seeds", "from", "1e-6, seeds", "from", "end, median (least)", "claim", "true")
    print("|", " | ".join((*heads, "QR-MAX", "QR-MAXRM")), "|\n" + "|---" * 11 + "|")
    for (number, experiment), published in PUBLISHED.items():
        if number not in maps:
            continue
        task = errands.load(f"office-map{number}-exp{experiment}")
        best = errands.optimum(task, gamma=asked.gamma).discounted
        for name in asked.learners.split(","):
            found = [trained(task, name, seed, asked.steps, asked.gamma, best) for seed in range(asked.seeds)]
            shares = [share for _, _, share, _ in found]
            said, held = "- | -", 0
            if name == "scout":
                low, high = ([getattr(c, end) / best for _, _, _, c in found] for end in ("lower", "upper"))
                held = sum(a <= share + 1e-9 and b >= 1.0 - 1e-9 for a, b, share in zip(low, high, shares, strict=True))
                said = f"{statistics.median(low):.3g} to {statistics.median(high):.3g} | {held} of {len(found)}"
            since = " | ".join(reached([f[i] for f in found]) for i in (0, 1))
            end = f"{statistics.median(shares):.4f} ({min(shares):.4f})"
            theirs = " | ".join(f"{n:,}" for n in published)
            print(f"| {number}, {experiment} | {name} | {since} | {end} | {said} | {theirs} |", flush=True)
    print(f"{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
