import gymnasium as gym
import numpy as np
import pytest

from errands.errors import StoreError, TaskError
from errands.learners.engines.deep import host_envs
from errands.learners.engines.deep.host_envs import (
    EpisodeCounter,
    HalfCheetahEnvs,
    HostEnvs,
    HostStep,
    host_envs_of,
    senses_of,
)
from errands.learners.engines.deep.machine import machine_arrays
from errands.tasks import load


class Thing(gym.Env):
    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions


BOX = gym.spaces.Box(-1, 1, (3,), np.float32)


def test_a_numbered_state_becomes_one_hot_and_numbers_become_actions():
    senses = senses_of(Thing(gym.spaces.Discrete(4, start=10), gym.spaces.Discrete(2, start=5)), 0)
    assert senses.see(12).tolist() == [0, 0, 1, 0]
    assert senses.do(np.array([1.0])) == 6


def test_actions_between_minus_one_and_one_are_stretched_to_the_box():
    senses = senses_of(Thing(BOX, gym.spaces.Box(np.array([0, -4], np.float32), np.array([1, 4], np.float32))), 0)
    assert senses.do(np.array([-1.0, 0.5], np.float32)).tolist() == [0.0, 2.0]
    assert senses.spaces.continuous


def test_an_observation_that_is_not_a_number_is_refused():
    senses = senses_of(Thing(BOX, gym.spaces.Discrete(2)), 0)
    with pytest.raises(TaskError, match="entry 1 of an observation is not a finite number"):
        senses.see([0.0, np.nan, 1.0])


def row(*actions):
    return np.array([[a] for a in actions], np.float32)


def test_every_seed_walks_on_its_own_line(line):
    """Actions of size 1 move by a quarter: three steps right pass 1/2, three more left of the start pass -1/2."""
    machine = machine_arrays(line())
    out = HostEnvs(machine, (0, 1))
    assert out.reset().tolist() == [[0.0], [0.0]]
    for k in (1, 2):
        seen = out.step(row(1, -1))
        assert seen.observation.tolist() == [[0.25 * k], [-0.25 * k]]
    seen = out.step(row(1, -1))
    assert [machine.labels[n] for n in seen.label] == [{"right"}, {"left"}]
    assert not seen.ends.any()
    assert out.time.tolist() == [3, 3]


def test_an_episode_that_is_over_begins_anew_and_the_other_goes_on(line):
    machine = machine_arrays(line())
    out = HostEnvs(machine, (0, 1))
    out.reset()
    for action in (1, 1, 1, -1, -1, -1, -1, -1):
        seen = out.step(row(action, 0))
        assert np.array_equal(seen.fresh, seen.observation)
    seen = out.step(row(-1, 0))
    assert seen.observation[0, 0] == -0.75
    assert seen.fresh.tolist() == [[0.0], [0.0]]
    assert (out.time.tolist(), out.state.tolist()) == ([0, 9], [0, 0])


def test_the_limit_of_the_world_ends_an_episode(line):
    out = HostEnvs(machine_arrays(line()), (0,))
    out.reset()
    for _ in range(29):
        out.step(row(0))
    assert out.time.tolist() == [29]
    out.step(row(0))
    assert out.time.tolist() == [0]


def test_what_cannot_be_saved_is_told(line):
    out = HostEnvs(machine_arrays(line()), (0,))
    out.envs = [out.envs[0].unwrapped]
    with pytest.raises(StoreError, match=r"give it save\(\) and restore\(\)"):
        out.save()


def test_a_saved_world_goes_on_as_it_would_have():
    task = load("figure-1")
    out = HostEnvs(machine_arrays(task), (0, 1))
    out.reset()
    out.step(row(3, 2))
    saved = out.save()
    ahead = [out.step(row(3, 2)).observation for _ in range(3)]
    out.restore(saved)
    assert out.time.tolist() == [1, 1]
    assert np.array_equal(ahead, [out.step(row(3, 2)).observation for _ in range(3)])


def test_features_that_no_table_lists_are_told():
    out = HostEnvs(machine_arrays(load("figure-1")), (0,))
    start = out.reset()
    out.envs[0].step = lambda action: (0, 0.0, False, False, {"features": {"b1", "b2"}, "signals": {}})
    assert start.argmax() == 5
    with pytest.raises(TaskError, match=r"the world reports \{b1, b2\} at once, which its own tables do not list"):
        out.step(row(0))


