"""The product steps world and machine together, and is a Gymnasium environment to the letter."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from errands.errors import TaskError, UnknownName
from errands.ids import TASKS
from errands.machines import NumericRM, couple, unfold_agenda, unfold_boolean
from errands.tasks import load
from errands.tasks.catalogue import CATALOGUE
from errands.tasks.phrases import any_order, avoid, sequence
from errands.tasks.product import Crossing, ProductEnv, Walker, product, task_env

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
    if "cheetah" in name:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
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
    parts = gym.spaces.Dict(cell=gym.spaces.Discrete(4), load=gym.spaces.MultiBinary(2))
    crossing = Crossing(parts, 7, 7)
    assert set(crossing.space["world"]) == {"cell", "load"}
    assert crossing.space["machine"] == gym.spaces.Discrete(7)
    seen = {"cell": 3, "load": [0, 1]}
    assert crossing.join(seen, 5, np.zeros(7, np.int8)) == {"world": seen, "machine": 5}


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


def test_every_name_of_the_catalogue_is_a_gymnasium_id() -> None:
    every = {e.named(n) for e in CATALOGUE for n in range(e.low, e.high + 1)}
    assert set(TASKS) == every
    assert all(gym.spec(f"errands/{name}").kwargs == {"task": name} for name in TASKS)


@pytest.mark.parametrize("imports", ["import errands, gymnasium", "import gymnasium, errands", "import errands.cli, gymnasium"])
def test_importing_errands_alone_makes_its_tasks_known_to_gymnasium(imports: str) -> None:
    script = f"""{imports}, sys
assert not {{"numba", "jax", "errands.worlds"}} & set(sys.modules)
env = gymnasium.make("errands/office-6")
print(env.reset(seed=0)[1]["label"], gymnasium.make_vec("errands/figure-1", num_envs=3).reset(seed=0)[0].shape)"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0{o1,o2,o3,o4,o5,o6}coffee (3,)"
    assert "warn" not in done.stderr.lower()


@pytest.mark.parametrize("name", ["figure-1", "office-2-one-coffee", "delivery-8", "pickup-2-one-at-a-time", "taxi-2",
                                  "water-3", "cheetah-bcde", "visit-1000"])  # fmt: skip
