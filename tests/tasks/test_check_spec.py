"""What is checked, by name; every name that stands for nothing is told in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.errors import SpecError, UnknownName
from errands.tasks.check_spec import import_attribute, run_check


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that Python looks for modules in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_modules_of_the_current_folder_are_found_and_names_inside_names(here: Path) -> None:
    (here / "mine_one.py").write_text("class Outer:\n    class Inner:\n        value = 3\n")
    assert import_attribute("mine_one:Outer.Inner.value") == 3
    assert import_attribute("math:pi") == pytest.approx(3.14159265)


@pytest.mark.parametrize("path", ["math", "math:", ":pi", "math:pi()", "1math:pi", "math:pi:e", "math pi:e"])
def test_what_is_not_module_and_name_is_refused(path: str) -> None:
    with pytest.raises(SpecError, match="is not of the form MODULE:NAME"):
        import_attribute(path)


def test_a_misspelt_attribute_brings_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no attribute of 'math' is called 'sqrtt'; did you mean 'sqrt'"):
        import_attribute("math:sqrtt")


def test_a_module_that_breaks_is_told_with_its_fault(here: Path) -> None:
    (here / "mine_two.py").write_text("1 / 0\n")
    with pytest.raises(SpecError, match="'mine_two' cannot be imported: ZeroDivisionError: division by zero"):
        import_attribute("mine_two:Env")


def test_a_maker_must_make_fresh_environments(here: Path) -> None:
    (here / "mine_three.py").write_text(
        "import gymnasium as gym\nnumber = 3\none = gym.Env()\ndef made(): return 5\ndef needs(x): return x\nlabel = 'text'\n"
    )
    for name, said in {
        "number": "is a int; name a class or a function that makes an environment",
        "one": "is one environment; name its class or a function",
        "made": "made a int, not a gymnasium.Env",
        "needs": "cannot be made without arguments: TypeError",
    }.items():
        with pytest.raises(SpecError, match=said):
            run_check(f"mine_three:{name}")
    with pytest.raises(SpecError, match="'mine_three:label' is a str, not a function of"):
        run_check("figure-1", "mine_three:label")


def test_an_unknown_word_is_told_to_be_none_of_the_three() -> None:
    with pytest.raises(
        SpecError, match="'figure-l' is no MODULE:ENV, no Gymnasium id, and no task is called 'figure-l'"
    ):
        run_check("figure-l")


def test_a_task_is_checked_against_itself() -> None:
    assert run_check("figure-1", steps=300).findings == ()
    with pytest.raises(SpecError, match="steps is 0"):
        run_check("figure-1", steps=0)
