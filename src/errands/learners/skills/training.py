"""Training of Skills: copies of a world, each on a map and with errands of its own; a step teaches several errands at once."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.batched import either, followed, ladder, lambda_returns, one_pass
from errands.learners.engines.deep.network import TrainedWeights, fresh
from errands.learners.schedule import Schedule
from errands.learners.skills.network import AVOID, LATER, OPEN, THEN, RoleValues
from errands.learners.skills.settings import SkillsConfig
from errands.worlds.batched import BatchedWorld

# Letters in shapes: T steps, E copies, K errands, S slots, R roles, F features.
ALONE = 0.35
"""Share of errands that ask for one feature at first; the others ask for 2 to `most`, each as often."""
AFTER = (0.45, 0.3, 0.25)
"""Shares of errands after whose open features nothing follows, one, two."""
AVOIDED = (0.0, 0.5, 1.0)
"""Share of the features left over that an errand avoids: one of these."""
GIVEN_UP = 0.1
"""How often the errand that is pursued is given up before a rollout; of the others every second one is."""


class ErrandArrays(NamedTuple):
    """Errands as arrays."""

    roles: Bool[Array, "*rows K S R"]
    picks: Int[Array, "*rows K S"]
    """The numbers of the features that may have a role."""


class OnMaps(NamedTuple):
    """Copies of a world between two steps."""

    worlds: Any
    errands: ErrandArrays
    age: Int[Array, " E"]
    """Steps on the present map."""


class SkillsState(NamedTuple):
    """Everything that the rest of a run depends on."""

    trained: TrainedWeights
    lanes: OnMaps
    key: Array
    step: Int[Array, ""]


class Seen(NamedTuple):
    """What the copies did in a step."""

    row: Float[Array, "E inputs"]
    errands: ErrandArrays
    action: Int[Array, " E"]
    done: Bool[Array, "E K"]
    over: Bool[Array, "E K"]
    following: Float[Array, "E inputs"]
    after: ErrandArrays
    """The errands after the step; of an errand that is over a new one."""


def progress(errands: ErrandArrays, holds: Bool[Array, "E F"]) -> tuple[ErrandArrays, Bool[Array, "E K"], Bool[Array, "E K"]]:
    """The errands after a step in which these features held; which of them are done, and which have failed."""
    roles, picks = errands
    count = picks.shape[-2:]
    hit = jnp.take_along_axis(holds, picks.reshape(len(picks), -1), axis=-1).reshape(-1, *count)
    failed = (hit & roles[..., AVOID]).any(axis=-1)
    left = roles[..., OPEN] & ~hit
    moves = ~left.any(axis=-1)
    done = moves & ~roles[..., THEN].any(axis=-1) & ~failed
    up = moves[..., None]
    parts = [jnp.where(up, roles[..., THEN], left), jnp.where(up, roles[..., LATER], roles[..., THEN]), roles[..., LATER] & ~up,
             roles[..., AVOID]]  # fmt: skip
    return ErrandArrays(jnp.stack(parts, axis=-1), picks), done, failed


@dataclass(frozen=True, eq=False)
class Practice:
    """Skills in a family of worlds: pure functions of one seed's state."""

    world: BatchedWorld
    net: RoleValues
    config: SkillsConfig

    @property
    def slots(self) -> int:
        """Features that an errand of training may name."""
        return min(len(self.world.features), max(self.config.most, 3) + 3)

    def draw(self, key: Array, shape: tuple[int, ...]) -> ErrandArrays:
        """Random errands."""
        keys, features, most = jax.random.split(key, 5), len(self.world.features), self.config.most
        most = min(most, features)
        picks = jnp.argsort(jax.random.uniform(keys[0], (*shape, features)), axis=-1)[..., : self.slots].astype(jnp.int32)
        place = jnp.arange(self.slots)
        shares = jnp.array([ALONE if most > 1 else 1.0, *([(1 - ALONE) / max(most - 1, 1)] * (most - 1))])
        size = 1 + jax.random.categorical(keys[1], jnp.log(shares), shape=shape)[..., None]
        after = jax.random.categorical(keys[2], jnp.log(jnp.array(AFTER)), shape=shape)[..., None]
        much = jax.random.choice(keys[3], jnp.array(AVOIDED), (*shape, 1))
        avoid = (place >= size + after) & (jax.random.uniform(keys[4], (*shape, self.slots)) < much)
        parts = place < size, (place == size) & (after > 0), (place == size + 1) & (after > 1), avoid
        return ErrandArrays(jnp.stack(parts, axis=-1), picks)

    def first(self, key: Array) -> SkillsState:
        """The state before the first step."""
        c = self.config
        # A number that no pass ever has.
        keys = jax.random.split(jax.random.fold_in(key, 2**31 - 1), 4)
        worlds = jax.vmap(self.world.reset)(jax.random.split(keys[1], c.envs))
        age = jax.random.randint(keys[3], (c.envs,), 0, c.cut)
        lanes = OnMaps(worlds, self.draw(keys[2], (c.envs, c.errands)), age)
        return SkillsState(fresh(self.net.init(keys[0])), lanes, key, jnp.int32(0))

    def again(self, lanes: OnMaps, key: Array) -> OnMaps:
        """New maps for copies that have been long on theirs, and new errands here and there."""
        c, keys = self.config, jax.random.split(key, 3)
        old = lanes.age >= c.cut
        maps = jax.vmap(self.world.reset)(jax.random.split(keys[0], c.envs))
        worlds = either(old, maps, lanes.worlds)
        often = jnp.where(jnp.arange(c.errands) == 0, GIVEN_UP, 0.5)
        new = old[:, None] | (jax.random.uniform(keys[1], (c.envs, c.errands)) < often)
        errands = _replaced(new, self.draw(keys[2], new.shape), lanes.errands)
        return OnMaps(worlds, errands, jnp.where(old, 0, lanes.age) + c.rollout)

    def step(self, layers: Any, lanes: OnMaps, key: Array) -> tuple[OnMaps, Seen]:
        """A step of every copy, which pursues its first errand."""
        c, keys = self.config, jax.random.split(key, 4)
        worlds, errands, age = lanes
        rows = jax.vmap(self.world.observe)(worlds)
        best = jnp.argmax(self.net.values(layers, self.net.scene(rows), *(part[:, :1] for part in errands))[:, 0], axis=-1)
        explores = jax.random.uniform(keys[0], (c.envs,)) < ladder(c.epsilon_low, c.epsilon_high, c.envs)
        other = jax.random.randint(keys[1], (c.envs,), 0, self.net.actions)
        action = jnp.where(explores, other, best).astype(jnp.int32)
        told = jax.vmap(self.world.step)(worlds, action, jax.random.split(keys[2], c.envs))
        after, done, failed = progress(errands, told.features)
        over = done | failed
        after = _replaced(over, self.draw(keys[3], over.shape), after)
        return OnMaps(told.state, after, age), Seen(rows, errands, action, done, over, told.observation, after)

    def loss(
        self, layers: Any, rows: Float[Array, "B inputs"], errands: ErrandArrays, action: Array, goal: Float[Array, "B K"]
    ) -> Float[Array, ""]:
        """The mean squared error over the errands that a step teaches."""
        values = self.net.values(layers, self.net.scene(rows), *errands)
        taken = jnp.take_along_axis(values, action[:, None, None], axis=-1)[..., 0]
        return jnp.mean(jnp.square(taken - goal))

    def iterate(
        self, number: Array, key: Array, trained: TrainedWeights, lanes: OnMaps, alpha: Array | None = None
    ) -> tuple[TrainedWeights, OnMaps]:
        """A rollout of every copy, and one pass over it; `alpha` stands in for the step size of the settings."""
        c = self.config
        # Chance depends on the seed and the number of the pass alone: stopping, or resuming, changes nothing.
        first, second, third = jax.random.split(jax.random.fold_in(key, number), 3)
        lanes = self.again(lanes, first)
        lanes, seen = jax.lax.scan(partial(self.step, trained.weights), lanes, jax.random.split(second, c.rollout))
        values = jax.lax.map(
            lambda part: self.net.values(trained.weights, self.net.scene(part[0]), *part[1]), (seen.following, seen.after)
        )
        best, kept = followed(values, seen.action, jnp.zeros(seen.action.shape, bool))
        # No world of a family ends by itself.
        goal = lambda_returns(seen.done.astype(jnp.float32), c.gamma * ~seen.over, best, kept, c.trace)
        rows = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), (seen.row, seen.errands, seen.action, goal))
        if alpha is None:
            alpha = Schedule.of(c.alpha, "alpha").at((number * c.step_multiple).astype(jnp.float32), jnp.clip)
        return one_pass(self.loss, trained, rows, third, c.minibatches, alpha, c.average)[0], lanes


def _replaced(which: Bool[Array, "E K"], new: ErrandArrays, old: ErrandArrays) -> ErrandArrays:
    return ErrandArrays(
        jnp.where(which[..., None, None], new.roles, old.roles), jnp.where(which[..., None], new.picks, old.picks)
    )


@partial(jax.jit, static_argnums=0)
def begin(practice: Practice, key: Array) -> SkillsState:
    """The state of a seed before its first step."""
    return practice.first(key)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def advance(practice: Practice, state: SkillsState, passes: Int[Array, ""]) -> SkillsState:
    """So many passes on."""
    number = state.step // practice.config.step_multiple
    trained, lanes = jax.lax.fori_loop(
        0, passes, lambda i, now: practice.iterate(number + i, state.key, *now), (state.trained, state.lanes)
    )
    return SkillsState(trained, lanes, state.key, state.step + passes * practice.config.step_multiple)


@lru_cache(maxsize=16)
def practice_of(world: BatchedWorld, net: RoleValues, config: SkillsConfig) -> Practice:
    """Skills in the world of a family; asked again it is the same one, so that nothing is compiled twice."""
    return Practice(world, net, config)


