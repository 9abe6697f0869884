"""The tables of docs/methods/deep-results.md from the files beside this script: python paper/results/deep/summary.py."""

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


def _curves(name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every run by its name, `paper` behind it where it has the printed numbers."""
    found = rows(name)
    for preset, run in dict.fromkeys((row["preset"], row["run"]) for row in found):
        mine = [row for row in found if (row["preset"], row["run"]) == (preset, run)]
        yield f"{run} (paper)" if preset == "paper" else run, sorted(mine, key=lambda row: row["step"])


def _first(curve: list[dict[str, Any]], wanted: int) -> str:
    """Steps at the first evaluation in which so many seeds succeeded."""
    steps = [row["step"] for row in curve if sum(n > 0 for n in row["lengths"]) >= wanted]
    return f"{steps[0] // 1000} k" if steps else "never"


def learnt(name: str) -> Iterator[str]:
    """A line per method: what its seeds do at the end, over the last five evaluations, and at best."""
    titles: tuple[str, ...] = (
        "method",
        "steps",
        "solved, end",
        "length, end",
        "solved, last 5",
        "length, last 5",
        "ever solved",
    )
    titles += ("best of each seed", "shortest", "half solved by", "nine solved by", "commonest order, last 5")
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for run, curve in _curves(name):
        seeds = range(len(curve[0]["lengths"]))
        end = [n for n in curve[-1]["lengths"] if n > 0]
        late = [n for row in curve[-5:] for n in row["lengths"]]
        won = [n for n in late if n > 0]
        best = [min((row["lengths"][i] for row in curve if row["lengths"][i] > 0), default=0) for i in seeds]
        best = [n for n in best if n]
        orders = [o for row in curve[-5:] for n, o in zip(row["lengths"], row["orders"], strict=True) if n > 0]
        common = max(set(orders), key=orders.count) if orders else "-"
        share = f"{common} ({orders.count(common)}/{len(orders)})" if orders else "-"
        cells = [run, f"{curve[-1]['step'] // 1000} k", f"{len(end)}/{len(seeds)}", _spread(end)]
        cells += [f"{len(won)}/{len(late)}", _spread(won), f"{len(best)}/{len(seeds)}", _spread(best)]
        cells += [str(min(best, default="-")), _first(curve, len(seeds) // 2), _first(curve, len(seeds) - 1), share]
        yield "| " + " | ".join(cells) + " |"


def course(name: str, every: int) -> Iterator[str]:
    """Seeds solved and median length on the way."""
    curves = list(_curves(name))
    steps = sorted({row["step"] for _, curve in curves for row in curve if row["step"] % every == 0})
    yield "| method | " + " | ".join(f"{s // 1000} k" for s in steps) + " |"
    yield "|" + "---|" * (1 + len(steps))
    for run, curve in curves:
        at = {row["step"]: [n for n in row["lengths"] if n > 0] for row in curve}
        cells = [f"{len(at[s])}: {median(at[s]):g}" if at.get(s) else ("0" if s in at else "") for s in steps]
        yield f"| {run} | " + " | ".join(cells) + " |"


def early(name: str, low: int, high: int) -> Iterator[str]:
    """All methods over the same steps."""
    yield f"| method | solved, {low // 1000}-{high // 1000} k | length |"
    yield "|---|---|---|"
    for run, curve in _curves(name):
        late = [n for row in curve if low <= row["step"] <= high for n in row["lengths"]]
        yield f"| {run} | {sum(n > 0 for n in late)}/{len(late)} | {_spread([n for n in late if n > 0])} |"


def shared() -> Iterator[str]:
    """Microseconds per step from 40 k to 120 k steps, while all twelve runs shared the GPU."""
    yield "| method | water-3 | water-5 | 5 to 3 |"
    yield "|---|---|---|---|"
    found: dict[str, list[float]] = {}
    for name in ("learn-water-3.jsonl", "learn-water-5.jsonl"):
        for run, curve in _curves(name):
            at = {row["step"]: row["seconds"] for row in curve}
            if 120_000 in at:
                found.setdefault(run, []).append((at[120_000] - at[40_000]) / 80_000 * 1e6)
    for run, (three, five) in ((run, pair) for run, pair in found.items() if len(pair) == 2):
        yield f"| {run} | {three:.0f} | {five:.0f} | {five / three:.2f} |"


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
        print(f"\n{path.name}\n", *learnt(path.name), sep="\n")
        print("", *course(path.name, 40_000), "", *early(path.name, 60_000, 120_000), sep="\n")
    print("\nspeed.jsonl\n", *speeds(), "", *shared(), sep="\n")


if __name__ == "__main__":
    main()
