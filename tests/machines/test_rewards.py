"""Rewards: sums of signals in files, functions in Python; what tables and learners make of them."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from errands.errors import SpecError, TaskError
from errands.learners import make_learner
from errands.machines import NumericRM, Transition, couple, unfold_agenda, unfold_boolean
from errands.machines.numeric import parse_transition
from errands.machines.rewards import Function, Reward, linear_pay, parse_reward
from errands.oracle.episode import walk
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.spec import write_task

from .definition import walked

LAKE = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = false }
features = { goal = [15], beach = [1, 4] }
[machine]
initial = "u0"
success = ["won"]
transitions = ["u0 -> u0 : ~goal & beach ; 0.5*reward - 0.01", "u0 -> won : goal ; 10 + 3*reward"]
"""


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("0.5*cost", Reward(0.5, "cost")),
        ("- cost", Reward(-1.0, "cost")),
        ("cost", Reward(1.0, "cost")),
        ("1000 - cost", Reward(1000.0, None, ((-1.0, "cost"),))),
        ("cost + 2*speed - 1", Reward(-1.0, None, ((1.0, "cost"), (2.0, "speed")))),
        ("1e3*cost - .5 * cost", Reward(999.5, "cost")),
        ("-1.5", Reward(-1.5)),
    ],
)
def test_a_sum_of_signals_is_read_and_printed_back(text: str, reward: Reward) -> None:
    assert parse_reward(text) == reward
    assert parse_reward(str(reward)) == reward


@pytest.mark.parametrize(
    "text", ["3 apples", "cost speed", "2*", "*cost", "1 + ", "nan", "2*inf", "1e999*cost", "+".join("a" * 99), ""]
)
def test_what_is_no_sum_is_one_sentence(text: str) -> None:
    with pytest.raises(SpecError, match="the reward"):
        parse_reward(text)


def test_every_machine_pays_sums_and_functions() -> None:
    product = Reward.of(lambda signals: signals["cost"] * signals["speed"], "cost", "speed")
    lines = tuple(
        Transition("u0", target, guard, reward)
        for target, guard, reward in (
            (
                "u0",
                NumericRM.of("u", ["v"], ["u -> v : ~a ; 0"]).transitions[0].guard,
                parse_reward("1 - 0.5*cost + speed"),
            ),
            ("won", NumericRM.of("u", ["v"], ["u -> v : a ; 0"]).transitions[0].guard, product),
        )
    )
    machine = NumericRM("u0", ("won",), (), (), lines)
    assert machine.signals == ("cost", "speed")
    signals = [{"cost": 4.0, "speed": 3.0}] * 2
    agenda = unfold_agenda(machine)
    for kind in (machine, unfold_boolean(machine), agenda, couple(agenda)):
        assert walked(kind, [set(), {"a"}], signals).rewards == (2.0, 12.0)
        with pytest.raises(TaskError, match="the signal 'speed', which this step does not report"):
            kind.run([set()], [{"cost": 1.0}])


def test_tables_hold_a_compound_reward_as_a_signal_of_its_own() -> None:
    """FrozenLake without ice: 6 steps; the first cell on the way is beach and pays 0 - 0.01, the goal 10 + 3."""
    task = Task.from_toml(LAKE)
    assert optimum(task).length == 6
    for learner in ("qcorm-plus", "scout"):
        with pytest.raises(TaskError, match="looks at success alone"):
            make_learner(task, learner)
    for learner in ("qrm", "crm", "hrm", "qcorm"):
        trained = make_learner(task, learner)
        trained.advance(20_000)
        evaluation = trained.evaluate()
        episode = walk(trained.policy, task)
        assert evaluation.total_reward == pytest.approx(sum(episode.rewards))
        assert (episode.rewards[-1] == 13.0) is evaluation.success
        assert set(episode.rewards) <= {0.0, -0.01, 13.0}
    assert Task.from_toml(write_task(task)).machine == task.machine


def test_rewards_that_print_alike_are_paid_apart() -> None:
    """Two functions of one name, and two sums that differ in the seventh digit: 1, then 5; 1000.0001, then 1000.0009."""
    world = Task.from_toml(LAKE).world
    near, far = (Reward.of(function, "reward") for function in (lambda signals: 1.0, lambda signals: 5.0))
    assert str(near) == str(far)
    sums = [parse_reward(f"1000.000{digit} + 0*reward") for digit in (1, 9)]
    for first, second in ((near, far), sums):
        guards = [NumericRM.of("u", ["v"], [f"u -> v : {name} ; 0"]).transitions[0].guard for name in ("beach", "goal")]
        lines = (Transition("u0", "u1", guards[0], first), Transition("u1", "won", guards[1], second))
        task = Task("lake", world, NumericRM("u0", ("won",), (), (), lines))
        expected = first.paid({"reward": 0.0}) + second.paid({"reward": 1.0})
        for name, machine in (("qrm", "agenda"), ("qrm", "boolean")):
            trained = make_learner(task, name, 0, machine)
            trained.advance(20_000)
            assert trained.evaluate().total_reward == expected == sum(walk(trained.policy, task).rewards)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.sampled_from(["cost", "speed", "height"])


