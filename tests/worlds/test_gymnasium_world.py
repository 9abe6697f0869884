"""Foreign environments as worlds: toy text beside its tables, classic control, and what is refused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands import Task
from errands.errors import SpecError
from errands.oracle.episode import walk
from errands.worlds import GymnasiumWorld, World
from errands.worlds.gymnasium.tables import finite_from_p

Walk = Callable[..., dict[str, int]]


@pytest.mark.parametrize(
    ("name", "kwargs", "features", "steps"),
    [
        ("FrozenLake-v1", {"is_slippery": True}, {"goal": [15], "hole": [5, 7, 11, 12]}, 100_000),
        ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}, {"goal": [63]}, 20_000),
        ("Taxi-v4", {}, {"home": [0, 85, 410, 475]}, 50_000),
        ("CliffWalking-v1", {}, {"goal": [47]}, 20_000),
    ],
)
def test_the_published_table_and_the_shell_agree(
    walk: Walk, name: str, kwargs: dict[str, Any], features: dict[str, Any], steps: int
) -> None:
    world = GymnasiumWorld(name, features, kwargs, limit=300)
    assert isinstance(world, World)
    finite = world.finite()
    assert finite is not None
    seen = walk(world.env(), finite, int, draws=True, steps=steps)
    assert seen["episodes"] > 60


def test_cliff_walking_has_one_start_and_certain_moves() -> None:
    finite = GymnasiumWorld("CliffWalking-v1", {"goal": [47]}).finite()
    assert finite is not None
    assert finite.certain
    assert finite.table.starts.tolist() == [36]
    assert finite.table.ends[35, 2].tolist() == [True]


def test_a_fickle_taxi_is_not_in_its_table() -> None:
    assert GymnasiumWorld("Taxi-v4", {"home": [0]}, {"fickle_passenger": True}).finite() is None


def test_continuous_observations_and_the_reward_as_a_signal() -> None:
    world = GymnasiumWorld("CartPole-v1", {"right": {"index": 0, "above": 0.0}})
    assert (world.limit, world.signals, world.finite()) == (500, ("reward",), None)
    env = world.env()
    seen, info = env.reset(seed=0)
    assert info["signals"] == {"reward": 0.0}
    for _ in range(5):
        assert info["features"] == ({"right"} if seen[0] > 0 else set())
        seen, reward, _, _, info = env.step(1)
        assert info["signals"]["reward"] == reward == 1.0


def test_the_limit_truncates_and_does_not_terminate() -> None:
    env = GymnasiumWorld("MountainCar-v0", {"top": {"index": 0, "above": 0.5}}, limit=4).env()
    env.reset(seed=0)
    assert [env.step(1)[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]


def test_the_base_environment_ends_its_own_episodes() -> None:
    env = GymnasiumWorld("FrozenLake-v1", {"hole": [5]}, {"is_slippery": False}).env()
    env.reset(seed=0)
    env.step(1)
    _, _, terminated, truncated, info = env.step(2)
    assert (terminated, truncated, info["features"]) == (True, False, {"hole"})


@pytest.mark.parametrize(
    ("name", "features", "kwargs", "sentence"),
    [
        ("NoSuchLake-v1", {"goal": [1]}, {}, "gymnasium cannot make 'NoSuchLake-v1'"),
        ("FrozenLake", {"goal": [1]}, {}, "gymnasium cannot make 'FrozenLake': No registered env with id"),
        ("FrozenLake-v1", {"goal": [1]}, {"size": 3}, "gymnasium cannot make 'FrozenLake-v1' with .'size': 3."),
        ("FrozenLake-v1", {}, {}, "the world 'FrozenLake-v1' names no feature"),
        ("os:FrozenLake-v1", {"goal": [1]}, {}, "'os:FrozenLake-v1' names code, .* --import os"),
        ("FrozenLake-v1", {"goal": [16]}, {}, "feature 'goal' lists 16"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(
    name: str, features: dict[str, Any], kwargs: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SpecError, match=sentence):
        GymnasiumWorld(name, features, kwargs)


def test_restoring_reproduces_the_future() -> None:
    for name, features in (
        ("FrozenLake-v1", {"goal": [15]}),
        ("Taxi-v4", {"home": [0]}),
        ("CartPole-v1", {"right": {"index": 0, "above": 0.0}}),
        ("MountainCar-v0", {"top": {"index": 0, "above": 0.5}}),
    ):
        world = GymnasiumWorld(name, features)
        env, twin = world.env(), world.env()
        env.reset(seed=1)
        twin.reset(seed=2)
        env.step(0)
        saved = env.save()  # type: ignore[attr-defined]
        for each in (env, twin):
            each.action_space.seed(0)
            each.restore(saved)  # type: ignore[attr-defined]
        for _ in range(100):
            ours, theirs = (_step_on(each) for each in (env, twin))
            assert np.array_equal(ours[0], theirs[0])
            assert ours[1] == theirs[1]


def _step_on(env: gym.Env[Any, Any]) -> tuple[Any, Any]:
    seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
    rest = (reward, terminated, truncated, info["features"])
    return (env.reset()[0], rest) if terminated or truncated else (seen, rest)


P = {
    0: {0: [(0.5, 0, 0.0, False), (0.25, 1, 2.0, True), (0.25, 1, 2.0, True)], 1: [(1.0, 0, -1.0, False)]},
    1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 0, 0.5, False)]},
}


def test_outcomes_keep_their_order_and_padding_repeats_the_last() -> None:
    world = finite_from_p(P, [0.75, 0.25], lambda state: {"end"} if state else set())
    table = world.table
    assert table.next[0, 0].tolist() == [0, 1, 1]
    assert table.cumulative[0].tolist() == [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0]]
    assert table.ends[0, 0].tolist() == [False, True, True]
    assert table.signal[0, 0].tolist() == [[0.0, 2.0, 2.0], [-1.0, -1.0, -1.0]]
    assert table.start_cumulative.tolist() == [0.75, 1.0]
    assert [set(world.labels[i]) for i in table.label[0, 0]] == [set(), {"end"}, {"end"}]
    assert [set(world.labels[i]) for i in table.start_label] == [set(), {"end"}]
    assert world.signals == ("reward",)
    assert not world.certain


def test_starts_without_probability_are_left_out() -> None:
    world = finite_from_p(P, np.array([0.0, 1.0]), lambda state: ())
    assert world.table.starts.tolist() == [1]
    assert world.labels == (frozenset(),)


def test_a_features_function_of_other_arguments_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(SpecError, match=r"takes \(seen\); it is called with \(observation, action, next_observation, info\)"):
        GymnasiumWorld("FrozenLake-v1", lambda seen: set(), names=("goal",))  # type: ignore[arg-type, misc]
    GymnasiumWorld("FrozenLake-v1", lambda *step: set(), names=("goal",))


def test_an_id_that_nobody_registered_says_that_packages_register_theirs() -> None:
    with pytest.raises(SpecError, match=r"Where a package registers it, name that: --import PACKAGE"):
        GymnasiumWorld("NoSuchKitchen-v0", {"goal": [15]})


class Mirrored(gym.ActionWrapper[Any, Any, Any]):
    """Left is right and right is left: FrozenLake's actions 0 and 2."""

    def action(self, action: Any) -> Any:
        return {0: 2, 2: 0}.get(int(action), action)


