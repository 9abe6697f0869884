"""docs/claims.md tells the program's verdicts, and each of them once."""

import importlib.util
import json
import re
from pathlib import Path

from errands.paper.claims import CLAIMS

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("claims_page", ROOT / "paper" / "claims_page.py")
page_writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page_writer)
PAGE = page_writer.PAGE.read_text(encoding="utf-8")
TABULAR = page_writer.TABULAR.read_text(encoding="utf-8")


def test_the_verdicts_and_readings_of_the_page_are_the_programs():
    assert page_writer.filled(PAGE, page_writer.judged()) == PAGE


def test_the_figures_of_the_tabular_page_are_those_that_were_measured():
    assert page_writer.tables(TABULAR, page_writer.outcomes()) == TABULAR


def test_a_figure_says_how_many_seeds_end_optimal_when_they_first_were_and_where_they_end():
    row = {"seeds": "10", "optimal": "0.4", "success": "1.0", "first_optimal_median": "21500.0", "optimum": "81.0"}
    shown = [show({**row, "final_median": "90.0"}) for show in page_writer.SHOWN.values()]
    assert shown == ["4", "21.5", "90"]
    assert page_writer.first({**row, "first_optimal_median": ""}) == "never"
    assert page_writer.last({**row, "success": "0.2", "final_median": ""}) == "2 of 10 succeed"


def test_no_cell_of_the_page_has_more_than_twenty_five_words():
    cells = [cell for line in PAGE.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert [cell for cell in cells if len(cell.split()) > 25] == []


def test_every_reading_of_a_claim_has_a_word_on_the_page():
    readings = {word for said, word in page_writer.READINGS.items()}
    assert all(re.search(rf"^\| [^|]*\b{word}\b[^|]* \|", PAGE, re.MULTILINE) for word in readings)
    for claim in CLAIMS:
        assert any(said in claim.reading for said in page_writer.READINGS) or claim.reading in ("", "in general", "tabular domains")


def test_every_claim_that_is_judged_has_one_row():
    names = page_writer.named(PAGE)
    assert len(names) == len(set(names))
    assert set(names) == {claim.name for claim in CLAIMS}


def test_the_first_table_has_a_row_per_claim_in_the_papers_order_and_the_second_those_claims_read_otherwise():
    claimed, _, otherwise = PAGE.partition(page_writer.OTHER)
    rows = [row for line in claimed.splitlines() if (row := page_writer.ROW.match(line))]
    assert [row["section"] for row in rows] == sorted(row["section"] for row in rows)
    text = {claim.name: (claim.deep, claim.text) for claim in CLAIMS}
    first = [text[name] for name in page_writer.named(claimed)]
    assert len(first) == len(set(first))
    assert {text[name][1] for name in page_writer.named(otherwise)} <= {words for _, words in first}


def test_the_page_opens_with_ten_lines_and_counts_its_own_rows():
    opening = PAGE.partition("\n| ")[0]
    assert re.findall(r"^(\d+)\. ", opening, re.MULTILINE) == [str(n) for n in range(1, 11)]
    row = "| 3 | nine states | - | refuted | - | - | 9 | here |"
    counted = page_writer.filled(f"5. 0 claims\n{row}\n{page_writer.OTHER}\n{row}", {}).splitlines()[0]
    assert counted == "5. 1 claims: 1 refuted. Other readings of the same claims have 1 more verdicts."


def test_the_stored_verdicts_are_of_todays_claims_and_have_their_words_and_readings():
    stored = [claim for path in page_writer.SOURCES for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]]
    today = {claim.name: claim for claim in CLAIMS}
    assert {claim["name"]: (claim["text"], claim["reading"]) for claim in stored} == {
        name: (claim.text, claim.reading) for name, claim in today.items()
    }


def test_a_verdict_by_hand_is_overwritten():
    row = "| 5.1 | HRM fails `hrm-fails-8` | - | reproduced, we think | - | - | 10 of 10 | here |"
    presets = {"tuned": "reproduced", "paper": "partly"}
    known = {"hrm-fails-8": {"text": "HRM fails", "reading": "", "verdict": "partly", "by_preset": presets}}
    written = "| 5.1 | HRM fails `hrm-fails-8` | - | partly | reproduced | partly | 10 of 10 | here |\n"
    assert page_writer.filled(row, known) == written
