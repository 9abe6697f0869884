"""The ablation of docs/methods/qcorm-plus.md from the files plus*.jsonl beside this script: python paper/results/deep/plus.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).resolve().parent
WINDOWS = {
    "water-3": (60_000, 110_000),
    "water-5": (60_000, 110_000),
    "water-6": (60_000, 100_000),
    "visit-12": (30_000, 60_000),
}


def spread(lengths: list[int]) -> str:
    """Median and quartiles."""
    if len(lengths) < 2:
        return str(*lengths) if lengths else "-"
    low, middle, high = quantiles(lengths, n=4, method="inclusive")
    return f"{middle:g} ({low:g}-{high:g})"


def line(name: str, curve: list[dict[str, Any]], low: int, high: int) -> str:
    """A variant: solved and length over the same steps, best of each seed, when nine seeds were first solved."""
    found = [n for row in curve if low <= row["step"] <= high for n in row["lengths"]]
    seeds = range(len(curve[0]["lengths"]))
    best = [min((row["lengths"][i] for row in curve if row["lengths"][i] > 0), default=0) for i in seeds]
    nine = [row["step"] for row in curve if sum(n > 0 for n in row["lengths"]) >= len(seeds) - 1]
    cells = [name, f"{sum(n > 0 for n in found)}/{len(found)}", spread([n for n in found if n > 0])]
    cells += [f"{median(best):g}", f"{min(best)}", f"{nine[0] // 1000} k" if nine else "never"]
    ends = [n for n in curve[-1]["lengths"] if n > 0]
    cells += [f"{curve[-1]['step'] // 1000} k: {len(ends)}, {spread(ends)}"]
    return "| " + " | ".join(cells) + " |"


def table(path: Path) -> Iterator[str]:
    """Every variant of one file."""
    rows = [json.loads(text) for text in path.read_text().splitlines()]
    low, high = WINDOWS[rows[0]["task"]]
    titles = ("variant @ map", f"solved, {low // 1000}-{high // 1000} k", "length", "best of each seed", "shortest")
    yield "| " + " | ".join((*titles, "nine solved by", "at the end")) + " |"
    yield "|" + "---|" * (len(titles) + 2)
    for run, seed in dict.fromkeys((row["run"], row["map_seed"]) for row in rows):
        curve = sorted(
            (row for row in rows if (row["run"], row["map_seed"]) == (run, seed)), key=lambda row: row["step"]
        )
        yield line(f"{run} @ {seed}", curve, low, high)


def main() -> None:
    """Print every table."""
    for path in sorted(HERE.glob("plus*.jsonl")):
        print(f"\n{path.name}\n", *table(path), sep="\n")


if __name__ == "__main__":
    main()