def frozen(**kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", is_slippery=False, disable_env_checker=False, **kwargs)


def test_a_wrapper_that_changes_moves_or_starts_hides_the_published_table() -> None:
    def swapped() -> gym.Env[Any, Any]:
        return Mirrored(frozen())

    class SameStart(gym.Wrapper[Any, Any, Any, Any]):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.env.reset(seed=3, options=options)

    assert GymnasiumWorld(swapped, {"goal": [15]}).finite() is None
    def taxi() -> gym.Env[Any, Any]:
        return SameStart(gym.make("Taxi-v4"))

    def lake() -> gym.Env[Any, Any]:
        return SameStart(gym.make("FrozenLake-v1", desc=["SFS", "FSF", "SFG"], is_slippery=False))

    assert GymnasiumWorld(taxi, {"home": [0]}).finite() is None
    assert GymnasiumWorld(lake, {"goal": [8]}).finite() is None
    # With a state function it is tried: six steps on the mirrored lake, by its own moves.
    task = Task.from_env(swapped, {"goal": [15]}, "goal", state=int)
    played = walk_of(errands.optimum(task).policy, task, env=swapped())
    assert played == (6, True)
    assert len(Task.from_env(lake, {"goal": [8]}, "goal", state=int).finite.table.starts) == 1  # type: ignore[union-attr]


def walk_of(policy: Any, task: Task, env: gym.Env[Any, Any]) -> tuple[int, bool]:
    """Steps and success of the policy's actions in an environment of Gymnasium's alone."""
    actions = walk(policy, task).actions
    env.reset(seed=0)
    steps = [env.step(action) for action in actions]
    return len(steps), steps[-1][0] == 15


def test_gymnasiums_passive_wrappers_leave_the_published_table() -> None:
    passive = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.TimeLimit(frozen(), 50))
    finite = GymnasiumWorld(passive, {"goal": [15]}).finite()
    assert finite is not None
    assert (finite.states, finite.tried) == (16, "")


