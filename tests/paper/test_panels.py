"""Panels as plans: which runs the paper's figures stand for."""

import pytest

from errands.errors import UnknownName
from errands.paper.panels import (
    DEEP,
    GROUPS,
    PANELS,
    PROFILES,
    TABULAR,
    Choice,
    chosen,
    evaluation_interval,
    is_pace,
    key_of,
    plan,
    subtasks_of,
)
from errands.runs.plan import expand

TABULAR_PANELS = [
    "delivery-2", "delivery-8", "delivery-runtime", "office-map", "office-3", "office-6", "office-3-one-coffee",
    "office-6-one-coffee", "office-runtime",
]  # fmt: skip


def names(panels):
    return [panel.name for panel in panels]


def cells(panels, profile="quick", large=False):
    blocks, left = plan([PANELS[name] for name in panels], PROFILES[profile], large)
    return expand(blocks), left


def test_no_names_mean_the_tabular_panels():
    panels, left = chosen([], quick=True)
    assert (names(panels), left) == (TABULAR_PANELS, [])


def test_the_runtime_panels_have_the_papers_sizes():
    assert PANELS["delivery-runtime"].tasks == tuple(f"delivery-{n}" for n in range(2, 9))
    assert PANELS["office-runtime"].tasks == tuple(f"office-{n}" for n in range(2, 7))


def test_groups_stand_for_their_panels():
    panels, _ = chosen(["office", "cheetah"], quick=False)
    office = [name for name in TABULAR_PANELS if "office" in name]
    assert names(panels) == [*office, "cheetah-map", "cheetah-bcd", "cheetah-bcde", "cheetah-runtime"]
    assert GROUPS["water"] == ("water-map", "water-2", "water-3", "water-4", "water-5", "water-maps", "water-runtime")


def test_one_name_stands_for_the_fifteen_panels_of_the_paper():
    for quick in (True, False):
        panels, left = chosen(["paper"], quick)
        assert (sorted({panel.letter for panel in panels}), left) == (list("abcdefghijklmno"), [])
        # Office stands there under both readings of its text.
        assert len(panels) == 17


def test_quick_leaves_panels_out_of_a_group_and_says_so_unless_they_are_named():
    panels, left = chosen(["water"], quick=True)
    assert names(panels) == ["water-map", "water-3", "water-5", "water-runtime"]
    assert [each.task for each in left] == ["water-2", "water-4", "water-maps"]
    assert "--profile full" in left[0].reason
    assert names(chosen(["water-2"], quick=True)[0]) == ["water-2"]
    assert "water-2" in names(chosen(["water", "water-2"], quick=True)[0])


def test_an_unknown_figure_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'office-3'"):
        chosen(["ofice-3"], quick=True)
    with pytest.raises(UnknownName, match="no figure is called 'watr'; did you mean 'water'"):
        chosen(["watr"], quick=True)


def test_full_is_ten_seeds_of_a_million_steps_with_the_papers_networks():
    full = PROFILES["full"]
    assert (full.seeds, full.steps, full.deep_seeds) == (10, 10**6, 10)
    assert (full.water_steps, full.cheetah_steps, full.width) == (10**6, 10**6, None)
    run, _ = cells(["water-3"], "full")
    (qcorm,) = [c for c in run if key_of(c)[1:] == ("qcorm", "paper")]
    assert (qcorm.seeds, qcorm.steps, qcorm.settings) == (10, 10**6, ())


@pytest.mark.parametrize(("panel", "methods"), [("delivery-2", TABULAR), ("water-3", DEEP)])
def test_every_method_of_the_paper_is_run_under_both_presets_and_ours_once(panel, methods):
    run, left = cells([panel])
    presets = {method.name: {c.preset for c in run if key_of(c)[1] == method.name} for method in methods}
    assert all(presets[m.name] == ({"tuned"} if m.ours else {"tuned", "paper"}) for m in methods)
    assert left == []


def test_boolean_crm_and_hrm_from_seven_boxes_on_are_left_out_with_their_true_cost_unless_asked_for():
    run, left = cells(["delivery-runtime"], "full")
    large = {(f"delivery-{n}", f"{learner} boolean") for n in (7, 8) for learner in ("crm", "hrm")}
    assert {(s.task, s.method) for s in left} == large
    (eight,) = [s.reason for s in left if (s.task, s.method) == ("delivery-8", "crm boolean")]
    # 219,201 states x 0.2 ns x 10^6 steps x 10 seeds = 438 s.
    assert eight.startswith("its Boolean machine has 219,201 states, about 7 minutes of one core under each preset;")
    assert "--boolean-large" in eight
    assert any((c.task, c.learner, c.machine) == ("delivery-6", "crm", "boolean") for c in run)
    assert cells(["delivery-runtime"], "full", large=True)[1] == []


def test_a_task_of_two_panels_is_run_once():
    run, _ = cells(["office-3", "office-runtime"])
    assert len(set(run)) == len(run)


def test_dirl_has_a_run_for_every_budget_each_half_of_the_next():
    run, _ = cells(["office-3"], "full")
    budgets = sorted(c.steps for c in run if (c.learner, c.preset) == ("dirl", "tuned"))
    assert budgets == [1_000_000 // 2**k for k in range(8, -1, -1)]


def test_other_maps_are_tasks_of_their_own_with_a_fifth_of_the_steps():
    run, _ = cells(["water-maps"], "full")
    assert {key_of(c)[0] for c in run} == {f"water-{n}, map {seed}" for n in (3, 5) for seed in (1, 2)}
    assert {c.steps for c in run if c.learner != "dirl"} == {200_000}


def test_runtime_panels_of_networks_measure_the_pace_of_both_kinds_over_four_sizes():
    run, _ = cells(["cheetah-runtime"], "full")
    assert all(is_pace(cell) for cell in run)
    paced = {key_of(c)[1:] for c in run if c.task == "cheetah-bc"}
    timed = ("qcorm", "crm agenda", "hrm agenda", "qrm agenda")
    assert paced == {(m, n) for m in timed for n in ("heads", "one-hot")} | {("qcorm-plus", "heads")}
    assert [subtasks_of(task) for task in dict.fromkeys(c.task for c in run)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("steps", "every"), [(1_000_000, 10_000), (10_000, 500), (15_000, 500), (2_000, 100), (7, 1)])
def test_evaluations_of_networks_are_at_least_twenty_and_fall_on_whole_chunks(steps, every):
    assert evaluation_interval(steps) == every


def test_a_short_run_has_a_short_buffer_and_with_small_networks_a_short_warm_up():
    run, _ = cells(["cheetah-bcd"])
    (qcorm,) = [c for c in run if key_of(c)[1:] == ("qcorm", "tuned")]
    assert set(qcorm.settings) == {"eval_every=100", "capacity=2000", "width=128", "warmup=200"}


def test_only_chosen_methods_and_presets_are_planned_and_the_others_are_named():
    choice = Choice(("qcorm", "crm agenda"), ("paper",))
    blocks, left = plan([PANELS["water-2"]], PROFILES["full"], choice=choice)
    assert [(cell.learner, cell.preset) for cell in expand(blocks)] == [("qcorm", "paper"), ("crm", "paper")]
    assert {each.method for each in left} == {m.name for m in DEEP} - {"qcorm", "crm agenda"}
    # What is run is the same cell as without a choice: a folder can be completed later.
    assert set(expand(blocks)) < set(expand(plan([PANELS["water-2"]], PROFILES["full"])[0]))
    with pytest.raises(UnknownName, match="crm agenda"):
        plan([PANELS["water-2"]], PROFILES["full"], choice=Choice(("crm agend",)))
