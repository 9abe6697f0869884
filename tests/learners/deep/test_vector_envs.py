"""Several environments of a seed at once."""

import dataclasses
from multiprocessing import forkserver, resource_tracker

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import errands
from errands.errors import ConfigError, TaskError
from errands.learners.engines.deep.host_envs import APART, host_envs_of
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import team_of
from errands.learners.presets import deep_preset
from errands.tasks import load
from errands.tasks.phrases import any_order
from errands.tasks.task import Task
from errands.worlds import GymnasiumWorld

ENVS = 4
SMALL = {"width": 8, "depth": 1, "batch": 4, "capacity": 150, "warmup": 20, "eval_every": 80, "platform": "cpu"}


def team(task, learner, seeds=(0, 1), **changes):
    settings = {**SMALL, "envs": ENVS, **changes}
    return team_of(task, learner, dataclasses.replace(deep_preset(learner, "tuned", task), **settings), seeds)


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    assert [name for name in theirs if ours[name].tobytes() != theirs[name].tobytes()] == []


@pytest.mark.parametrize("learner", ["qcorm", "hrm"])
def test_a_run_with_several_environments_repeats_itself_and_resumes_byte_for_byte(line, learner):
    task = line()
    whole, first, second = (team(task, learner) for _ in range(3))
    whole.advance(240)
    first.advance(100)
    first.evaluate()
    second.restore(first.save())
    second.advance(140)
    assert second.step == 240
    same(second.save(), whole.save())


def test_environments_in_processes_of_their_own_give_the_same_run(line):
    task = line()
    whole, apart, resumed = team(task, "crm", (7,)), team(task, "crm", (7,), vector="async"), team(task, "crm", (7,))
    whole.advance(80)
    apart.advance(40)
    resumed.restore(apart.save())
    apart.advance(40)
    resumed.advance(40)
    same(apart.save(), whole.save())
    same(resumed.save(), whole.save())
    apart.host_envs.close()


def test_processes_of_environments_run_no_code_of_the_working_folder(line, tmp_path, monkeypatch):
    for name in ("multiprocessing", "selectors", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    for helper in (forkserver._forkserver, resource_tracker._resource_tracker):  # else those of earlier tests serve again
        helper._stop()
    envs = host_envs_of(machine_arrays(line()), (0,), 2, apart=True)
    envs.close()
    assert not (tmp_path / "ran").exists()


def test_rows_are_what_the_environments_did_and_there_is_an_update_for_each(line):
    task, seed, steps = line(), 7, 140
    trained = team(task, "crm", (seed,))
    trained.advance(steps)
    rows = trained.save()["buffer"][:, 0]
    ends = 0
    for number in range(ENVS):
        # The same actions once more, in an environment without any machinery around it.
        env = gym.make("errands-tests/Line-v0").unwrapped
        x, time, left, right = env.reset(seed=seed + APART * number)[0][0], 0, True, True
        for before, after, action, *_ in rows[number::ENVS]:
            assert before == pytest.approx(x, abs=1e-5)
            x, time = env.step([2.0 * action])[0][0], time + 1
            assert after == pytest.approx(x, abs=1e-5)
            left, right = left and x >= -0.5, right and x <= 0.5
            if time == 30 or not (left or right):
                ends += 1
                x, time, left, right = env.reset()[0][0], 0, True, True
    assert ends >= ENVS, "episodes ended, by the limit or by the machine"
    assert trained.agent_states.trained.own.critics.updates.tolist() == [steps - SMALL["warmup"]]


@pytest.mark.parametrize("learn_every", [2, 8])
def test_updates_keep_their_ratio_to_environment_steps(line, learn_every):
    trained = team(line(), "crm", (0,), learn_every=learn_every, standardise=False)
    trained.advance(100)
    counted = sum(step >= SMALL["warmup"] and step % learn_every == 0 for step in range(100))
    assert trained.agent_states.trained.critics.updates.tolist() == [counted]


def test_returns_of_several_steps_are_those_of_one_environment(line):
    trained = team(line(), "crm", (0,), n_steps=3)
    uniforms = jnp.linspace(0, 0.999, trained.agent.uniforms)
    agent_state = jax.tree.map(lambda part: part[0], trained.agent_states)
    index = np.asarray(trained.agent.draw(agent_state, jnp.int32(160), uniforms)[1])
    # 150 rows are held, of steps 10 to 159; a stretch of three lies eight rows wide, so the last begins at step 151.
    first, second, third = index.reshape(SMALL["batch"], 3).T
    assert ((second - first) % 150 == ENVS).all()
    assert ((third - second) % 150 == ENVS).all()
    assert set(first.tolist()) <= {step % 150 for step in range(10, 152)}


def test_evaluations_do_not_depend_on_the_number_of_environments(line):
    task = line()
    assert team(task, "qcorm").evaluate() == team(task, "qcorm", envs=1).evaluate()


def test_each_environment_of_each_seed_begins_differently():
    rules = {"low": {"index": 0, "below": -0.5}, "high": {"index": 0, "above": 0.4}}
    task = Task("car", GymnasiumWorld("MountainCar-v0", rules), any_order("low", "high"))
    rows = host_envs_of(machine_arrays(task), (0, 1, 2), 3).reset()
    assert len(np.unique(rows[:, 0])) == 9


def test_what_cannot_be_shared_by_the_environments_is_refused_before_a_step_is_taken(line):
    with pytest.raises(ConfigError, match=r"1001 steps cannot be shared by 8 environments; .* such as 1008"):
        errands.train(line(), "crm", steps=1001, settings={"envs": 8, "eval_every": 400})
    with pytest.raises(ConfigError, match="eval_every is 100, no multiple of envs = 8; set eval_every=104"):
        team(line(), "crm", eval_every=100, envs=8)
    with pytest.raises(ConfigError, match=r"10 steps cannot be shared by 4 environments; .* such as 12"):
        team(line(), "crm").advance(10)
    with pytest.raises(ConfigError, match="envs is 4, but the world of 'water-2' lives on the device"):
        team(load("water-2"), "crm")


@pytest.mark.parametrize("vector", ["sync", "async"])
def test_an_environment_at_fault_stops_the_run_in_one_sentence(line, vector, capfd):
    envs = host_envs_of(machine_arrays(line(broken=True)), (0,), 2, vector == "async")
    envs.reset()
    with pytest.raises(TaskError, match="observed nan as entry 0; fix it"):
        envs.step(np.zeros((2, 1), np.float32))
    if vector == "async":
        envs.close()
    assert "Traceback" not in capfd.readouterr().err
