"""What a high level is to the loops: it picks the head that acts, and takes note of what a step did."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

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


class Extra(NamedTuple):
    """Rows that join an update with a fixed target for one head."""

    step: Int[Array, " extra"]
    head: Int[Array, " extra"]
    target: Float[Array, " extra"]
    weight: Float[Array, " extra"]


@runtime_checkable
class High(Protocol):
    """The part of a method that is not value learning; pure functions over its memory."""

    @property
    def uniforms(self) -> int:
        """Uniform numbers that it needs per step."""
        ...

    @property
    def extra(self) -> int:
        """Rows that it adds to each update."""
        ...

    def start(self, key: Array) -> Memory:
        """The memory before the first step."""
        ...

    def pick(
        self,
        memory: Memory,
        state: Int[Array, ""],
        now: Float[Array, " inputs"],
        worth: Float[Array, " heads"],
        uniforms: Float[Array, " uniforms"],
    ) -> tuple[Memory, Int[Array, ""]]:
        """The head that acts in training."""
        ...

    def replay(self, memory: Memory, step: Int[Array, ""], uniforms: Float[Array, " uniforms"]) -> tuple[Memory, Extra]:
        """The extra rows of the next update; called only where `extra` is positive."""
        ...

    def note(self, memory: Memory, note: Note) -> Memory:
        """The memory after a step."""
        ...

    def best(
        self,
        memory: Memory,
        held: Int[Array, ""],
        since: Int[Array, ""],
        state: Int[Array, ""],
        now: Float[Array, " inputs"],
        worth: Float[Array, " heads"],
    ) -> Int[Array, ""]:
        """The head that acts greedily; `held` acted before and `since` counts its steps in this machine state."""
        ...


@dataclass(frozen=True)
class Own:
    """QRM, CRM and QCoRM+: each machine state acts for itself, nothing is remembered."""

    single: bool = False
    """Whether the values are already those of the machine state, so that there is one head only."""
    uniforms: int = 0
    extra: int = 0

    def start(self, key: Array) -> Memory:
        """Nothing."""
        return ()

    def pick(self, memory: Memory, state: Array, now: Array, worth: Array, uniforms: Array) -> tuple[Memory, Array]:
        """The machine state itself."""
        return memory, jnp.zeros_like(state) if self.single else state

    def replay(self, memory: Memory, step: Array, uniforms: Array) -> tuple[Memory, Extra]:
        """No rows."""
        none = jnp.zeros(0, jnp.int32)
        return memory, Extra(none, none, jnp.zeros(0), jnp.zeros(0))

    def note(self, memory: Memory, note: Note) -> Memory:
        """Nothing to keep."""
        return memory

    def best(self, memory: Memory, held: Array, since: Array, state: Array, now: Array, worth: Array) -> Array:
        """The machine state itself."""
        return jnp.zeros_like(state) if self.single else state
