"""The tables of docs/deep-results.md from the files beside this script: python docs/results/deep/summary.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).resolve().parent


def rows(name: str) -> list[dict[str, Any]]:
    """One file's rows."""
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def _spread(lengths: list[int]) -> str:
    if not lengths:
        return "-"
    low, _, high = quantiles(lengths, n=4, method="inclusive") if len(lengths) > 1 else (lengths[0],) * 3
    return f"{median(lengths):g} ({low:g}-{high:g})"


def _curves(name: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    found = rows(name)
    for key in dict.fromkeys((row["preset"], row["run"]) for row in found):
        mine = [row for row in found if (row["preset"], row["run"]) == key]
        yield *key, sorted(mine, key=lambda row: row["step"])


def _first(curve: list[dict[str, Any]], wanted: int) -> str:
    """Steps at the first evaluation in which so many seeds succeeded."""
    steps = [row["step"] for row in curve if sum(n > 0 for n in row["lengths"]) >= wanted]
    return f"{steps[0] // 1000} k" if steps else "never"


def learnt(name: str) -> Iterator[str]:
    """A line per method: what its seeds do at the end, over the last five evaluations, and at best."""
    yield "| preset | method | steps | solved at the end | length at the end | last five: solved | last five: length | seeds ever solved | best of each seed | shortest | half solved by | nine solved by | commonest order |"
    yield "|" + "---|" * 13
    for preset, run, curve in _curves(name):
        seeds = range(len(curve[0]["lengths"]))
        end = [n for n in curve[-1]["lengths"] if n > 0]
        late = [n for row in curve[-5:] for n in row["lengths"]]
        won = [n for n in late if n > 0]
        best = [min((row["lengths"][i] for row in curve if row["lengths"][i] > 0), default=0) for i in seeds]
        best = [n for n in best if n]
        orders = [o for row in curve[-5:] for n, o in zip(row["lengths"], row["orders"], strict=True) if n > 0]
        common = max(set(orders), key=orders.count) if orders else "-"
        share = f"{common} ({orders.count(common)}/{len(orders)})" if orders else "-"
        yield (
            f"| {preset} | {run} | {curve[-1]['step'] // 1000} k | {len(end)}/{len(seeds)} | {_spread(end)} | {len(won)}/{len(late)} "
            f"| {_spread(won)} | {len(best)}/{len(seeds)} | {_spread(best)} | {min(best, default=0) or '-'} "
            f"| {_first(curve, len(seeds) // 2)} | {_first(curve, len(seeds) - 1)} | {share} |"
        )


def course(name: str, every: int) -> Iterator[str]:
    """Seeds solved and median length on the way."""
    curves = list(_curves(name))
    steps = sorted({row["step"] for _, _, curve in curves for row in curve if row["step"] % every == 0})
    yield "| preset | method | " + " | ".join(f"{s // 1000} k" for s in steps) + " |"
    yield "|" + "---|" * (2 + len(steps))
    for preset, run, curve in curves:
        at = {row["step"]: [n for n in row["lengths"] if n > 0] for row in curve}
        cells = [f"{len(at[s])}: {median(at[s]):g}" if at.get(s) else ("0" if s in at else "") for s in steps]
        yield f"| {preset} | {run} | " + " | ".join(cells) + " |"


def speeds() -> Iterator[str]:
    """Seconds per million steps against the number of objectives."""
    found = {(row["run"], row["task"]): row["us_per_step"] for row in rows("speed.jsonl")}
    tasks = sorted({task for _, task in found})
    yield "| method | " + " | ".join(tasks) + " | 5 to 2 |"
    yield "|" + "---|" * (2 + len(tasks))
    for run in dict.fromkeys(run for run, _ in found):
        cells = [found.get((run, task)) for task in tasks]
        ratio = f"{cells[-1] / cells[0]:.2f}" if cells[0] and cells[-1] else ""
        yield f"| {run} | " + " | ".join(f"{c:.0f}" if c else "" for c in cells) + f" | {ratio} |"


def main() -> None:
    """Print every table."""
    for path in sorted(HERE.glob("learn-*.jsonl")):
        every = 20_000 if "cheetah" in path.name else 40_000
        print(f"\n{path.name}\n", *learnt(path.name), "", *course(path.name, every), sep="\n")
    if (HERE / "speed.jsonl").exists():
        print("\nspeed.jsonl\n", *speeds(), sep="\n")


if __name__ == "__main__":
    main()
