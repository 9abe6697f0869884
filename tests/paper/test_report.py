import csv
import io

from errands.paper.claims import Judged
from errands.paper.panels import Skipped
from errands.paper.report import (
    RUNTIME_COLUMNS,
    SUMMARY_COLUMNS,
    PaperFigure,
    Report,
    ReportTable,
    as_csv,
    claims_json,
    markdown,
    tally,
)

SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'
REPORT = Report(
    name="full",
    command="errands reproduce --profile full",
    versions={"errands": "0.1.0"},
    computer={"cores": 2},
    notes=("Ten seeds.",),
    figures=(PaperFigure("one", "First & last", SVG, ("a note",)), PaperFigure("two", "Second", SVG)),
    tables=(
        ReportTable("All methods", "summary.csv", SUMMARY_COLUMNS,
              ({"task": "delivery-2", "name": "qcorm", "final_median": 21.0, "settled": None},)),
        ReportTable("Runtimes", "runtimes.csv", RUNTIME_COLUMNS, ({"task": "delivery-2", "method": "qcorm", "median": 0.0651},)),
    ),
    claims=(
        Judged(
            name="x",
            where="5.1",
            text="a < b",
            reading="one coffee",
            verdict="not reproduced",
            by_preset={"tuned": "not reproduced"},
            measured={"tuned": ["a 2"]},
            command="errands x",
        ),
        Judged(
            name="y",
            where="5.2",
            text="c",
            reading="",
            verdict="not run",
            by_preset={},
            measured={},
            command="errands y",
        ),
    ),
    rules=("Fair rules.",),
    skipped=(Skipped("delivery-8", "crm boolean", "it takes hours"),),
)


def test_the_report_tells_what_was_not_run_and_why():
    assert "- crm boolean on delivery-8: it takes hours" in markdown(REPORT)


def test_readings_stand_beside_verdicts():
    assert "| 5.1 | a < b | one coffee | **not reproduced** |" in markdown(REPORT)


def test_verdicts_are_counted_for_each_preset():
    assert tally(REPORT.claims) == "Verdicts under one preset or network alone: tuned preset: 1 not reproduced."


def test_numbers_are_short_and_nothing_is_a_dash():
    assert "| delivery-2 | qcorm | - | - | 0.0651 | - | - |" in markdown(REPORT)


def test_the_markdown_names_figures_that_lie_beside_it():
    assert "![Second](two.svg)" in markdown(REPORT)
    assert "| delivery-2 | qcorm |" in markdown(REPORT)


def test_tables_open_in_a_spreadsheet_and_claims_in_a_program():
    rows = list(csv.DictReader(io.StringIO(as_csv(REPORT.tables[0].rows))))
    assert rows == [{"task": "delivery-2", "name": "qcorm", "final_median": "21.0", "settled": ""}]
    assert claims_json(REPORT)["claims"][0]["verdict"] == "not reproduced"
