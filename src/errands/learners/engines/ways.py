"""The shortest ways to success that copies of a world have found so far, and episodes that come back to them."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

GROUPS = 8
"""Groups of copies, each with a shortest way of its own, so that not all follow the same one."""


# Letters in shapes: E environments, L steps of an episode at most.
class Ways(NamedTuple):
    """What was done since the start, and the shortest way to success that each group of copies has found."""

    trail: Int[Array, "E L"]
    """The actions of an episode so far."""
    whole: Bool[Array, " E"]
    """Whether it began where the task does."""
    led: Int[Array, " E"]
    """For how many steps it follows the way of its group."""
    length: Int[Array, " groups"]
    """Of the shortest way; more than L before there is one."""
    way: Int[Array, "groups L"]

    @staticmethod
    def none(envs: int, longest: int) -> Ways:
        """Before the first step."""
        trail, way = (jnp.zeros((rows, longest), jnp.int32) for rows in (envs, GROUPS))
        zero = jnp.zeros(envs, jnp.int32)
        return Ways(trail, zero == 0, zero, jnp.full(GROUPS, longest + 1, jnp.int32), way)

    def action(self, own: Float[Array, "E 1"], time: Int[Array, " E"]) -> Float[Array, "E 1"]:
        """That of the way where a copy follows it, else its own."""
        group = jnp.arange(len(time)) % GROUPS
        return jnp.where((time < self.led)[:, None], self.way[group, time][:, None].astype(jnp.float32), own)

    def after(
        self, action: Float[Array, "E 1"], time: Int[Array, " E"], over: Bool[Array, " E"], success: Bool[Array, " E"],
        share: float, uniforms: Float[Array, "E 2"],
    ) -> tuple[Ways, Bool[Array, " E"]]:  # fmt: skip
        """The ways after a step, and which of the copies whose episodes are over follow one in the next: this share of them."""
        longest, group = self.trail.shape[1], jnp.arange(len(time)) % GROUPS
        trail = jnp.where(jnp.arange(longest) == time[:, None], action.astype(jnp.int32), self.trail)
        found = (self.whole & over & success) & (group == jnp.arange(GROUPS)[:, None])
        lengths = jnp.where(found, time + 1, longest + 1)
        least = lengths.min(axis=1)
        # One as short takes the place of the one before, so that ways wander.
        better = least <= jnp.minimum(self.length, longest)
        length = jnp.where(better, least, self.length)
        way = jnp.where(better[:, None], trail[lengths.argmin(axis=1)], self.way)
        back = over & (uniforms[:, 0] < share) & (length <= longest)[group]
        led = jnp.where(back, jnp.floor(uniforms[:, 1] * length[group]).astype(jnp.int32), 0)
        return Ways(trail, self.whole, jnp.where(over, led, self.led), length, way), back