def test_robots_are_stepped_by_their_own_kind_where_mujoco_has_batches(line, monkeypatch):
    assert type(host_envs_of(machine_arrays(line()), (0,))) is HostEnvs
    robots = machine_arrays(load("cheetah-bcd"))
    assert type(host_envs_of(robots, (0,))) is HalfCheetahEnvs
    monkeypatch.setattr(host_envs, "find_spec", lambda name: None if name == "mujoco.batch" else object())
    assert type(host_envs_of(robots, (0,))) is HostEnvs


def seen(machine, *labels, ends=False):
    n = len(labels)
    numbers = np.array([machine.numbers[frozenset(label)] for label in labels], np.int32)
    blank = np.zeros((n, 12), np.float32)
    return HostStep(blank, numbers, np.full(n, ends), np.zeros(n, bool), np.zeros((n, 0), np.float32), blank)


def test_greedy_episodes_are_counted_each_to_its_own_end():
    """b1 s b2 s for one seed, a walk that never takes anything for the other, cut after six steps."""
    machine = machine_arrays(load("figure-1"))
    count = EpisodeCounter(machine, 2)
    for label in (["b1"], ["s"], ["b2"], ["s"], ["s"], ["s"]):
        count.add(seen(machine, label, []), limit=6)
    episode = count
    assert episode.length.tolist() == [4, 6]
    assert episode.total.tolist() == [1.0, 0.0]
    assert episode.success.tolist() == [True, False]
    assert [machine.objectives[k] for k in episode.order[0] if k >= 0] == ["b1", "s", "b2", "s"]
    assert (episode.order[1] == -1).all()
    assert count.over.tolist() == [True, True]


def test_a_world_that_ends_is_no_success():
    machine = machine_arrays(load("figure-1"))
    count = EpisodeCounter(machine, 1)
    count.add(seen(machine, ["b1"], ends=True), limit=100)
    assert (count.over[0], count.success[0], count.length[0]) == (True, False, 1)


def test_robots_side_by_side_do_what_the_environment_does():
    machine = machine_arrays(load("cheetah-bcde"))
    alone, together = HostEnvs(machine, (0, 1)), HalfCheetahEnvs(machine, (0, 1))
    assert (alone.reset() == together.reset()).all()
    rng, steady = np.random.default_rng(0), np.random.default_rng(1).uniform(-1, 1, (2, 6))
    for _ in range(1_010):  # past the end of an episode
        actions = np.clip(steady + rng.normal(size=(2, 6)) / 2, -1, 1).astype(np.float32)
        one, other = alone.step(actions), together.step(actions)
        for name in one._fields:
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-7)
    assert together.time.tolist() == [10, 10]


def test_robots_side_by_side_are_saved_as_the_environments_are_and_go_on_from_there():
    machine = machine_arrays(load("cheetah-bcde"))
    alone, together = HostEnvs(machine, (3, 4, 5)), HalfCheetahEnvs(machine, (3, 4, 5))
    alone.reset(), together.reset()
    rng = np.random.default_rng(0)
    pushes = rng.uniform(-1, 1, (40, 3, 6)).astype(np.float32)
    for actions in pushes[:20]:
        alone.step(actions), together.step(actions)
    saved = together.save()
    assert bytes(saved) == bytes(alone.save())
    later = HalfCheetahEnvs(machine, (3, 4, 5))
    later.restore(saved)
    for actions in pushes[20:]:
        together.step(actions), later.step(actions)
    assert bytes(later.save()) == bytes(together.save())


def test_a_robot_that_is_put_elsewhere_goes_on_from_there():
    """As DiRL moves them: an environment is asked for, put where an attempt begins, and reported as moved."""
    machine = machine_arrays(load("cheetah-bcd"))
    both = HostEnvs(machine, (0, 1)), HalfCheetahEnvs(machine, (0, 1))
    pushes = np.random.default_rng(0).uniform(-1, 1, (30, 2, 6)).astype(np.float32)
    ends = []
    for envs in both:
        envs.reset()
        for actions in pushes[:10]:
            envs.step(actions)
        start = envs.env(0).save()
        for actions in pushes[10:20]:
            envs.send(actions)
            row = envs.answers().observation[0]
        envs.env(1).restore(start)
        envs.moved(1)
        for actions in pushes[20:]:
            envs.step(actions)
        ends.append((row, start["physics"], *(envs.env(i).save()["physics"] for i in range(2))))
    for one, other in zip(*ends, strict=True):
        assert np.array_equal(one, other)
