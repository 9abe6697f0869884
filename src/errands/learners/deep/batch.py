"""One row per environment step in one buffer array, and its expansion over heads when it is sampled."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from errands.learners.deep.rules import Rule

Rows = Float[Array, "*rows row"]
Columns = Float[Array, "*rows columns"]


@dataclass(frozen=True)
class RowShape:
    """What a row holds: observation, next observation, action, signals, then label, machine state and end flag."""

    observation: int
    action: int
    signals: int

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return 2 * self.observation + self.action + self.signals + 3

    def pack(
        self,
        observation: Float[Array, " observation"],
        following: Float[Array, " observation"],
        action: Float[Array, " action"],
        signals: Float[Array, " signals"],
        tail: tuple[ArrayLike, ArrayLike, ArrayLike],
    ) -> Float[Array, " row"]:
        """The row of one step; `tail` is label, machine state and end flag."""
        end = jnp.stack([jnp.asarray(x, jnp.float32) for x in tail])
        return jnp.concatenate([observation, following, action, signals, end])

    def observations(self, rows: Rows) -> Columns:
        """The observations before the steps."""
        return rows[..., : self.observation]

    def following(self, rows: Rows) -> Columns:
        """The observations after the steps."""
        return rows[..., self.observation : 2 * self.observation]

    def actions(self, rows: Rows) -> Columns:
        """The actions: numbers, or one number that counts them."""
        return rows[..., 2 * self.observation : 2 * self.observation + self.action]

    def signals_of(self, rows: Rows) -> Columns:
        """The signals of the steps."""
        return rows[..., 2 * self.observation + self.action : -3]


class Batch(NamedTuple):
    """Sampled steps, expanded over heads."""

    observations: Float[Array, "rows observation"]
    following: Float[Array, "rows observation"]
    actions: Float[Array, "rows action"]
    reward: Float[Array, "rows taught"]
    goes_on: Float[Array, "rows taught"]
    follow: Int[Array, "rows taught"] | None
    """The head whose value counts; None where each follows itself."""
    weight: Float[Array, "rows taught"]
    heads: Int[Array, "rows taught"] | None = None
    """The heads that learn from each row; None for all, in their order."""

    def only(self, heads: Int[Array, "rows some"]) -> Batch:
        """The same for a few heads of each row."""

        def part(found: Array) -> Array:
            return jnp.take_along_axis(found, heads, axis=1)

        follow = heads if self.follow is None else part(self.follow)
        taught = {"reward": part(self.reward), "goes_on": part(self.goes_on), "weight": part(self.weight)}
        return self._replace(**taught, follow=follow, heads=heads)


class RuleArrays(NamedTuple):
    """A rule on the device: all numbers of a label in one row."""

    table: Float[Array, "labels heads fields"]
    """reward, goes_on, counts, follow, then the factor of each signal."""
    alive: Float[Array, "states heads"]


def rule_arrays(rule: Rule) -> RuleArrays:
    """The arrays of a rule."""
    parts = [x[..., None].astype("float32") for x in (rule.reward, rule.goes_on, rule.counts, rule.follow)]
    table = jnp.concatenate([*map(jnp.asarray, parts), jnp.asarray(rule.pay, jnp.float32)], axis=-1)
    return RuleArrays(table, jnp.asarray(rule.alive, jnp.float32))


def expand(shape: RowShape, rule: RuleArrays, stays: bool, rows: Float[Array, "rows row"]) -> Batch:
    """What sampled rows teach every head."""
    label, state, ends = (rows[:, -3 + i] for i in range(3))
    found = rule.table[label.astype(jnp.int32)]
    alive = rule.alive[state.astype(jnp.int32)]
    signals = shape.signals_of(rows)
    reward = found[..., 0] + jnp.einsum("bhs,bs->bh", found[..., 4:], signals)
    return Batch(
        shape.observations(rows),
        shape.following(rows),
        shape.actions(rows),
        reward,
        found[..., 1] * (1.0 - ends)[:, None],
        None if stays else found[..., 3].astype(jnp.int32),
        found[..., 2] * alive,
    )
