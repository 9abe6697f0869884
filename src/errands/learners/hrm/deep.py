"""The high level of deep HRM: options for machine transitions under a controller that is a DDQN of its own (Section 2)."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep import network as nn
from errands.learners.engines.deep.agent import DeepAgent, HighLevel, Note
from errands.learners.engines.deep.agents import headed
from errands.learners.engines.deep.batch import Rule, signal_pay
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.hrm.settings import DeepHRMConfig
from errands.tables import FAILURE, Ints


# A machine state is no input of the controller's network: every option belongs to one machine state, so its output is
# already Q(s, u, option), and `offered` says which outputs are those of u.
def options_of(machine: MachineArrays) -> tuple[Ints, Ints]:
    """Every move between two machine states that does not fail: where it starts and where it ends."""
    table = machine.table
    source = np.repeat(np.arange(len(machine.rm)), table.next.shape[1])
    pairs = np.unique(np.stack([source, table.next.ravel()], axis=1), axis=0)
    keep = (pairs[:, 0] != pairs[:, 1]) & machine.running[pairs[:, 0]] & (table.status[pairs[:, 1]] != FAILURE)
    return pairs[keep, 0].astype(np.int32), pairs[keep, 1].astype(np.int32)


def by_option(machine: MachineArrays, config: DeepHRMConfig) -> Rule:
    """HRM: a head per option, paid what the machine pays for its steps, and `full_reward` besides for its own transition.

    Where another transition ends it, only a loss counts: a gain there would teach it to make that transition instead.
    """
    source, target = options_of(machine)
    table = machine.table
    reached = table.next[source].T
    factor, pay = signal_pay(machine, table.reward[source].T * config.reward_scale, table.signal[source].T)
    # Failures are never a target.
    stays, own = reached == source, reached == target
    reward = np.where(stays | own, factor, np.minimum(factor, 0.0)) + own * config.full_reward
    alive = (
        machine.reachable[:, source] if machine.task.vanishing else np.ones((len(machine.rm), len(source)), np.bool_)
    )
    follow = np.broadcast_to(np.arange(len(source), dtype=np.int32), stays.shape)
    counts = np.ones(stays.shape, np.bool_)
    return Rule(reward, pay * (stays | own)[..., None], stays, follow, counts, alive & machine.running[:, None])


class ControllerMemory(NamedTuple):
    """The controller's weights, its buffer of ended options, and the option in hand."""

    trained: nn.TrainedWeights
    buffer: Float[Array, "capacity row"]
    """Observations where the option began and ended, gain, discount (0 at an end), option, machine state reached."""
    ended: Int[Array, ""]
    """Options that have ended."""
    option: Int[Array, ""]
    since: Int[Array, ""]
    begun: Float[Array, " inputs"]
    gain: Float[Array, ""]
    discount: Float[Array, ""]


