"""Deep QCoRM+: sampled rows expanded over a few machine states that are drawn for each update."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.learners.engines.deep.batch import Extra, RowShape, Terms, payable, walk
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.qcorm_plus.settings import DeepPlusConfig
from errands.tables import RUNNING, SUCCESS

FEW = 256
"""Machine states whose next values are one matrix product at most."""


# "contexts" are machine states in which a row is imagined: those drawn, then the row's own, so drawn + 1 of them.
# `codes` is the length of the vector that tells the network a machine state; it grows with N, not with 2^N.
class ContextBatch(NamedTuple):
    """Sampled steps under a few machine states: those drawn for all rows, and last the one that each row was in."""

    observations: Float[Array, "rows observation"]
    following: Float[Array, "rows observation"]
    actions: Float[Array, "rows action"]
    reward: Float[Array, "rows contexts"]
    discount: Float[Array, "rows contexts"]
    """What the value of the next observation is multiplied with; 0 where nothing follows."""
    weight: Float[Array, "rows contexts"]
    drawn: Float[Array, "drawn codes"]
    """The codes of the machine states that all rows share."""
    own: Float[Array, "rows codes"]
    """The code of the machine state that each row was in."""
    every: Float[Array, "states codes"] | None
    """The codes of all machine states, where they are few."""
    reached: Int[Array, "rows contexts"]
    """The machine states that follow."""
    later: Float[Array, "rows contexts codes"]
    """Their codes."""
    code: Float[Array, " codes"]
    """The code of the machine state that is to be acted in."""
    bounds: Float[Array, "both rows contexts"] | None = None
    """The least and the greatest that targets may be."""

    @property
    def codes(self) -> Float[Array, "rows contexts codes"]:
        """The codes of all contexts of each row."""
        shared = jnp.broadcast_to(self.drawn, (len(self.own), *self.drawn.shape))
        return jnp.concatenate([shared, self.own[:, None]], axis=1)


@dataclass(frozen=True, eq=False)
class OverContexts:
    """A few running machine states, drawn anew for each update, learn from every row."""

    shape: RowShape
    machine: MachineArrays
    config: DeepPlusConfig

    @property
    def contexts(self) -> int:
        """Machine states drawn for an update: no more than there are."""
        return min(self.config.contexts, int(self.machine.running.sum()))

    @property
    def _lots(self) -> int:
        """Those of them that are not taken from the sampled steps."""
        return max(1, round(self.contexts * (1.0 - self.config.visited)))

    @property
    def uniforms(self) -> int:
        """One per context."""
        return self.contexts

    @property
    def _few(self) -> int:
        """Machine states up to which all next values at once are cheaper; layers behind the factor are paid for each."""
        return self.contexts + 1 if self.config.late else FEW

    @cached_property
    def chances(self) -> NDArray[np.float32]:
        """[running] cumulative chances: every number of remaining subtasks is as likely as can be while none is drawn twice."""
        # Uniform draws would nearly always be half-done agendas; ends and beginnings of a task matter as much. A chance
        # above 1 / lots would be drawn more than once: it is cut there, the rest is shared anew, until none is above.
        left = np.array([int(mask).bit_count() for mask in self.machine.masks[self.machine.running]])
        chance = 1.0 / np.bincount(left)[left]
        most = 1.0 / self._lots
        free = np.ones(len(left), np.bool_)
        while True:
            chance = np.where(free, chance * (1.0 - most * (~free).sum()) / chance[free].sum(), most)
            over = free & (chance > most * (1 + 1e-9))
            if not over.any():
                return np.cumsum(chance).astype(np.float32)
            free &= ~over

    @cached_property
    def codes(self) -> NDArray[np.float32]:
        """[U, codes] one-hot of the running numeric state, then the remaining subtasks as bits."""
        machine = self.machine
        running = np.unique(machine.numeric[machine.running])
        bits = [machine.masks >> i & 1 for i in range(len(machine.task.machine.subtasks))]
        return np.stack([*(machine.numeric == u for u in running), *bits], axis=1).astype(np.float32)

    @cached_property
    def nominal(self) -> NDArray[np.float64]:
        """[U] values of a plan in which every move of the machine takes `leg` steps; those learnt are multiples of them."""
        return self.config.gamma ** (self.config.leg * np.maximum(moves_left(self.machine) - 1, 0))

    @cached_property
    def terms(self) -> NDArray[np.float32]:
        """[U, L, 2 + signals] what a label pays in a machine state, what each signal does, and the discount."""
        # What is learnt is value / nominal. Dividing the Bellman equation by nominal(here) leaves nominal(next) /
        # nominal(here) on the discount; it is 0 into a terminal state.
        table, c, here = self.machine.table, self.config, self.nominal[:, None]
        pays = np.moveaxis(self.machine.pays * c.reward_scale, -1, 0)
        discount = c.gamma * self.nominal[table.next] * self.machine.running[table.next]
        return np.stack([part / here for part in (*pays, discount)], axis=-1).astype(np.float32)

    def _drawn(self, uniforms: Array, own: Int[Array, " rows"]) -> Int[Array, " contexts"]:
        """The machine states of an update: one from each of as many equal parts of the chances."""
        running = jnp.asarray(np.flatnonzero(self.machine.running), jnp.int32)
        if self.contexts == len(running):
            return running
        parts = (jnp.arange(self._lots) + uniforms[: self._lots]) / self._lots
        # A search would be a loop of its own on a GPU; comparing with all is one kernel.
        place = jnp.sum(jnp.asarray(self.chances) <= parts[:, None], axis=1)
        # Rows were drawn at random, so the states of the first ones are a fair sample of those visited.
        met = own[jnp.arange(self.contexts - self._lots) % len(own)]
        return jnp.concatenate([met, running[jnp.minimum(place, len(running) - 1)]])

    @cached_property
    def bounds(self) -> NDArray[np.float32]:
        """[2, U] the least and the most that the machine can pay, as multiples of `nominal` too."""
        table, pays = self.machine.table, self.machine.pays * self.config.reward_scale
        goes_on = self.machine.running[table.next].T
        ends = payable(pays[..., 0].T, pays[..., 1:], goes_on, table.next.T, self.config.gamma)
        return (ends / self.nominal).astype(np.float32)

    def batch(self, rows: Array, state: Array, uniforms: Array) -> ContextBatch:
        """The batch of sampled rows; those of a stretch stand side by side."""
        codes, following, terms = (jnp.asarray(x) for x in (self.codes, self.machine.table.next, self.terms))
        stretches = rows.reshape(-1, self.config.n_steps, rows.shape[1])
        first, own = stretches[:, 0], stretches[:, 0, -2].astype(jnp.int32)
        drawn = self._drawn(uniforms, own)
        contexts = jnp.concatenate([jnp.broadcast_to(drawn, (len(first), self.contexts)), own[:, None]], axis=1)

        def terms_of(label: Array, here: Array) -> Terms:
            """What a label does to some machine states of each row."""
            part = terms[here, label[:, None]]
            return Terms(part[..., 0], part[..., 1:-1], part[..., -1], following[here, label[:, None]])

        # The discount in `terms` contains gamma.
        far = walk(self.shape, 1.0, stretches, contexts, terms_of)
        weight = far.counts
        if self.machine.task.vanishing:
            # Where things vanish a context may have no subtask left that the row's own state has completed.
            masks = jnp.asarray(self.machine.masks)
            weight = (masks[contexts] & ~masks[own][:, None] == 0).astype(jnp.float32)
        return ContextBatch(
            self.shape.observations(first),
            far.following,
            self.shape.actions(first),
            far.reward,
            far.goes_on,
            weight,
            codes[drawn],
            codes[own],
            # With few machine states it is cheaper to value them all by one product and to pick than to value each
            # row's own.
            codes if len(codes) <= self._few else None,
            far.follow,
            codes[far.follow],
            codes[state],
            jnp.asarray(self.bounds)[:, contexts] if self.config.bound_values else None,
        )

    def with_extra(self, batch: ContextBatch, extra: Extra) -> ContextBatch:
        """There are no extra rows."""
        return batch

    def code(self, state: Array) -> Array:
        """The code of a machine state."""
        return jnp.asarray(self.codes)[state]


def moves_left(machine: MachineArrays) -> NDArray[np.int64]:
    """[U] the fewest moves of the machine to success; 0 where it cannot be reached."""
    status, following = machine.table.status, machine.table.next
    # Breadth first, backwards from success.
    left = np.where(status == SUCCESS, 0, -1)
    for count in range(1, len(status)):
        near = (left < 0) & (status == RUNNING) & (left[following] == count - 1).any(axis=1)
        if not near.any():
            break
        left[near] = count
    return np.maximum(left, 0)
