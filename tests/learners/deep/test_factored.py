import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.engines.deep.batch import RowShape
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import team_of
from errands.learners.qcorm_plus.deep import FactoredDDQN, FactoredTD3, OverContexts
from errands.learners.qcorm_plus.settings import DeepPlusConfig
from errands.tasks import load

ROWS, INPUTS, ACTIONS, CODES = 5, 3, 4, 4
SMALL = {"width": 8, "code_width": 6, "batch": ROWS, "contexts": 3, "gamma": 0.9}


def numbers(*shape, seed=0):
    return jax.random.normal(jax.random.PRNGKey(seed), shape)


def sampled(config, actions, width):
    """A batch of made-up steps on visit-3, with what it is made of: labels, agendas before and after."""
    machine = machine_arrays(load("visit-3", 0))
    expansion = OverContexts(RowShape(INPUTS, width, 0), machine, config)
    tail = jnp.array([[1, 0, 0], [0, 2, 0], [3, 4, 0], [2, 1, 0], [0, 3, 1]], jnp.float32)
    rows = jnp.concatenate([numbers(ROWS, 2 * INPUTS), actions, tail], axis=1)
    return expansion.batch(rows, jnp.int32(0), jnp.array([0.2, 0.7, 0.4]))


def dense(layer, x):
    return np.asarray(x, np.float64) @ np.asarray(layer[0], np.float64) + np.asarray(layer[1], np.float64)


def plain(layers, observation, code, config):
    """The network with loops and without sharing anything between rows and contexts."""
    early = config.depth - config.late
    for layer in layers[:early]:
        observation = np.maximum(dense(layer, observation), 0)
    factor = 1 + dense(layers[early + 1], np.maximum(dense(layers[early], code), 0))
    observation = observation * factor
    for layer in layers[early + 2 : -1]:
        observation = np.maximum(dense(layer, observation), 0)
    return dense(layers[-1], observation)


def mixed(layers, seed):
    """Other weights of the same shapes, as a target that lags behind."""
    return jax.tree.map(lambda part: part + 0.3 * numbers(*part.shape, seed=seed), layers)


@pytest.mark.parametrize(
    ("few", "changes"),
    [
        (True, {}),
        (False, {}),
        (True, {"late": 1}),
        (False, {"late": 2, "leg": 3.0}),
        (True, {"bound_values": True, "reward_scale": 0.01}),
        (False, {"bound_values": True, "reward_scale": 0.01, "leg": 3.0}),
    ],
)
def test_a_value_is_drawn_to_the_targets_value_of_the_online_choice_in_the_agenda_that_follows(few, changes):
    config = DeepPlusConfig(**SMALL, **changes)
    actions = jnp.array([[0.0], [3], [1], [2], [2]])
    batch = sampled(config, actions, 1)
    low = FactoredDDQN.of(INPUTS, CODES, ACTIONS, config)
    trained = low.init(jax.random.PRNGKey(2))
    weights, target = trained.weights, mixed(trained.weights, 3)
    given = batch if few else batch._replace(every=None)
    now = numbers(INPUTS, seed=4)

    @jax.jit
    def both(weights, target):
        later = low._later(target, low.net.trunk(target, given.following), given)
        return *low._loss(weights, later, now, given), low.view(trained, now, given.code)

    loss, acting, seen = both(weights, target)
    batch, weights, target, total = *jax.tree.map(np.asarray, (batch, weights, target)), 0.0
    codes, cut = np.asarray(given.codes), 0
    for r in range(ROWS):
        for k in range(4):
            q = plain(weights, batch.observations[r], codes[r, k], config)[int(actions[r, 0])]
            best = np.argmax(plain(weights, batch.following[r], batch.later[r, k], config))
            value = plain(target, batch.following[r], batch.later[r, k], config)[best]
            free = float(batch.reward[r, k]) + float(batch.discount[r, k]) * value
            goal = np.clip(free, *batch.bounds[:, r, k]) if config.bound_values else free
            cut += goal != free
            error = abs(q - goal)
            total += (0.5 * error**2 if error < 1 else error - 0.5) / (ROWS * 4)
    assert float(loss) == pytest.approx(total, rel=1e-4)
    assert bool(cut) is config.bound_values
    np.testing.assert_allclose(acting[0], plain(weights, now, batch.code, config), atol=1e-4)
    np.testing.assert_allclose(seen, acting, atol=1e-5)


