"""Judge and draw the rows of what was measured on GPUs: python paper/deep.py.

Reads the files that importer.py names and writes figures, README.md, claims.md, claims.json, summary.csv and runtimes.csv into
paper/results/deep, by the same rules as `errands reproduce water cheetah`.
"""

from __future__ import annotations

from pathlib import Path

from importer import evidence_of, judged_files, read_rows

from errands.paper.panels import PANELS
from errands.paper.report import write
from errands.paper.reproduction import report_of

RESULTS = Path(__file__).resolve().parent / "results" / "deep"
NOTE = (
    "Measured on an H200; ten seeds unless the table says otherwise. What was run, and how, is told in "
    "docs/results and in paper/rows; versions and machine below are those that drew the figures."
)


def main() -> None:
    """Write everything and print the verdicts."""
    evidence = evidence_of(*map(read_rows, judged_files()))
    panels = [panel for panel in PANELS.values() if panel.deep]
    report = report_of(evidence, panels, "collected", "python paper/deep.py", [NOTE])
    write(report, RESULTS)
    for claim in report.claims:
        print(f"{claim.verdict:15} {claim.where:15} {claim.text}")


if __name__ == "__main__":
    main()
