"""Write the verdicts of the program into docs/claims.md: python paper/claims_page.py [FOLDER].

With the folder of an `errands reproduce` its report (figures, tables, verdicts) is first taken over into paper/results.
A row of a table that names a claim (`water-joint`) has four cells: the claim, how the paper was read, the verdict, and prose. The
second and the third are taken from claims.json in paper/results and paper/results/deep; the prose is nobody's but the author's.
"""

from __future__ import annotations

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


def verdicts() -> dict[str, tuple[str, str]]:
    """Reading and verdict of every claim that the program has judged, by name."""
    judged = [claim for path in SOURCES for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]]
    return {claim["name"]: (claim["reading"] or "-", f"**{claim['words']}**") for claim in judged}


def filled(page: str, known: Mapping[str, tuple[str, str]]) -> str:
    """The page with the program's readings and verdicts."""
    lines = []
    for line in page.splitlines():
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
    page = filled(PAGE.read_text(encoding="utf-8"), verdicts())
    PAGE.write_text(page, encoding="utf-8")
    for name in sorted(set(verdicts()) - set(named(page))):
        print(f"docs/claims.md has no row for `{name}`")


if __name__ == "__main__":
    main()
