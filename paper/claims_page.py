"""Write the verdicts and figures of the program into docs/claims.md: python paper/claims_page.py [FOLDER].

With the folder of an `errands reproduce` its report (figures, tables, verdicts) is first taken over into paper/results.
A row of a table that names a claim (`water-joint`) has four cells: the claim, how the paper was read, the verdict, and prose. The
second and the third are taken from claims.json in paper/results and paper/results/deep; the prose is nobody's but the author's.
A row that begins with a method and a preset (`QCoRM, tuned`) has a cell for each task of TASKS, taken from summary.csv.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "claims.md"
RESULTS = ROOT / "paper" / "results"
SOURCES = (RESULTS / "claims.json", RESULTS / "deep" / "claims.json")
TABLES = ("README.md", "claims.json", "claims.md", "summary.csv", "runtimes.csv")
ROW = re.compile(
    r"^\| (?P<claim>[^|]*`(?P<name>[a-z0-9-]+)`) \| (?P<reading>[^|]*) \| (?P<verdict>[^|]*) \| (?P<prose>.*) \|$"
)

TASKS = ("delivery-2", "delivery-8", "office-3", "office-6", "office-3-one-coffee", "office-6-one-coffee")
METHODS = {
    "QCoRM": "qcorm", "QCoRM with the printed reward": "qcorm printed", "QCoRM-0": "qcorm-0", "agenda CRM": "crm agenda",
    "Boolean CRM": "crm boolean", "agenda HRM": "hrm agenda", "Boolean HRM": "hrm boolean", "agenda QRM": "qrm agenda",
    "Boolean QRM": "qrm boolean", "DiRL": "dirl", "QCoRM+": "qcorm-plus", "Scout": "scout",
}  # fmt: skip
FIGURES = re.compile(r"^\| (?P<method>[^|,`]*), (?P<preset>tuned|paper) \|")
Key = tuple[str, str, str]


def outcomes() -> dict[Key, Mapping[str, str]]:
    """The rows of summary.csv by task, method and preset."""
    with (RESULTS / "summary.csv").open(newline="") as file:
        return {(row["task"], row["name"], row["preset"]): row for row in csv.DictReader(file)}


def figure(row: Mapping[str, str] | None) -> str:
    """How many seeds end optimal and the median step of the first optimal evaluation, or what became of the others."""
    if row is None:
        return "not run"
    seeds = int(row["seeds"])
    optimal, solved = (round(float(row[name]) * seeds) for name in ("optimal", "success"))
    if not solved:
        return "0 solved"
    last = f"{float(row['final_median']):g}" if row["final_median"] else f"{solved} solved"
    if not row["first_optimal_median"]:
        return f"{optimal}, ends at {last}" if row["final_median"] else f"{optimal}, {last}"
    first = float(row["first_optimal_median"])
    steps = f"{first / 1000:g}k" if first >= 1000 else f"{first:g}"
    return f"{optimal}, {steps}" if last == f"{float(row['optimum']):g}" else f"{optimal}, {steps}, ends at {last}"


def verdicts() -> dict[str, tuple[str, str]]:
    """Reading and verdict of every claim that the program has judged, by name."""
    judged = [claim for path in SOURCES for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]]
    return {claim["name"]: (claim["reading"] or "-", f"**{claim['words']}**") for claim in judged}


def filled(
    page: str, known: Mapping[str, tuple[str, str]], measured: Mapping[Key, Mapping[str, str]] | None = None
) -> str:
    """The page with the program's readings and verdicts, and its figures where they are given."""
    lines = []
    for line in page.splitlines():
        method = FIGURES.match(line)
        if measured is not None and method and method["method"] in METHODS:
            name, preset = METHODS[method["method"]], method["preset"]
            cells = [figure(measured.get((task, name, preset))) for task in TASKS]
            line = f"| {method['method']}, {preset} | {' | '.join(cells)} |"
        row = ROW.match(line)
        if row and row["name"] in known:
            reading, verdict = known[row["name"]]
            line = f"| {row['claim']} | {reading} | {verdict} | {row['prose']} |"
        lines.append(line)
    return "\n".join([*lines, ""])


def named(page: str) -> list[str]:
    """The claims that the page has a row for."""
    return [row["name"] for line in page.splitlines() if (row := ROW.match(line))]


def main() -> None:
    """Take over a report where one is given, fill the page, and say which claims it leaves out."""
    for folder in map(Path, sys.argv[1:]):
        for path in (*folder.glob("*.svg"), *(folder / name for name in TABLES)):
            shutil.copy(path, RESULTS / path.name)
    page = filled(PAGE.read_text(encoding="utf-8"), verdicts(), outcomes())
    PAGE.write_text(page, encoding="utf-8")
    for name in sorted(set(verdicts()) - set(named(page))):
        print(f"docs/claims.md has no row for `{name}`")


if __name__ == "__main__":
    main()
