"""Replayed transitions are those that the machine would have made, had it been elsewhere."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import data_equivalence

from errands.errors import TaskError, UnknownName
from errands.machines import unfold_agenda
from errands.tasks import load
from errands.tasks.phrases import any_order, sequence
from errands.tasks.product import ReplayTransition, RewardMachineReplay, product, task_env

CELLS = gym.spaces.Discrete(12)


def test_a_step_is_replayed_in_every_running_state_of_figure_1() -> None:
    agenda = unfold_agenda(load("figure-1").machine)
    replay = RewardMachineReplay(agenda, space=CELLS)
    assert len(replay.transitions(5, 0, 2, set())) == 6
    found = {str(agenda.labels[t.of]): t for t in replay.transitions(2, 3, 1, {"s"})}
    number = {str(label): i for i, label in enumerate(agenda.labels)}
    assert set(found) == set(number) - {"4{}"}
    assert found["3{}s"] == ReplayTransition(
        2 * 7 + number["3{}s"], 3, 1.0, 1 * 7 + number["4{}"], True, number["3{}s"]
    )
    back = found["1{b1}s"]
    assert (back.reward, back.next_observation, back.terminated) == (0.0, 7 + number["2{b1}b1"], False)
    stays = found["2{b2}b2"]
    assert (stays.reward, stays.next_observation, stays.terminated) == (0.0, 7 + number["2{b2}b2"], False)


@pytest.mark.parametrize("kind", ["flat", "dict", "index"])
def test_the_transition_of_the_actual_state_is_the_one_that_the_product_made(kind: Any) -> None:
    task = load("office-2")
    env = product(task.world.env(), unfold_agenda(task.machine), observation=kind)
    replay = RewardMachineReplay.of(env)
    observation, info = env.reset(seed=0)
    for step in range(1_000):
        state = info["machine_state"]
        following, reward, terminated, truncated, info = env.step(action := step * step % 7 % 4)
        made = {t.of: t for t in replay.of_step(observation, action, following, info)}
        assert len(made) == 6
        assert data_equivalence(tuple(made[state]), (observation, action, reward, following, terminated, state))
        observation = following
        if terminated or truncated:
            observation, info = env.reset()


def test_a_step_of_the_product_gives_the_coupled_transitions_too() -> None:
    env = task_env(load("figure-1"))
    replay = RewardMachineReplay.of(env, "coupled")
    before, _ = env.reset(seed=0)
    after, _, _, _, info = env.step(2)
    assert replay.of_step(before, 2, after, info) == [
        ReplayTransition(15, 2, 0.0, 24, False, "b1"),
        ReplayTransition(16, 2, 0.0, 25, False, "b2"),
    ]


def test_where_boxes_vanish_only_states_that_can_still_come_are_imagined() -> None:
    env = task_env(load("figure-1"))
    replay = RewardMachineReplay.of(env)
    labels = [str(label) for label in unfold_agenda(load("figure-1").machine).labels]
    at = labels.index("1{b1}s")
    made = replay.transitions(5, 0, 2, set(), machine_state=at)
    assert {labels[t.of] for t in made} == {"1{b1}s", "2{b1}b1", "3{}s"}
    with pytest.raises(TaskError, match="machine_state"):
        replay.transitions(5, 0, 2, set())


def test_the_end_of_the_world_ends_every_imagined_transition() -> None:
    replay = RewardMachineReplay(load("figure-1").machine, space=CELLS)
    assert all(t.terminated for t in replay.transitions(5, 0, 2, set(), terminated=True))


def test_coupled_transitions_ground_what_was_completed_and_lift_the_others() -> None:
    replay = RewardMachineReplay(load("figure-1").machine, "coupled", space=CELLS)
    assert replay.objectives == ("b1", "b2", "s")
    made = replay.transitions(10, 3, 9, {"b2"}, machine_state=0)
    assert made == [
        ReplayTransition(30, 3, 0.0, 27, False, "b1"),
        ReplayTransition(31, 3, 1.0, 28, True, "b2"),
    ]
    assert replay.choices(5, 0) == {"b1": 15, "b2": 16}


def test_a_boolean_objective_is_grounded_too() -> None:
    agenda = unfold_agenda(load("figure-1").machine)
    at = [str(label) for label in agenda.labels].index("1{b1}s")
    made = RewardMachineReplay(agenda, "coupled", space=CELLS).transitions(2, 3, 1, {"s"}, machine_state=at)
    assert made == [ReplayTransition(8, 3, 1.0, 5, True, "s")]


def test_a_failure_ends_every_open_objective_without_reward() -> None:
    machine = load("office-2").machine
    replay = RewardMachineReplay(machine, "coupled", space=gym.spaces.Discrete(108))
    made = replay.transitions(0, 0, 1, {"decoration"}, machine_state=0)
    assert [(t.of, t.reward, t.terminated) for t in made] == [("coffee", 0.0, True)]


def test_others_are_paid_as_if_nothing_had_been_completed() -> None:
    machine = load("cheetah-bcd").machine
    replay = RewardMachineReplay(machine, "coupled", space=gym.spaces.Box(-9.0, 9.0, (2,)), full_reward=1000.0)
    made = replay.transitions([0.0, 0.0], [0.5], [3.0, 0.0], {"C"}, {"control_cost": 0.25}, machine_state=0)
    assert [(t.of, t.reward, t.terminated) for t in made] == [
        ("B", -0.25, False),
        ("C", 1000.0, True),
        ("D", -0.25, False),
    ]
    assert made[1].next_observation.tolist() == [3.0, 0.0, 0.0, 1.0, 0.0]


def test_a_machine_with_too_many_states_is_replayed_by_objectives_only() -> None:
    machine = any_order(*(f"v{i}" for i in range(40)))
    with pytest.raises(TaskError, match="kind='coupled'"):
        RewardMachineReplay(machine, space=CELLS)
    assert len(RewardMachineReplay(machine, "coupled", space=CELLS).choices(0, ((1 << 40) - 1) * 2)) == 40
    with pytest.raises(UnknownName):
        RewardMachineReplay(sequence("a"), "crm", space=CELLS)  # type: ignore[arg-type]
