"""Write verdicts and figures of the program into the pages: python paper/claims_page.py [FOLDER].

With the folder of an `errands reproduce` its report (figures, tables, verdicts) is first taken over into paper/results.
A row of docs/claims.md has eight cells. Where it names a claim (`water-joint`), claim, reading, verdict and the verdicts under
each preset are taken from claims.json in paper/results and paper/results/deep; section, figure and evidence are the author's.
Rows below OTHER are the same claims under other readings, and not counted as claims of their own.
The tables of docs/results/tabular.md have a row for each method and preset, a column for each task of TASKS, and a heading that
says which figure of summary.csv they show.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from errands.paper import claims

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "claims.md"
TABULAR = ROOT / "docs" / "results" / "tabular.md"
RESULTS = ROOT / "paper" / "results"
SOURCES = (RESULTS / "claims.json", RESULTS / "deep" / "claims.json")
TABLES = ("README.md", "claims.json", "claims.md", "summary.csv", "runtimes.csv")
ROW = re.compile(
    r"^\| (?P<section>[\d.]+) \| [^|]*?(?:`(?P<name>[a-z0-9-]+)`)? \| [^|]* \| (?P<verdict>[^|]*) \|"
    r"(?: [^|]* \|){2} (?P<figure>[^|]*) \| (?P<evidence>[^|]*) \|$"
)
OTHER = "## The same claims under other readings"
OUTCOME = re.compile(r"(?<=^5\. )\d+ claims.*$", re.MULTILINE)
READINGS = {
    claims.REWARD: "proof",
    claims.PRINTED_REWARD: "printed",
    claims.RATCHET: "length",
    claims.SHARE: "share",
    claims.MEAN: "mean",
    claims.CHOICE: "choices",
    claims.ALWAYS: "always",
    claims.FRESH: "fresh",
    claims.ONE: "one coffee",
    claims.BATCH: "batch",
    claims.ZERO: "from 0",
    claims.SLOW: "slow target",
}
"""The readings of the paper by the words of the page."""

TASKS = ("delivery-2", "delivery-8", "office-3", "office-6", "office-3-one-coffee", "office-6-one-coffee")
METHODS = {
    "QCoRM": "qcorm", "QCoRM with the printed reward": "qcorm printed", "QCoRM-0": "qcorm-0", "agenda CRM": "crm agenda",
    "Boolean CRM": "crm boolean", "agenda HRM": "hrm agenda", "Boolean HRM": "hrm boolean", "agenda QRM": "qrm agenda",
    "Boolean QRM": "qrm boolean", "DiRL": "dirl", "QCoRM+": "qcorm-plus", "Scout": "scout",
}  # fmt: skip
FIGURES = re.compile(r"^\| (?P<method>[^|,`]*), (?P<preset>tuned|paper) \|")
Key = tuple[str, str, str]
Row = Mapping[str, str]


def outcomes() -> dict[Key, Row]:
    """The rows of summary.csv by task, method and preset."""
    with (RESULTS / "summary.csv").open(newline="") as file:
        return {(row["task"], row["name"], row["preset"]): row for row in csv.DictReader(file)}


def optimal(row: Row) -> str:
    """How many seeds end optimal."""
    return str(round(float(row["optimal"]) * int(row["seeds"])))


def first(row: Row) -> str:
    """The median step of the first optimal evaluation, in thousands; never where half of the seeds had none."""
    return f"{float(row['first_optimal_median']) / 1000:g}" if row["first_optimal_median"] else "never"


def last(row: Row) -> str:
    """The median length at the end; how many seeds succeed where half fail."""
    solved = round(float(row["success"]) * int(row["seeds"]))
    return f"{float(row['final_median']):g}" if row["final_median"] else f"{solved} of {row['seeds']} succeed"


SHOWN = {"## Seeds of ten that end optimal": optimal, "## First optimal evaluation": first, "## Length at the end": last}
"""What the tables of the tabular page show, by their headings."""


def tables(page: str, measured: Mapping[Key, Row]) -> str:
    """The page of tabular results with its figures."""
    lines, show = [], last
    for line in page.splitlines():
        show = next((one for heading, one in SHOWN.items() if line.startswith(heading)), show)
        method = FIGURES.match(line)
        if method and method["method"] in METHODS:
            found = [measured.get((task, METHODS[method["method"]], method["preset"])) for task in TASKS]
            cells = ["not run" if row is None else show(row) for row in found]
            line = f"| {method['method']}, {method['preset']} | {' | '.join(cells)} |"
        lines.append(line)
    return "\n".join([*lines, ""])


def judged() -> dict[str, Mapping[str, Any]]:
    """Every claim that the program has judged, by name."""
    return {claim["name"]: claim for path in SOURCES for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]}


def filled(page: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of claims with the program's readings and verdicts."""
    lines = []
    for line in page.splitlines():
        row = ROW.match(line)
        if row and row["name"] in known:
            claim = known[row["name"]]
            reading = next((word for said, word in READINGS.items() if said in claim["reading"]), "-")
            each = [claim["by_preset"].get(preset, "-") for preset in ("tuned", "paper")]
            words = f"{claim['text']} `{row['name']}`"
            cells = (row["section"], words, reading, claim["verdict"], *each, row["figure"], row["evidence"])
            line = f"| {' | '.join(cells)} |"
        lines.append(line)
    page = "\n".join([*lines, ""])
    claimed, read_otherwise = (verdicts(part) for part in (page.partition(OTHER)[0], page.partition(OTHER)[2]))
    count = Counter(claimed)
    order = ("reproduced", "partly", "undecided", "not reproduced", "refuted", "not run")
    said = ", ".join(f"{count[word]} {word}" for word in order if count[word])
    more = f" Other readings of the same claims have {len(read_otherwise)} more verdicts."
    return OUTCOME.sub(f"{len(claimed)} claims: {said}.{more}", page)


def verdicts(part: str) -> list[str]:
    """The verdicts of the rows of a part of the page."""
    return [row["verdict"] for line in part.splitlines() if (row := ROW.match(line))]


def named(page: str) -> list[str]:
    """The claims that the page has a row for."""
    return [row["name"] for line in page.splitlines() if (row := ROW.match(line)) and row["name"]]


def main() -> None:
    """Take over a report where one is given, fill the pages, and say which claims they leave out."""
    for folder in map(Path, sys.argv[1:]):
        for path in (*folder.glob("*.svg"), *(folder / name for name in TABLES)):
            shutil.copy(path, RESULTS / path.name)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), judged()), encoding="utf-8")
    TABULAR.write_text(tables(TABULAR.read_text(encoding="utf-8"), outcomes()), encoding="utf-8")
    for name in sorted(set(judged()) - set(named(PAGE.read_text(encoding="utf-8")))):
        print(f"docs/claims.md has no row for `{name}`")


if __name__ == "__main__":
    main()
