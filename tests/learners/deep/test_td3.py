import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from errands.learners.engines.deep.batch import Batch
from errands.learners.engines.deep.config import NStepConfig
from errands.learners.engines.deep.device import randoms
from errands.learners.engines.deep.network import through
from errands.learners.engines.deep.td3 import TD3, noisy
from errands.learners.engines.deep.team import team_of
from errands.learners.presets import deep_preset
from errands.tasks import load

CONFIG = NStepConfig(width=16, depth=2, alpha=1e-2, polyak=0.25, batch=8, warmup=1, gamma=0.9)
LOW = TD3.of(3, 1, 2, CONFIG)
DRAW = np.random.default_rng(0)
BATCH = Batch(
    observations=jnp.asarray(DRAW.normal(size=(8, 3)), jnp.float32),
    following=jnp.asarray(DRAW.normal(size=(8, 3)), jnp.float32),
    actions=jnp.asarray(DRAW.uniform(-1, 1, (8, 2)), jnp.float32),
    reward=jnp.asarray(DRAW.normal(size=(8, 1)), jnp.float32),
    goes_on=jnp.asarray(DRAW.integers(0, 2, (8, 1)), jnp.float32),
    follow=None,
    weight=jnp.ones((8, 1)),
)
NORMALS = jnp.asarray(4 * DRAW.normal(size=2 * 9), jnp.float32)


def judge(critic, rows, actions):
    return through(critic, jnp.concatenate([rows, actions], axis=1))[:, 0]


def plain_goal(actor, critics):
    """Noise of 0.2 clipped at 0.5 on the target action, the smaller of both target critics."""
    noise = jnp.clip(0.2 * NORMALS[2:].reshape(8, 2), -0.5, 0.5)
    actions = jnp.clip(jnp.tanh(through(actor, BATCH.following)) + noise, -1, 1)
    later = jnp.minimum(*(judge(critic, BATCH.following, actions) for critic in critics))
    return BATCH.reward[:, 0] + 0.9 * BATCH.goes_on[:, 0] * later


def critic_loss(critic, goal):
    return jnp.mean((judge(critic, BATCH.observations, BATCH.actions) - goal) ** 2)


def actor_loss(actor, critic):
    return -jnp.mean(judge(critic, BATCH.observations, jnp.tanh(through(actor, BATCH.observations))))


def follow(target, weights):
    return jax.tree.map(lambda t, w: 0.75 * t + 0.25 * w, target, weights)


ADAM = optax.adam(1e-2)


@jax.jit
def plain_critics(critics, states, targets):
    goal = plain_goal(targets[0], targets[1:])
    for i in range(2):
        change, states[1 + i] = ADAM.update(jax.grad(critic_loss)(critics[i], goal), states[1 + i])
        critics[i] = optax.apply_updates(critics[i], change)
    return critics, states


@jax.jit
def plain_actor(actor, critics, states, targets):
    change, states[0] = ADAM.update(jax.grad(actor_loss)(actor, critics[0]), states[0])
    actor = optax.apply_updates(actor, change)
    return actor, states, [follow(t, w) for t, w in zip(targets, (actor, *critics), strict=True)]


def test_four_updates_are_those_of_plain_td3_with_optax():
    trained = LOW.init(jax.random.PRNGKey(0))
    actor = trained.actor.weights
    critics = [jax.tree.map(lambda leaf, at=i: leaf[at], trained.critics.weights) for i in range(2)]
    targets = [actor, *critics]
    states = [ADAM.init(part) for part in (actor, *critics)]
    learn = jax.jit(LOW.learn)
    for step in range(1, 5):
        critics, states = plain_critics(critics, states, targets)
        if step % 2 == 0:
            actor, states, targets = plain_actor(actor, critics, states, targets)
        trained, _ = learn(trained, jnp.ones(3), BATCH, NORMALS, jnp.int32(step))
    stacked = [jax.tree.map(lambda *pair: jnp.stack(pair), *pair) for pair in (critics, targets[1:])]
    ours = (trained.actor.weights, trained.critics.weights, trained.actor.target, trained.critics.target)
    plain = (actor, stacked[0], targets[0], stacked[1])
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_actions_are_uniform_before_the_first_update_and_stay_in_their_bounds_after_it():
    normals = jax.random.normal(jax.random.PRNGKey(0), (4_000, 1))
    early = jax.vmap(lambda n: noisy(jnp.array([0.9]), n, 0.1, jnp.bool_(False)))(normals)
    counts = np.histogram(early, bins=10, range=(-1, 1))[0]
    assert counts.sum() == 4_000
    assert counts.min() > 330
    late = jax.vmap(lambda n: noisy(jnp.array([0.9]), n, 0.1, jnp.bool_(True)))(normals)
    assert float(late.max()) == 1.0
    assert float(late.mean()) < 0.9


def test_noise_is_kept_for_a_stretch_and_an_action_is_random_now_and_then(line):
    config = dataclasses.replace(CONFIG, explore_steps=4, random_actions=0.25)
    agent = team_of(line(), "crm", config, (0,)).agent
    _, normals = randoms(agent, jax.random.PRNGKey(0)[None], jnp.int32(0))
    acting, targets = np.asarray(normals[:8, 0, 0]), np.asarray(normals[:8, 0, 1])
    assert (len(set(acting[:4])), len(set(acting[4:])), len(set(acting))) == (1, 1, 2)
    assert len(set(targets)) == 8, "the noise on targets is drawn for every step"
    bold, normal = jnp.array([0.9]), jnp.array([-3.0])
    act = [
        float(agent.low.act(bold, jnp.array([u, 0.0]), normal, jnp.float32(0), jnp.bool_(True))[0])
        for u in (0.24, 0.25)
    ]
    assert act == [pytest.approx(-0.9973, abs=1e-4), pytest.approx(0.9 - 3 * config.action_noise)]


SMALL = {"width": 24, "depth": 1, "capacity": 2_000, "warmup": 100, "eval_every": 10_000, "batch": 16}


def cut_and_whole(task, learner, config, cut, end):
    """Two checkpoints after `end` steps: of a run that was stopped at `cut` and resumed elsewhere, and of one that was not."""
    whole, first, second = (team_of(task, learner, config, (4, 5)) for _ in range(3))
    whole.advance(end)
    first.advance(cut)
    first.evaluate()
    second.restore(first.save())
    second.advance(end - cut)
    assert second.step == end
    return second.save(), whole.save()


def same_bytes(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


def test_an_interrupted_run_on_a_line_ends_byte_for_byte_as_one_that_was_not(line):
    task = line()
    config = dataclasses.replace(deep_preset("qcorm-0", "tuned", task), **SMALL)
    same_bytes(*cut_and_whole(task, "qcorm-0", config, 217, 530))


def test_an_interrupted_run_of_the_cheetah_ends_byte_for_byte_as_one_that_was_not():
    pytest.importorskip("mujoco")
    task = load("cheetah-bcd")
    config = dataclasses.replace(deep_preset("qcorm", "tuned", task), **SMALL)
    same_bytes(*cut_and_whole(task, "qcorm", config, 217, 530))
