"""How sampled rows are expanded: over every head by a rule, or over a few contexts drawn for the update."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from errands.learners.deep.batch import Batch, RowShape, RuleArrays, expand
from errands.learners.deep.high import Extra
from errands.learners.deep.machine import Listed
from errands.tables import FAILURE


@dataclass(frozen=True, eq=False)
class OverHeads:
    """Every head learns from every row, as the rule says."""

    shape: RowShape
    rule: RuleArrays
    stays: bool
    uniforms: int = 0

    def batch(self, rows: Array, state: Array, uniforms: Array) -> Batch:
        """The batch of sampled rows."""
        return expand(self.shape, self.rule, self.stays, rows)

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


class ContextBatch(NamedTuple):
    """Sampled steps under a few machine states: those drawn for all rows, and last the one that each row was in."""

    observations: Float[Array, "rows observation"]
    following: Float[Array, "rows observation"]
    actions: Float[Array, "rows action"]
    reward: Float[Array, "rows contexts"]
    goes_on: Float[Array, "rows contexts"]
    weight: Float[Array, "rows contexts"]
    codes: Float[Array, "rows contexts codes"]
    later: Float[Array, "rows contexts codes"]
    """The codes of the machine states reached."""
    code: Float[Array, " codes"]
    """The code of the machine state that is to be acted in."""


@dataclass(frozen=True, eq=False)
class OverContexts:
    """A few running machine states, drawn anew for each update, learn from every row."""

    shape: RowShape
    machine: Listed
    contexts: int
    scale: float
    bonus: float
    """Paid for every completed objective besides what the machine pays."""

    @cached_property
    def chances(self) -> NDArray[np.float32]:
        """[running] cumulative chances: every number of remaining subtasks is equally likely, so that short rests occur."""
        masks = self.machine.masks[self.machine.running]
        left = np.array([int(mask).bit_count() for mask in masks])
        weight = 1.0 / np.bincount(left)[left]
        chances: NDArray[np.float32] = (np.cumsum(weight) / weight.sum()).astype(np.float32)
        return chances

    @property
    def uniforms(self) -> int:
        """One per context."""
        return self.contexts

    @cached_property
    def codes(self) -> NDArray[np.float32]:
        """[U, codes] one-hot of the running numeric state, then the remaining subtasks as bits."""
        machine = self.machine
        running = np.unique(machine.numeric[machine.running])
        bits = [machine.masks >> i & 1 for i in range(len(machine.task.machine.subtasks))]
        return np.stack([*(machine.numeric == u for u in running), *bits], axis=1).astype(np.float32)

    def batch(self, rows: Array, state: Array, uniforms: Array) -> ContextBatch:
        """The batch of sampled rows."""
        table, codes = self.machine.table, jnp.asarray(self.codes)
        running = jnp.asarray(np.flatnonzero(self.machine.running), jnp.int32)
        place = jnp.searchsorted(jnp.asarray(self.chances), uniforms, side="right")
        drawn = running[jnp.minimum(place, len(running) - 1)]
        label, own, ends = (rows[:, -3].astype(jnp.int32), rows[:, -2].astype(jnp.int32), rows[:, -1])
        contexts = jnp.concatenate([jnp.broadcast_to(drawn, (len(rows), self.contexts)), own[:, None]], axis=1)
        reached = jnp.asarray(table.next)[contexts, label[:, None]]
        factor = jnp.asarray(table.reward, jnp.float32)[contexts, label[:, None]] * self.scale
        signal = jnp.asarray(table.signal)[contexts, label[:, None]]
        signals = jnp.concatenate([jnp.ones((len(rows), 1)), self.shape.signals_of(rows)], axis=1)
        reward = factor * jnp.take_along_axis(signals, signal + 1, axis=1)
        if self.bonus:
            done = (self.machine.completed >= 0) & (table.status[table.next] != FAILURE)
            reward = reward + self.bonus * jnp.asarray(done)[contexts, label[:, None]]
        goes_on = jnp.asarray(self.machine.running)[reached] * (1.0 - ends)[:, None]
        weight = jnp.ones_like(goes_on)
        if self.machine.task.vanishing:
            masks = jnp.asarray(self.machine.masks)
            weight = (masks[contexts] & ~masks[own][:, None] == 0).astype(jnp.float32)
        return ContextBatch(
            self.shape.observations(rows),
            self.shape.following(rows),
            self.shape.actions(rows),
            reward,
            goes_on,
            weight,
            codes[contexts],
            codes[reached],
            codes[state],
        )

    def with_extra(self, batch: ContextBatch, extra: Extra) -> ContextBatch:
        """There are no extra rows."""
        return batch

    def code(self, state: Array) -> Array:
        """The code of a machine state."""
        return jnp.asarray(self.codes)[state]
