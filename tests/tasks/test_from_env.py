"""Tasks in other people's environments: Gymnasium's own, MiniGrid, Box2D; and files that name code."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import SpecError, TaskError
from errands.oracle.certificate import expected
from errands.oracle.episode import walk
from errands.policies.file import FileAgent, read_policy
from errands.tasks import Task
from errands.tasks.phrases import any_order
from errands.worlds.gymnasium.guard import frame

MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


class Corridor(gym.Env[Any, Any]):
    """Nine cells in a row with a switch at the left end and a lamp at the right; observes a Dict, tells its charge."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (as in gymnasium)

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = gym.spaces.Dict(
            place=gym.spaces.Box(0, 8, (1,), np.float32), lit=gym.spaces.Discrete(2)
        )
        self.action_space = gym.spaces.Discrete(2)
        self.render_mode = render_mode
        self.place = 4

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 4
        return self._seen(), {"charge": 0.0, "signals": {"own": 7.0}}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = min(8, max(0, self.place + (1 if action else -1)))
        return self._seen(), 0.0, False, False, {"charge": float(self.place), "signals": {"own": 7.0}}

    def _seen(self) -> dict[str, Any]:
        return {"place": np.array([self.place], np.float32), "lit": int(self.place == 8)}

    def render(self) -> Any:
        return np.full((4, 9, 3), self.place, np.uint8)


def ends(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
    place = float(after["place"][0])
    return {name for name, cell in (("switch", 0), ("lamp", 8)) if place == cell}


def place_of(observation: Any) -> int:
    return int(observation["place"][0])


@pytest.mark.parametrize("env", [Corridor, Corridor(), lambda: Corridor()], ids=["class", "environment", "function"])
def test_a_function_of_states_makes_a_world_finite_and_its_optimum_exact(env: Any) -> None:
    task = Task.from_env(env, ends, "any_order(switch, lamp)", state=place_of)
    assert task.finite is not None
    assert (task.finite.states, task.certain, task.world.kind) == (9, True, "gymnasium")
    # Four steps to one end, eight to the other.
    assert errands.optimum(task).length == 12


def test_what_cannot_be_an_environment_or_a_signal_is_told() -> None:
    with pytest.raises(SpecError, match="SyncVectorEnv is 2 environments at once; give one"):
        Task.from_env(gym.vector.SyncVectorEnv([Corridor, Corridor]), ends, "lamp")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="signals is the text 'charge'; give a list"):
        Task.from_env(Corridor, ends, "lamp", signals="charge")
    with pytest.raises(SpecError, match="features are a int"):
        Task.from_env(Corridor, 3, "lamp")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="Corridor cannot make an environment: TypeError"):
        Task.from_env(Corridor, ends, "lamp", kwargs={"doors": 3})
    with pytest.raises(TaskError, match="the state function of 'Corridor' gave a dict, which cannot be hashed"):
        _ = Task.from_env(Corridor, ends, "lamp", state=lambda observation: observation, signals=None).finite


