from dataclasses import replace

import numpy as np
import pytest

from errands.analysis.curve import curve_of
from errands.plots.curves import draw_curves, learning_curves
from errands.plots.style import LOOKS
from errands.tables import Evaluation


def curve(name, *seeds, optimum=10.0):
    rows = [[Evaluation(100 * (i + 1), n or 5, 0.0, n is not None) for i, n in enumerate(seed)] for seed in seeds]
    return curve_of(name, "delivery-2", rows, optimum)


@pytest.fixture
def value():
    long = curve("qcorm", [None, 20, 10, 10], [None, 30, 12, 10], [None, None, None, 10])
    short = curve("scout", [10, 10])
    return learning_curves([long, short])


def test_a_line_is_the_median_in_a_band_of_quartiles(value):
    line = value.lines[0]
    at = {step: i for i, step in enumerate(line.steps)}
    assert line.median[at[100]] is None
    assert (line.low[at[400]], line.median[at[400]], line.high[at[400]]) == (10, 10, 10)
    last_before = max(s for s in line.steps if 200 <= s < 300)
    assert (line.low[at[last_before]], line.median[at[last_before]], line.high[at[last_before]]) == (25, 30, None)


def test_a_method_that_ended_early_is_drawn_on_and_that_is_said(value):
    assert value.lines[1].steps[-1] == 400
    assert value.notes == ("scout ended at step 200; its last value is drawn on",)


def test_runs_that_stand_for_themselves_are_points_and_not_a_line():
    evaluated_at_end = replace(curve("dirl", [None, 30], [None, 40], [None, 50]), evaluated_at_end=True)
    value = learning_curves([curve("qcorm", [20, 20, 20, 10]), evaluated_at_end])
    line = value.lines[1]
    assert (line.evaluated_at_end, line.steps, line.median) == (True, (100, 200), (None, 40))
    assert (line.low[1], line.high[1]) == (35, 45)
    assert value.notes == ()
    bars = draw_curves(value).axes[0].containers
    assert [bar.get_label() for bar in bars] == ["dirl"]


def test_a_failing_median_leaves_a_gap_and_no_mark_on_top(value):
    assert value.ceiling > 30
    axes, _ = draw_curves(value).axes
    drawn = axes.lines[0].get_ydata()
    assert [bool(gap) for gap in np.isnan(drawn)] == [x is None for x in value.lines[0].median]


def test_more_than_five_methods_have_a_small_chart_each_before_the_others_in_grey():
    names = ["qcorm", "qcorm-0", "qcorm-plus", "scout", "crm agenda", "hrm agenda"]
    value = learning_curves([curve(name, [None, 20, 10, 10]) for name in names])
    charts = [axes for axes in draw_curves(value).axes if axes.get_title()]
    assert [axes.get_title() for axes in charts] == names
    for axes, name in zip(charts, names, strict=True):
        coloured = [line.get_color() for line in axes.lines if line.get_label() == name]
        assert coloured == [LOOKS[name].colour]
        assert sum(line.get_color() == "#d0d0d0" for line in axes.lines) == 5
    assert len(draw_curves(learning_curves([curve(name, [10, 10]) for name in names[:5]])).axes) == 1


def test_the_name_of_a_method_with_many_settings_does_not_reach_into_its_neighbours():
    names = [f"qcorm shortest=mean penalty=0.9{i} refresh=True failed=length" for i in range(6)]
    figure = draw_curves(learning_curves([curve(name, [20, 10]) for name in names]))
    figure.draw_without_rendering()
    titles = [axes.title for axes in figure.axes if axes.get_title()]
    assert [" ".join(title.get_text().split()) for title in titles] == names
    boxes = [title.get_window_extent() for title in titles]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_figure_names_axes_methods_and_the_optimum(value):
    axes, below = draw_curves(value).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["qcorm", "scout"]
    assert (below.get_xlabel(), axes.get_ylabel()) == ("training steps", "length of the greedy episode")
    assert "optimum 10" in [text.get_text() for text in axes.texts]
    assert "fails" not in [label.get_text() for label in axes.get_yticklabels()]


def test_without_an_optimum_no_line_claims_one():
    value = learning_curves([curve("a", [None, 20], optimum=None)])
    assert value.optimum is None
    assert not draw_curves(value).axes[0].texts


def test_seeds_that_fail_are_a_share_below_the_lengths():
    rows = [[Evaluation(100, 7, 0.0, False), Evaluation(200, 10, 1.0, good)] for good in (True, True, True, False)]
    value = learning_curves([curve_of("a", "t", rows, 10.0)], points=2)
    assert value.lines[0].failed == (1.0, 0.25)
    _, below = draw_curves(value).axes
    assert below.get_ylabel() == "% of seeds fail"
    assert below.lines[0].get_ydata().tolist() == [100, 25]
    rare = [[Evaluation(100, 7, 0.6, 0.6, episodes=5)], [Evaluation(100, 7, 1.0, 1.0, episodes=5)]]
    value = learning_curves([curve_of("a", "t", rare)], points=1)
    assert value.lines[0].failed == pytest.approx((0.2,))
    below = draw_curves(value).axes[1]
    assert (below.get_ylabel(), below.lines[0].get_ydata().tolist()) == ("% success", [80])
    sure = learning_curves([curve_of("a", "t", [[Evaluation(100, 10, 1.0, True)]], 10.0)])
    assert len(draw_curves(sure).axes) == 1


def test_means_of_episodes_are_drawn_with_their_intervals_and_several_seeds_with_their_quartiles():
    def one(step: int, success: float) -> Evaluation:
        return Evaluation(step, 30, 0.0, success, 20, 25, 40, success - 0.2, min(1.0, success + 0.1))

    alone = learning_curves([curve_of("a", "t", [[one(100, 0.6), one(200, 1.0)]])], points=2).lines[0]
    assert (alone.low, alone.median, alone.high) == ((None, 25.0), (None, 30.0), (None, 40.0))
    assert (alone.success_low, alone.success_high) == (pytest.approx((0.4, 0.8)), pytest.approx((0.7, 1.0)))
    seeds = [[one(100, share)] for share in (0.2, 0.4, 0.6, 0.8, 1.0)]
    several = learning_curves([curve_of("a", "t", seeds)], points=1).lines[0]
    assert (several.success_low, several.success_high) == (pytest.approx((0.4,)), pytest.approx((0.8,)))
    plain = curve_of("a", "t", seeds).as_json()
    assert plain["success_low"][0] == [0.0]
    assert curve_of("a", "t", [[Evaluation(100, 10, 1.0, True)]]).intervals == {}


def test_lengths_that_lie_close_together_have_an_axis_that_can_be_read():
    axes = draw_curves(learning_curves([curve("a", [28, 26], optimum=26.0)])).axes[0]
    assert len([label for label in axes.get_yticklabels() if label.get_text()]) >= 3
