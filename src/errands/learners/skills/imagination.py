"""Imagined episodes: what the network would do from here, with chance in it, in the rules of its family; the shortest is kept."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from errands.learners.skills.network import AVOID, RoleValues
from errands.learners.skills.training import ErrandArrays, progress
from errands.worlds.batched import BatchedWorld

# Letters in shapes: M maps, N episodes at once, T steps, S slots, R roles.
ROUNDS = 8
"""Rounds of episodes; from the second on they leave the best one of the rounds before somewhere on its way."""
BOLDEST = 0.3
"""Probability of a random action in the last episode of a round; the first has none."""
UNFINISHED = 16
"""Steps that are taken of an episode that did not get to the end of its errand, before others are imagined."""


class Way(NamedTuple):
    """Actions that lead from a state."""

    actions: Int[Array, "*maps T"]
    length: Int[Array, "*maps"]
    """How many of them are meant."""


class _Episodes(NamedTuple):
    time: Int[Array, ""]
    worlds: Any
    errands: ErrandArrays
    actions: Int[Array, "T N"]
    score: Int[Array, " N"]
    """0 while an episode goes on, then its length, or more than any length where it failed."""


@partial(jax.jit, static_argnums=(0, 1, 2))
def imagine(
    world: BatchedWorld, net: RoleValues, count: int, layers: Any, states: Any, roles: Bool[Array, "M S R"],
    picks: Int[Array, "M S"], held: Way,
) -> Way:  # fmt: skip
    """For each state the shortest way to the end of its errand among `count` episodes a round; `held` is the way known so far."""
    ways: Way = jax.vmap(partial(_imagine_one, world, net, count, layers))(states, roles, picks, held)
    return ways


def _imagine_one(
    world: BatchedWorld, net: RoleValues, count: int, layers: Any, state: Any, roles: Bool[Array, "S R"], picks: Int[Array, " S"],
    held: Way,
) -> Way:  # fmt: skip
    span, epsilon = len(held.actions), jnp.linspace(0.0, BOLDEST, count)
    worlds = jax.tree.map(lambda part: jnp.broadcast_to(part, (count, *part.shape)), state)
    errands = ErrandArrays(jnp.broadcast_to(roles, (count, 1, *roles.shape)), jnp.broadcast_to(picks, (count, 1, *picks.shape)))

    def attempt(number: Array, best: tuple[Way, Array]) -> tuple[Way, Array]:
        (known, length), least = best
        key, first = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(0), number))
        # The first episode follows the best way to its end; in the first round the others follow the network from here.
        leaves = jnp.floor(jax.random.uniform(first, (count,)) * jnp.where(number > 0, length, 1)).astype(jnp.int32)
        leaves = leaves.at[0].set(length)

        def going(now: _Episodes) -> Array:
            return (now.time < jnp.minimum(span, least)) & (now.score == 0).any()

        def step(now: _Episodes) -> _Episodes:
            keys = jax.random.split(jax.random.fold_in(key, now.time), 3)
            rows = jax.vmap(world.observe)(now.worlds)
            own = jnp.argmax(net.values(layers, net.scene(rows), *now.errands)[:, 0], axis=-1)
            other = jax.random.randint(keys[0], (count,), 0, net.actions)
            action = jnp.where(jax.random.uniform(keys[1], (count,)) < epsilon, other, own)
            action = jnp.where(now.time < leaves, known[now.time], action).astype(jnp.int32)
            told = jax.vmap(world.step)(now.worlds, action, jax.random.split(keys[2], count))
            after, done, failed = progress(now.errands, told.features)
            ended = jnp.where(done[:, 0], now.time + 1, jnp.where(failed[:, 0], 4 * span - now.time, 0))
            score = jnp.where(now.score == 0, ended, now.score)
            return _Episodes(now.time + 1, told.state, after, now.actions.at[now.time].set(action), score)

        begun = _Episodes(jnp.int32(0), worlds, errands, jnp.zeros((span, count), jnp.int32), jnp.zeros(count, jnp.int32))
        now = jax.lax.while_loop(going, step, begun)
        left = now.errands.roles[:, 0, :, :AVOID].sum((1, 2))
        score = jnp.where(now.score == 0, span + left, now.score)
        which = jnp.argmin(score)
        steps = jnp.where(score <= span, score, jnp.minimum(jnp.where(score > 2 * span, 4 * span - score, now.time), UNFINISHED))
        better = score[which] < least
        way = Way(jnp.where(better, now.actions[:, which], known), jnp.where(better, steps[which], length))
        return way, jnp.minimum(score[which], least)

    best: Way = jax.lax.fori_loop(0, ROUNDS, attempt, (held, jnp.int32(8 * span)))[0]
    return best
