"""What a stored step teaches: one row per environment step, and tables by label that expand it over heads when sampled."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from errands.learners.engines.deep.machine import MachineArrays
from errands.tables import Flags, Floats, Ints


# L labels, H heads, U machine states. A target depends on the label and the head only, so all of them fit into tables,
# and the buffer stores each environment step once however many heads learn from it.
@dataclass(frozen=True, eq=False)
class Rule:
    """Target of head h for a step with label l: reward + pay * signals + gamma * goes_on * value of `follow`."""

    reward: Floats
    """[L, H]."""
    pay: Floats
    """[L, H, signals] the factor of each signal."""
    goes_on: Flags
    """[L, H] whether the value of the next observation counts."""
    follow: Ints
    """[L, H] the head whose value counts."""
    counts: Flags
    """[L, H] whether the head learns from such a step at all."""
    alive: Flags
    """[U, H] whether it learns from steps taken in machine state u."""

    @property
    def heads(self) -> int:
        """How many policies are learnt."""
        return int(self.reward.shape[1])

    def bounds(self, gamma: float) -> Floats:
        """[2, H] the least and the most that a head can be paid."""
        return payable(self.reward, self.pay, self.goes_on, self.follow, gamma)

    @property
    def stays(self) -> bool:
        """Whether every head bootstraps from itself."""
        return bool((self.follow == np.arange(self.heads)).all())


def payable(reward: Floats, pay: Floats, goes_on: Flags, follow: Ints, gamma: float) -> Floats:
    """[2, H] the least and the most that heads of these tables can be paid if labels come as they like.

    Both are infinite where signals pay, or nothing is discounted.
    """
    count = reward.shape[1]
    ends = np.zeros((2, count))
    if pay.any() or gamma >= 1:
        return np.broadcast_to([[-np.inf], [np.inf]], ends.shape)
    # Of many labels most do the same to a head: each such move is looked at once, those of a head side by side.
    rewards, kind = np.unique(reward, return_inverse=True)
    head = np.broadcast_to(np.arange(count), reward.shape)
    keys = ((head * count + follow) * 2 + goes_on) * len(rewards) + kind.reshape(reward.shape)
    moves = np.unique(keys, return_index=True)[1]
    reward, goes_on, follow = reward.ravel()[moves], goes_on.ravel()[moves], follow.ravel()[moves]
    first = np.flatnonzero(np.diff(head.ravel()[moves], prepend=-1))
    while True:
        later = goes_on * ends[:, follow]
        # The world may end at any step, after which nothing is paid.
        least = np.minimum.reduceat(reward + gamma * np.minimum(later[0], 0.0), first)
        most = np.maximum.reduceat(reward + gamma * np.maximum(later[1], 0.0), first)
        before, ends = ends, np.stack([least, most])
        if np.abs(ends - before).max() <= 1e-9 * np.abs(ends).max():
            return ends


def signal_pay(machine: MachineArrays, factor: Floats, signal: Ints) -> tuple[Floats, Floats]:
    """Constant rewards, and the factor of each signal."""
    pay = machine.pay(factor, signal)
    return pay[..., 0], pay[..., 1:]


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
        # One array of one type, so that storing a step is one write. Whole numbers are exact in float32 up to 2^24.
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
    bounds: Float[Array, "both any taught"] | None = None
    """The least and the greatest that targets may be."""

    def only(self, heads: Int[Array, "rows some"]) -> Batch:
        """The same for a few heads of each row."""

        def part(column: Array) -> Array:
            return jnp.take_along_axis(column, heads, axis=1)

        follow = heads if self.follow is None else part(self.follow)
        taught = {"reward": part(self.reward), "goes_on": part(self.goes_on), "weight": part(self.weight)}
        bounds = None if self.bounds is None else self.bounds[:, 0][:, heads]
        return self._replace(**taught, follow=follow, heads=heads, bounds=bounds)


def within(
    bounds: Float[Array, "both any taught"] | None, goal: Float[Array, "rows taught"]
) -> Float[Array, "rows taught"]:
    """Targets kept between their bounds, where there are any."""
    return goal if bounds is None else jnp.clip(goal, bounds[0], bounds[1])


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
    # [B, H, fields] and [B, H]. Only the world's own end stops the bootstrap here; the machine's stands in the table.
    label, state, ends = (rows[:, -3 + i] for i in range(3))
    terms = rule.table[label.astype(jnp.int32)]
    alive = rule.alive[state.astype(jnp.int32)]
    signals = shape.signals_of(rows)
    reward = terms[..., 0] + jnp.einsum("bhs,bs->bh", terms[..., 4:], signals)
    return Batch(
        shape.observations(rows),
        shape.following(rows),
        shape.actions(rows),
        reward,
        terms[..., 1] * (1.0 - ends)[:, None],
        None if stays else terms[..., 3].astype(jnp.int32),
        terms[..., 2] * alive,
    )


class Terms(NamedTuple):
    """What one step of each row does to the heads, or machine states, that learn from it."""

    reward: Float[Array, "rows taught"]
    pay: Float[Array, "rows taught signals"]
    """The factor of each signal."""
    goes_on: Float[Array, "rows taught"]
    """What the value of what follows is multiplied with."""
    follow: Int[Array, "rows taught"]
    """The head or machine state whose value that is."""
    counts: Float[Array, "rows taught"] | None = None
    """Whether the step teaches anything; None: it always does."""


class Stretch(NamedTuple):
    """What several steps of each row come to."""

    reward: Float[Array, "rows taught"]
    """What they pay, discounted to the first."""
    goes_on: Float[Array, "rows taught"]
    """The product over the steps taken, and `gamma` to the power of their number less one; 0 behind an end."""
    follow: Int[Array, "rows taught"]
    counts: Float[Array, "rows taught"]
    following: Float[Array, "rows observation"]
    """The observation after the last of them."""


def walk(
    shape: RowShape,
    gamma: float,
    stretches: Float[Array, "rows steps row"],
    start: Int[Array, "rows taught"],
    terms_of: Callable[[Int[Array, " rows"], Int[Array, "rows taught"]], Terms],
) -> Stretch:
    """Every head, or machine state, led through the labels of its rows until the episode is over or the rows are.

    `gamma` is 1 where it is in `goes_on` already; else the update multiplies what follows with it once more.
    """
    head, reward, goes_on, counts = start, jnp.zeros(start.shape), jnp.ones(start.shape), jnp.ones(start.shape)
    # [B] whether the stretch goes on.
    on, following = jnp.ones(len(start), jnp.bool_), shape.following(stretches[:, 0])
    for k in range(stretches.shape[1]):
        row = stretches[:, k]
        terms = terms_of(row[:, -3].astype(jnp.int32), head)
        paid = terms.reward + jnp.einsum("bhs,bs->bh", terms.pay, shape.signals_of(row))
        live = on[:, None] & (goes_on > 0)
        reward = reward + jnp.where(live, goes_on * paid * (gamma if k else 1.0), 0.0)
        if terms.counts is not None:
            counts = counts * jnp.where(live, terms.counts, 1.0)
        further = terms.goes_on * (row[:, -1] != 1.0)[:, None] * (gamma if k else 1.0)
        goes_on = jnp.where(on[:, None], goes_on * further, goes_on)
        head = jnp.where(on[:, None], terms.follow, head)
        following = jnp.where(on[:, None], shape.following(row), following)
        on = on & (row[:, -1] == 0.0)
    return Stretch(reward, goes_on, head, counts, following)


def expand_far(
    shape: RowShape, rule: RuleArrays, stays: bool, gamma: float, stretches: Float[Array, "rows steps row"]
) -> Batch:
    """What stretches of rows teach every head: rewards until the episode is over or the rows are, and what follows then."""

    def terms_of(label: Array, head: Array) -> Terms:
        """The rule's entries of a label for some heads of each row."""
        terms = jnp.take_along_axis(rule.table[label], head[..., None], axis=1)
        return Terms(terms[..., 0], terms[..., 4:], terms[..., 1], terms[..., 3].astype(jnp.int32), terms[..., 2])

    heads, first = rule.table.shape[1], stretches[:, 0]
    far = walk(shape, gamma, stretches, jnp.broadcast_to(jnp.arange(heads), (len(first), heads)), terms_of)
    return Batch(
        shape.observations(first),
        far.following,
        shape.actions(first),
        far.reward,
        far.goes_on,
        None if stays else far.follow,
        rule.alive[first[:, -2].astype(jnp.int32)] * far.counts,
    )