@given(st.builds(Reward, FLOATS, st.none() | NAMES, st.lists(st.tuples(FLOATS, NAMES), max_size=3).map(tuple)))
def test_every_reward_is_read_back_from_what_it_prints(reward: Reward) -> None:
    assume(reward.finite)
    assert parse_reward(str(reward)) == reward
    assert parse_transition(f"u0 -> u1 : a ; {reward}").reward == reward


@given(st.lists(FLOATS, min_size=3, max_size=3))
def test_a_machine_made_in_python_is_the_same_after_its_task_file(numbers: list[float]) -> None:
    world = Task.from_toml(LAKE).world
    lines = [f"u0 -> u0 : todo↓ ; {numbers[0]!r}", f"u0 -> won : todo⤓ & beach ; {numbers[1]!r} + {numbers[2]!r}*reward"]
    lines = [line.replace("+ -", "- ") for line in lines]
    for completing in ({}, {"u0": []}, {"u0": [], "won": ["todo"]}):
        machine = NumericRM.of("u0", ["won"], lines, numeric={"todo": ["goal"]}, completing=completing)
        assert Task.from_toml(write_task(Task("lake", world, machine))).machine == machine


def test_a_reward_that_is_not_finite_is_refused_in_python_too() -> None:
    goal = Task.from_toml(LAKE).machine.transitions[-1].guard
    with pytest.raises(SpecError, match="the reward of 'u0 -> won : goal ; inf' is not finite"):
        NumericRM("u0", ("won",), (), (), (Transition("u0", "won", goal, Reward(float("inf"))),))


@pytest.mark.parametrize("name", ["figure-1", "delivery-2"])
def test_a_function_of_no_signals_is_paid_in_worlds_without_signals(name: str) -> None:
    """Five for the last step in the place of one: five times the discounted optimum, in the same number of steps."""
    task = load(name)
    five = tuple(
        replace(t, reward=Reward.of(lambda signals: 5.0)) if t.target in task.machine.success else t
        for t in task.machine.transitions
    )
    paid = replace(task, machine=replace(task.machine, transitions=five, phrase=None), text="")
    one, other = optimum(task), optimum(paid)
    assert other.length == one.length
    assert other.discounted == pytest.approx(5 * float(one.discounted or 0.0))


def test_factors_of_sums_are_what_the_sums_pay() -> None:
    chance = random.Random(2)
    signals = ("cost", "speed", "height")
    rewards = [
        Reward(chance.random(), None, tuple((chance.random(), s) for s in chance.sample(signals, 2))) for _ in range(4)
    ]
    values = np.array([chance.random() for _ in signals])
    index = np.array([[-1, 0, 1, 2, 3, 4, 5, 6]], np.int32)
    pay = linear_pay(rewards, signals, np.full((1, 8), 2.0), index)
    known = dict(zip(signals, values, strict=True))
    expected = [2.0, *(2 * values), *(2 * reward.paid(known) for reward in rewards)]
    assert np.allclose(pay[0, :, 0] + pay[0, :, 1:] @ values, expected)


def test_a_function_is_refused_by_task_files_and_a_column_of_its_own_for_networks() -> None:
    task = Task.from_toml(LAKE)
    last = task.machine.transitions[-1]
    machine = NumericRM("u0", ("won",), (), (), (Transition("u0", "won", last.guard, Reward.of(max_of, "reward")),))
    with pytest.raises(SpecError, match=r"cannot hold the function max_of\(reward\)"):
        write_task(Task("lake", task.world, machine))
    # A constant of 3, a signal times 2, the function: columns are the constant, the signal, the function's value.
    pay = linear_pay(machine.compounds, ("reward",), np.array([3.0, 2.0, 1.0]), np.array([-1, 0, 1], np.int32))
    assert pay.tolist() == [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]


def test_a_function_that_fails_says_so_in_a_sentence() -> None:
    reward = Reward.of(lambda signals: 1.0 / signals["reward"], "reward")
    with pytest.raises(TaskError, match=r"cannot be reckoned \(ZeroDivisionError: float division by zero\); let it give a number"):
        reward.paid({"reward": 0.0})


@pytest.mark.parametrize(("function", "why"), [(lambda _: sys.exit(3), "SystemExit: 3"), (lambda _: math.nan, "it gave nan")])
def test_a_function_that_exits_or_gives_no_number_is_named(function: Function, why: str) -> None:
    with pytest.raises(TaskError, match=rf"reward <lambda>\(reward\) cannot be reckoned \(.*{why}\)"):
        Reward.of(function, "reward").paid({"reward": 0.0})


def max_of(signals: dict[str, float]) -> float:
    return max(signals.values())