def test_a_subclass_that_moves_otherwise_than_the_table_it_inherits_has_none() -> None:
    from gymnasium.envs.toy_text import FrozenLakeEnv

    class Other(FrozenLakeEnv):
        def step(self, a: int) -> Any:
            return super().step(3 - a)

    assert GymnasiumWorld(FrozenLakeEnv, {"goal": [15]}, {"is_slippery": False}).finite() is not None
    assert GymnasiumWorld(Other, {"goal": [15]}, {"is_slippery": False}).finite() is None


def published(p: Any, initial: Any = (1.0, 0.0)) -> Callable[[], gym.Env[Any, Any]]:
    class Publishes(gym.Env[Any, Any]):
        observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)
        P, initial_state_distrib = p, initial

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return 0, {}

        def step(self, action: Any) -> Any:
            return 0, 0.0, False, False, {}

    return Publishes


STAY = [(1.0, 0, 0.0, False)]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([(1.0, 100_000, 0.0, False)], "leads to state 100000; states are 0 to 1"),
        ([(1.0, -1, 0.0, False)], "leads to state -1"),
        ([(1.0, 2**70, 0.0, False)], "leads to state 1180591620717411303424"),
        ([(1.0, 0.5, 0.0, False)], "give a list of .probability, next state, reward, terminated."),
        ([(1.0, 0, 0.0, "False")], "give a list of"),
        ([(1.0, 0, 0.0)], "give a list of"),
        ([], "has probabilities of the shape .0,.; give at least one"),
        (None, "is None; give a list of"),
        ([(-2.0, 0, 0.0, False), (3.0, 0, 0.0, False)], "from 0 to 1, and 1 in all"),
        ([(0.5, 0, 0.0, False)], "probabilities of 0.5 to 0.5, 0.5 in all"),
        ([(float("nan"), 0, 0.0, False)], "from 0 to 1, and 1 in all"),
        ([(1.0, 0, float("inf"), False)], "pays inf; rewards must be finite"),
    ],
)
def test_a_published_outcome_that_cannot_be_is_one_sentence(row: Any, sentence: str) -> None:
    world = GymnasiumWorld(published({0: {0: STAY, 1: row}, 1: {0: STAY, 1: STAY}}), {"goal": [1]})
    with pytest.raises(SpecError, match=rf"that 'Publishes' publishes cannot be right: P\[0\]\[1\] .*{sentence}"):
        world.finite()


