import errands
from errands.learners import make_learner
from errands.plots.policies import MOST_MAPS, draw_policies, policy_maps


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
    assert len(draw_policies(value, learner.task).axes) == 3


def test_more_maps_than_fit_are_counted():
    learner = trained("visit-20", "qcorm-0", 100)
    value = policy_maps(learner.task, learner.policy, learner)
    assert (len(value.maps), value.left_out) == (MOST_MAPS, 4)
