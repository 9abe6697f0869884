"""Policy files act as the learner's own policy does, in a process that has numpy and neither JAX nor numba."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import errands
from errands.errors import ConfigError, StoreError, TaskError
from errands.learners import make_learner
from errands.oracle.episode import walk
from errands.policies.agent import TaskAgent
from errands.policies.export import policy_bytes
from errands.policies.file import read_policy
from errands.policies.program import Program, write_program

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from fuzz_policies import attempt, cases, mutated, put_together, taken_apart

READER = """
import json, sys
for name in ("jax", "numba", "gymnasium", "safetensors", "pydantic"):
    sys.modules[name] = None  # whoever imports one of these fails
import numpy
from errands.policies.file import read_policy
agent = read_policy(sys.argv[1], state=tuple if "numbered" in sys.argv else None)
agent.reset(None)
actions = []
for observation, features in json.load(sys.stdin):
    actions.append(agent.act(observation))
    agent.see(observation, {"features": features})
plain = [a if isinstance(a, int) else a.tolist() for a in actions]
print(json.dumps([plain, agent.done, agent.success]))
"""


def steps_of(task: errands.Task, policy: Any, most: int = 200) -> tuple[list[Any], list[Any], bool]:
    """What an episode shows step by step (observation before, features after), its actions, its success."""
    agent, env = TaskAgent(task, policy), task.world.env()
    observation, info = env.reset(seed=3)
    agent.reset(observation, info)
    shown, actions = [], []
    while not agent.done and len(actions) < most:
        actions.append(agent.act(observation))
        before = observation.tolist() if isinstance(observation, np.ndarray) else plain(observation)
        observation, _, terminated, truncated, info = env.step(actions[-1])
        agent.see(observation, info)
        shown.append((before, sorted(info["features"])))
        if terminated or truncated:
            break
    env.close()
    return shown, [a if isinstance(a, int) else a.tolist() for a in actions], agent.success


def plain(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: np.asarray(value).tolist() for name, value in observation.items()}
    return int(observation)


def act_alone(path: Path, shown: list[Any], *words: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path), *words], input=json.dumps(shown), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


CASES = [
    ("figure-1", "crm", None), ("figure-1", "hrm", None), ("office-3", "qcorm", None), ("delivery-3", "scout", None),
    ("figure-1", "qrm", "boolean"), ("figure-1", "qcorm-plus", None),
]  # fmt: skip


@pytest.mark.parametrize(("task", "learner", "machine"), CASES)
def test_a_tabular_policy_acts_alike_with_numpy_alone(tmp_path: Path, task: str, learner: str, machine: str | None) -> None:
    run = errands.train(task, learner, steps=20_000, machine=machine)
    path = run.export(tmp_path / "policy.safetensors")
    shown, actions, success = steps_of(run.task, run.policy)
    assert tuple(actions) == walk(run.policy, run.task).actions[:200]
    found, done, won = act_alone(path, shown)
    assert (found, won) == (actions, success)
    assert done == (success or done)


def written(task: errands.Task, policy: Any, folder: Path) -> Path:
    (folder / "p").write_bytes(policy_bytes(task, policy))
    return folder / "p"


def untrained(task: errands.Task, learner: str, **settings: Any) -> Any:
    """The policy of a small network before any training: its weights are random, and large, else the last bias decides."""
    small = {"width": 16, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", **settings}
    policy: Any = make_learner(task, learner, settings=small).policy
    larger = jax.tree.map(lambda leaf: 4 * leaf, policy.agent_state.trained)
    return replace(policy, agent_state=policy.agent_state._replace(trained=larger))


@pytest.mark.parametrize("learner", ["hrm", "qcorm"])
def test_a_network_acts_alike_with_numpy_alone(tmp_path: Path, learner: str) -> None:
    task = errands.load("water-2")
    policy = untrained(task, learner, depth=2)
    shown, actions, success = steps_of(task, policy, most=60)
    found, _, won = act_alone(written(task, policy, tmp_path), shown)
    assert (found, won) == (actions, success)
    assert len(set(actions)) >= 1


def test_continuous_actions_come_out_within_their_bounds(tmp_path: Path) -> None:
    task = errands.Task.from_env("Pendulum-v1", {"up": {"index": 0, "above": 0.9}}, "up", limit=50)
    # Trained a little: the means and spreads of what was observed are part of the policy, too.
    small = {"width": 8, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu", "eval_every": 100, "standardise": True}
    run = errands.train(task, "qcorm", steps=100, settings=small)
    shown, actions, _ = steps_of(task, run.policy, most=20)
    found, _, _ = act_alone(run.export(tmp_path / "policy.safetensors"), shown)
    np.testing.assert_allclose(found, actions, rtol=1e-4, atol=1e-5)
    assert 0 < np.abs(np.array(found)).max() <= 2.0


class Room(gym.Env[Any, Any]):
    """Five by five cells and two starts, so that nobody can write it down as a table."""

    observation_space: gym.Space[Any] = gym.spaces.MultiDiscrete([5, 5])
    action_space: gym.Space[Any] = gym.spaces.Discrete(4, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = (2, int(self.np_random.integers(2)))
        return self.shown(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        down, right = [(0, 1), (1, 0), (0, -1), (-1, 0)][int(action) - 1]
        self.place = (min(max(self.place[0] + down, 0), 4), min(max(self.place[1] + right, 0), 4))
        return self.shown(), 0.0, False, False, {}

    def shown(self) -> Any:
        return np.array(self.place)


# The flattened observation has a 1 at the row, and a 1 at 5 + the column.
CORNERS = {"a": {"index": [0, 9], "above": [0.5, 0.5]}, "b": {"index": [4, 9], "above": [0.5, 0.5]}}


def place(observation: Any) -> tuple[int, ...]:
    return tuple(int(x) for x in observation)


@pytest.mark.parametrize("learner", ["qrm", "hrm", "qcorm", "qcorm-plus", "scout"])
def test_states_numbered_by_a_function_are_in_the_file(tmp_path: Path, learner: str) -> None:
    task = errands.Task.from_env(Room, CORNERS, "any_order(a, b)", state=place, limit=60)
    run = errands.train(task, learner, steps=4_000, machine="boolean" if learner == "qrm" else None)
    assert task.finite is None
    shown, actions, success = steps_of(run.task, run.policy)
    assert success
    assert set(actions) <= {1, 2, 3, 4}
    found, _, won = act_alone(run.export(tmp_path / "p"), shown, "numbered")
    assert (found, won) == (actions, True)
    # The machine is followed by the regions of the task, also where the environment reports no features.
    agent = read_policy(tmp_path / "p", state=place)
    agent.reset(None)
    for (before, _), (after, _) in pairwise(shown):
        agent.act(before)
        agent.see(after)
    assert len(agent.remaining) == 1
    assert agent.act((7, 7)) in {1, 2, 3, 4}  # a state that was never met


class UpperRoom(Room):
    """One start, and nobody gets into the last two rows: the world is a table of fifteen states."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = (2, 0)
        return self.shown(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = super().step(action)
        self.place = (min(self.place[0], 2), self.place[1])
        return self.shown(), *result[1:]


@pytest.mark.parametrize("learner", ["qrm", "hrm", "qcorm", "qcorm-plus", "scout"])
def test_in_a_state_that_the_table_lacks_agents_take_the_first_action(tmp_path: Path, learner: str) -> None:
    """An operator carries it to where no walk of training could lead."""
    task = errands.Task.from_env(UpperRoom, {"a": CORNERS["a"]}, "a", state=place, limit=60)
    run = errands.train(task, learner, steps=2_000)
    assert task.finite is not None
    assert task.finite.states == 15
    again = errands.Task.from_env(UpperRoom, {"a": CORNERS["a"]}, "a", state=place, limit=60)
    assert TaskAgent(again, run.policy).act(np.array([1, 1])) == run.agent().act(np.array([1, 1]))
    for agent in (run.agent(), read_policy(run.export(tmp_path / "p"), state=place)):
        assert agent.act(np.array([4, 4])) == 1
        agent.see(np.array([2, 0]))
        assert agent.act(np.array([2, 0])) in {1, 2, 3, 4}


def test_states_that_are_no_plain_data_are_told_in_a_sentence(tmp_path: Path) -> None:
    class Cell:
        def __init__(self, observation: Any) -> None:
            self.place = place(observation)

        def __hash__(self) -> int:
            return hash(self.place)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Cell) and other.place == self.place

    run = errands.train(errands.Task.from_env(Room, CORNERS, "a", state=Cell, limit=60), "crm", steps=200)
    assert run.agent().act(np.array([2, 2])) in {1, 2, 3, 4}
    with pytest.raises(TaskError, match="is not plain data; give numbers, text, bytes or tuples of them"):
        run.export(tmp_path / "p")