@dataclass(frozen=True, eq=False)
class Controller(HighLevel):
    """Chooses options by SMDP Q-learning over observations and machine states."""

    config: DeepHRMConfig
    inputs: int
    offered: Bool[Array, "states options"]
    """Which options start in a machine state."""
    episode: tuple[str, ...] = ("option", "since", "begun", "gain", "discount")

    @property
    def uniforms(self) -> int:
        """Rows of the controller's batch, whether to explore, and which option."""
        return self.config.batch + 2

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The controller's network: one output per option."""
        hidden = (self.config.width,) * self.config.depth
        return tuple(zip((self.inputs, *hidden), (*hidden, self.offered.shape[1]), strict=True))

    def start(self, key: Array) -> ControllerMemory:
        """Fresh weights, nothing in hand."""
        # A row is an option from begin to end: the two observations and the four numbers of `tail` in `note`.
        rows = jnp.zeros((self.config.controller_capacity, 2 * self.inputs + 4))
        return ControllerMemory(
            nn.fresh(nn.init_layers(key, self.sizes)), rows, jnp.int32(0), jnp.int32(-1), jnp.int32(0),
            jnp.zeros(self.inputs), jnp.float32(0), jnp.float32(1),
        )  # fmt: skip

    def pick(
        self, memory: ControllerMemory, state: Array, now: Array, uniforms: Array
    ) -> tuple[ControllerMemory, Array]:
        """The option in hand or, after one update of the controller, a new one: it learns once per ended option."""
        c = self.config
        new = memory.option < 0
        stored = jnp.minimum(memory.ended, c.controller_capacity)
        rows = memory.buffer[jnp.floor(uniforms[: c.batch] * stored).astype(jnp.int32)]
        # Computed at every step, since seeds end their options at different ones; it counts where an option is new.
        trained, values = self._learn(memory.trained, now, rows, new & (stored > 0))
        offered = self.offered[state]
        # The j-th offered option is the first place at which the count exceeds j.
        number = jnp.cumsum(offered)
        other = jnp.argmax(number > jnp.floor(uniforms[c.batch + 1] * number[-1]))
        best = jnp.argmax(jnp.where(offered, values, -jnp.inf))
        fresh_ = jnp.where(uniforms[c.batch] < c.epsilon_controller, other, best).astype(jnp.int32)
        option = jnp.where(new, fresh_, memory.option)
        return memory._replace(
            trained=trained,
            option=option,
            since=jnp.where(new, 0, memory.since),
            begun=jnp.where(new, now, memory.begun),
            gain=jnp.where(new, 0.0, memory.gain),
            discount=jnp.where(new, 1.0, memory.discount),
        ), option

    def _learn(self, trained: nn.TrainedWeights, now: Array, rows: Array, go: Array) -> tuple[nn.TrainedWeights, Array]:
        n = self.inputs
        begun, ended, tail = rows[:, :n], rows[:, n : 2 * n], rows[:, 2 * n :]
        gain, discount, option, state = (tail[:, i] for i in range(4))
        offered = self.offered[state.astype(jnp.int32)]
        later = nn.through(trained.target, ended)

        def loss(layers: nn.Layers) -> tuple[Array, Array]:
            # One pass for three purposes; a gradient flows through the first rows only.
            q = nn.taught(layers, jnp.concatenate([begun, ended, now[None]]), len(rows))
            online = jax.lax.stop_gradient(jnp.where(offered, q[len(rows) : -1], -jnp.inf))
            value = jnp.take_along_axis(later, jnp.argmax(online, axis=1)[:, None], axis=1)[:, 0]
            # SMDP: `discount` is gamma to the steps the option took. Where no option is offered the argmax is another state's.
            goal = gain + discount * jnp.where(offered.any(axis=1), value, 0.0)
            chosen = jnp.take_along_axis(q[: len(rows)], option.astype(jnp.int32)[:, None], axis=1)[:, 0]
            return jnp.mean(nn.l1_beyond_one(chosen - goal)), q[-1]

        gradient, values = jax.grad(loss, has_aux=True)(trained.weights)
        return nn.descend(trained, gradient, self.config.alpha, self.config.polyak, go), values

    def note(self, memory: ControllerMemory, note: Note) -> ControllerMemory:
        """Collect the reward; an option ends with its machine state, at its limit and with the episode."""
        gain = memory.gain + memory.discount * note.reward
        discount = memory.discount * self.config.gamma
        since = memory.since + 1
        over = note.over | (note.reached != note.state) | (since >= self.config.option_limit)
        # An option cut off by a time limit, its own or the episode's, keeps its discount: it is bootstrapped from.
        tail = [gain, jnp.where(note.terminal, 0.0, discount), memory.option, note.reached]
        row = jnp.concatenate([memory.begun, note.following, jnp.stack([jnp.asarray(x, jnp.float32) for x in tail])])
        at = jnp.where(over, memory.ended % self.config.controller_capacity, self.config.controller_capacity)
        return memory._replace(
            buffer=memory.buffer.at[at].set(row, mode="drop"),
            ended=memory.ended + over,
            option=jnp.where(over, -1, memory.option),
            since=since,
            gain=gain,
            discount=discount,
        )

    def best(
        self, memory: ControllerMemory, held: Array, since: Array, state: Array, now: Array
    ) -> Array:
        """The option in hand until it ends, then the best that is offered."""
        # `since` goes on counting where the same option is taken again, hence the remainder.
        values = nn.through(memory.trained.weights, now[None])[0]
        best = jnp.argmax(jnp.where(self.offered[state], values, -jnp.inf)).astype(jnp.int32)
        return jnp.where((since > 0) & (since % self.config.option_limit != 0), held, best)


def agent(learner: str, machine: MachineArrays, config: DeepHRMConfig, spaces: Spaces) -> DeepAgent:
    """The agent: a head for each option, and the controller above them."""
    source, _ = options_of(machine)
    # [U, options]; heads and options have the same numbers.
    offered = source == np.arange(len(machine.rm))[:, None]
    high = Controller(config, spaces.observation, jnp.asarray(offered))
    return headed(learner, machine, config, spaces, by_option(machine, config), high)
