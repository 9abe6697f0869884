"""One seed's step as pure functions, and the two parts a method is made of; both loops drive exactly these."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray

from errands.learners.engines.deep.batch import Extra, RowShape
from errands.learners.engines.deep.config import DeepConfig, EngineConfig
from errands.learners.engines.deep.ddqn import annealed
from errands.learners.engines.deep.machine import MachineArrays
from errands.tables import RUNNING, SUCCESS

# Letters in shapes: U machine states, L labels, K objectives, H heads, C the most completions of one step, B batch
# rows. Everything here is about ONE seed: the loops add the axis of seeds with vmap. So nothing may branch on a value
# in Python; both outcomes are computed and one is selected.
Memory = Any


class Note(NamedTuple):
    """One step as the high level sees it."""

    step: Int[Array, ""]
    """Training steps before this one; its row lies at step % capacity."""
    state: Int[Array, ""]
    reached: Int[Array, ""]
    """Machine states before and after."""
    completed: Int[Array, " several"]
    """The objectives that were completed, -1 behind the last."""
    time: Int[Array, ""]
    """Steps of the episode, this one included."""
    reward: Float[Array, ""]
    """What the machine paid, scaled."""
    following: Float[Array, " inputs"]
    """The observation after the step."""
    terminal: Bool[Array, ""]
    """Whether the task or the world ended here."""
    success: Bool[Array, ""]
    over: Bool[Array, ""]
    """Whether the episode is over: terminal, or out of time."""


class HighLevel:
    """The part of a method that is not value learning; pure functions over its memory. Here each machine state acts for itself."""

    episode: tuple[str, ...] = ()
    """The fields of its memory that belong to the episode under way: each of several environments has its own."""

    @property
    def uniforms(self) -> int:
        """Uniform numbers that it needs per step."""
        return 0

    @property
    def extra(self) -> int:
        """Rows that it adds to each update."""
        return 0

    def start(self, key: Array) -> Memory:
        """The memory before the first step."""
        return ()

    def pick(self, memory: Memory, state: Array, now: Array, uniforms: Array) -> tuple[Memory, Array]:
        """The head that acts in training, where the machine is in `state` and `now` is observed."""
        return memory, state

    def replay(self, memory: Memory, step: Array, uniforms: Array) -> tuple[Memory, Extra]:
        """The extra rows of the next update."""
        none = jnp.zeros(0, jnp.int32)
        return memory, Extra(none, none, jnp.zeros(0), jnp.zeros(0))

    def note(self, memory: Memory, note: Note) -> Memory:
        """The memory after a step."""
        return memory

    def best(self, memory: Memory, held: Array, since: Array, state: Array, now: Array) -> Array:
        """The head that acts greedily; `held` acted before and `since` counts its steps in this machine state."""
        return state


class SingleHead(HighLevel):
    """Where the values are already those of the machine state, so that there is one head only."""

    def pick(self, memory: Memory, state: Array, now: Array, uniforms: Array) -> tuple[Memory, Array]:
        """The only one."""
        return memory, jnp.zeros_like(state)

    def best(self, memory: Memory, held: Array, since: Array, state: Array, now: Array) -> Array:
        """The only one."""
        return jnp.zeros_like(state)


@runtime_checkable
class ActingValues(Protocol):
    """What is learnt, as far as acting asks it; pure functions of what is handed in."""

    @property
    def discrete(self) -> bool:
        """Whether its actions are choices, and not numbers."""

    def init(self, key: Array) -> Any:
        """Fresh weights."""

    def view(self, trained: Any, now: Array, code: Array) -> Array:
        """What an observation is acted on with: one row per head."""

    def greedy(self, acting: Array) -> Array:
        """The action in evaluations."""


@runtime_checkable
class ValueLearner(ActingValues, Protocol):
    """A value learner: DDQN or TD3, with heads or with contexts."""

    @property
    def normals(self) -> int:
        """Normal numbers that it needs per step."""

    def learn(self, trained: Any, now: Array, batch: Any, normals: Array, step: Array) -> tuple[Any, Array]:
        """One update, and what `view` says of the observation `now`."""

    def act(self, acting: Array, uniforms: Array, normals: Array, epsilon: Array, go: Array) -> Array:
        """The action in training."""


@runtime_checkable
class Coder(Protocol):
    """What tells a network the machine state."""

    def code(self, state: Array) -> Array:
        """What goes in beside the observation."""


@runtime_checkable
class Expansion(Coder, Protocol):
    """How sampled rows become a batch."""

    @property
    def uniforms(self) -> int:
        """Uniform numbers that it needs per step."""

    def batch(self, rows: Array, state: Array, uniforms: Array) -> Any:
        """The batch of rows, for an agent that is in a machine state."""

    def with_extra(self, batch: Any, extra: Extra) -> Any:
        """The batch with the fixed targets of its last rows."""


class AgentState(NamedTuple):
    """What a seed has learnt."""

    trained: Any
    """The weights: TrainedWeights (DDQN) or ActorCritic (TD3)."""
    high: Any
    """The high level's memory."""


