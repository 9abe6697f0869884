from errands.paper.paper import METHODS, PANELS, PROFILES, cells


def chosen(names):
    return [PANELS[name] for name in names or PANELS]


def test_the_panels_are_those_of_the_papers_tabular_figure():
    assert list(PANELS) == ["delivery-2", "delivery-8", "delivery-runtime", "office-3", "office-6", "office-runtime"]
    assert PANELS["delivery-runtime"].tasks == tuple(f"delivery-{n}" for n in range(2, 9))
    assert PANELS["office-runtime"].tasks == tuple(f"office-{n}" for n in range(2, 7))


def test_full_is_ten_seeds_of_a_million_steps():
    assert (PROFILES["full"].seeds, PROFILES["full"].steps) == (10, 1_000_000)


def test_every_method_of_the_paper_is_run_under_both_presets_and_ours_once():
    run, left = cells(chosen(["delivery-2"]), PROFILES["quick"])
    presets = {method.name: [c.preset for c in run if c.method == method] for method in METHODS}
    assert presets["qcorm"] == presets["crm boolean"] == ["tuned", "paper"]
    assert presets["scout"] == presets["qcorm-plus"] == ["tuned"]
    assert left == []


def test_boolean_crm_and_hrm_from_seven_boxes_on_are_left_out_with_the_reason_unless_asked_for():
    run, left = cells(chosen([]), PROFILES["full"])
    assert {(s.task, s.method) for s in left} == {
        (f"delivery-{n}", f"{learner} boolean") for n in (7, 8) for learner in ("crm", "hrm")
    }
    assert all("--boolean-large" in s.reason for s in left)
    assert any(c.task == "delivery-6" and c.method.name == "crm boolean" for c in run)
    _, nothing = cells(chosen([]), PROFILES["full"], large=True)
    assert nothing == []


def test_a_task_of_two_panels_is_run_once():
    run, _ = cells(chosen(["office-3", "office-runtime"]), PROFILES["quick"])
    assert len(set(run)) == len(run)
