"""HRM: its options are the machine's moves, each paid for its own, under a controller that finds the order."""

from __future__ import annotations

import pytest

from errands.learners.hrm.settings import HRMConfig
from errands.learners.hrm.tabular import HRM
from errands.tables import FAILURE
from errands.tasks import Task, load


@pytest.mark.parametrize(("kind", "moves"), [("agenda", 7), ("boolean", 8)])
def test_options_are_the_arrows_of_figure_2(kind: str, moves: int) -> None:
    learner = HRM(load("figure-1"), HRMConfig(), 0, kind)  # type: ignore[arg-type]
    assert len(learner.options.target) == moves
    assert learner.options.first[0] == 0
    assert learner.options.first[1] == 2
    assert learner.values.q.shape == (12, 4, moves)


def test_no_option_leads_into_a_failure() -> None:
    learner = HRM(load("office-2"), HRMConfig(), 0)
    assert not (learner.machine.status[learner.options.target] == FAILURE).any()
    assert (learner.machine.status == FAILURE).any()


def test_the_policy_brings_both_boxes_and_holds_an_option_to_its_end() -> None:
    learner = HRM(load("figure-1"), HRMConfig(alpha=1.0, alpha_controller=0.5, q_init=1.0), 0)
    learner.advance(30_000)
    last = learner.evaluate()
    assert last.success
    assert last.episode_length in (10, 12)
    assert sorted(learner.order) == ["b1", "b2", "s", "s"]


def test_options_learn_the_way_to_their_own_goal_only() -> None:
    """The option to b1 values being beside it by the full reward, the option to b2 by less."""
    learner = HRM(load("figure-1"), HRMConfig(alpha=1.0, epsilon=1.0, gamma=0.9, full_reward=2.0), 0)
    learner.advance(30_000)
    left_of_station = learner.values.q[1, 3]
    assert left_of_station[0] == pytest.approx(2.0)
    assert left_of_station[1] == 0.0


def test_an_option_is_paid_the_machines_rewards_besides_its_own_but_no_gain_of_another_transition() -> None:
    """Beside x, which pays 3, and y, which costs 2; bumping into the wall costs 0.5 and leaves things as they are."""
    task = Task.from_toml(
        'name = "paid"\n[world]\nkind = "grid"\nrows = ["xAy"]\nlegend = { x = "x", y = "y" }\n'
        '[machine]\ninitial = "u0"\nsuccess = ["won", "bought"]\nfailure = []\n'
        'transitions = ["u0 -> u0 : ~x & ~y ; -0.5", "u0 -> won : x ; 3", "u0 -> bought : y & ~x ; -2"]\n'
    )
    learner = HRM(task, HRMConfig(alpha=1.0, epsilon=1.0, gamma=0.9, full_reward=2.0), 0)
    learner.advance(5_000)
    values = learner.values.q[int(learner.world.table.starts[0])]
    to = [task.machine.states[learner.enumerated.states[j][0]] for j in learner.options.target]
    won, bought = values[:, to.index("won")], values[:, to.index("bought")]
    assert sorted(set(won.tolist())) == [-2.0, -0.5 + 0.9 * (3.0 + 2.0), 3.0 + 2.0]
    assert sorted(set(bought.tolist())) == [-0.5, -2.0 + 2.0]


def test_a_saved_learner_goes_on_as_it_would_have() -> None:
    config = HRMConfig(alpha=0.5)
    whole, first, second = (HRM(load("figure-1"), config, 4) for _ in range(3))
    whole.advance(1_000)
    first.advance(400)
    second.restore(first.save())
    second.advance(600)
    ours, theirs = second.save(), whole.save()
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in theirs)
