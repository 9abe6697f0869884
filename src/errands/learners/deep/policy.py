"""The greedy policy of a deep learner as a value: it acts on observations, and on cells of finite worlds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from errands.learners.deep.brain import Brain, Mind
from errands.learners.deep.team import Team
from errands.machines.boolean import BooleanRM
from errands.machines.stepping import State


@partial(jax.jit, static_argnums=0)
def decide(brain: Brain, mind: Mind, observation: Array, state: Array, held: Array, since: Array) -> tuple[Array, Array]:
    """The greedy action and the head that chose it."""
    mind = brain.settled(mind)
    acting = brain.low.view(mind.trained, observation, brain.expansion.code(state))
    worth = brain.low.worth(mind.trained, observation, acting)
    head = brain.high.best(mind.high, held, since, state, observation, worth)
    return brain.low.greedy(acting[head]), head


@dataclass(frozen=True, eq=False)
class DeepPolicy:
    """A frozen mind; `act` takes an observation, or the number of a cell, and the machine state."""

    brain: Brain
    mind: Mind

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action (a number, or an array in [-1, 1]) and the memory to hand back at the next step."""
        before, order, held, since = memory if isinstance(memory, tuple) else (None, (), 0, 0)
        state, order = self._locate(machine_state, before, order)
        if before is not None and before != machine_state:
            since = 0
        action, head = decide(
            self.brain, self.mind, self._observation(world_state), jnp.int32(state), jnp.int32(held), jnp.int32(since)
        )
        since = (since if int(head) == held else 0) + 1
        shown = np.asarray(action)
        discrete = isinstance(world_state, int) or self.brain.low.normals == 0
        return (int(shown[0]) if discrete else shown), (machine_state, order, int(head), since)

    def _observation(self, world_state: Any) -> Array:
        size = self.brain.shape.observation
        if isinstance(world_state, int | np.integer):
            return (jnp.arange(size) == int(world_state)).astype(jnp.float32)
        return jnp.asarray(world_state, jnp.float32).reshape(size)

    def _locate(self, state: State, before: State | None, order: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        rm = self.brain.machine.rm
        if not isinstance(rm, BooleanRM):
            return rm.index[state], ()
        gone = (rm.stepper.full if before is None else before[1]) & ~state[1]
        order = (*order, *(i for i in range(gone.bit_length()) if gone >> i & 1))
        return rm.index[(state[0], order)], order


def policy_of(team: Team, place: int) -> DeepPolicy:
    """The policy of one seed of a team, copied so that later training does not change it."""
    return DeepPolicy(team.brain, jax.tree.map(lambda leaf: jnp.array(leaf[place]), team.minds))
