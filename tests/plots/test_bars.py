from errands.analysis.curve import curve_of
from errands.analysis.summary import summarise_all
from errands.plots.bars import Bar, bars, draw_bars
from errands.plots.style import GREY
from errands.tables import Evaluation


def curve(name, *firsts):
    """Seeds whose first optimal evaluation is at these steps; None never."""
    rows = [[Evaluation(s, 10 if f and s >= f else 20, 1.0, True) for s in (100, 200, 300)] for f in firsts]
    return curve_of(name, "t", rows, 10.0)


CURVES = [curve("slow", 300, 300, 200), curve("never", None, None, 100), curve("fast", 100, 100, 100)]
VALUE = bars(summarise_all(CURVES))


def test_the_fastest_method_comes_first_and_one_that_mostly_fails_last():
    assert VALUE.bars == (
        Bar("fast", 100, 100, 100, 3, 3),
        Bar("slow", 250, 300, 300, 3, 3),
        Bar("never", None, None, None, 1, 3),
    )


def test_every_bar_says_how_many_seeds_got_there():
    axes = draw_bars(VALUE).axes[0]
    words = [t.get_text() for t in axes.texts]
    assert words == ["3 of 3 seeds, median 100", "3 of 3 seeds, median 300", "1 of 3 seeds"]
    assert axes.patches[2].get_hatch() == "////"


def test_what_was_not_run_is_grey_below_the_others():
    value = bars(summarise_all(CURVES), missing=("crm boolean",))
    axes = draw_bars(value).axes[0]
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["fast", "slow", "never", "crm boolean"]
    assert labels[3].get_color() == GREY
    assert axes.texts[-1].get_text() == "not run"
    assert value.as_json()["missing"] == ("crm boolean",)


def test_bars_begin_at_a_stated_place_below_all_of_them():
    axes = draw_bars(VALUE).axes[0]
    assert VALUE.begin == 10
    assert axes.get_xlim()[0] == 10
    assert "bars begin at 10;" in axes.get_xlabel()
