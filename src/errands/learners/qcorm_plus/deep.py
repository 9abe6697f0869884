"""Deep QCoRM+: DDQN and TD3 whose values take the agenda as a factor, so that nothing has 2^N parts."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.learners.engines.deep import network as nn
from errands.learners.engines.deep import td3
from errands.learners.engines.deep.agent import DeepAgent, SingleHead, ValueLearner
from errands.learners.engines.deep.agents import row_shape, scaled
from errands.learners.engines.deep.batch import Extra, RowShape, Terms, payable, walk, within
from errands.learners.engines.deep.ddqn import Choosing, double
from errands.learners.engines.deep.host_envs import Spaces
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
            # Few machine states are valued all by one product, of which each row picks its own.
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


def _shape(config: DeepPlusConfig) -> tuple[int, int, int, int]:
    return config.width, config.depth, config.code_width, config.late


@dataclass(frozen=True)
class FactoredDDQN(Choosing):
    """Values of discrete actions under a machine state; pure functions of what is handed in."""

    net: nn.Factored
    config: DeepPlusConfig

    @staticmethod
    def of(
        inputs: int, codes: int, actions: int, config: DeepPlusConfig, image: tuple[int, int, int] | None = None
    ) -> FactoredDDQN:
        """The learner for observations and codes of these lengths, or pictures of this shape."""
        conv = nn.Convolution(image) if image and config.network == "conv" else None
        inputs = inputs if conv is None else conv.features
        return FactoredDDQN(nn.Factored(inputs, codes, actions, *_shape(config), conv), config)

    def learn(
        self,
        trained: nn.TrainedWeights,
        now: Float[Array, " inputs"],
        batch: ContextBatch,
        normals: Array,
        step: Int[Array, ""],
    ) -> tuple[nn.TrainedWeights, Float[Array, "1 actions"]]:
        """One update, and the values of the observation that is to be acted on."""
        # [B, X, A]: rows, contexts (machine states that learn from the row), actions; gamma is in batch.discount.
        later = self._later(trained.target, self.net.trunk(trained.target, batch.following), batch)
        gradient, acting = jax.grad(self._loss, has_aux=True)(trained.weights, later, now, batch)
        c = self.config
        return nn.descend(trained, gradient, c.alpha, c.polyak, step >= c.warmup, c.target_moves(step)), acting

    def _later(self, layers: nn.Layers, features: Array, batch: ContextBatch) -> Float[Array, "rows contexts actions"]:
        """The values of the next observations in the machine states reached."""
        # Either the codes of what each row reaches, or all machine states by one product and then a pick.
        if batch.every is None:
            return self.net.join(layers, features[:, None], self.net.factor(layers, batch.later))
        q = self.net.every(layers, features, self.net.factor(layers, batch.every))
        return jnp.take_along_axis(q, batch.reached[..., None], axis=1)

    def _loss(
        self, layers: nn.Layers, later: Float[Array, "rows contexts actions"], now: Array, batch: ContextBatch
    ) -> tuple[Float[Array, ""], Float[Array, "1 actions"]]:
        net, count = self.net, len(batch.observations)
        # The trunk, which is most of the work, sees each observation once, however many contexts there are.
        features = net.trunk(layers, jnp.concatenate([batch.observations, batch.following, now[None]]), count)
        codes = jnp.concatenate([batch.drawn, batch.own, batch.code[None]])
        drawn, own, here = jnp.split(net.factor(layers, codes), [len(batch.drawn), len(codes) - 1])
        # Drawn contexts are the same for all rows, so they are heads of one product; the row's own differs from row to
        # row. The order, drawn first and own last, is that of `reward`, `discount` and `weight`.
        shared = net.every(layers, features[:count], drawn)
        q = jnp.concatenate([shared, net.join(layers, features[:count], own)[:, None]], axis=1)
        online = self._later(jax.lax.stop_gradient(layers), jax.lax.stop_gradient(features[count:-1]), batch)
        goal = within(batch.bounds, batch.reward + batch.discount * double(online, later))
        taken = jax.nn.one_hot(batch.actions[:, 0].astype(jnp.int32), net.outputs)[:, None]
        error = jnp.sum(q * taken, axis=2) - goal
        return nn.weighted(batch.weight, nn.l1_beyond_one(error)), net.join(layers, features[-1:], here)

    def view(self, trained: nn.TrainedWeights, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 actions"]:
        """The values of one observation under one code."""
        layers = trained.weights
        return self.net.join(layers, self.net.trunk(layers, now[None]), self.net.factor(layers, code[None]))


@dataclass(frozen=True)
class FactoredTD3(td3.Moving):
    """Actions in [-1, 1] under a machine state; pure functions of what is handed in."""

    actor: nn.Factored
    critic: nn.Factored
    config: DeepPlusConfig
    phase: int | None = None
    """Updates since the actor's last, where the caller knows."""

    @staticmethod
    def of(inputs: int, codes: int, actions: int, config: DeepPlusConfig) -> FactoredTD3:
        """The learner for observations, codes and actions of these lengths."""
        shape = _shape(config)
        return FactoredTD3(
            nn.Factored(inputs, codes, actions, *shape), nn.Factored(inputs + actions, codes, 1, *shape), config
        )

    def _raw(self, layers: nn.Layers, rows: Array, codes: Array) -> Float[Array, "rows contexts actions"]:
        """The actor's outputs, which tanh bends into actions."""
        return self.actor.join(layers, self.actor.trunk(layers, rows)[:, None], self.actor.factor(layers, codes))

    def _actions(self, layers: nn.Layers, rows: Array, codes: Array) -> Float[Array, "rows contexts actions"]:
        return jnp.tanh(self._raw(layers, rows, codes))

    def _judge(
        self, critics: nn.Layers, rows: Array, actions: Array, codes: Array
    ) -> Float[Array, "critics rows contexts"]:
        """Every critic on each context's action, or on one for all contexts of a row."""
        # Where `actions` has one entry on the axis of contexts, `join` spreads it over them after the trunk.
        wide = jnp.broadcast_to(rows[:, None], (*actions.shape[:2], rows.shape[1]))
        joined = jnp.concatenate([wide, actions], axis=2)

        def one(layers: nn.Layers) -> Float[Array, "rows contexts"]:
            features = self.critic.trunk(layers, joined)
            return self.critic.join(layers, features, self.critic.factor(layers, codes))[..., 0]

        return jax.vmap(one)(critics)

    def learn(
        self, trained: td3.ActorCritic, now: Array, batch: ContextBatch, normals: Array, step: Int[Array, ""]
    ) -> tuple[td3.ActorCritic, Float[Array, "1 actions"]]:
        """One update of the critics, every second step one of the actor, and the action for `now`."""
        c = self.config
        # The first normals are for acting. One noise per row, the same in all its contexts.
        goal = self._goal(trained, batch, normals[self.action_width :].reshape(c.batch, 1, self.action_width))
        losses = partial(self._critic_loss, batch=batch, goal=goal), partial(self._actor_loss, batch=batch)
        return td3.improved(trained, *losses, c, step, self.phase), self.view(trained, now, batch.code)

    def _goal(self, trained: td3.ActorCritic, batch: ContextBatch, normals: Array) -> Float[Array, "rows contexts"]:
        noise = jnp.clip(normals * td3.TARGET_NOISE, -td3.NOISE_CLIP, td3.NOISE_CLIP)
        # Here each context has an action of its own, so the critics' trunk is paid for once per context.
        actions = jnp.clip(self._actions(trained.actor.target, batch.following, batch.later) + noise, -1.0, 1.0)
        value = self._judge(trained.critics.target, batch.following, actions, batch.later).min(axis=0)
        return within(batch.bounds, batch.reward + batch.discount * value)

    def _critic_loss(self, critics: nn.Layers, batch: ContextBatch, goal: Array) -> Float[Array, ""]:
        # The action is the stored one whatever the machine state: one row of the trunk serves all of them.
        q = self._judge(critics, batch.observations, batch.actions[:, None], batch.codes)
        return nn.weighted(batch.weight, jnp.square(q - goal))

    def _actor_loss(self, layers: nn.Layers, critic: nn.Layers, batch: ContextBatch) -> Float[Array, ""]:
        # `critic` is the first one alone, still with its axis in front.
        raw = self._raw(layers, batch.observations, batch.codes)
        q = self._judge(critic, batch.observations, jnp.tanh(raw), batch.codes)
        # Without the critic's axis, of which the weights have none.
        return td3.actor_loss(batch.weight, q, raw, self.config)

    def view(self, trained: td3.ActorCritic, now: Float[Array, " inputs"], code: Array) -> Float[Array, "1 actions"]:
        """The action of one observation under one code."""
        return self._actions(trained.actor.weights, now[None], code[None, None])[0]


def agent(learner: str, machine: MachineArrays, config: DeepPlusConfig, spaces: Spaces) -> DeepAgent:
    """The agent: the machine state is an input of the network, so there is a single head and nothing to choose."""
    shape = row_shape(spaces)
    expansion = OverContexts(shape, machine, config)
    codes = expansion.codes.shape[1]
    low: ValueLearner
    if spaces.continuous:
        low = FactoredTD3.of(spaces.observation, codes, spaces.actions, config)
    else:
        low = FactoredDDQN.of(spaces.observation, codes, spaces.actions, config, spaces.image)
    return DeepAgent(machine, scaled(low, config, spaces), SingleHead(), expansion, shape, config)