def test_next_observations_and_the_one_to_act_on_teach_nothing():
    config = DeepPlusConfig(**SMALL)
    batch = sampled(config, jnp.ones((ROWS, 1)), 1)
    low = FactoredDDQN.of(INPUTS, CODES, ACTIONS, config)
    weights = low.init(jax.random.PRNGKey(2)).weights
    later = jnp.zeros((ROWS, 4, ACTIONS))

    @jax.jit
    def slope(following, now):
        changed = batch._replace(following=following)
        return jax.grad(lambda layers: low._loss(layers, later, now, changed)[0])(weights)

    before = slope(batch.following, numbers(INPUTS))
    after = slope(batch.following + 1, numbers(INPUTS, seed=9))
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("bounded", [False, True])
def test_td3_is_drawn_to_the_smaller_critic_at_the_noisy_action_of_the_agenda_that_follows(bounded):
    config = DeepPlusConfig(**SMALL, bound_values=bounded, reward_scale=0.1)
    batch = sampled(config, jnp.tanh(numbers(ROWS, 2, seed=7)), 2)
    low = FactoredTD3.of(INPUTS, CODES, 2, config)
    trained = low.init(jax.random.PRNGKey(2))
    actor, critics = mixed(trained.actor.target, 3), mixed(trained.critics.target, 4)
    lagging = trained._replace(
        actor=trained.actor._replace(target=actor), critics=trained.critics._replace(target=critics)
    )
    normals = numbers(ROWS, 1, 2, seed=5)
    found, given_codes = jax.jit(low._goal)(lagging, batch, normals), batch.codes
    batch, actor, critics, found = jax.tree.map(np.asarray, (batch, actor, critics, found))
    for r in range(ROWS):
        for k in range(4):
            action = np.tanh(plain(actor, batch.following[r], batch.later[r, k], config))
            noise = np.clip(np.asarray(normals[r, 0]) * 0.2, -0.5, 0.5)
            joined = np.concatenate([batch.following[r], np.clip(action + noise, -1, 1)])
            both = [jax.tree.map(lambda part, i=i: part[i], critics) for i in range(2)]
            value = min(float(plain(one, joined, batch.later[r, k], config)[0]) for one in both)
            goal = float(batch.reward[r, k]) + float(batch.discount[r, k]) * value
            # The last place pays 0.1, so n of them are worth 0.1 * 0.9^(n - 1) at most.
            left = int(np.asarray(given_codes)[r, k, 1:].sum())
            goal = min(max(goal, 0.0), 0.1 * 0.9 ** (left - 1)) if bounded else goal
            assert float(found[r, k]) == pytest.approx(goal, rel=1e-4, abs=1e-5)


def test_td3_learns_with_finite_slopes_and_the_actor_only_every_second_time():
    config = DeepPlusConfig(**SMALL, warmup=1)
    batch = sampled(config, jnp.tanh(numbers(ROWS, 2, seed=7)), 2)
    low = FactoredTD3.of(INPUTS, CODES, 2, config)
    first = low.init(jax.random.PRNGKey(2))
    normals = numbers(low.normals)
    learn = jax.jit(low.learn)
    odd, _ = learn(first, numbers(INPUTS), batch, normals, jnp.int32(3))
    even, acting = learn(first, numbers(INPUTS), batch, normals, jnp.int32(4))
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(even))
    assert bool(jnp.all(jnp.abs(acting) <= 1))
    moved = [bool((a != b).any()) for a, b in zip(jax.tree.leaves(even), jax.tree.leaves(first), strict=True)]
    assert all(moved)
    for one, other in zip(jax.tree.leaves(odd.actor), jax.tree.leaves(first.actor), strict=True):
        np.testing.assert_array_equal(one, other)


def test_td3_finds_a_shortest_way_to_both_places_of_a_line(line):
    # From 0 to beyond 1/2 at 1/4 a step and back beyond -1/2: 3 steps and 5, whichever comes first.
    small = {"width": 64, "depth": 2, "batch": 64, "capacity": 5_000, "platform": "cpu"}
    config = DeepPlusConfig(**small, alpha=1e-3, warmup=500, eval_every=500)
    team = team_of(line(), "qcorm-plus", config, (0,))
    found = (e[0] for e in team.train(4_000))
    assert any(e.success and e.episode_length <= 9 for e in found)