class Extra(NamedTuple):
    """Rows that join an update with a fixed target for one head."""

    step: Int[Array, " extra"]
    head: Int[Array, " extra"]
    target: Float[Array, " extra"]
    weight: Float[Array, " extra"]
    alone: bool | Bool[Array, ""] = False
    """Whether this update is theirs alone."""


@dataclass(frozen=True, eq=False)
class OverHeads:
    """Every head learns from every row, as the rule says; or only the head of the machine state that the row was in."""

    shape: RowShape
    rule: RuleArrays
    stays: bool
    single: bool = False
    steps: int = 1
    """Rows that stand side by side for a step and those after it; the rows that were added to the batch stand alone."""
    count: int = 0
    """Rows of the batch, without those that were added to it."""
    gamma: float = 1.0
    bounds: Float[Array, "both one heads"] | None = None
    """What targets are kept within; None for no bounds."""
    pairs: bool = False

    @property
    def uniforms(self) -> int:
        """One per row where it teaches a single head, drawn from those that learn from it."""
        return self.count if self.pairs else 0

    def batch(self, rows: Array, state: Array, uniforms: Array) -> Batch:
        """The batch of sampled rows."""
        if self.steps == 1:
            batch, first = expand(self.shape, self.rule, self.stays, rows), rows
        else:
            stretches, alone = jnp.split(rows, [self.count * self.steps])
            stretches = stretches.reshape(self.count, self.steps, -1)
            batch, first = expand_far(self.shape, self.rule, self.stays, self.gamma, stretches), stretches[:, 0]
            if len(alone):
                added = expand(self.shape, self.rule, self.stays, alone)
                batch = jax.tree.map(lambda *parts: jnp.concatenate(parts), batch, added)
        batch = batch._replace(bounds=self.bounds)
        if self.pairs:
            number = jnp.cumsum(batch.weight > 0, axis=1)
            drawn = jnp.argmax(number > jnp.floor(jnp.resize(uniforms, (len(number),)) * number[:, -1])[:, None], axis=1)
            batch = batch._replace(weight=batch.weight * jax.nn.one_hot(drawn, number.shape[1]))
        return batch.only(first[:, -2:-1].astype(jnp.int32)) if self.single else batch

    def with_extra(self, batch: Batch, extra: Extra) -> Batch:
        """The last rows get the fixed target of one head and teach no other."""
        # DeepAgent.draw put the extra rows last.
        first = len(batch.reward) - len(extra.head)
        own = jax.nn.one_hot(extra.head, batch.reward.shape[1])
        zero = jnp.zeros_like(own)
        return batch._replace(
            reward=jnp.concatenate([batch.reward[:first], own * extra.target[:, None]]),
            goes_on=jnp.concatenate([batch.goes_on[:first], zero]),
            weight=jnp.concatenate([batch.weight[:first] * ~jnp.asarray(extra.alone), own * extra.weight[:, None]]),
        )

    def code(self, state: Array) -> Array:
        """Nothing: heads are told apart by their place."""
        return jnp.zeros(0)
