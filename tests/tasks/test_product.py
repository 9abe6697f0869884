"""The product steps world and machine together, and is a Gymnasium environment to the letter."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from errands.errors import TaskError, UnknownName
from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.tasks import any_order, avoid, load, sequence
from errands.tasks.catalogue import CATALOGUE
from errands.tasks.product import ProductEnv, product, task_env
from errands.worlds.base import TASKS

GOAL = avoid("hole", "goal")
UP, RIGHT, DOWN, LEFT = range(4)
FIGURE_1 = [DOWN, DOWN, LEFT, LEFT, UP, UP, UP, RIGHT, LEFT, RIGHT]
"""The optimal ten steps of Figure 1a: to b2 at the bottom left, to s, to b1 at the top left, to s."""


def frozen_lake(**settings: Any) -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", disable_env_checker=True, **settings)


def holes(observation: Any, action: Any, following: Any, info: dict[str, Any]) -> set[str]:
    return {"goal"} if following == 15 else {"hole"} if following in (5, 7, 11, 12) else set()


@pytest.mark.parametrize(
    "name", ["figure-1", "corridor", "delivery-3", "office-3", "visit-4", "water-3", "cheetah-bcd"]
)
@pytest.mark.parametrize("machine", ["numeric", "boolean", "agenda", "coupled"])
def test_products_of_shipped_worlds_pass_gymnasiums_own_checker(name: str, machine: str) -> None:
    env = task_env(load(name), machine, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # HalfCheetah's observations have no bounds, which the checker mentions for gymnasium's own one too.
        warnings.filterwarnings("ignore", message=".*A Box observation space m.*infinity")
        check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("observation", ["flat", "dict", "index"])
def test_a_foreign_environment_crossed_with_a_machine_passes_the_checker(observation: Any) -> None:
    check_env(product(frozen_lake(), GOAL, features=holes, observation=observation), skip_render_check=True)


def test_the_optimal_walk_of_figure_1_is_paid_once_at_its_end() -> None:
    env = task_env(load("figure-1"))
    _, info = env.reset(seed=0)
    assert (info["label"], info["features"], info["remaining"]) == ("0{b1,b2}{b1,b2}", set(), ("b1", "b2"))
    labels, rewards = [], []
    for action in FIGURE_1:
        _, reward, terminated, truncated, info = env.step(action)
        labels.append(info["label"])
        rewards.append(reward)
    assert rewards == [0.0] * 9 + [1.0]
    assert list(dict.fromkeys(labels)) == ["0{b1,b2}{b1,b2}", "1{b1}s", "2{b1}b1", "3{}s", "4{}"]
    assert terminated
    assert not truncated
    assert info["success"]
    assert info["remaining"] == ()
    with pytest.raises(gym.error.ResetNeeded):
        env.step(UP)


def test_a_removed_box_is_no_longer_reported_nor_drawn_once_it_is_completed() -> None:
    env = task_env(load("figure-1"), render_mode="ansi")
    env.reset(seed=0)
    assert "b2" in env.render()
    seen = [env.step(action)[4]["features"] for action in (DOWN, DOWN, LEFT, LEFT, RIGHT, LEFT)]
    assert seen == [set(), set(), set(), {"b2"}, set(), set()]
    assert "b2" not in env.render()
    assert "b1" in env.render()


@pytest.mark.parametrize("unfold", [lambda m: m, unfold_boolean, unfold_agenda, lambda m: couple(unfold_agenda(m))])
@pytest.mark.parametrize("name", ["office-3", "delivery-2"])
def test_every_kind_of_machine_pays_what_its_own_run_pays_for_the_trace(unfold: Any, name: str) -> None:
    task = load(name)
    env = product(task.world.env(), unfold(task.machine))
    rng = np.random.default_rng(1)
    ends = 0
    for episode in range(60):
        env.reset(seed=episode)
        trace, rewards, terminated, truncated, info = [], [], False, False, {}
        while not terminated and not truncated:
            _, reward, terminated, truncated, info = env.step(int(rng.integers(4)))
            trace.append(info["features"])
            rewards.append(reward)
        outcome = task.machine.run(trace)
        assert outcome.rewards == tuple(rewards)
        assert (outcome.terminal, outcome.success) == (terminated, info["success"])
        ends += terminated
    assert ends > 10


def test_a_vector_is_followed_by_the_one_hot_of_the_machine_state() -> None:
    env = task_env(load("water-2"), "agenda")
    observation, info = env.reset(seed=0)
    states = len(unfold_agenda(load("water-2").machine))
    assert observation.shape == (52 + states,)
    assert observation.dtype == np.float32
    assert observation[52:].tolist() == [1.0] + [0.0] * (states - 1)
    assert info["machine_state"] == 0


def test_a_number_becomes_world_state_times_machine_states_plus_machine_state() -> None:
    env = task_env(load("office-2"))
    states = len(unfold_agenda(load("office-2").machine))
    observation, _ = env.reset(seed=0)
    assert env.observation_space == gym.spaces.Discrete(108 * states)
    for action in (UP, UP, RIGHT):
        observation, _, _, _, info = env.step(action)
        world, machine = divmod(observation, states)
        assert world == env.env.unwrapped.cell
        assert machine == info["machine_state"]


def test_other_observations_are_kept_whole_beside_the_machine_state() -> None:
    env = task_env(load("delivery-2"))
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"world", "machine"}
    assert set(observation["world"]) == {"cell", "carrying", "boxes"}
    assert env.observation_space["machine"] == gym.spaces.Discrete(7)


def test_in_a_coupled_machine_all_occupied_states_are_marked() -> None:
    env = product(load("figure-1").world.env(), couple(unfold_agenda(load("figure-1").machine)), observation="flat")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (12 + 8,)
    assert observation[12:].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]


def test_a_machine_with_too_many_states_is_coded_by_numeric_state_and_remaining_subtasks() -> None:
    task = load("visit-40")
    env = task_env(task, "numeric")
    observation, info = env.reset(seed=0)
    assert observation["machine"].tolist() == [1, 0] + [1] * 40
    assert env.walker.position(info["machine_state"]) == env.position
    assert len(info["remaining"]) == 40
    assert info["label"].startswith("u0{v1,")
    with pytest.raises(TaskError, match="too many to be numbered"):
        product(task.world.env(), task.machine, observation="index")


def test_the_initial_label_is_reported_and_not_consumed() -> None:
    at_start = NumericRM.of("u0", ["u1"], ["u0 -> u1 : start ; 1"])
    env = product(frozen_lake(is_slippery=False), at_start, lambda o, a, n, i: {"start"} if n == 0 else set())
    _, info = env.reset(seed=0)
    assert info["features"] == {"start"}
    assert info["machine_state"] == 0
    _, reward, terminated, _, _ = env.step(LEFT)
    assert reward == 1.0
    assert terminated


def test_the_worlds_own_end_ends_the_episode_without_success() -> None:
    blind = NumericRM.of("u0", ["u1"], ["u0 -> u1 : goal ; 1"])
    env = product(frozen_lake(is_slippery=False), blind, holes)
    env.reset(seed=0)
    env.step(2)
    _, reward, terminated, truncated, info = env.step(1)
    assert info["features"] == {"hole"}
    assert terminated
    assert not truncated
    assert not info["success"]
    assert reward == 0.0


def test_the_worlds_truncation_stays_a_truncation() -> None:
    env = product(frozen_lake(is_slippery=False, max_episode_steps=2), GOAL, holes)
    env.reset(seed=0)
    env.step(0)
    _, _, terminated, truncated, info = env.step(0)
    assert truncated
    assert not terminated
    assert not info["success"]


def test_the_base_reward_is_the_signal_reward() -> None:
    paid = NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~goal ; 0", "u0 -> u1 : goal ; -reward"])
    env = product(frozen_lake(is_slippery=False), paid, holes)
    env.reset(seed=0)
    rewards = [env.step(a)[1] for a in (1, 1, 2, 1, 2, 2)]
    assert rewards == [0, 0, 0, 0, 0, -1.0]


def test_seeds_pass_through_to_the_world() -> None:
    def walk(seed: int) -> list[int]:
        env = product(frozen_lake(), GOAL, holes)
        env.reset(seed=seed)
        seen, ended = [], False
        while not ended:
            observation, _, terminated, truncated, _ = env.step(1)
            seen.append(observation)
            ended = terminated or truncated
        return seen

    assert walk(3) == walk(3)
    assert len({tuple(walk(seed)) for seed in range(5)}) > 1


def test_a_saved_product_continues_as_it_would_have() -> None:
    env = task_env(load("office-4"))
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(4, size=400).tolist()
    for action in actions[:60]:
        if env.step(action)[2]:
            env.reset()
    saved = env.save()
    first = [env.step(a)[0] for a in actions[60:70]]
    env.restore(saved)
    assert [env.step(a)[0] for a in actions[60:70]] == first


def test_what_is_not_a_set_of_names_is_refused_with_a_sentence() -> None:
    with pytest.raises(TaskError, match="reports no info"):
        product(frozen_lake(), GOAL).reset()
    with pytest.raises(TaskError, match="must be a set of names"):
        product(frozen_lake(), GOAL, lambda o, a, n, i: ["goal"]).reset()  # type: ignore[arg-type,return-value]
    with pytest.raises(UnknownName, match="did you mean 'boolean'"):
        task_env(load("figure-1"), "bolean")
    with pytest.raises(UnknownName, match="did you mean 'dict'"):
        product(frozen_lake(), GOAL, holes, observation="dictt")  # type: ignore[arg-type]


def test_a_label_of_the_boolean_machine_tells_the_order() -> None:
    env = ProductEnv(load("visit-2").world.env(), unfold_boolean(any_order("v1", "v2")))
    env.reset(seed=0)
    assert env.walker.label(env.position) == "u0()"
    assert env.walker.label((0, (1,))) == "u0(v2)"


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        product(frozen_lake(), sequence("goal"), holes).step(0)


@pytest.mark.parametrize("name", TASKS)
def test_every_registered_task_is_in_the_catalogue(name: str) -> None:
    assert gym.spec(f"errands/{name}").kwargs == {"task": name}
    assert load(name).name == name


def test_families_of_the_catalogue_are_gymnasium_ids() -> None:
    assert {e.shown for e in CATALOGUE} == {e.shown for e in CATALOGUE for name in TASKS if e.number(name) or e.name == name}
    env = gym.make("errands/office-6", render_mode="ansi")
    assert env.observation_space == load("office-6").env().observation_space
    _, info = env.reset(seed=0)
    assert (info["label"], "@" in env.render()) == ("0{o1,o2,o3,o4,o5,o6}coffee", True)
    other = gym.make("errands/delivery-2", machine="boolean", map_seed=3)
    assert isinstance(other.unwrapped, ProductEnv)
    assert len(other.unwrapped.walker.machine) == 9


def test_a_vector_environment_is_refused_when_the_product_is_made() -> None:
    many = gym.vector.SyncVectorEnv([frozen_lake, frozen_lake])
    with pytest.raises(TaskError, match="SyncVectorEnv is 2 environments at once, and a product is made of one"):
        product(many, GOAL, holes)  # type: ignore[arg-type]
    eight = gym.vector.SyncVectorEnv([lambda: product(frozen_lake(), GOAL, holes)] * 8)
    assert eight.reset(seed=0)[0].shape == (8,)
