"""One seed's step as pure functions: draw rows, learn and act, take note; both loops drive exactly these."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray

from errands.learners.deep.adam import Trained
from errands.learners.deep.batch import RowShape
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.ddqn import annealed
from errands.learners.deep.high import Extra, High, Note
from errands.learners.deep.machine import Listed
from errands.tables import RUNNING, SUCCESS


@runtime_checkable
class Low(Protocol):
    """A value learner: DDQN or TD3, with heads or with contexts; pure functions of what is handed in."""

    @property
    def normals(self) -> int:
        """Normal numbers that it needs per step."""
        ...

    def init(self, key: Array) -> Any:
        """Fresh weights."""
        ...

    def learn(self, trained: Any, now: Array, batch: Any, normals: Array, step: Array) -> tuple[Any, Array]:
        """One update, and what the observation `now` is acted on with: one row per head."""
        ...

    def view(self, trained: Any, now: Array, code: Array) -> Array:
        """What an observation is acted on with, without an update."""
        ...

    def act(self, acting: Array, uniforms: Array, normals: Array, epsilon: Array, go: Array) -> Array:
        """The action in training."""
        ...

    def greedy(self, acting: Array) -> Array:
        """The action in evaluations."""
        ...

    def worth(self, trained: Any, now: Array, acting: Array) -> Array:
        """What each head expects."""
        ...


@runtime_checkable
class Expansion(Protocol):
    """How sampled rows become a batch."""

    @property
    def uniforms(self) -> int:
        """Uniform numbers that it needs per step."""
        ...

    def batch(self, rows: Array, state: Array, uniforms: Array) -> Any:
        """The batch of rows, for an agent that is in a machine state."""
        ...

    def with_extra(self, batch: Any, extra: Extra) -> Any:
        """The batch with the fixed targets of its last rows."""
        ...

    def code(self, state: Array) -> Array:
        """What tells the network the machine state."""
        ...


class Mind(NamedTuple):
    """What a seed has learnt."""

    trained: Any
    high: Any


class Place(NamedTuple):
    """Where a seed is."""

    observation: Float[Array, " inputs"]
    state: Int[Array, ""]
    """The machine state."""
    time: Int[Array, ""]
    episodes: Int[Array, ""]


class Outcome(NamedTuple):
    """What the world answered to an action."""

    observation: Float[Array, " inputs"]
    label: Int[Array, ""]
    ends: Bool[Array, ""]
    truncated: Bool[Array, ""]
    signals: Float[Array, " signals"]


class Told(NamedTuple):
    """What the machine made of it."""

    reached: Int[Array, ""]
    completed: Int[Array, " several"]
    """The objectives completed, -1 behind the last."""
    reward: Float[Array, ""]
    terminal: Bool[Array, ""]
    success: Bool[Array, ""]
    over: Bool[Array, ""]


@dataclass(frozen=True, eq=False)
class Brain:
    """A method on a task: value learner, high level, expansion and machine, without any state of its own."""

    machine: Listed
    low: Low
    high: High
    expansion: Expansion
    shape: RowShape
    config: DeepConfig

    @property
    def uniforms(self) -> int:
        """Uniform numbers per step: rows, acting, world, high level, expansion."""
        return self.config.batch + 4 + self.high.uniforms + self.expansion.uniforms

    @cached_property
    def tables(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """[U, L, 2 + C] next state, its status, what was completed; [U, L, 1 + signals] what is paid."""
        table = self.machine.table
        moves = np.concatenate([table.next[..., None], table.status[table.next][..., None], self.machine.completed], axis=-1)
        pays = [np.where(table.signal == i, table.reward, 0.0) for i in range(-1, self.shape.signals)]
        return moves.astype(np.int32), np.stack(pays, axis=-1).astype(np.float32)

    def init(self, key: Array) -> Mind:
        """A fresh mind."""
        first, second = jax.random.split(key)
        return Mind(self.low.init(first), self.high.start(second))

    def settled(self, mind: Mind) -> Mind:
        """The mind that acts in evaluations."""
        if self.config.greedy == "online":
            return mind

        def steady(part: Any) -> Any:
            return part._replace(weights=part.target) if isinstance(part, Trained) else part

        return mind._replace(trained=jax.tree.map(steady, mind.trained, is_leaf=lambda part: isinstance(part, Trained)))

    def acting(self, trained: Any) -> Any:
        """Only what acting in training looks at: moments and targets would only travel along."""

        def bare(part: Any) -> Any:
            return part._replace(mean=[], square=[], target=[]) if isinstance(part, Trained) else part

        return jax.tree.map(bare, trained, is_leaf=lambda part: isinstance(part, Trained))

    def draw(self, mind: Mind, step: Array, uniforms: Array) -> tuple[Mind, Int[Array, " rows"], Extra]:
        """The buffer rows of the next update."""
        size = jnp.minimum(step, self.config.capacity)
        index = jnp.minimum(jnp.floor(uniforms[: self.config.batch] * size).astype(jnp.int32), jnp.maximum(size - 1, 0))
        high, extra = self.high.replay(mind.high, step, uniforms[self.config.batch + 4 :][: self.high.uniforms])
        index = jnp.concatenate([index, extra.step % self.config.capacity])
        return mind._replace(high=high), index, extra

    def study(
        self, mind: Mind, place: Place, rows: Array, extra: Extra, step: Array, uniforms: Array, normals: Array
    ) -> tuple[Mind, Array]:
        """Learn from the rows; what the present observation is acted on with comes for nothing."""
        batch = self.expansion.batch(rows, place.state, uniforms[self.config.batch + 4 + self.high.uniforms :])
        if self.high.extra:
            batch = self.expansion.with_extra(batch, extra)
        trained, acting = self.low.learn(mind.trained, place.observation, batch, normals, step)
        return mind._replace(trained=trained), acting

    def choose(
        self, mind: Mind, place: Place, step: Array, uniforms: Array, normals: Array, acting: Array | None = None
    ) -> tuple[Mind, Float[Array, " action"]]:
        """The action in training, from `acting` where an update has given it already."""
        c = self.config
        if acting is None:
            acting = self.low.view(mind.trained, place.observation, self.expansion.code(place.state))
        worth = self.low.worth(mind.trained, place.observation, acting)
        own = uniforms[c.batch + 4 :][: self.high.uniforms]
        high, head = self.high.pick(mind.high, place.state, place.observation, worth, own)
        epsilon = annealed(c, step, place.episodes)
        action = self.low.act(acting[head], uniforms[c.batch : c.batch + 2], normals, epsilon, step >= c.warmup)
        return mind._replace(high=high), action

    def think(
        self, mind: Mind, place: Place, rows: Array, extra: Extra, step: Array, uniforms: Array, normals: Array
    ) -> tuple[Mind, Float[Array, " action"]]:
        """Learn from the rows and choose an action, with the values from before the update."""
        before = mind.trained
        mind, acting = self.study(mind, place, rows, extra, step, uniforms, normals)
        held, action = self.choose(Mind(before, mind.high), place, step, uniforms, normals, acting)
        return mind._replace(high=held.high), action

    def tell(self, state: Array, time: Array, outcome: Outcome) -> Told:
        """One machine step; `time` counts the steps of the episode, this one included."""
        moves, pays = (jnp.asarray(table) for table in self.tables)
        reached, status, *completed = moves[state, outcome.label]
        pay = pays[state, outcome.label]
        reward = pay[0] + jnp.sum(pay[1:] * outcome.signals)
        success = status == SUCCESS
        terminal = (status != RUNNING) | outcome.ends
        late = (time >= self.machine.task.world.limit) | outcome.truncated
        return Told(reached, jnp.stack(completed), reward, terminal, success, terminal | late)

    def after(
        self, mind: Mind, place: Place, action: Array, outcome: Outcome, step: Array
    ) -> tuple[Mind, Float[Array, " row"], Told]:
        """Take note of a step: the mind, its row for the buffer, and what the machine told."""
        time = place.time + 1
        told = self.tell(place.state, time, outcome)
        scale = self.config.reward_scale
        note = Note(
            step, place.state, told.reached, told.completed, time, told.reward * scale,
            outcome.observation, told.terminal, told.success, told.over,
        )  # fmt: skip
        tail = (outcome.label, place.state, outcome.ends)
        row = self.shape.pack(place.observation, outcome.observation, action, outcome.signals, tail)
        return mind._replace(high=self.high.note(mind.high, note)), row, told

    def moved(self, place: Place, told: Told, following: Array, start: Array) -> Place:
        """The place after a step; `start` is the observation of a new episode."""
        over = told.over
        return Place(
            jnp.where(over, start, following),
            jnp.where(over, 0, told.reached),
            jnp.where(over, 0, place.time + 1),
            place.episodes + over,
        )
