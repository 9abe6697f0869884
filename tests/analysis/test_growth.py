import pytest

from errands.analysis.statistics import growth

SIZES = range(2, 9)


def test_a_line_is_linear_whatever_its_slope():
    assert growth(SIZES, [5 + 0.1 * n for n in SIZES]).kind == "linear"
    assert growth(SIZES, [3.0 * n for n in SIZES]).kind == "linear"
    assert growth(SIZES, [2.0] * 7).kind == "linear"


@pytest.mark.parametrize("base", [1.5, 2.0, 4.0])
def test_a_power_is_found_with_its_base_also_beside_a_fixed_cost(base):
    law = growth(SIZES, [1 + base**n for n in SIZES])
    assert law.kind == "exponential"
    assert law.factor == pytest.approx(base, rel=0.05)


def test_growth_below_proportion_is_not_called_exponential_whatever_its_shape():
    assert growth(range(2, 7), [1.0, 1.0, 1.01, 1.05, 1.3]).kind == "linear"


def test_the_words_name_law_factor_and_ratio():
    assert growth(SIZES, [2.0**n for n in SIZES]).words == (
        "exponential, factor 2.00 per subtask; 64.0 times as long from the smallest to the largest task"
    )
