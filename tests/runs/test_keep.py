"""Runs of Python: stored, opened, saved, watched, stopped, evaluated, and put to work by an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import errands
from errands.errors import ConfigError, StoreError
from errands.features import parse_guard
from errands.machines.numeric import Transition
from errands.machines.rewards import Reward
from errands.oracle.episode import walk
from errands.runs.folder import open_run
from errands.runs.request import imports_of
from errands.runs.verify import faults, verify_seed
from errands.tables import Evaluation


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_named_run_is_stored_as_the_command_stores_it_and_opens_again() -> None:
    run = errands.train("figure-1", "qcorm", steps=5_000, name="mine")
    assert run.folder == Path("runs/mine")
    folder = open_run(Path("runs/mine"))
    assert not list(faults(folder.path))
    assert folder.finished
    again = errands.open("runs/mine")
    plain = errands.train("figure-1", "qcorm", steps=5_000)
    for other in (again, errands.open("mine"), errands.open("latest"), plain):
        assert (other.order, other.evaluations, other.steps_to_go) == (run.order, run.evaluations, run.steps_to_go)
        assert other.certificate == run.certificate
    assert verify_seed(folder, 0).differences == ()
    with pytest.raises(StoreError, match="never overwritten"):
        errands.train("figure-1", "qcorm", steps=5_000, name="mine")


def test_a_task_of_python_objects_is_stored_and_opened_with_the_task_itself() -> None:
    def task(holes: int = 5) -> errands.Task:
        return errands.Task.from_env(
            gym.make("FrozenLake-v1", is_slippery=False),
            lambda before, action, after, info: {"goal"} if after == 15 else {"hole"} if after == holes else set(),
            "avoid(hole, goal)", signals={"cost": lambda before, action, after: 1.0},
        )  # fmt: skip

    with pytest.warns(UserWarning, match=r"no file can name TimeLimit, <lambda>, .* errands\.open\('runs/mine', task=task\)"):
        run = errands.train(task(), "crm", steps=3_000, name="mine")
    again = errands.open("mine", task=task())
    assert (again.evaluations, again.order, again.certificate) == (run.evaluations, ("goal",), run.certificate)
    assert again.evaluate(5).success.mean == 1
    with pytest.raises(StoreError, match=r"open it in Python and give the task: errands\.open\('runs/mine', task=task\)"):
        errands.open("mine")
    with pytest.raises(StoreError, match=r"was trained on another task than 'figure-1'; runs/mine/task\.toml says"):
        errands.open("mine", task=errands.load("figure-1"))
    with pytest.warns(UserWarning, match="commands cannot open kept"):
        assert errands.open(errands.train(task(), "crm", steps=50).save("kept"), task=task()).steps == 50


def test_an_interrupted_run_of_python_objects_is_resumed_with_its_task() -> None:
    def task() -> errands.Task:
        return errands.Task.from_env(
            "FrozenLake-v1", lambda before, action, after, info: {"goal"} if after == 15 else set(), "goal",
            kwargs={"is_slippery": False}, state=lambda observation: (observation // 4, observation % 4),
        )  # fmt: skip

    def stop(evaluation: Evaluation) -> None:
        if evaluation.step == 4_000:
            raise KeyboardInterrupt

    whole = errands.train(task(), "crm", steps=6_000)
    with pytest.warns(UserWarning, match="no file can name"), pytest.raises(KeyboardInterrupt):
        errands.train(task(), "crm", steps=6_000, name="mine", on_evaluation=stop)
    seen: list[int] = []
    run = errands.resume("mine", task=task(), on_evaluation=lambda evaluation: seen.append(evaluation.step))
    assert isinstance(run, errands.Run)
    assert (run.evaluations, run.order) == (whole.evaluations, whole.order)
    assert seen[-1] == 6_000


def test_a_reward_that_is_a_function_is_stored_with_its_name_alone() -> None:
    paid = Reward.of(lambda signals: 1.0 + signals["reward"], "reward")
    machine = errands.NumericRM("u0", ("u1",), (), (), (Transition("u0", "u1", parse_guard("goal"), paid),))
    task = errands.Task.from_env("FrozenLake-v1", {"goal": [15]}, machine, kwargs={"is_slippery": False})
    with pytest.warns(UserWarning, match="no file can name"):
        errands.train(task, "crm", steps=2_000, name="paid")
    assert errands.open("paid", task=task).evaluations[-1].total_reward == 2.0


def test_a_run_names_the_package_that_registers_its_environment() -> None:
    import minigrid

    task = errands.Task.from_env("MiniGrid-Empty-5x5-v0", far, "far", state=where)
    assert minigrid
    assert imports_of(task) == ["minigrid", __name__]


def far(env: Any) -> set[str]:
    return {"far"} if env.agent_pos[0] == 3 else set()


def where(env: Any) -> tuple[int, ...]:
    return (*map(int, env.agent_pos), int(env.agent_dir))


def test_several_seeds_give_several_runs() -> None:
    runs = errands.train("figure-1", "crm", steps=500, seeds=2, name="two")
    assert [run.seed for run in runs] == [0, 1]
    assert errands.open("two", seed=1).evaluations == runs[1].evaluations
    assert [run.seed for run in errands.train("figure-1", "crm", steps=500, seeds=[3, 5])] == [3, 5]
    with pytest.raises(ConfigError, match="has no seed 7"):
        errands.open("two", seed=7)
    with pytest.raises(ConfigError, match="no seed was asked for"):
        errands.train("figure-1", "crm", steps=500, seeds=[])


def test_a_run_without_a_folder_is_saved_with_all_that_it_learnt() -> None:
    run = errands.train("figure-1", "crm", steps=2_000, settings={"epsilon": 0.3}, seed=4)
    path = run.save("elsewhere/kept")
    assert not list(faults(path))
    back = errands.open(path)
    assert (back.seed, back.config, back.preset, back.evaluations) == (4, run.config, "tuned", run.evaluations)
    assert verify_seed(open_run(path), 4).differences == ()
    copied = back.save("third")
    assert errands.open(copied).evaluations == run.evaluations
    with pytest.raises(StoreError, match="never overwritten"):
        back.save("third")


def test_a_custom_config_survives_the_folder() -> None:
    from errands.learners.qrm.settings import QRMConfig

    run = errands.train("figure-1", "crm", steps=500, config=QRMConfig(alpha=0.3), name="custom")
    assert (run.preset, run.config) == ("custom", QRMConfig(alpha=0.3))


@pytest.mark.parametrize("name", [None, "watched"])
def test_whoever_watches_hears_every_evaluation_and_may_stop(name: str | None) -> None:
    heard: list[Evaluation] = []

    def watch(evaluation: Evaluation) -> bool | None:
        heard.append(evaluation)
        return False if evaluation.step >= 3_000 else None

    run = errands.train("figure-1", "qcorm", steps=10_000, name=name, on_evaluation=watch)
    assert [e.step for e in heard] == [1_000, 2_000, 3_000]
    assert run.steps == 3_000
    assert run.evaluations == tuple(heard)


def test_the_generator_trains_only_as_far_as_it_is_asked() -> None:
    stages = errands.training("figure-1", "qcorm", steps=10_000)
    first = [next(stages), next(stages)]
    whole = errands.train("figure-1", "qcorm", steps=2_000)
    assert tuple(first) == whole.evaluations


def test_an_unfinished_run_opens_at_its_checkpoint_and_a_sweep_does_not() -> None:
    errands.train("figure-1", "qcorm", steps=1_000, name="part")
    folder = open_run(Path("runs/part"))
    folder.seed(0).finish.unlink()
    assert errands.open("part").steps == 1_000
    for path in folder.seed(0).path.glob("checkpoint-*"):
        path.unlink()
    with pytest.raises(StoreError, match="no checkpoint yet"):
        errands.open("part")


def test_evaluating_gives_means_with_intervals() -> None:
    certain = errands.train("figure-1", "qcorm", steps=5_000).evaluate(episodes=5)
    assert (certain.episodes, float(certain.length), certain.length.low, certain.length.high) == (1, 10.0, 10.0, 10.0)
    ice = errands.load("figure-1").text.replace("[machine]", "slip = 0.2\n\n[machine]")
    run = errands.train(errands.Task.from_toml(ice), "qcorm", steps=20_000)
    found = run.evaluate(episodes=400)
    assert found.length.low <= run.certificate.length <= found.length.high or abs(
        float(found.length) - run.certificate.length
    ) < 0.1 * run.certificate.length
    assert 0 <= found.success.low <= float(found.success) <= found.success.high <= 1


@pytest.mark.parametrize(("task", "learner"), [("figure-1", "crm"), ("office-3", "qcorm"), ("delivery-3", "scout")])
def test_an_agent_walks_through_the_environment_as_the_policy_through_the_tables(task: str, learner: str) -> None:
    run = errands.train(task, learner, steps=60_000)
    agent, env = run.agent(), run.task.world.env()
    observation, info = env.reset(seed=0)
    agent.reset(observation, info)
    actions = []
    while not agent.done and len(actions) < 1_000:
        actions.append(agent.act(observation))
        observation, _, _, _, info = env.step(actions[-1])
        agent.see(observation, info)
    told = walk(run.policy, run.task)
    assert tuple(actions) == told.actions
    assert (agent.done, agent.success, agent.order) == (True, told.success, told.order)
    assert agent.remaining == ()
    assert agent.total_reward == sum(told.rewards)


def test_a_run_says_what_it_is_in_one_line_and_in_a_notebook() -> None:
    run = errands.train("figure-1", "qcorm", steps=5_000)
    assert repr(run) == "<Run figure-1, qcorm, seed 0, 5,000 steps: 10 steps, 0 more than the optimum>"
    assert "<th>learner</th><td>qcorm</td>" in run._repr_html_()
def test_an_agent_reads_features_off_a_raw_environment() -> None:
    """FrozenLake without errands around it: features come from the task's rules."""
    import gymnasium as gym

    text = """
name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = false }
features = { goal = [15], corner = [12] }
[machine]
phrase = "goal"
"""
    run = errands.train(errands.Task.from_toml(text), "scout", steps=2_000)
    env = gym.make("FrozenLake-v1", is_slippery=False)
    observation, info = env.reset(seed=0)
    agent = run.agent()
    agent.reset(observation, info)
    steps = 0
    while not agent.done and steps < 100:
        observation, _, _, _, info = env.step(agent.act(observation))
        agent.see(observation, info)
        steps += 1
    assert (agent.success, steps) == (True, 6)


