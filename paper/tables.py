"""Tables by quarters from the files in paper/rows: python paper/tables.py [FILE...]."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from statistics import median, quantiles

from importer import HERE, Row, read_rows

WINDOWS = {
    "water-3": (60_000, 110_000),
    "water-5": (60_000, 110_000),
    "water-6": (60_000, 100_000),
    "visit-12": (30_000, 60_000),
}
"""The steps over which variants of QCoRM+ are compared."""
COURSE = (0, 100_000, 200_000, 400_000, 600_000, 1_000_000)


def won(row: Row) -> list[int | None]:
    """The lengths of a row's episodes; None for those that failed."""
    return [n if good else None for n, good in zip(row["lengths"], row["success"], strict=True)]


def curves(path: Path) -> Iterator[tuple[str, list[Row]]]:
    """Every run of a file by its name: the map behind it where there are several, `paper` where it has the printed numbers."""
    rows = [row for row in read_rows(path) if "lengths" in row]
    maps = len({row.get("map_seed") or 0 for row in rows}) > 1
    for key in dict.fromkeys((row["task"], row["run"], row["preset"], row.get("map_seed") or 0) for row in rows):
        task, run, preset, number = key
        mine = [r for r in rows if (r["task"], r["run"], r["preset"], r.get("map_seed") or 0) == key]
        name = f"{task} {run}{f' @ {number}' if maps else ''}{' (paper)' if preset == 'paper' else ''}"
        yield name, sorted(mine, key=lambda row: row["step"])


def spread(lengths: Sequence[int]) -> str:
    """Median and quartiles."""
    if len(lengths) < 2:
        return str(*lengths) if lengths else "-"
    low, middle, high = quantiles(lengths, n=4, method="inclusive")
    return f"{middle:g} ({low:g}-{high:g})"


def first(curve: Sequence[Row], wanted: int) -> str:
    """Steps at the first evaluation in which so many seeds succeeded."""
    steps = [row["step"] for row in curve if sum(n is not None for n in won(row)) >= wanted]
    return f"{steps[0] // 1000} k" if steps else "never"


def table(titles: Sequence[str], lines: Iterator[Sequence[str]]) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for cells in lines:
        yield f"| {' | '.join(cells)} |"


def ends(path: Path) -> Iterator[str]:
    """A line per run: what its seeds do at the end, over the last five evaluations, and at best."""

    def lines() -> Iterator[list[str]]:
        for run, curve in curves(path):
            seeds = range(len(curve[0]["lengths"]))
            end = [n for n in won(curve[-1]) if n is not None]
            late = [n for row in curve[-5:] for n in won(row)]
            good = [n for n in late if n is not None]
            best = [min((x for row in curve if (x := won(row)[i]) is not None), default=None) for i in seeds]
            met = [n for n in best if n is not None]
            orders = [
                o
                for row in curve[-5:]
                for n, o in zip(won(row), row.get("orders") or [], strict=False)
                if n is not None
            ]
            common = max(sorted(set(orders)), key=orders.count) if orders else "-"
            yield [
                run, f"{curve[-1]['step'] // 1000} k", f"{len(end)}/{len(seeds)}", spread(end), f"{len(good)}/{len(late)}",
                spread(good), f"{len(met)}/{len(seeds)}", spread(met), str(min(met, default="-")),
                first(curve, len(seeds) // 2), first(curve, len(seeds) - 1),
                f"{common} ({orders.count(common)}/{len(orders)})" if orders else "-",
            ]  # fmt: skip

    titles = ("run", "steps", "solved, end", "length, end", "solved, last 5", "length, last 5", "ever solved", "best of each seed",
              "shortest", "half solved by", "all but one solved by", "commonest order, last 5")  # fmt: skip
    return table(titles, lines())


def between(curve: Sequence[Row], low: float, high: float) -> list[list[int | None]]:
    """The evaluations of every seed between two steps."""
    return [list(seed) for seed in zip(*(won(row) for row in curve if low < row["step"] <= high), strict=True)]


def solved(lengths: Sequence[int | None]) -> str:
    """The share of evaluations that succeed, and their median length."""
    good = [n for n in lengths if n is not None]
    middle = f" {median(good):g}" if good else ""
    return f"{len(good) / len(lengths):.0%}{middle}" if lengths else ""


def windows(path: Path, edges: Sequence[int] = COURSE) -> Iterator[str]:
    """The share of evaluations that succeed, and their median length, by training steps."""
    pairs = list(pairwise(edges))
    lines = ([run, *(solved([*chain(*between(curve, *pair))]) for pair in pairs)] for run, curve in curves(path))
    return table(("run", *(f"{low // 1000}-{high // 1000} k" for low, high in pairs)), lines)


def quarters(path: Path) -> Iterator[str]:
    """The same by quarters of each run, and the median length of each seed in the last one."""

    def lines() -> Iterator[list[str]]:
        for run, curve in curves(path):
            parts = [between(curve, *pair) for pair in pairwise(curve[-1]["step"] * i / 4 for i in range(5))]
            each = [median(good) if (good := [n for n in seed if n is not None]) else None for seed in parts[-1]]
            shown = " ".join(f"{n:g}" for n in sorted(n for n in each if n is not None))
            yield [run, *(solved([*chain(*part)]) for part in parts), shown]

    return table(("run", "1st quarter", "2nd", "3rd", "4th", "last quarter of each seed"), lines())


def each_seed(path: Path) -> Iterator[str]:
    """Sorted, of the seeds that ever succeed: thousands of steps to the first success, the shortest way, the one at the end."""

    def lines() -> Iterator[list[str]]:
        for run, curve in curves(path):
            seeds = range(len(won(curve[0])))
            wins = [[(n, row["step"] // 1000) for row in curve if (n := won(row)[i]) is not None] for i in seeds]
            met = [seed for seed in wins if seed]
            end = [n for n in won(curve[-1]) if n is not None]
            columns = ([seed[0][1] for seed in met], [min(seed)[0] for seed in met], end)
            yield [run, *(" ".join(map(str, sorted(column))) or "-" for column in columns)]

    return table(("run", "first success, k", "shortest", "at the end"), lines())


def speeds(path: Path) -> Iterator[str]:
    """Seconds per million steps against the number of objectives."""
    paces = {(row["run"], row["task"]): row["us_per_step"] for row in read_rows(path) if "us_per_step" in row}
    tasks = sorted({task for _, task in paces})
    runs = dict.fromkeys(run for run, _ in paces)
    shown = ([run, *(f"{paces[run, task]:.0f}" if (run, task) in paces else "" for task in tasks)] for run in runs)
    return table(("run", *tasks), shown)


def main() -> None:
    """Print the tables of some files, or of all."""
    for path in [Path(name) for name in sys.argv[1:]] or sorted(HERE.rglob("*.jsonl")):
        rows = read_rows(path) if path.stem not in ("cpu", "networks", "sb3", "dirl") else []
        if any("lengths" in row for row in rows):
            edges = (0, *WINDOWS[rows[0]["task"]]) if path.stem.startswith("plus") else COURSE
            parts = (ends(path), windows(path, edges), quarters(path), each_seed(path))
            print(f"\n{path.name}", *("\n" + "\n".join(part) for part in parts), sep="\n")
        if any("us_per_step" in row for row in rows):
            print(f"\n{path.name}\n", *speeds(path), sep="\n")


if __name__ == "__main__":
    main()
