"""HRM's controller: options in hand, their gains summed as on paper, and a buffer that turns round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep.agent import Note
from errands.learners.hrm.deep import Controller
from errands.learners.hrm.settings import DeepHRMConfig

OFFERED = jnp.array([[True, True, False], [False, False, True], [False, False, False]])
"""Two options start in state 0, one in state 1, none in state 2, where the task has ended."""
CONFIG = DeepHRMConfig(
    batch=2, width=4, depth=1, gamma=0.5, option_limit=3, epsilon_controller=0.25, controller_capacity=2
)


@pytest.fixture
def controller():
    return Controller(CONFIG, 1, OFFERED)


def pick(controller, memory, state, explore=0.9, which=0.0, now=0.0):
    uniforms = jnp.array([0.0, 0.0, explore, which])
    memory, option = controller.pick(memory, jnp.int32(state), jnp.array([now]), uniforms)
    return memory, int(option)


def note(controller, memory, state, reached, reward=0.0, terminal=False, over=False, now=0.0):
    flags = (jnp.bool_(terminal), jnp.bool_(False), jnp.bool_(over or terminal))
    rest = (jnp.int32(-1), jnp.int32(1), jnp.float32(reward), jnp.array([now]))
    return controller.note(memory, Note(jnp.int32(0), jnp.int32(state), jnp.int32(reached), *rest, *flags))


def test_it_asks_for_a_batch_and_two_more_numbers(controller):
    assert controller.uniforms == 4
    assert controller.sizes == ((1, 4), (4, 3))


@pytest.mark.parametrize(("which", "option"), [(0.0, 0), (0.49, 0), (0.5, 1), (0.999, 1)])
def test_exploring_takes_each_offered_option_as_often(controller, which, option):
    memory = controller.start(jax.random.PRNGKey(0))
    assert pick(controller, memory, 0, explore=0.2, which=which)[1] == option
    assert pick(controller, memory, 1, explore=0.2, which=which)[1] == 2


def test_an_option_is_held_until_its_machine_state_is_left(controller):
    memory, option = pick(controller, controller.start(jax.random.PRNGKey(0)), 0, explore=0.0, which=0.9)
    assert option == 1
    memory = note(controller, memory, 0, 0)
    memory, again = pick(controller, memory, 0, explore=0.0, which=0.0)
    assert again == 1
    memory = note(controller, memory, 0, 1)
    assert int(memory.option) == -1
    assert pick(controller, memory, 1)[1] == 2


def test_the_row_of_an_option_has_its_discounted_gain(controller):
    """Rewards 1, 0, 4 with gamma 1/2: 1 + 4/4 = 2, and what follows counts by 1/8."""
    memory, _ = pick(controller, controller.start(jax.random.PRNGKey(0)), 0, explore=0.0, which=0.9, now=0.5)
    memory = note(controller, memory, 0, 0, reward=1.0)
    memory = note(controller, memory, 0, 0, reward=0.0)
    assert int(memory.ended) == 0
    memory = note(controller, memory, 0, 1, reward=4.0, now=0.75)
    assert int(memory.ended) == 1
    assert np.asarray(memory.buffer[0]).tolist() == [0.5, 0.75, 2.0, 0.125, 1.0, 1.0]


def test_nothing_follows_an_end_and_a_limit_ends_an_option_only(controller):
    memory, _ = pick(controller, controller.start(jax.random.PRNGKey(0)), 0, explore=0.0)
    ended = note(controller, memory, 0, 2, reward=1.0, terminal=True)
    assert float(ended.buffer[0, 3]) == 0.0
    for _ in range(3):
        memory = note(controller, memory, 0, 0)
    assert int(memory.ended) == 1
    assert float(memory.buffer[0, 3]) == 0.125


def test_the_buffer_turns_round(controller):
    memory = controller.start(jax.random.PRNGKey(0))
    for now in (1.0, 2.0, 3.0):
        memory, _ = pick(controller, memory, 0, explore=0.0, now=now)
        memory = note(controller, memory, 0, 1)
    assert int(memory.ended) == 3
    assert np.asarray(memory.buffer[:, 0]).tolist() == [3.0, 2.0]


def test_greedily_an_option_is_held_to_its_limit(controller):
    memory = controller.start(jax.random.PRNGKey(1))
    best = [int(controller.best(memory, jnp.int32(2), jnp.int32(since), jnp.int32(0), jnp.array([0.3])))
            for since in range(5)]  # fmt: skip
    assert best[1] == best[2] == best[4] == 2
    assert best[0] == best[3] != 2


def test_no_weights_move_before_an_option_has_ended(controller):
    memory = controller.start(jax.random.PRNGKey(0))
    after, _ = pick(controller, memory, 0)
    for a, b in zip(jax.tree.leaves(memory.trained.weights), jax.tree.leaves(after.trained.weights), strict=True):
        assert np.array_equal(a, b)
    full = note(controller, after, 0, 1, reward=1.0)
    learnt, _ = pick(controller, full, 0)
    pairs = zip(jax.tree.leaves(full.trained.weights), jax.tree.leaves(learnt.trained.weights), strict=True)
    assert not all(np.array_equal(a, b) for a, b in pairs)


def test_the_controller_learns_once_per_ended_option_and_not_while_one_is_in_hand(controller):
    memory, _ = pick(controller, controller.start(jax.random.PRNGKey(0)), 0)
    memory = note(controller, memory, 0, 1, reward=1.0)
    memory, _ = pick(controller, memory, 1)
    assert int(memory.trained.updates) == 1
    memory = note(controller, memory, 1, 1)
    memory, _ = pick(controller, memory, 1)
    assert int(memory.trained.updates) == 1
