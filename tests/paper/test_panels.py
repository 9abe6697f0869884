import pytest

from errands.errors import UnknownName
from errands.paper.panels import GROUPS, chosen


def names(panels):
    return [panel.name for panel in panels]


def test_no_names_mean_the_tabular_panels():
    tabular, continuous, left = chosen([], quick=True)
    assert names(tabular) == ["delivery-2", "delivery-8", "delivery-runtime", "office-3", "office-6", "office-runtime"]
    assert (continuous, left) == ((), [])


def test_groups_stand_for_their_panels():
    tabular, continuous, _ = chosen(["office", "cheetah"], quick=False)
    assert names(tabular) == ["office-3", "office-6", "office-runtime"]
    assert names(continuous) == ["cheetah-bcd", "cheetah-bcde", "cheetah-runtime"]
    assert GROUPS["water"] == ("water-2", "water-3", "water-4", "water-5", "water-runtime")


def test_quick_leaves_panels_out_of_a_group_and_says_so_unless_they_are_named():
    _, continuous, left = chosen(["water"], quick=True)
    assert names(continuous) == ["water-3", "water-5", "water-runtime"]
    assert [each.task for each in left] == ["water-2", "water-4"]
    assert "--profile full" in left[0].reason
    assert names(chosen(["water-2"], quick=True)[1]) == ["water-2"]
    assert "water-2" in names(chosen(["water", "water-2"], quick=True)[1])


def test_an_unknown_figure_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'office-3'"):
        chosen(["ofice-3"], quick=True)
    with pytest.raises(UnknownName, match="no figure is called 'watr'; did you mean 'water'"):
        chosen(["watr"], quick=True)
