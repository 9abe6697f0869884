"""One step of an agent: what the machine tells, what the buffer gets, and where the next step is taken."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep.agent import HighLevel, Position, SingleHead, WorldStep
from errands.learners.engines.deep.agents import agent_of
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.presets import deep_preset
from errands.tasks import load

TASK = load("figure-1")
MACHINE = machine_arrays(TASK)
STATES = {str(label): i for i, label in enumerate(MACHINE.rm.labels)}


@pytest.fixture(scope="module")
def agent():
    config = dataclasses.replace(
        deep_preset("crm", "tuned", TASK), width=8, depth=1, batch=3, capacity=5, reward_scale=0.5
    )
    return agent_of("crm", MACHINE, config, Spaces(12, 4, False, 0))


def outcome(*features, ends=False, truncated=False):
    label = MACHINE.labels.index(frozenset(features))
    return WorldStep(jnp.full(12, 2.0), jnp.int32(label), jnp.bool_(ends), jnp.bool_(truncated), jnp.zeros(0))


def told(agent, state, heard, time=1):
    return agent.machine_step(jnp.int32(STATES[state]), jnp.int32(time), heard)


def test_the_machine_of_figure_2_is_stepped(agent):
    first = told(agent, "0{b1,b2}{b1,b2}", outcome("b1"))
    assert (int(first.reached), MACHINE.objectives[int(first.completed[0])]) == (STATES["1{b2}s"], "b1")
    assert not bool(first.over)
    last = told(agent, "3{}s", outcome("s"))
    assert (float(last.reward), bool(last.success), bool(last.terminal), bool(last.over)) == (1.0, True, True, True)
    nothing = told(agent, "3{}s", outcome())
    assert (int(nothing.reached), int(nothing.completed[0]), float(nothing.reward)) == (STATES["3{}s"], -1, 0.0)


def test_the_worlds_end_is_terminal_and_its_time_is_not(agent):
    ended = told(agent, "3{}s", outcome(ends=True))
    assert (bool(ended.terminal), bool(ended.success), bool(ended.over)) == (True, False, True)
    for late in (told(agent, "3{}s", outcome(truncated=True)), told(agent, "3{}s", outcome(), time=TASK.world.limit)):
        assert (bool(late.terminal), bool(late.over)) == (False, True)
    assert not bool(told(agent, "3{}s", outcome(), time=TASK.world.limit - 1).over)


def test_a_step_becomes_a_row_and_a_new_place(agent):
    place = Position(jnp.zeros(12), jnp.int32(STATES["3{}s"]), jnp.int32(4), jnp.int32(2))
    agent_state = agent.init(jax.random.PRNGKey(0))
    heard = outcome("s")
    _, row, tidings = agent.record(agent_state, place, jnp.array([1.0]), heard, jnp.int32(9))
    assert np.asarray(row).tolist() == [0.0] * 12 + [2.0] * 12 + [1.0, float(heard.label), float(STATES["3{}s"]), 0.0]
    moved = agent.next_position(place, tidings, heard.observation, jnp.full(12, 7.0))
    assert (float(moved.observation[0]), int(moved.state), int(moved.time), int(moved.episodes)) == (7.0, 0, 0, 3)
    on = agent.next_position(place, told(agent, "2{b1}b1", outcome("b1")), heard.observation, jnp.full(12, 7.0))
    assert (float(on.observation[0]), int(on.state), int(on.time), int(on.episodes)) == (2.0, STATES["3{}s"], 5, 2)


@pytest.mark.parametrize(
    ("step", "uniforms", "index"), [(0, 0.9, 0), (3, 0.9, 2), (3, 0.999999, 2), (3, 0.0, 0), (50, 0.99, 4)]
)
def test_rows_are_drawn_from_what_was_stored(agent, step, uniforms, index):
    """A buffer of 5: before it is full only rows that exist, afterwards all of them."""
    agent_state = agent.init(jax.random.PRNGKey(0))
    drawn = jnp.full(agent.uniforms, uniforms)
    _, rows, _ = agent.draw(agent_state, jnp.int32(step), drawn)
    assert np.asarray(rows).tolist() == [index] * 3


NONE = jnp.zeros(0)


@pytest.mark.parametrize(("single", "head"), [(False, 5), (True, 0)])
def test_the_head_is_the_machine_state_or_the_only_one(single, head):
    own = SingleHead() if single else HighLevel()
    memory = own.start(jax.random.PRNGKey(0))
    memory, picked = own.pick(memory, jnp.int32(5), NONE, NONE)
    assert int(picked) == head
    assert int(own.best(memory, jnp.int32(3), jnp.int32(9), jnp.int32(5), NONE)) == head


def test_nothing_is_remembered_drawn_or_added():
    own = HighLevel()
    memory = own.start(jax.random.PRNGKey(0))
    assert (own.uniforms, own.extra, memory) == (0, 0, ())
    _, extra = own.replay(memory, jnp.int32(7), NONE)
    assert [part.shape for part in extra[:4]] == [(0,)] * 4


@pytest.mark.parametrize("step", [2, 4, 25])
def test_rows_of_a_stretch_are_steps_in_a_row_up_to_the_newest(agent, step):
    config = dataclasses.replace(agent.config, n_steps=3, capacity=10, batch=400)
    several = agent_of("crm", MACHINE, config, Spaces(12, 4, False, 0))
    uniforms = jax.random.uniform(jax.random.PRNGKey(1), (several.uniforms,))
    index = several.draw(several.init(jax.random.PRNGKey(0)), jnp.int32(step), uniforms)[1]
    # The step that lies in each place of the buffer: the last one that was written there.
    lying = np.array([max((t for t in range(step) if t % 10 == place), default=-1) for place in range(10)])
    stretches = lying[np.asarray(index).reshape(-1, 3)]
    if step > 2:
        assert (np.diff(stretches, axis=1) == 1).all()
        assert set(stretches[:, 0]) == set(range(max(0, step - 10), step - 2))


def test_a_row_tells_where_a_stretch_is_cut_off_only_if_it_is_asked(agent):
    place = Position(jnp.zeros(12), jnp.int32(0), jnp.int32(4), jnp.int32(2))
    several = agent_of("crm", MACHINE, dataclasses.replace(agent.config, n_steps=2), Spaces(12, 4, False, 0))
    ends = {"ends": {"ends": True}, "late": {"truncated": True}, "on": {}}
    for one, wanted in ((agent, [1, 0, 0]), (several, [1, 2, 0])):
        state = one.init(jax.random.PRNGKey(0))
        rows = [one.record(state, place, jnp.zeros(1), outcome(**how), jnp.int32(9))[1] for how in ends.values()]
        assert [int(row[-1]) for row in rows] == wanted
