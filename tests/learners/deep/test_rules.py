import numpy as np

from errands.learners.deep.config import DeepConfig, DeepHRMConfig, DeepQCoRMConfig
from errands.learners.deep.machine import listed
from errands.learners.deep.rules import by_objective, by_option, by_state, options_of
from errands.tasks import load
from errands.tasks.task import Task

MUD = """name = "mud"
[world]
kind = "grid"
rows = ["Amg", "..."]
legend = { m = "m", g = "g" }
[machine]
initial = "u0"
success = ["win"]
transitions = ["u0 -> u0 : m & ¬g ; -1", "u0 -> win : g ; 1"]
"""

FIGURE = listed(load("figure-1"))
EMPTY, B1, S = (FIGURE.numbers[frozenset(x)] for x in ([], ["b1"], ["s"]))


def test_crm_follows_the_machine_and_pays_where_it_succeeds():
    rule = by_state(FIGURE, DeepConfig(), counterfactual=True)
    assert rule.heads == 7
    assert (rule.follow[EMPTY] == np.arange(7)).all()
    last = next(i for i in range(7) if rule.reward[S, i] == 1.0)
    assert not rule.goes_on[S, last]
    assert rule.goes_on[EMPTY, last]
    assert rule.reward.sum() == 1.0


def test_where_boxes_vanish_only_states_that_can_still_be_reached_learn():
    rule = by_state(FIGURE, DeepConfig(), counterfactual=True)
    taken = FIGURE.table.next[0, B1]
    assert not rule.alive[taken, 0]
    assert rule.alive[0].sum() == 6  # all but the success
    water = by_state(listed(load("water-2")), DeepConfig(), counterfactual=True)
    assert water.alive[0].sum() == 3


def test_qrm_learns_in_its_own_state_only():
    assert by_state(FIGURE, DeepConfig(), counterfactual=False).alive.sum(axis=1).tolist() == FIGURE.running.tolist()


def test_an_option_is_paid_for_its_own_transition_and_ended_by_any_other():
    rule = by_option(FIGURE, DeepHRMConfig(full_reward=3.0))
    source, target = options_of(FIGURE)
    assert rule.heads == len(source) == 7
    mine = next(e for e in range(7) if source[e] == 0 and target[e] == FIGURE.table.next[0, B1])
    other = next(e for e in range(7) if source[e] == 0 and e != mine)
    assert rule.reward[B1, [mine, other]].tolist() == [3.0, 0.0]
    assert not rule.goes_on[B1, [mine, other]].any()
    assert rule.goes_on[EMPTY].all()


def test_an_objective_is_done_by_its_own_feature_and_waits_for_the_dedicated_buffer():
    apart = by_objective(FIGURE, DeepQCoRMConfig())
    direct = by_objective(FIGURE, DeepQCoRMConfig(joint=False, dedicated=False, full_reward=2.0))
    assert direct.reward[B1].tolist() == [2.0, 0.0, 0.0]
    assert direct.goes_on[B1].tolist() == [False, True, True]
    assert direct.counts.all()
    assert apart.counts[B1].tolist() == [False, True, True]


def test_touching_a_forbidden_colour_fails_every_objective():
    machine = listed(load("water-2"))
    rule = by_objective(machine, DeepQCoRMConfig())
    forbidden = machine.numbers[frozenset({"blue"})]
    assert not rule.goes_on[forbidden].any()
    assert (rule.reward[forbidden] == 0).all()
    assert rule.counts[forbidden].all()


def test_the_control_cost_is_paid_to_every_objective_that_waits():
    machine = listed(load("cheetah-bcd"))
    rule = by_objective(machine, DeepQCoRMConfig(reward_scale=0.01))
    assert np.allclose(rule.pay[machine.numbers[frozenset()]], -0.01)
    done = machine.numbers[frozenset({"B"})]
    assert rule.pay[done, :, 0].tolist() == [0.0, -0.01, -0.01]


def test_without_relabelling_only_open_objectives_learn():
    rule = by_objective(FIGURE, DeepQCoRMConfig(relabel=False))
    assert (rule.alive == FIGURE.open).all()
    assert by_objective(FIGURE, DeepQCoRMConfig()).alive[0].all()


def test_options_are_paid_the_constant_rewards_of_the_steps_they_take():
    """Mud costs 1 wherever it is met: every option pays it while its machine state stays, none when it is left."""
    task = Task.from_toml(MUD)
    machine = listed(task)
    rule = by_option(machine, DeepHRMConfig(reward_scale=0.5))
    mud, empty, goal = (machine.numbers[frozenset(x)] for x in (["m"], [], ["g"]))
    assert rule.reward[mud].tolist() == [-0.5]
    assert rule.reward[empty].tolist() == [0.0]
    assert rule.reward[goal].tolist() == [1.0]
    assert rule.goes_on[mud].all()
