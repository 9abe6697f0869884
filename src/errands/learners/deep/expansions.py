"""How sampled rows are expanded over every head by a rule; contexts.py has the other way, for QCoRM+."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from errands.learners.deep.batch import Batch, RowShape, RuleArrays, expand
from errands.learners.deep.high import Extra


@dataclass(frozen=True, eq=False)
class OverHeads:
    """Every head learns from every row, as the rule says; or only the head of the machine state that the row was in."""

    shape: RowShape
    rule: RuleArrays
    stays: bool
    single: bool = False
    uniforms: int = 0

    def batch(self, rows: Array, state: Array, uniforms: Array) -> Batch:
        """The batch of sampled rows."""
        batch = expand(self.shape, self.rule, self.stays, rows)
        return batch.only(rows[:, -2:-1].astype(jnp.int32)) if self.single else batch

    def with_extra(self, batch: Batch, extra: Extra) -> Batch:
        """The last rows get the fixed target of one head and teach no other."""
        first = len(batch.reward) - len(extra.head)
        own = jax.nn.one_hot(extra.head, batch.reward.shape[1])
        zero = jnp.zeros_like(own)
        return batch._replace(
            reward=jnp.concatenate([batch.reward[:first], own * extra.target[:, None]]),
            goes_on=jnp.concatenate([batch.goes_on[:first], zero]),
            weight=jnp.concatenate([batch.weight[:first], own * extra.weight[:, None]]),
        )

    def code(self, state: Array) -> Array:
        """Nothing: heads are told apart by their place."""
        return jnp.zeros(0)
