"""docs/claims.md tells the program's verdicts, and each of them once."""

import importlib.util
import json
from pathlib import Path

from errands.paper.claims import CLAIMS

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("claims_page", ROOT / "paper" / "claims_page.py")
page_writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page_writer)
PAGE = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


def test_the_verdicts_readings_and_figures_of_the_page_are_the_programs():
    assert page_writer.filled(PAGE, page_writer.verdicts(), page_writer.outcomes()) == PAGE


def test_a_figure_says_how_many_seeds_end_optimal_when_they_first_were_and_where_they_end_if_not_there():
    row = {"seeds": "10", "optimal": "0.4", "success": "1.0", "first_optimal_median": "21500.0", "optimum": "81.0"}
    assert page_writer.figure({**row, "final_median": "90.0"}) == "4, 21.5k, ends at 90"
    assert page_writer.figure({**row, "final_median": "81.0"}) == "4, 21.5k"
    never = {**row, "first_optimal_median": ""}
    assert page_writer.figure({**never, "final_median": "92.0"}) == "4, ends at 92"
    assert page_writer.figure({**never, "optimal": "0.0", "success": "0.2", "final_median": ""}) == "0, 2 solved"
    assert page_writer.figure({**never, "optimal": "0.0", "success": "0.0", "final_median": ""}) == "0 solved"
    assert page_writer.figure(None) == "not run"


def test_every_claim_that_is_judged_has_one_row():
    names = page_writer.named(PAGE)
    assert len(names) == len(set(names))
    assert set(names) == {claim.name for claim in CLAIMS}


def test_the_stored_verdicts_are_of_todays_claims_and_have_their_words_and_readings():
    stored = [claim for path in page_writer.SOURCES for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]]
    today = {claim.name: claim for claim in CLAIMS}
    assert {claim["name"]: (claim["text"], claim["reading"]) for claim in stored} == {
        name: (claim.text, claim.reading) for name, claim in today.items()
    }


def test_a_verdict_by_hand_is_overwritten():
    row = "| HRM fails `hrm-fails-8` | - | **reproduced, we think** | prose |"
    assert page_writer.filled(row, {"hrm-fails-8": ("-", "**partly**")}) == "| HRM fails `hrm-fails-8` | - | **partly** | prose |\n"