def test_a_tabular_policy_of_a_world_without_tables_is_written(tmp_path: Path) -> None:
    def goal(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {"goal"} if info["prob"] > 0 and after == 15 else set()

    task = errands.Task.from_env("FrozenLake-v1", goal, "goal", kwargs={"is_slippery": False})
    run = errands.train(task, "crm", steps=4_000)
    assert task.finite is None
    shown, actions, success = steps_of(run.task, run.policy)
    assert act_alone(run.export(tmp_path / "p"), shown) == [actions, True, success]


class Anything(Room):
    def shown(self) -> Any:
        return self.observation_space.sample()


class Pictures(Anything):
    observation_space = gym.spaces.Box(0, 255, (10, 10, 3), np.uint8)
    action_space = gym.spaces.Discrete(4)


class Parts(Anything):
    observation_space = gym.spaces.Dict(
        z=gym.spaces.Box(-1, 1, (2,), np.float64), a=gym.spaces.Discrete(5, start=3),
        m=gym.spaces.Tuple([gym.spaces.MultiBinary(3), gym.spaces.MultiDiscrete([2, 3])]),
        i=gym.spaces.Box(0, 255, (2, 2), np.uint8),
    )  # fmt: skip
    action_space = gym.spaces.MultiDiscrete([2, 2, 3])


@pytest.mark.parametrize(("room", "network"), [(Pictures, "conv"), (Parts, "heads")])
def test_convolutions_and_composed_spaces_are_written_as_programs(tmp_path: Path, room: type[Anything], network: str) -> None:
    """Weights and observations are random numbers."""
    task = errands.Task.from_env(room, lambda before, action, after, info: {"a"}, "any_order(a, b)", limit=60)
    policy = untrained(task, "crm", network=network)
    agents = TaskAgent(task, policy), read_policy(written(task, policy, tmp_path))
    room.observation_space.seed(0)
    chosen = set()
    for _ in range(30):
        seen = room.observation_space.sample()
        if network == "conv":  # noise looks alike everywhere; squares do not
            seen = 255 * np.kron(seen[:2, :2] // 128, np.ones((5, 5, 1), np.uint8))
        first, second = (agent.act(seen) for agent in agents)
        np.testing.assert_array_equal(first, second)
        assert room.action_space.contains(second)
        chosen.add(str(second))
    assert len(chosen) > 1


def test_a_convolution_of_a_program_is_that_of_jax() -> None:
    """Convolutions over pictures of odd sides, with strides and padding that are not the same on both sides."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 9, 7, 3)).astype(np.float32), rng.normal(size=(3, 2, 3, 5)).astype(np.float32)
    for strides, padding in (((1, 1), "SAME"), ((2, 3), "VALID"), ((2, 2), [(0, 1), (2, 0)])):
        def apply(x: Any, w: Any, strides: Any = strides, padding: Any = padding) -> Any:
            return jax.lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

        program = Program(*write_program(jax.make_jaxpr(apply)(x, w)), (x, w))
        np.testing.assert_allclose(program(x, w)[0], apply(jnp.array(x), jnp.array(w)), rtol=1e-4, atol=1e-5)


def test_other_files_are_refused(tmp_path: Path) -> None:
    run = errands.train("figure-1", "crm", steps=5_000)
    agent = read_policy(run.export(tmp_path / "p.safetensors"), features=lambda before, action, after, info: {"b2"})
    agent.act(5)
    agent.see(6)
    assert agent.order == ("b2",)
    (tmp_path / "other").write_bytes(b"x" * 100)
    with pytest.raises(StoreError, match="no policy file"):
        read_policy(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="no plain file"):
        read_policy(tmp_path / "pipe")


def test_a_changed_bit_anywhere_in_a_policy_file_is_noticed(tmp_path: Path) -> None:
    path = errands.train("figure-1", "qcorm", steps=2_000).export(tmp_path / "p.safetensors")
    good = path.read_bytes()
    dice, refused = np.random.default_rng(0), []
    for place in [*range(120), *dice.integers(len(good), size=300).tolist()]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(dice.integers(8))
        path.write_bytes(bad)
        with pytest.raises(StoreError) as fault:
            read_policy(path)
        refused.append("its checksum does not fit; restore it" in str(fault.value))
    assert any(refused)  # the others are no JSON any more


@pytest.fixture(scope="module")
def good_files() -> dict[str, bytes]:
    return cases()


def test_changed_policy_files_with_right_checksums_are_refused_or_acted_by_inside_the_action_space(
    tmp_path: Path, good_files: dict[str, bytes]
) -> None:
    """benchmarks/fuzz_policies.py does so thousands of times."""
    dice, found = np.random.default_rng(7), Counter()
    for number in range(450):
        name = list(good_files)[number % len(good_files)]
        how = attempt(tmp_path / "p", mutated(good_files[name], dice), dice)
        assert how in ("refused", "acted", "told"), (name, number)
        found[how] += 1
    assert found["refused"] > 100
    assert found["acted"] > 20


@pytest.mark.parametrize("name", ["actions", "network", "continuous"])
def test_enormous_shapes_are_refused_without_asking_for_memory(tmp_path: Path, good_files: dict[str, bytes], name: str) -> None:
    header, about, body = taken_apart(good_files[name])
    resized = {key: {**entry, "shape": [10**12, *entry["shape"]]} for key, entry in header.items()}
    bad = [put_together(resized, about, bytes(body))]
    bad += [put_together(header, {**about, "observation": form}, bytes(body)) for form in (
        {"counts": [10**12], "starts": [0]}, {"counts": [10**6] * 100, "starts": [0] * 100}, {"scale": 1.0, "size": 10**12},
    )]  # fmt: skip
    for number, line in enumerate(about["policy"].get("program", {}).get("lines", ())):
        for key in {"shape", "new_sizes"}.intersection(line[3]):
            changed = json.loads(json.dumps(about))
            changed["policy"]["program"]["lines"][number][3][key] = [10**6, 10**6]
            bad.append(put_together(header, changed, bytes(body)))
    assert len(bad) > 4 or name == "actions"
    tracemalloc.start()
    for data in bad:
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(StoreError, match="no policy file"):
            read_policy(tmp_path / "bad")
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()


def test_an_action_outside_of_the_space_is_never_taken(tmp_path: Path, good_files: dict[str, bytes]) -> None:
    """Four actions are in the file; a table with another one is refused, a network that answers none says so."""
    header, about, body = taken_apart(good_files["actions"])
    assert about["action"] == {"start": 0, "n": 4}
    (tmp_path / "bad").write_bytes(put_together(header, {**about, "action": {"start": 0, "n": 2}}, bytes(body)))
    with pytest.raises(StoreError, match="'actions' has numbers out of range"):
        read_policy(tmp_path / "bad")
    header, about, body = taken_apart(good_files["continuous"])
    for entry in header.values():
        if entry["dtype"] == "F32" and len(entry["shape"]) == 2:
            begin, end = entry["data_offsets"]
            body[begin:end] = np.full(entry["shape"], np.nan, np.float32).tobytes()
    (tmp_path / "bad").write_bytes(put_together(header, about, bytes(body)))
    with pytest.raises(TaskError, match="gave an action outside of its space"):
        read_policy(tmp_path / "bad").act(np.zeros(3))


FIRST = ["slice", [0], [10], {"start_indices": [0], "limit_indices": [1]}]
HEAD = ["iota", [], [90], {"shape": [1], "dimension": 0, "dtype": "<i4"}]


def own_program(good: bytes, lines: list[Any]) -> bytes:
    """A file whose program is written by hand: 0 is the observation, 12 the action, 90 the head."""
    _, about, _ = taken_apart(good)
    about["policy"]["program"] = {"inputs": [0, 1, 2, 3], "outputs": [12, 90], "lines": [FIRST, *lines]}
    return put_together({}, about, b"")


def iota(target: int, *shape: int) -> list[Any]:
    return ["iota", [], [target], {"shape": list(shape), "dimension": 0, "dtype": "<f4"}]


def test_a_program_that_is_well_for_one_observation_and_fails_for_another_says_so(
    tmp_path: Path, good_files: dict[str, bytes]
) -> None:
    """A power with a whole number that no machine word holds; a slice that begins at infinity; heads beyond all bounds."""
    power = [HEAD, ["integer_pow", [10], [12], {"y": 2**70}]]
    cut = [
        HEAD, ["mul", [10, 10], [11], {}], ["squeeze", [11], [13], {"dimensions": [0]}],
        ["dynamic_slice", [0, 13], [14], {"slice_sizes": [1]}], ["tanh", [14], [12], {}],
    ]  # fmt: skip
    negative = [
        HEAD, ["convert_element_type", [10], [11], {"new_dtype": "<i4"}], ["neg", [11], [13], {}], ["pow", [11, 13], [14], {}],
        ["convert_element_type", [14], [15], {"new_dtype": "<f4"}], ["tanh", [15], [12], {}],
    ]  # fmt: skip
    for lines, good, bad in ((power, 1.0, 2.0), (cut, 1.0, 1e30), (negative, 0.0, 2.0)):
        (tmp_path / "p").write_bytes(own_program(good_files["continuous"], lines))
        agent = read_policy(tmp_path / "p")
        assert np.isfinite(agent.act(np.array([good, 0, 0], np.float32)))
        with pytest.raises(TaskError, match=r"the network of the policy file (fails here|gave an action outside)"):
            agent.act(np.array([bad, 0, 0], np.float32))
    far = [["iota", [], [80], {"shape": [1], "dimension": 0, "dtype": "<i8"}], ["exp", [10], [81], {}]]
    far += [["convert_element_type", [81], [90], {"new_dtype": "<i8"}], ["tanh", [10], [12], {}]]
    (tmp_path / "p").write_bytes(own_program(good_files["continuous"], far))
    agent = read_policy(tmp_path / "p")
    for _ in range(3):  # the head goes along from one step to the next
        assert agent.act(np.array([40.0, 0, 0], np.float32)) == 2.0


@pytest.mark.parametrize(
    "lines",
    [
        [iota(20, 40_000, 0), iota(21, 0, 40_000), ["dot_general", [20, 21], [22], {"dimension_numbers": [[[1], [0]], [[], []]]}]],
        [iota(20, 40_000, 40_000, 0), ["reduce_sum", [20], [22], {"axes": [2]}]],
        [iota(20, 10**12, 0)],
        [iota(20, 8_000, 8_000), *(["add", [k, k], [k + 1], {}] for k in range(20, 50))],
    ],
)
def test_a_program_of_empty_or_many_arrays_is_refused_before_it_asks_for_memory(
    tmp_path: Path, good_files: dict[str, bytes], lines: list[Any]
) -> None:
    (tmp_path / "p").write_bytes(own_program(good_files["continuous"], [HEAD, ["tanh", [10], [12], {}], *lines]))
    tracemalloc.start()
    with pytest.raises(StoreError, match="a program does more than networks do"):
        read_policy(tmp_path / "p")
    assert tracemalloc.get_traced_memory()[1] < 600_000_000
    tracemalloc.stop()


def test_a_wrong_observation_is_one_clear_sentence(tmp_path: Path, good_files: dict[str, bytes]) -> None:
    wrong = {
        "actions": [(12, "the observation is 12; it must be from 0 to 11"), ("x", "the observation is 'x'; give what the"),
                    (None, "whole numbers, 1 in all"), (1.5, "whole numbers"), ([1, 2], "1 in all"), ([[1], [1, 2]], "1 in all")],
        "continuous": [([1, 2], "give what the environment gave: numbers, 3 in all"), ([1, 2, float("nan")], "not finite")],
        "planned": [(100, "the observation is 100; it must be from 0 to 99")],
        "numbered": [([1], "the state is a list; give read_policy the task's state function")],
    }  # fmt: skip
    for name, observations in wrong.items():
        (tmp_path / "p").write_bytes(good_files[name])
        agent = read_policy(tmp_path / "p")
        for observation, told in observations:
            with pytest.raises(TaskError, match=told):
                agent.act(observation)
    agent.act(3)
    for info, told in (("x", "info is 'x'"), ({"features": "goal"}, "the features are 'goal'"), ({"features": [3]}, "are .3.")):
        with pytest.raises(TaskError, match=told):
            agent.see(3, info)


PUSHED = [
    ("figure-1", "crm", None), ("figure-1", "qrm", "boolean"), ("office-3", "hrm", None), ("office-3", "qcorm", None),
    ("office-3", "qcorm-plus", None), ("office-3", "scout", None), ("delivery-3", "scout", None), ("delivery-3", "dirl", None),
    ("delivery-3", "crm", None),
]  # fmt: skip


@pytest.mark.parametrize(("task", "learner", "machine"), PUSHED)
def test_a_policy_file_acts_in_every_situation_as_the_run_does(
    tmp_path: Path, task: str, learner: str, machine: str | None
) -> None:
    """Walks in which every third action is somebody else's: a push, or an operator whom nobody asked."""
    run = errands.train(task, learner, steps=20_000, machine=machine)
    robot = read_policy(run.export(tmp_path / "p"))
    assert robot.about["covers"] == "every situation"
    agent, env, dice = run.agent(), run.task.world.env(), np.random.default_rng(0)
    for walk_number in range(20):
        observation, info = env.reset(seed=walk_number)
        agent.reset(observation, info)
        robot.reset(observation, info)
        for _ in range(100):
            action = robot.act(observation)
            assert action == agent.act(observation)
            if dice.random() < 1 / 3:
                action = env.action_space.sample()
            observation, _, terminated, truncated, info = env.step(action)
            agent.see(observation, info)
            robot.see(observation, info)
            assert (robot.machine_state, robot.order) == (agent.machine_state, agent.order)
            if agent.done or terminated or truncated:
                break
    env.close()


LAKE = {"goal": [15]}


@pytest.mark.parametrize("learner", ["crm", "hrm", "qcorm", "qcorm-plus", "scout"])
@pytest.mark.parametrize("steps", [50, 5_000])
def test_machines_without_subtasks_and_learners_that_know_nothing_yet_are_written(tmp_path: Path, learner: str, steps: int) -> None:
    """FrozenLake, whose moves slip: in every cell what the run's own policy does."""
    run = errands.train(errands.Task.from_env("FrozenLake-v1", LAKE, "goal"), learner, steps=steps)
    robot, agent = read_policy(run.export(tmp_path / "p")), run.agent()
    assert not run.task.machine.subtasks
    assert [robot.act(cell) for cell in range(16)] == [agent.act(cell) for cell in range(16)]


@pytest.mark.parametrize(
    ("name", "learner", "most"),
    [("office-6", "scout", 10_000), ("office-6", "qcorm-plus", 10_000), ("delivery-3", "scout", 900),
     ("delivery-20", "scout", 250_000)],
)
def test_of_a_machine_too_large_for_a_table_the_file_holds_the_way_and_leads_back_to_it(
    tmp_path: Path, name: str, learner: str, most: int
) -> None:
    """Pushed about for a while, then left alone, it still ends the task, by the rule that the file states."""
    task = errands.load(name)
    run = errands.train(task, learner, steps=20_000)
    (tmp_path / "p").write_bytes(policy_bytes(task, run.policy, most=most))
    robot, env, dice = read_policy(tmp_path / "p"), task.world.env(), np.random.default_rng(0)
    assert "machine states of the policy's way; off the way the shortest way back to it" in robot.about["covers"]
    alone, ended = walk(run.policy, task), []
    for number in range(21):
        observation, info = env.reset(seed=number)
        robot.reset(observation, info)
        for step in range(task.world.limit):
            action = robot.act(observation)
            assert number or action == alone.actions[step]
            if number and step < 200 and dice.random() < 1 / 3:
                action = env.action_space.sample()
            observation, _, terminated, truncated, info = env.step(action)
            robot.see(observation, info)
            if robot.done or terminated or truncated:
                break
        failed = robot.done and not robot.success
        ended.append(robot.success or failed)  # pushed into a plant, an office task has failed
    assert ended == [True] * 21
    env.close()


def test_arguments_of_an_agent_are_checked() -> None:
    run = errands.train("figure-1", "qcorm", steps=2_000)
    wrong: Any = "nonsense"
    with pytest.raises(ConfigError, match="env is 'nonsense'; give the Gymnasium environment"):
        run.agent(wrong)
    agent = run.agent()
    with pytest.raises(TaskError, match="info is 'nonsense'"):
        agent.reset(0, wrong)
    with pytest.raises(TaskError, match="the observation is 'nonsense'; give what the environment gave"):
        agent.act(wrong)
    with pytest.raises(TaskError, match="the observation is 12; it must be from 0 to 11"):
        agent.act(12)
    agent.act(0)
    with pytest.raises(TaskError, match="the features are 'b1'; give the names"):
        agent.see(1, {"features": "b1"})


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    run = errands.train("figure-1", "scout", steps=100)
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere; make it, or name another file"):
        run.export(tmp_path / "nowhere" / "policy.safetensors")


def test_a_policy_file_holds_what_states_complete_against_their_words(tmp_path: Path) -> None:
    """In u0 no guard asks for b↓, and both items are done there all the same."""
    machine = errands.NumericRM.of("u0", ["u1"], ["u0 -> u1 : b⤓ ; 1"], numeric={"b": ["x", "y"]}, completing={"u0": ["b"]})
    task = errands.Task.from_env("FrozenLake-v1", {"x": [4], "y": [14]}, machine, kwargs={"is_slippery": False})
    learner = make_learner(task, "qrm")
    learner.advance(5_000)
    assert read_policy(written(task, learner.policy, tmp_path)).machine == machine