class Position(NamedTuple):
    """Where a seed is."""

    observation: Float[Array, " inputs"]
    state: Int[Array, ""]
    """The machine state."""
    time: Int[Array, ""]
    episodes: Int[Array, ""]


class WorldStep(NamedTuple):
    """What the world answered to an action."""

    observation: Float[Array, " inputs"]
    label: Int[Array, ""]
    ends: Bool[Array, ""]
    truncated: Bool[Array, ""]
    signals: Float[Array, " signals"]


class MachineStep(NamedTuple):
    """What the machine made of it."""

    reached: Int[Array, ""]
    completed: Int[Array, " several"]
    """The objectives completed, -1 behind the last."""
    reward: Float[Array, ""]
    terminal: Bool[Array, ""]
    success: Bool[Array, ""]
    over: Bool[Array, ""]


@dataclass(frozen=True, eq=False)
class ActingAgent:
    """A method at work on a task, without any state of its own: policies and loops that evaluate ask no more than this."""

    machine: MachineArrays
    low: ActingValues
    high: HighLevel
    expansion: Coder
    shape: RowShape
    config: EngineConfig

    @cached_property
    def tables(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """[U, L, 2 + C] next state, its status, what was completed; [U, L, 1 + signals] what is paid."""
        # One array of whole numbers, so that a step looks everything up with one gather. Kept as numpy: an array of JAX
        # that is made while something is traced must not be cached beyond the trace.
        table = self.machine.table
        moves = np.concatenate(
            [table.next[..., None], table.status[table.next][..., None], self.machine.completed], axis=-1
        )
        return moves.astype(np.int32), self.machine.pays.astype(np.float32)

    def init(self, key: Array) -> AgentState:
        """What a seed knows before its first step."""
        first, second = jax.random.split(key)
        return AgentState(self.low.init(first), self.high.start(second))

    def machine_step(self, state: Array, time: Array, outcome: WorldStep) -> MachineStep:
        """One machine step; `time` counts the steps of the episode, this one included."""
        moves, pays = (jnp.asarray(table) for table in self.tables)
        reached, status, *completed = moves[state, outcome.label]
        pay = pays[state, outcome.label]
        reward = pay[0] + jnp.sum(pay[1:] * outcome.signals)
        success = status == SUCCESS
        terminal = (status != RUNNING) | outcome.ends
        # Late is over but not terminal: a time limit is a truncation, and every learner bootstraps through it.
        late = (time >= self.machine.limit) | outcome.truncated
        return MachineStep(
            reached=reached,
            completed=jnp.stack(completed),
            reward=reward,
            terminal=terminal,
            success=success,
            over=terminal | late,
        )


@dataclass(frozen=True, eq=False)
class DeepAgent(ActingAgent):
    """A method that learns from a replay buffer: value learner, high level and expansion of rows."""

    low: ValueLearner
    expansion: Expansion
    config: DeepConfig

    @property
    def uniforms(self) -> int:
        """Uniform numbers per step, in this order: batch rows, two for acting, two for the world, high level, expansion."""
        return self.config.batch + 4 + self.high.uniforms + self.expansion.uniforms

    def draw(
        self, agent_state: AgentState, step: Array, uniforms: Array
    ) -> tuple[AgentState, Int[Array, " rows"], Extra]:
        """The buffer rows of the next update."""
        # At the first step row 0, all zeros, is drawn; nothing is learnt before `warmup`, which is 1 or more.
        c = self.config
        held = jnp.minimum(step, c.capacity)
        # Rows from which fewer than `n_steps`, `envs` apart, lead to the newest one are not drawn yet.
        size = jnp.maximum(held - (c.n_steps - 1) * c.envs, 0)
        index = jnp.minimum(jnp.floor(uniforms[: c.batch] * size).astype(jnp.int32), jnp.maximum(size - 1, 0))
        if c.n_steps > 1:
            # Counted from the oldest row, which lies where the next one will; the rows of a stretch stand side by side.
            index = ((step - held + index)[:, None] + jnp.arange(c.n_steps) * c.envs).ravel() % c.capacity
        high, extra = self.high.replay(agent_state.high, step, uniforms[self.config.batch + 4 :][: self.high.uniforms])
        # Extra rows come last, where `with_extra` finds them; one that was overwritten since has weight 0.
        index = jnp.concatenate([index, extra.step % self.config.capacity])
        return agent_state._replace(high=high), index, extra

    def learn(
        self,
        agent_state: AgentState,
        position: Position,
        rows: Array,
        extra: Extra,
        step: Array,
        uniforms: Array,
        normals: Array,
    ) -> tuple[AgentState, Array]:
        """One update from the rows; also the values (or actions) of the present observation, which share its forward pass."""
        batch = self.expansion.batch(rows, position.state, uniforms[self.config.batch + 4 + self.high.uniforms :])
        if self.high.extra:
            batch = self.expansion.with_extra(batch, extra)
        trained, acting = self.low.learn(agent_state.trained, position.observation, batch, normals, step)
        return agent_state._replace(trained=trained), acting

    def choose(
        self,
        agent_state: AgentState,
        position: Position,
        step: Array,
        uniforms: Array,
        normals: Array,
        acting: Array | None = None,
    ) -> tuple[AgentState, Float[Array, " action"]]:
        """The action in training, from `acting` where an update has given it already."""
        c = self.config
        if acting is None:
            acting = self.low.view(agent_state.trained, position.observation, self.expansion.code(position.state))
        own = uniforms[c.batch + 4 :][: self.high.uniforms]
        high, head = self.high.pick(agent_state.high, position.state, position.observation, own)
        epsilon = annealed(c, step, position.episodes)
        action = self.low.act(acting[head], uniforms[c.batch : c.batch + 2], normals, epsilon, step >= c.warmup)
        return agent_state._replace(high=high), action

    def record(
        self, agent_state: AgentState, position: Position, action: Array, outcome: WorldStep, step: Array
    ) -> tuple[AgentState, Float[Array, " row"], MachineStep]:
        """Take note of a step; returns its row for the buffer and what the machine made of it as well."""
        time = position.time + 1
        progress = self.machine_step(position.state, time, outcome)
        scale = self.config.reward_scale
        note = Note(
            step=step,
            state=position.state,
            reached=progress.reached,
            completed=progress.completed,
            time=time,
            reward=progress.reward * scale,
            following=outcome.observation,
            terminal=progress.terminal,
            success=progress.success,
            over=progress.over,
        )
        # Neither the machine's reward nor its status is stored: the same label is judged anew for every head when it is
        # sampled. The end of an episode by time is not stored either, which is what makes the targets bootstrap through
        # it.
        # With several steps to a target it must be known where a stretch is cut off: 2 is an end that is not the world's.
        cut = jnp.where(progress.over & ~outcome.ends, 2, outcome.ends) if self.config.n_steps > 1 else outcome.ends
        tail = (outcome.label, position.state, cut)
        row = self.shape.pack(position.observation, outcome.observation, action, outcome.signals, tail)
        return agent_state._replace(high=self.high.note(agent_state.high, note)), row, progress

    def next_position(self, position: Position, progress: MachineStep, following: Array, start: Array) -> Position:
        """Where the seed is after a step; `start` is the observation of a new episode."""
        # Machine state 0 is the initial one of every enumerated machine.
        over = progress.over
        return Position(
            observation=jnp.where(over, start, following),
            state=jnp.where(over, 0, progress.reached),
            time=jnp.where(over, 0, position.time + 1),
            episodes=position.episodes + over,
        )


@partial(jax.jit, static_argnums=0)
def decide(
    agent: ActingAgent, agent_state: AgentState, observation: Array, state: Array, held: Array, since: Array
) -> tuple[Array, Array]:
    """The greedy action and the head that chose it."""
    acting = agent.low.view(agent_state.trained, observation, agent.expansion.code(state))
    head = agent.high.best(agent_state.high, held, since, state, observation)
    return agent.low.greedy(acting[head]), head


@partial(jax.jit, static_argnums=0)
def decide_many(
    agent: ActingAgent, agent_state: AgentState, observations: Array, states: Array, helds: Array, sinces: Array
) -> tuple[Array, Array]:
    """`decide` for many situations at once: [rows, observation] and [rows] each."""
    chosen: tuple[Array, Array] = jax.vmap(partial(decide, agent, agent_state))(observations, states, helds, sinces)
    return chosen
