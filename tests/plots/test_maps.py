"""Routes and policies on the map: legs end where something was completed, arrows point where the policy goes."""

from __future__ import annotations

import pytest

import errands
from errands.errors import TaskError
from errands.learners import make_learner
from errands.plots.maps import (
    MAX_MAPS,
    Leg,
    centre,
    draw_policies,
    draw_routes,
    layout_of,
    paint_map,
    policy_maps,
    routes,
)
from errands.plots.style import blank

FIGURE_1 = errands.load("figure-1")


def test_the_optimal_route_of_figure_1_has_four_legs():
    value = routes(FIGURE_1, errands.optimum(FIGURE_1))
    (best,) = value.routes
    assert (best.length, best.success) == (10, True)
    assert [leg.objective for leg in best.legs] == ["b2", "s", "b1", "s"]
    assert [len(leg.cells) - 1 for leg in best.legs] == [4, 4, 1, 1]
    assert best.legs[-1] == Leg((0, 1), "s")


def test_legs_join_where_they_end():
    task = errands.load("office-3")
    (best,) = routes(task, errands.optimum(task)).routes
    assert sum(len(leg.cells) - 1 for leg in best.legs) == 26
    assert all(a.cells[-1] == b.cells[0] for a, b in zip(best.legs, best.legs[1:], strict=False))


class Stubborn:
    def act(self, world_state, machine_state, memory):
        return 0, None


def test_a_policy_that_fails_has_an_unfinished_leg_and_the_title_says_so():
    value = routes(FIGURE_1, errands.optimum(FIGURE_1), Stubborn(), "stubborn")
    assert value.routes[0].legs[-1].objective is None
    titles = [axes.get_title() for axes in draw_routes(value).axes]
    assert titles == [f"figure-1, stubborn: no success in {FIGURE_1.world.limit} steps", "figure-1, optimal: 10 steps"]


def test_a_world_without_a_map_is_refused():
    with pytest.raises(TaskError, match="grid worlds only"):
        routes(errands.load("water-2"), None, Stubborn())


def test_cells_lie_column_by_row_from_the_top_left():
    layout = layout_of(errands.load("figure-1"))
    assert [centre(layout, cell) for cell in (0, 2, 3)] == [(0.5, 0.5), (2.5, 0.5), (0.5, 1.5)]


def test_every_feature_is_written_on_the_map_and_every_wall_drawn():
    layout = layout_of(errands.load("office-3"))
    axes = blank(4, 3).add_subplot()
    paint_map(axes, layout)
    *signs, legend = [text.get_text() for text in axes.texts]
    assert signs == [layout.sign(name) for name, _ in layout.places]
    assert legend.split() == ["f", "coffee", "*", "decoration"]
    thick = [line for line in axes.lines if line.get_linewidth() > 2]
    assert len(thick) == len(layout.walls)
    assert axes.yaxis_inverted()


def test_a_world_whose_states_are_not_cells_has_no_map():
    with pytest.raises(TaskError, match="grid worlds only"):
        layout_of(errands.load("water-2"))


def trained(task, name, steps=20_000):
    learner = make_learner(errands.load(task), name)
    list(learner.train(steps))
    return learner


def test_qcorm_has_one_map_for_each_objective_with_the_arrows_of_its_table():
    learner = trained("figure-1", "qcorm-0")
    value = policy_maps(learner.task, learner.policy, learner)
    assert [m.name for m in value.maps] == ["b1", "b2", "s"]
    assert value.maps[0].actions[1] == 3  # from the station one step left to box 1
    assert value.maps[0].values[1] == 1.0


def test_crm_has_one_map_for_each_agenda_state_that_the_greedy_episode_passes():
    learner = trained("figure-1", "crm")
    value = policy_maps(learner.task, learner.policy, learner)
    assert [m.name for m in value.maps] == ["0{b1,b2}{b1,b2}", "1{b1}s", "2{b1}b1", "3{}s"]
    assert value.maps[3].actions[0] == 1  # from box 1 one step right to the station
    assert value.maps[3].values[0] == 1.0


def test_qrm_values_are_those_of_its_own_table():
    learner = trained("figure-1", "qrm", 60_000)
    value = policy_maps(learner.task, learner.policy, learner)
    assert value.maps[-1].values[0] == 1.0


def test_cells_that_fail_the_episode_have_no_arrow():
    learner = trained("office-2", "qcorm-0", 2_000)
    value = policy_maps(learner.task, learner.policy, learner)
    layout = learner.task.layout
    assert value.deadly == tuple(sorted(c for name, c in layout.places if name == "decoration"))
    assert len(draw_policies(value).axes) == 3


def test_more_maps_than_fit_are_counted():
    learner = trained("visit-20", "qcorm-0", 100)
    value = policy_maps(learner.task, learner.policy, learner)
    assert (len(value.maps), value.left_out) == (MAX_MAPS, 4)


class IntoTheWall:
    """Walks up for ever, and counts how often it is asked."""

    asked = 0

    def act(self, world_state, machine_state, memory):
        self.asked += 1
        return 0, None


def test_a_policy_that_goes_round_is_followed_once_round():
    """The limit of the world is 1,000 steps."""
    policy, task = IntoTheWall(), errands.load("office-2")
    assert len(policy_maps(task, policy).maps) == 1
    assert policy.asked < task.layout.cells + task.layout.height
