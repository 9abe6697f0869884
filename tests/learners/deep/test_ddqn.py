
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from errands.learners import make_learner
from errands.learners.engines.deep.batch import Batch
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.ddqn import DDQN, annealed, explored
from errands.learners.engines.deep.network import through
from errands.tasks import load

CONFIG = DeepConfig(width=16, depth=2, alpha=1e-2, polyak=0.25, batch=8, warmup=1, gamma=0.9)
LOW = DDQN.of(3, 1, 4, CONFIG)
DRAW = np.random.default_rng(0)
BATCH = Batch(
    observations=jnp.asarray(DRAW.normal(size=(8, 3)), jnp.float32),
    following=jnp.asarray(DRAW.normal(size=(8, 3)), jnp.float32),
    actions=jnp.asarray(DRAW.integers(0, 4, (8, 1)), jnp.float32),
    reward=jnp.asarray(3 * DRAW.normal(size=(8, 1)), jnp.float32),
    goes_on=jnp.asarray(DRAW.integers(0, 2, (8, 1)), jnp.float32),
    follow=None,
    weight=jnp.ones((8, 1)),
)
NOW = jnp.ones(3)


def plain_loss(layers, target):
    """Double Q-learning as in its paper: the online network picks the action that the target network judges."""
    best = jnp.argmax(through(layers, BATCH.following), axis=1)
    later = jnp.take_along_axis(through(target, BATCH.following), best[:, None], axis=1)[:, 0]
    goal = jax.lax.stop_gradient(BATCH.reward[:, 0] + 0.9 * BATCH.goes_on[:, 0] * later)
    values = through(layers, BATCH.observations)
    taken = jnp.take_along_axis(values, BATCH.actions.astype(int), axis=1)[:, 0]
    return optax.losses.huber_loss(taken, goal).mean()


def test_three_updates_are_those_of_plain_double_q_learning_with_optax():
    trained = LOW.init(jax.random.PRNGKey(0))
    # The target starts elsewhere, so that it matters who picks and who judges.
    trained = trained._replace(target=LOW.init(jax.random.PRNGKey(1)).weights)
    layers, target = trained.weights, trained.target
    adam = optax.adam(1e-2)
    state = adam.init(layers)
    learn, slope = jax.jit(LOW.learn), jax.jit(jax.grad(plain_loss))
    for step in range(1, 4):
        change, state = adam.update(slope(layers, target), state)
        layers = optax.apply_updates(layers, change)
        target = jax.tree.map(lambda t, w: 0.75 * t + 0.25 * w, target, layers)
        before = trained.weights
        trained, acting = learn(trained, NOW, BATCH, jnp.zeros(0), jnp.int32(step))
        np.testing.assert_allclose(acting[0], through(before, NOW), rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(
        jax.tree.leaves((trained.weights, trained.target)), jax.tree.leaves((layers, target)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_step_that_counts_for_no_head_teaches_nothing():
    trained = LOW.init(jax.random.PRNGKey(0))
    silent = BATCH._replace(weight=jnp.zeros((8, 1)))
    after, _ = LOW.learn(trained, NOW, silent, jnp.zeros(0), jnp.int32(5))
    assert int(after.updates) == 1
    for a, b in zip(jax.tree.leaves(after.weights), jax.tree.leaves(trained.weights), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("unit", "expected"), [("steps", 0.7), ("episodes", 0.97)])
def test_the_chance_of_a_random_action_falls_with_steps_or_with_episodes(unit, expected):
    config = DeepConfig(epsilon=f"1..0.1@0,90 {unit}")
    assert float(annealed(config, jnp.int32(30), jnp.int32(3))) == pytest.approx(expected)
    assert float(annealed(config, jnp.int32(10**6), jnp.int32(10**6))) == pytest.approx(0.1)


def test_actions_are_random_before_the_first_update_and_with_probability_epsilon_after_it():
    values = jnp.array([0.0, 3.0, 1.0, 2.0])

    def taken(first, second, epsilon, go):
        return float(explored(values, jnp.array([first, second]), jnp.float32(epsilon), jnp.bool_(go))[0])

    assert taken(0.5, 0.99, 0.4, True) == 1
    assert taken(0.3, 0.99, 0.4, True) == 3
    assert taken(0.5, 0.0, 0.4, False) == 0


def test_the_target_network_moves_only_every_so_many_steps():
    """Updates begin with step 40; the next step that 100 divides is the 101st, numbered from 0."""
    small = {"width": 8, "depth": 1, "batch": 4, "capacity": 400, "warmup": 40, "platform": "cpu"}
    learner = make_learner(load("water-2"), "crm", settings=small | {"target_every": 100})
    held = "agent_states.trained.target.[0].[0]", "agent_states.trained.weights.[0].[0]"
    first = [learner.save()[name].copy() for name in held]
    moved = []
    for count in (90, 20):
        learner.advance(count)
        now = learner.save()
        moved.append([bool((now[name] != before).any()) for name, before in zip(held, first, strict=True)])
    assert moved == [[False, True], [True, True]]