def test_the_environment_of_an_id_passes_gymnasiums_checker(name: str) -> None:
    if "cheetah" in name:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    env = gym.make(f"errands/{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Joints and velocities of the robot have no bounds.
        warnings.filterwarnings("ignore", message=".*A Box observation space m(in|ax)imum value is -?infinity")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_id_whose_machine_is_too_large_to_be_listed_steps_the_same_states() -> None:
    large, small = load("delivery-300"), load("delivery-13")  # 13 boxes: 16,383 agenda states, more than MAX_CODES
    space = gym.make("errands/delivery-300").observation_space
    assert isinstance(space, gym.spaces.Dict)
    assert space["machine"] == gym.spaces.MultiBinary(300 + len(large.machine))
    listed, coded = small.env(), ProductEnv(small.world.env(), small.machine)
    assert (listed.unwrapped.walker.count, coded.walker.count) == (16_383, None)
    rng = np.random.default_rng(0)
    for env in (listed, coded):
        env.reset(seed=0)
    for action in rng.integers(4, size=200).tolist():
        first, second = listed.step(action), coded.step(action)
        assert (first[1:4], first[4]["remaining"]) == (second[1:4], second[4]["remaining"])
        if first[2] or first[3]:
            break


def test_an_id_takes_the_machine_and_the_map_as_settings() -> None:
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


VECTOR = gym.spaces.Box(-1.0, 2.0, (3,), np.float32)
IMAGE = gym.spaces.Box(0, 255, (4, 4, 3), np.uint8)


def test_two_numbers_become_one_and_every_pair_another() -> None:
    crossing = Crossing(gym.spaces.Discrete(5, start=2), 3, 3)
    assert crossing.space == gym.spaces.Discrete(15)
    seen = {crossing.join(s, u, np.zeros(3, np.int8)): s for s in range(2, 7) for u in range(3)}
    assert sorted(seen) == list(range(15))
    assert all(crossing.world_of(joined) == s for joined, s in seen.items())


def test_a_vector_is_followed_by_the_code() -> None:
    crossing = Crossing(VECTOR, 2, 2)
    joined = crossing.join(np.array([0.5, -1.0, 2.0], np.float32), 1, np.array([0, 1], np.int8))
    assert joined.tolist() == [0.5, -1.0, 2.0, 0.0, 1.0]
    assert joined in crossing.space
    assert crossing.world_of(joined).tolist() == [0.5, -1.0, 2.0]
    assert crossing.space.low.tolist() == [-1, -1, -1, 0, 0]  # type: ignore[attr-defined]
    assert crossing.space.high.tolist() == [2, 2, 2, 1, 1]  # type: ignore[attr-defined]


def test_double_precision_is_kept() -> None:
    assert Crossing(gym.spaces.Box(-1.0, 1.0, (1,), np.float64), 2, 2).space.dtype == np.float64
    assert Crossing(VECTOR, 2, 2).space.dtype == np.float32


@pytest.mark.parametrize(("count", "machine"), [(4, gym.spaces.Discrete(4)), (None, gym.spaces.MultiBinary(7))])
def test_an_image_keeps_its_shape_beside_the_machine(count: int | None, machine: gym.Space[Any]) -> None:
    crossing = Crossing(IMAGE, count, 7)
    assert crossing.space["machine"] == machine  # type: ignore[index]
    picture, code = np.zeros((4, 4, 3), np.uint8), np.ones(7, np.int8)
    joined = crossing.join(picture, 3, code)
    assert joined in crossing.space
    assert crossing.world_of(joined) is picture


def test_a_machine_without_numbers_is_not_joined_to_a_number() -> None:
    assert Crossing(gym.spaces.Discrete(5), None, 7).kind == "dict"
    with pytest.raises(TaskError, match="the machine's states are too many to be numbered; use observation='dict'"):
        Crossing(gym.spaces.Discrete(5), None, 7, "index")
    with pytest.raises(TaskError, match="observation='index' joins two numbers, but the world's is Box"):
        Crossing(VECTOR, 3, 3, "index")


def test_a_number_is_flattened_to_its_one_hot_when_asked() -> None:
    crossing = Crossing(gym.spaces.Discrete(3), 2, 2, "flat")
    joined = crossing.join(1, 0, np.array([1, 0], np.int8))
    assert joined.tolist() == [0, 1, 0, 1, 0]
    assert crossing.world_of(joined) == 1


def test_what_cannot_be_flattened_or_is_no_kind_is_refused() -> None:
    with pytest.raises(TaskError, match="observation='flat' cannot flatten"):
        Crossing(gym.spaces.Sequence(gym.spaces.Discrete(2)), 2, 2, "flat")
    with pytest.raises(UnknownName, match="no kind of product observation is called 'flatt'; did you mean 'flat'"):
        Crossing(VECTOR, 2, 2, "flatt")  # type: ignore[arg-type]


BOXES = any_order("b1", "b2", after="s")
KINDS: dict[str, Any] = {
    "numeric": lambda m: m,
    "boolean": unfold_boolean,
    "agenda": unfold_agenda,
    "coupled": lambda m: couple(unfold_agenda(m)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_pays_and_ends_as_the_machine_runs(kind: str) -> None:
    machine = KINDS[kind](BOXES)
    walker, chance = Walker(machine), random.Random(7)
    for _ in range(50):
        trace = [{n for n in ("b1", "b2", "s") if chance.random() < 0.3} for _ in range(12)]
        position, rewards, ended, success = walker.start, [], False, False
        for true in trace:
            walked = walker.step(position, true)
            position, ended, success = walked.position, walked.terminal, walked.success
            rewards.append(walked.reward)
            if ended:
                break
        outcome = machine.run(trace)
        assert (tuple(rewards), ended, success) == (outcome.rewards, outcome.terminal, outcome.success)


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("numeric", 7, 7), ("boolean", 9, 9), ("agenda", 7, 7), ("coupled", 7, 8)]
)
def test_positions_are_counted_as_in_figure_2(kind: str, count: int, width: int) -> None:
    walker = Walker(KINDS[kind](BOXES))
    assert (walker.count, walker.width) == (count, width)
    assert [walker.index(walker.position(i)) for i in range(count)] == list(range(count))
    assert walker.index(walker.start) == 0
    with pytest.raises(
        TaskError, match=f"the machine state {count} does not exist; states are numbered 0 to {count - 1}"
    ):
        walker.position(count)
    with pytest.raises(TaskError):
        walker.position(-1)


def test_a_coupled_code_marks_every_occupied_state() -> None:
    walker = Walker(couple(unfold_agenda(BOXES)))
    assert walker.code(walker.start).tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    after = walker.step(walker.start, {"b1"}).position
    assert walker.code(after).sum() == 1


def test_other_codes_are_one_hot() -> None:
    walker = Walker(unfold_boolean(BOXES))
    assert np.array_equal(np.array([walker.code(walker.position(i)) for i in range(9)]), np.eye(9))


def test_labels_tell_the_agenda_or_the_order() -> None:
    agenda, boolean = Walker(unfold_agenda(BOXES)), Walker(unfold_boolean(BOXES))
    assert agenda.label(agenda.start) == "0{b1,b2}{b1,b2}"
    first = boolean.step(boolean.start, {"b2"}).position
    assert boolean.label(first) == "u1(b2)"
    assert boolean.remaining(first) == ("b1",)
    assert boolean.label(boolean.start) == "u0()"


def test_a_machine_too_large_to_number_is_coded_by_state_and_remaining_bits() -> None:
    names = [f"v{i}" for i in range(20)]
    walker = Walker(any_order(*names))
    assert walker.count is None
    assert walker.width == 2 + 20
    assert walker.code(walker.start).tolist() == [1, 0, *[1] * 20]
    after = walker.step(walker.start, {"v3"}).position
    assert walker.code(after).tolist() == [1, 0, 1, 1, 1, 0, *[1] * 16]
    assert walker.position(walker.index(after)) == after
    assert walker.remaining(after) == tuple(n for n in names if n != "v3")
    assert walker.label(after).startswith("u0{v0,v1,v2,v4,")
    with pytest.raises(TaskError, match="too many states to go through them all"):
        walker.running()


def test_running_positions_are_those_that_can_still_come() -> None:
    walker = Walker(unfold_agenda(BOXES))
    assert {walker.label(p) for p in walker.running()} == {
        "0{b1,b2}{b1,b2}", "1{b1}s", "1{b2}s", "2{b1}b1", "2{b2}b2", "3{}s",
    }  # fmt: skip
    after = walker.step(walker.start, {"b1"}).position
    assert {walker.label(p) for p in walker.running(after)} == {"1{b2}s", "2{b2}b2", "3{}s"}


def test_a_signal_is_paid_from_the_step() -> None:
    walker = Walker(NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 1"]))
    assert walker.step(walker.start, set(), {"cost": 0.5}).reward == -0.5
