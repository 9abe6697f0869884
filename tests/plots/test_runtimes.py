from errands.plots.runtimes import Point, draw_runtimes, runtimes

MEASURED = [("qcorm", 3, 0.3), ("qcorm", 2, 0.1), ("qcorm", 2, 0.2), ("qcorm", 2, 0.3), ("crm agenda", 2, 1.0)]


def test_a_point_is_the_median_of_its_seeds_and_points_go_by_size():
    lines = runtimes("Delivery", MEASURED).lines
    assert [(p.subtasks, round(p.median, 3)) for p in lines["qcorm"]] == [(2, 0.2), (3, 0.3)]
    assert lines["crm agenda"] == (Point(2, 1.0, 1.0, 1.0),)


def test_the_axis_of_seconds_is_logarithmic_and_sizes_are_whole():
    axes = draw_runtimes(runtimes("Delivery", MEASURED)).axes[0]
    assert axes.get_yscale() == "log"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["2", "3"]


def test_the_axis_does_not_zoom_into_noise():
    low, high = draw_runtimes(runtimes("Water", [("qcorm", 2, 1.00), ("qcorm", 3, 1.02)])).axes[0].get_ylim()
    assert high / low >= 2