@pytest.mark.parametrize("learner", ["qrm", "crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "scout", "dirl"])
def test_every_learner_takes_such_a_task(learner: str) -> None:
    task = Task.from_env(Corridor, ends, any_order("switch", "lamp"), state=place_of, limit=100)
    run = errands.train(task, learner, steps=4000)
    assert run.certificate is not None
    assert run.certificate.optimum == 12
    if learner != "dirl":
        assert run.evaluations[-1].episode_length == 12


def test_states_are_numbered_as_they_are_met_where_the_world_cannot_be_copied() -> None:
    class Stubborn(Corridor):
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("not me")

    task = Task.from_env(Stubborn, ends, "any_order(switch, lamp)", state=place_of, limit=100)
    assert "it cannot be copied (TypeError: not me)" in task.untabled
    run = errands.train(task, "scout", steps=3000)
    assert run.order in {("switch", "lamp"), ("lamp", "switch")}
    assert run.evaluations[-1].episode_length == 12
    assert run.certificate is not None
    assert run.certificate.claim is not None
    assert run.certificate.claim.proved
    assert errands.train(task, "crm", steps=3000).evaluations[-1].episode_length == 12


def test_chance_leaves_no_table() -> None:
    class Windy(Corridor):
        def step(self, action: Any) -> Any:
            return super().step(action if self.np_random.random() < 0.7 else 1 - action)

    task = Task.from_env(Windy, ends, "any_order(switch, lamp)", state=place_of)
    assert task.finite is None
    assert errands.optimum(task).reason.startswith(
        "the world has numbered states, but no table of them: it has moves that depend on chance"
    )
    assert not task.certain


def test_a_state_that_forgets_something_leaves_no_table() -> None:
    class Counting(Corridor):
        def step(self, action: Any) -> Any:
            self.ticks = getattr(self, "ticks", 0) + 1
            return super().step(action if self.ticks % 3 else 1 - action)

    task = Task.from_env(Counting, ends, "any_order(switch, lamp)", state=place_of)
    assert "depend on more than the state function tells" in task.untabled


def test_signals_are_numbers_of_info_or_functions_and_nothing_of_the_users_is_lost() -> None:
    machine = errands.NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~lamp ; -charge", "u0 -> u1 : lamp ; 10"], (), {})
    task = Task.from_env(
        Corridor,
        ends,
        machine,
        state=place_of,
        signals={
            "charge": "charge",
            "moved": lambda before, action, after: abs(place_of(after) - place_of(before or after)),
        },
    )
    assert task.world.signals == ("reward", "charge", "moved")
    env = task.world.env()
    env.reset(seed=0)
    _, _, _, _, info = env.step(1)
    assert info["signals"] == {"reward": 0.0, "own": 7.0, "charge": 5.0, "moved": 1.0}
    # Cells 5, 6 and 7 cost their number, then the lamp pays 10.
    assert walk(errands.optimum(task).policy, task).rewards == (-5.0, -6.0, -7.0, 10.0)
    named = Task.from_env(Corridor, ends, "lamp", signals=["charge"])
    assert named.world.signals == ("reward", "charge")


def test_regions_over_several_numbers_are_boxes_and_discs() -> None:
    pytest.importorskip("mujoco", reason="Reacher needs MuJoCo")
    task = Task.from_env(
        "Reacher-v5",
        {"near": {"index": [4, 5], "centre": [0.0, 0.1], "radius": 0.5}, "boxed": {"index": [0, 1], "above": [-1, -1]}},
        "any_order(near, boxed)",
    )
    world = task.world
    point = np.zeros(10)
    assert world.features_of(point) == {"near", "boxed"}  # type: ignore[attr-defined]
    point[4] = 0.6
    assert world.features_of(point) == {"boxed"}  # type: ignore[attr-defined]
    point[0] = -1.0
    assert world.features_of(point) == set()  # type: ignore[attr-defined]
    env = task.env()
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[4]["success"] in {True, False}
    env.close()


def test_dict_observations_get_advice_that_leads_somewhere() -> None:
    with pytest.raises(SpecError) as told:
        Task.from_env(Corridor, {"lamp": [8]}, "lamp")
    assert "entries: place 0, lit 1 to 2" in str(told.value)
    assert 'features = "MODULE:FUNCTION"' in str(told.value)
    task = Task.from_env(Corridor, {"lamp": {"index": 0, "above": 7.5}}, "lamp")
    assert task.world.features_of({"place": np.array([8.0]), "lit": 1}) == {"lamp"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "cells", "steps"), [("FrozenLake-v1", [3, 12], 2000), ("CliffWalking-v1", [0, 11], 4000)]
)
def test_published_tables_serve_functions_as_they_serve_lists(name: str, cells: list[int], steps: int) -> None:
    settings = {"is_slippery": False}
    by_list = Task.from_env(name, {"a": cells[:1], "b": cells[1:]}, "any_order(a, b)", kwargs=settings)

    def corners(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {name for name, cell in zip("ab", cells, strict=True) if after == cell}

    by_function = Task.from_env(name, corners, "any_order(a, b)", kwargs=settings)
    best = errands.optimum(by_list)
    assert errands.optimum(by_function).length == best.length
    # FrozenLake has a hole on cell 12: reached and done in one step, which is success.
    assert best.length is not None
    assert errands.train(by_function, "scout", steps=steps).certificate.length == best.length  # type: ignore[union-attr]

    def curious(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {"a", "b"} if info.get("prob") == 1.0 and after == cells[0] else set()

    assert Task.from_env(name, curious, "any_order(a, b)").finite is None


def test_taxi_has_three_hundred_starts_and_an_exact_expectation() -> None:
    task = Task.from_env("Taxi-v4", {"home": [0, 85, 410, 475]}, "home")
    best = errands.optimum(task)
    assert (task.certain, len(task.finite.table.starts)) == (False, 300)  # type: ignore[union-attr]
    assert expected(best.policy, task).optimal(best.length)  # type: ignore[arg-type]


def test_lunar_lander_tells_its_legs() -> None:
    pytest.importorskip("Box2D")
    legs = {"left": {"index": 6, "above": 0.5}, "right": {"index": 7, "above": 0.5}}
    task = Task.from_env("LunarLander-v3", legs, "any_order(left, right)")
    env = task.env()
    env.reset(seed=1)
    seen = set()
    for _ in range(200):
        _, _, ended, cut, info = env.step(0)
        seen |= info["features"]
        if ended or cut:
            break
    assert seen <= {"left", "right"}
    assert task.untabled == "is continuous"
    # Box2D's bodies are no plain data: the state is reached again by the episode's seed and actions.
    world = task.world.env()
    world.reset(seed=5)
    for action in (0, 1, 2, 3, 2):
        world.step(action)
    saved = world.save()  # type: ignore[attr-defined]
    other = task.world.env()
    other.restore(saved)  # type: ignore[attr-defined]
    for action in (3, 2, 1, 0):
        assert np.array_equal(world.step(action)[0], other.step(action)[0])
    assert np.array_equal(world.reset()[0], other.reset()[0])


def _door_key() -> Task:
    pytest.importorskip("minigrid")

    class OneMap(gym.Wrapper[Any, Any, Any, Any]):
        """Every episode on the map of seed 3."""

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.env.reset(seed=3)

    def features(env: Any) -> set[str]:
        here = env.grid.get(*env.agent_pos)
        door = next(thing for thing in env.grid.grid if thing is not None and thing.type == "door")
        holds = {"key": env.carrying, "door": door.is_open, "goal": here is not None and here.type == "goal"}
        return {name for name, true in holds.items() if true}

    def state(env: Any) -> Any:
        door = next(thing for thing in env.grid.grid if thing is not None and thing.type == "door")
        key = [i for i, thing in enumerate(env.grid.grid) if thing is not None and thing.type == "key"]
        return (*map(int, env.agent_pos), int(env.agent_dir), *key, door.is_open, door.is_locked)

    return Task.from_env(
        lambda render_mode=None: OneMap(gym.make("MiniGrid-DoorKey-5x5-v0", render_mode=render_mode)),
        features,
        "sequence(key, door, goal)",
        state=state,
        name="door-key",
    )


def test_scout_proves_minigrids_door_key_optimal(tmp_path: Path) -> None:
    task = _door_key()
    best = errands.optimum(task)
    run = errands.train(task, "scout", steps=20_000)
    assert run.certificate is not None
    assert run.certificate.claim is not None
    assert run.certificate.claim.proved
    assert run.certificate.claim.upper == run.certificate.length == best.length == _by_search(task)
    assert run.order == ("key", "door", "goal")
    _act_in_minigrid(run, read_policy(run.export(tmp_path / "policy")))


def _act_in_minigrid(run: errands.Run, robot: FileAgent) -> None:
    """Features and state look at the environment itself: the agent needs it, the file's agent is given what they say."""
    world: Any = run.task.world
    env = world.make(None)
    agent = run.agent(env)
    observation, info = env.reset()
    agent.reset(observation, info)
    robot.reset(None)
    with pytest.raises(TaskError, match=r"looks at the environment itself; give it to the agent: run\.agent\(env\)"):
        run.agent().act(observation)
    while not agent.done:
        action = agent.act(observation)
        assert robot.act(world.state_of(env, None, {})) == action
        observation, _, _, _, info = env.step(action)
        agent.see(observation, info)
        robot.see(None, {"features": world.function(env.unwrapped)})
    assert agent.success
    assert robot.success


def test_a_state_function_needs_numbered_actions() -> None:
    with pytest.raises(SpecError, match=r"actions of 'Pendulum-v1' are Box\(.*\), not Discrete; leave it out and train a deep"):
        Task.from_env("Pendulum-v1", {"up": {"index": 0, "above": 0.9}}, "up", state=lambda observation: observation.tobytes())


def _by_search(task: Task) -> int:
    """The shortest episode by trying all sequences of actions, states seen twice left out, on the environment alone."""
    import copy

    world: Any = task.world
    start = world.env()
    _, info = start.reset()
    layer, seen, steps = [(start, info, 0)], set(), 0
    while layer:
        following = []
        for env, info, got in layer:
            for action in range(7):
                there = copy.deepcopy(env)
                _, _, _, _, info = there.step(action)
                stage = got
                while stage < 3 and ("key", "door", "goal")[stage] in info["features"] and stage == got:
                    stage += 1
                if stage == 3:
                    return steps + 1
                key = (world.state_of(there, None, info), stage)
                if key not in seen:
                    seen.add(key)
                    following.append((there, info, stage))
        layer, steps = following, steps + 1
    raise AssertionError("no way")


def test_other_peoples_pictures_are_their_own() -> None:
    env = _door_key().world.env("rgb_array")
    env.reset(seed=0)
    picture = frame(env)
    assert picture is not None
    assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)
    assert len(np.unique(picture)) > 4
    assert frame(_door_key().world.env()) is None
    row = Task.from_env(Corridor, ends, "lamp").world.env("rgb_array")
    row.reset(seed=0)
    assert frame(row).tolist() == np.full((4, 9, 3), 4).tolist()  # type: ignore[union-attr]


class Faulty(Corridor):
    """Misbehaves in its third step."""

    fault = "raise"

    def step(self, action: Any) -> Any:
        self.count = getattr(self, "count", 0) + 1
        seen, reward, *rest = super().step(action)
        if self.count == 3:
            if self.fault == "raise":
                raise RuntimeError("gears stuck")
            if self.fault == "hang":
                threading.Event().wait(60)
            if self.fault == "exit":
                raise SystemExit(3)
            if self.fault == "reward":
                reward = float("nan")
            if self.fault == "no reward":
                reward = None
            if self.fault == "old":
                return seen, reward, False, {}
            if self.fault == "nothing":
                return None
            if self.fault == "info":
                rest[2] = None
        return seen, reward, *rest


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raise", "the environment 'Faulty' in step 3 of an episode raised RuntimeError: gears stuck; .* resume"),
        ("hang", r"the environment 'Faulty' in step 3 of an episode took longer than 0\.2 seconds; .* step_seconds"),
        ("reward", "the environment 'Faulty' in step 3 of an episode gave reward = nan; give a finite number"),
        ("exit", "the environment 'Faulty' in step 3 of an episode raised SystemExit: 3; fix"),
        ("no reward", "in step 3 of an episode gave reward = None; give a finite number"),
        ("old", "in step 3 of an episode answered .* bool False, dict .*; give .observation, reward, terminated"),
        ("nothing", r"in step 3 of an episode answered \(None\); give .observation, reward, terminated"),
        ("info", "in step 3 of an episode gave a NoneType as info; give a dict"),
    ],
)
def test_a_fault_names_the_environment_and_the_step(monkeypatch: pytest.MonkeyPatch, fault: str, sentence: str) -> None:
    monkeypatch.setattr(Faulty, "fault", fault)
    world = Task.from_env(Faulty, ends, "lamp", step_seconds=60).world
    env = world.env()
    env.reset(seed=0)
    env.step(1)
    env.step(0)
    if fault == "hang":
        # Only now: any step can take that long on a busy machine.
        object.__setattr__(world, "step_seconds", 0.2)
    with pytest.raises(TaskError, match=sentence):
        env.step(1)


