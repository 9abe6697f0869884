"""Policy files act as the learner's own policy does, in a process that has numpy and neither JAX nor numba."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
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
from errands.errors import StoreError, TaskError
from errands.learners import make_learner
from errands.oracle.episode import walk
from errands.runs.agent import TaskAgent
from errands.runs.policy_export import write_policy
from errands.runs.policy_file import read_policy
from errands.runs.program import Program, write_program

READER = """
import json, sys
for name in ("jax", "numba", "gymnasium", "safetensors", "pydantic"):
    sys.modules[name] = None  # whoever imports one of these fails
import numpy
from errands.runs.policy_file import read_policy
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
    found, _, won = act_alone(write_policy(task, policy, tmp_path / "policy.safetensors"), shown)
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


def test_states_that_are_no_plain_data_are_told_in_a_sentence(tmp_path: Path) -> None:
    class Cell:
        def __init__(self, observation: Any) -> None:
            self.place = place(observation)

        def __hash__(self) -> int:
            return hash(self.place)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Cell) and other.place == self.place

    run = errands.train(errands.Task.from_env(Room, CORNERS, "a", state=Cell, limit=60), "crm", steps=200)
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
    agents = TaskAgent(task, policy), read_policy(write_policy(task, policy, tmp_path / "p"))
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

        program, arrays = write_program(jax.make_jaxpr(apply)(x, w))
        np.testing.assert_allclose(Program(program, arrays)(x, w)[0], apply(jnp.array(x), jnp.array(w)), rtol=1e-4, atol=1e-5)


def test_situations_that_cannot_be_are_told_and_other_files_are_refused(tmp_path: Path) -> None:
    run = errands.train("figure-1", "crm", steps=5_000)
    agent = read_policy(run.export(tmp_path / "p.safetensors"))
    agent.reset(0)
    start = agent.machine_state
    elsewhere = next(s for s in range(12) if (s, *start, 0) not in agent._choose.rows)
    with pytest.raises(TaskError, match="never gets into this situation"):
        agent.act(elsewhere)
    agent = read_policy(tmp_path / "p.safetensors", features=lambda before, action, after, info: {"b2"})
    agent.act(5)
    agent.see(6)
    assert agent.order == ("b2",)
    (tmp_path / "other").write_bytes(b"x" * 100)
    with pytest.raises(StoreError, match="no policy file"):
        read_policy(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="no plain file"):
        read_policy(tmp_path / "pipe")


def unchecked(good: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Header, words and arrays of a policy file, as they were before there were checksums."""
    length = int.from_bytes(good[:8], "little")
    header, body = json.loads(good[8 : 8 + length]), good[8 + length :]
    about = {**json.loads(header["__metadata__"]["errands"]), "kind": "errands policy 1"}
    del about["sha256"]
    return {**header, "__metadata__": {"errands": json.dumps(about)}}, about, body


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
    assert 200 < sum(refused) < 420  # the others are no JSON any more
    header, _, body = unchecked(good)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    assert read_policy(path).about["task"] == "figure-1"  # files from before there were checksums


def test_a_strangers_policy_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    good = errands.train("figure-1", "qcorm", steps=2_000).export(tmp_path / "p.safetensors").read_bytes()
    # Without a checksum, so that everything is looked at; a stranger's would fit.
    header, about, body = unchecked(good)

    def file(words: Any, length: int | None = None) -> bytes:
        text = words if isinstance(words, bytes) else json.dumps(words).encode()
        return (len(text) if length is None else length).to_bytes(8, "little") + text + body

    def told(about: Any) -> bytes:
        return file({**header, "__metadata__": {"errands": about if isinstance(about, str) else json.dumps(about)}})

    odd = (None, -1, 2**70, "x", [], {}, [[]], float("nan"))
    bad = [b"", file(header, 2**63), file(header, 2**64 - 1), file(b"[" * 200_000), file([]), told("[" * 200_000), told("{}")]
    bad += [told({**about, key: value}) for key in ("machine", "observation", "action", "kind") for value in odd]
    bad += [file({**header, name: {**header[name], "data_offsets": [0, 2**70]}}) for name in header if name != "__metadata__"]
    bad += [file({**header, name: value}) for name in header for value in odd]
    bad += [told({**about, "machine": {**about["machine"], key: value}}) for key in about["machine"] for value in (None, 7, [7])]
    for data in bad:
        (tmp_path / "bad").write_bytes(data)
        with contextlib.suppress(StoreError):  # anything else would be raised
            read_policy(tmp_path / "bad").reset(0)


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
    path = write_policy(task, learner.policy, tmp_path / "one.safetensors")
    assert read_policy(path).machine == machine
