"""The network of Skills: things, seen from the agent, with the roles that an errand gives them; their order says nothing."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.batched import init_normal, layer_norm, normed
from errands.learners.engines.deep.network import Layers
from errands.learners.skills.settings import SkillsConfig
from errands.worlds.families import MapFamily, Scene

ROLES = ("open", "then", "later", "avoid")
"""What an errand asks of a feature: to become true, in any order with the others that are open; to do so after them; after that
one; never. A feature without a role has no say."""
OPEN, THEN, LATER, AVOID = range(4)
_THING = 4
"""Layers before those that see the errand."""

# Letters in shapes: F features, K errands, S the features that an errand names (slots), R roles, A actions.
Picks = Int[Array, "*rows K S"]
Roles = Bool[Array, "*rows K S R"]


@dataclass(frozen=True)
class RoleValues:
    """Values of the actions for errands; each thing is read once, whatever the number of errands."""

    scene: Callable[[Any], Scene]
    own: int
    thing: int
    actions: int
    embed: int
    width: int
    depth: int

    @staticmethod
    def of(family: MapFamily, config: SkillsConfig) -> RoleValues:
        """The network for a family of worlds."""
        seen = family.scene(jnp.zeros(family.world.inputs))
        sizes = seen.own.shape[-1], seen.things.shape[-1]
        return RoleValues(family.scene, *sizes, family.world.actions, config.embed, config.width, config.depth)

    @property
    def seen(self) -> tuple[int, int, int]:
        """What a world must have for this network to act in it."""
        return self.own, self.thing, self.actions

    def init(self, key: Array) -> Layers:
        """Fresh weights, whose values are near 0."""
        e, roles = self.embed, len(ROLES)
        keys = jax.random.split(key, _THING + 1)
        sizes = ((self.thing + self.own, e), (e, e), (e, e), (e, roles * e))
        things = [init_normal(k, size, 2.0)[0] for k, size in zip(keys[1:], sizes, strict=True)]
        inputs = roles * e + roles + self.own
        return things + init_normal(keys[0], (inputs, *(self.width,) * self.depth, self.actions))

    def read(self, layers: Layers, scene: Scene) -> Float[Array, "*rows F R embed"]:
        """What each feature would mean in each role."""
        own = scene.own[..., None, None, :]
        things = jnp.concatenate([scene.things, jnp.broadcast_to(own, (*scene.things.shape[:-1], self.own))], axis=-1)
        for weights, bias in layers[:2]:
            things = jax.nn.relu(layer_norm(things @ weights + bias))
        # Of the things of a feature the greatest of each number, so that they may change places.
        features = things.max(axis=-2) @ layers[2][0] + layers[2][1]
        roles = jax.nn.relu(layer_norm(features)) @ layers[3][0] + layers[3][1]
        return jax.nn.relu(layer_norm(roles.reshape(*roles.shape[:-1], len(ROLES), self.embed)))

    def values(self, layers: Layers, scene: Scene, roles: Roles, picks: Picks | None = None) -> Float[Array, "*rows K A"]:
        """The values of the actions for errands: in `roles` stand the features whose numbers are `picks`, or all of them."""
        slots = self.read(layers, scene)[..., None, :, :, :]
        if picks is not None:
            flat = jnp.take_along_axis(slots[..., 0, :, :, :], picks.reshape(*picks.shape[:-2], -1)[..., None, None], axis=-3)
            slots = flat.reshape(*picks.shape, *flat.shape[-2:])
        pooled = (slots * roles[..., None]).max(axis=-3)
        counts = roles.sum(axis=-2) / 3
        own = jnp.broadcast_to(scene.own[..., None, :], (*roles.shape[:-2], self.own))
        inputs = jnp.concatenate([pooled.reshape(*pooled.shape[:-2], -1), counts, own], axis=-1)
        return normed(layers[_THING:], inputs)


@partial(jax.jit, static_argnums=0)
def action_values(
    net: RoleValues, layers: Layers, rows: Float[Array, "B inputs"], roles: Bool[Array, "B K S R"], picks: Int[Array, "B K S"]
) -> Float[Array, "B K A"]:
    """The values of rows of observations."""
    return net.values(layers, net.scene(rows), roles, picks)