def test_a_function_that_raises_is_told_with_the_step() -> None:
    env = Task.from_env(Corridor, lambda before, action, after, info: {after["plaice"]}, "lamp").world.env()
    with pytest.raises(
        TaskError, match="at the start of an episode the features function of 'Corridor' raised KeyError"
    ):
        env.reset(seed=0)


class Numbers(gym.Env[Any, Any]):
    """Observes what it is told to."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    seen: Any = np.zeros(2, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        print("hello from inside")
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.seen, 0.0, False, False, {}


def test_numbers_that_are_none_and_other_shapes_are_told_and_prints_do_not_reach_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = Task.from_env(Numbers, {"up": {"index": 1, "above": 0.5}}, "up").world.env()
    env.reset(seed=0)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(Numbers, "seen", np.array([0.0, np.nan], np.float32))
    with pytest.raises(TaskError, match="'Numbers' in step 1 of an episode observed nan as entry 1"):
        env.step(0)
    monkeypatch.setattr(Numbers, "seen", np.zeros(3, np.float32))
    with pytest.raises(
        TaskError, match=r"in step 2 of an episode observed something of shape \(3,\), and its space has"
    ):
        env.step(0)


class Parts(Numbers):
    """Observes several things at once."""

    observation_space = gym.spaces.Dict({"at": Numbers.observation_space, "of": gym.spaces.MultiDiscrete([2, 3])})
    good: ClassVar = {"at": np.zeros(2, np.float32), "of": np.array([0, 0])}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.good, {}


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        ({"at": Parts.good["at"]}, "observed nothing as part 'of' of its Dict"),
        (None, "observed nothing as part 'at' of its Dict"),
        ({**Parts.good, "at": np.array([0.0, np.inf])}, "observed inf as entry 1, in part 'at'"),
        ({**Parts.good, "of": np.array([0, 3])}, "observed .*, which is not in its MultiDiscrete.*, in part 'of'"),
        ({**Parts.good, "at": np.array(["a", "b"])}, "observed .*, which are no numbers, in part 'at'"),
    ],
)
def test_a_wrong_part_of_an_observation_is_named(monkeypatch: pytest.MonkeyPatch, seen: Any, sentence: str) -> None:
    monkeypatch.setattr(Parts, "seen", seen)
    env = Task.from_env(Parts, lambda before, action, after, info: {"up"}, "up").world.env()
    env.reset(seed=0)
    with pytest.raises(TaskError, match=f"'Parts' in step 1 of an episode {sentence}"):
        env.step(0)
