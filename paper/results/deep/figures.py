"""Judge and draw what the files beside this script hold: python paper/results/deep/figures.py.

Reads learn-*.jsonl (evaluations) and speed.jsonl (paces), in the format of collect.py (later rows count), and writes figures,
README.md, claims.md, claims.json, summary.csv and runtimes.csv beside them, by the same rules as `errands reproduce water cheetah`.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "src"))

from errands.paper.collected import collected, read_rows  # noqa: E402
from errands.paper.continuous import PANELS  # noqa: E402
from errands.paper.report import Report  # noqa: E402
from errands.paper.reproduced import joined, write  # noqa: E402 (the path comes first)
from errands.paper.reproduced_teams import collected_part  # noqa: E402

NOTE = (
    "Collected on an H200 with paper/results/deep/collect.py or panels.py; ten seeds unless the table says otherwise. "
    "What was run, and how, is told in docs/methods/deep-results.md; versions and machine below are those that drew the figures."
)


def report(folder: Path) -> Report:
    """The report of a folder's rows."""
    # Paces are compared with each other, so they come from one file: runs that had the GPU to themselves are kept elsewhere.
    files = [*sorted(folder.glob("learn-*.jsonl")), folder / "speed.jsonl"]
    found = collected(row for path in files for row in read_rows(path))
    part = collected_part(list(PANELS.values()), found)
    return joined("collected", "python paper/results/deep/figures.py", [part], [], [NOTE])


def main() -> None:
    """Write everything and print the verdicts."""
    made = report(HERE)
    write(made, HERE, page=False)
    for claim in made.claims:
        print(f"{claim.verdict:15} {claim.where:15} {claim.text}")


if __name__ == "__main__":
    main()