@pytest.mark.parametrize(
    ("p", "initial", "sentence"),
    [
        ({0: {0: STAY, 1: STAY}, 2: {0: STAY, 1: STAY}}, (1.0, 0.0), "P has 2 keys, and 1 is none of them"),
        ({0: {0: STAY, 1: STAY}, 1: {0: STAY}}, (1.0, 0.0), r"P\[1\] has 1 actions, and P\[0\] has 2"),
        ({0: {0: STAY, 2: STAY}, 1: {0: STAY, 1: STAY}}, (1.0, 0.0), r"P\[0\] has 2 keys, and 1 is none of them"),
        ({0: {0: STAY}, 1: {0: STAY}}, (1.0, 0.0), r"P has 2 states and 1 actions, but the spaces are Discrete\(2\)"),
        ({}, (1.0, 0.0), "P is {} .dict.; give a dict with the keys 0, 1, 2"),
        ([[STAY, STAY], [STAY, STAY]], (1.0,), "initial distribution has probabilities of the shape .1,.; give 2"),
        ([[STAY, STAY], [STAY, STAY]], (0.5, 0.6), "initial distribution has probabilities of 0.5 to 0.6, 1.1 in all"),
        ([[STAY, STAY], [STAY, STAY]], "half", "initial distribution is half; give 2 probabilities"),
    ],
)
def test_a_published_table_of_another_shape_is_one_sentence(p: Any, initial: Any, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        GymnasiumWorld(published(p, initial), {"goal": [1]}).finite()


def test_a_lake_that_slips_with_a_probability_of_minus_two_is_refused() -> None:
    with pytest.raises(SpecError, match="probabilities of -2 to 5, 1 in all"):
        GymnasiumWorld("FrozenLake-v1", {"goal": [15]}, {"success_rate": 5.0}).finite()


def test_probabilities_that_were_rounded_are_a_table_nevertheless() -> None:
    thirds = [(0.3333334, 0, 0.0, False), (0.3333334, 1, 0.0, False), (0.3333334, 0, 0.0, False), (0.0, 1, 0.0, False)]
    table = finite_from_p([[thirds, STAY], [STAY, STAY]], [0.5000001, 0.5000001], lambda state: ()).table  # type: ignore[arg-type]
    assert table.cumulative[0, 0, -2:].tolist() == [1.0, 1.0]
    assert table.start_cumulative.tolist() == [0.5000001, 1.0]


@pytest.mark.parametrize("ends", [np.True_, True, 1])
def test_the_end_of_a_published_outcome_may_be_numpys_true(ends: Any) -> None:
    over = [(1.0, 1, 0.0, ends)]
    finite = finite_from_p([[STAY, over], [STAY, STAY]], [1.0, 0.0], lambda state: ())  # type: ignore[arg-type]
    assert finite.table.ends[:, :, 0].tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("kwargs", [{"render_mode": "human"}, {"max_episode_steps": 3}, {"disable_env_checker": False}])
def test_what_errands_chooses_itself_is_no_setting_of_an_environment(kwargs: dict[str, Any]) -> None:
    """A window that opens and waits for every picture made `solve` of such a file hang."""
    with pytest.raises(SpecError, match=r"kwargs say .*, which errands chooses itself; "):
        Task.from_env("FrozenLake-v1", {"goal": [15]}, "goal", kwargs=kwargs)


class Ordered(gym.Env[Any, Any]):
    """A line whose observation is a dictionary that remembers its order."""

    observation_space = gym.spaces.Dict({"at": gym.spaces.Discrete(5), "seen": gym.spaces.Box(0, 1, (2,), np.float32)})
    action_space = gym.spaces.Discrete(2)

    def _seen(self) -> Any:
        return OrderedDict(at=self.at, seen=np.full(2, self.at / 4, np.float32))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.taken = 0, iter(())  # an iterator cannot be copied: the environment is put back by its actions
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = min(4, self.at + int(action))
        return self._seen(), 0.0, False, False, {}


def test_an_environment_is_put_back_whatever_kind_of_dictionary_it_shows() -> None:
    task = Task.from_env(Ordered, lambda o, a, n, i: {"end"} if n["at"] == 4 else set(), "end", limit=30)
    env, other = task.world.env(), task.world.env()
    env.reset(seed=3)
    for action in (1, 0, 1):
        seen, *_ = env.step(action)
    saved = env.save()
    other.restore(saved | {"before": dict(saved["before"])})  # what a file keeps of it
    after, *_ = other.step(1)
    assert (seen["at"], after["at"]) == (2, 3)
