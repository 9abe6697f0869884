"""The host loop: environments on the CPU for all seeds side by side, one or several of each, learning meanwhile on the device."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from errands.errors import ConfigError
from errands.learners.base import Form, Saved, SavedArray, require
from errands.learners.diary import Diary
from errands.learners.engines.deep import device
from errands.learners.engines.deep.agent import ActingAgent, AgentState, DeepAgent, Position, WorldStep, decide
from errands.learners.engines.deep.host_envs import EpisodeCounter, HostEnvs, HostStep, Senses, host_envs_of
from errands.learners.engines.deep.packing import Layout, Packed
from errands.learners.engines.deep.standardised import Standardised
from errands.learners.engines.deep.td3 import POLICY_DELAY, TD3
from errands.learners.engines.deep.team import Team, keys_of
from errands.learners.qcorm_plus.deep import FactoredTD3


# With several environments of a seed (config.envs = E > 1) positions and actions have an axis of E behind that of seeds,
# and so have the fields of the high level's memory that belong to an episode. A round is one step of each: E rows, E
# updates from rows before the round, and E actions by the weights after them. All counts are of environment steps, so
# the step of environment e in a round is step + e, and `step` is always a multiple of E.
class HostTeamState(NamedTuple):
    """Many seeds side by side, each with the action that it is about to take."""

    agent_states: AgentState
    positions: Position
    actions: Float[Array, "seeds action"]
    buffer: Float[Array, "capacity seeds row"]
    keys: Array
    step: Int[Array, ""]


class Layouts(NamedTuple):
    """How the parts of a state travel that every step changes."""

    trained: Layout
    high: Layout
    positions: Layout


class Travelling(NamedTuple):
    """A HostTeamState from one step to the next; few arrays, since each that goes in or out of a call costs time."""

    trained: Packed
    high: Packed
    positions: Packed
    actions: Array
    buffer: Array
    step: Array


Turned = tuple[Packed, Packed, Array, Array, Array]
"""What a turn changes: all of Travelling but what is trained."""


@partial(jax.jit, static_argnums=0)
def choose(
    agent: DeepAgent, trained: Any, high: Any, positions: Position, step: Array, uniforms: Array, normals: Array
) -> tuple[Any, Array]:
    """The next action of every seed, in each of its environments."""
    # uniforms and normals are those of a whole chunk, [chunk, seeds, count]: sliced here, on the device.
    i = step % device.chunk(agent.config)
    envs = agent.config.envs
    if envs == 1:
        pick = jax.vmap(agent.choose, in_axes=(0, 0, None, 0, 0))
        agent_states, actions = pick(AgentState(trained, high), positions, step, uniforms[i], normals[i])
        return agent_states.high, actions

    def several(trained: Any, high: Any, positions: Position, u: Array, z: Array) -> tuple[Any, Array]:
        """One seed's actions: the network sees all environments at once, the high level one after the other."""
        acting = jax.vmap(lambda seen, state: agent.low.view(trained, seen, agent.expansion.code(state)))(
            positions.observation, positions.state
        )
        # Exploration falls with the episodes of the seed, in whichever environment.
        positions = positions._replace(episodes=jnp.broadcast_to(positions.episodes.sum(), positions.episodes.shape))

        def body(memory: Any, one: tuple[Any, ...]) -> tuple[Any, Array]:
            number, position, seen, u, z = one
            state = AgentState(trained, _own(agent, memory, number))
            state, action = agent.choose(state, position, step + number, u, z, seen)
            return _with_own(agent, memory, state.high, number), action

        high, actions = jax.lax.scan(body, high, (jnp.arange(envs), positions, acting, u, z))
        return high, actions

    # The random numbers of a round: [envs, seeds, count].
    round_ = (jax.lax.dynamic_slice_in_dim(numbers, i, envs) for numbers in (uniforms, normals))
    high, actions = jax.vmap(several, in_axes=(0, 0, 0, 1, 1))(trained, high, positions, *round_)
    return high, actions


def _own(agent: DeepAgent, memory: Any, number: Array) -> Any:
    """The high level's memory as one of the environments has it."""
    own = {name: getattr(memory, name)[number] for name in agent.high.episode}
    return memory._replace(**own) if own else memory


def _with_own(agent: DeepAgent, memory: Any, own: Any, number: Array) -> Any:
    """The memory after one of the environments has changed it."""
    parts = {name: getattr(memory, name).at[number].set(getattr(own, name)) for name in agent.high.episode}
    return own._replace(**parts) if parts else own


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3))
def learn(
    agent: DeepAgent,
    layouts: Layouts,
    trained: Packed,
    high: Packed,
    places: Packed,
    buffer: Array,
    step: Array,
    randoms: tuple[Array, Array],
) -> tuple[Packed, Packed]:
    """One update of every seed for each of its environments; runs while those step."""
    uniforms, normals = randoms
    agent_states = AgentState(layouts.trained.unpack(trained), layouts.high.unpack(high))
    positions = layouts.positions.unpack(places)
    i = step % device.chunk(agent.config)
    # Learning looks at a position only to act there, which is not asked of it here.
    somewhere = positions if agent.config.envs == 1 else jax.tree.map(lambda part: part[:, 0], positions)

    def update(number: Array | int, states: AgentState) -> AgentState:
        u, z = uniforms[i + number], normals[i + number]
        states, index, extra = jax.vmap(agent.draw, in_axes=(0, None, 0))(states, step, u)
        rows = buffer[index, jnp.arange(index.shape[0])[:, None]]
        study = jax.vmap(agent.learn, in_axes=(0, 0, 0, 0, None, 0, 0))
        studied: AgentState = study(states, somewhere, rows, extra, step + number, u, z)[0]
        return studied

    if agent.config.envs == 1:
        studied = update(0, agent_states)
    else:
        # Of envs and learn_every one divides the other: there is an update in so many steps of the round, or one in it.
        every = min(agent.config.learn_every, agent.config.envs)
        studied = jax.lax.fori_loop(
            0, agent.config.envs // every, lambda turn, states: update(turn * every, states), agent_states
        )
    return layouts.trained.pack(studied.trained), layouts.high.pack(studied.high)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def turn(
    agent: DeepAgent,
    layouts: Layouts,
    weights: Packed,
    turned: Turned,
    answer: Array,
    uniforms: Array,
    normals: Array,
) -> Turned:
    """Take note of what the environments answered, and choose anew; `answer` is a packed HostStep."""
    # Donated: the buffer is written in place. The weights are not part of it, because they are only read here.
    high, places, actions, buffer, step = turned
    trained, high, positions = (
        layout.unpack(part) for layout, part in zip(layouts, (weights, high, places), strict=True)
    )
    envs, capacity = agent.config.envs, agent.config.capacity
    outcome, fresh = _unpacked(agent, answer)

    def several(trained: Any, high: Any, *round_: Any) -> Any:
        """One seed's round: what the high level notes, one environment after the other, where they are next, and the rows."""

        def body(memory: Any, one: tuple[Any, ...]) -> tuple[Any, tuple[Position, Array]]:
            number, position, action, outcome, start = one
            state = AgentState(trained, _own(agent, memory, number))
            state, row, progress = agent.record(state, position, action, outcome, step + number)
            following = agent.next_position(position, progress, outcome.observation, start)
            return _with_own(agent, memory, state.high, number), (following, row)

        high, (positions, rows) = jax.lax.scan(body, high, (jnp.arange(envs), *round_))
        return high, positions, rows

    if envs > 1:
        outcome, fresh = jax.tree.map(lambda part: part.reshape(-1, envs, *part.shape[1:]), (outcome, fresh))
        high, positions, rows = jax.vmap(several)(trained, high, positions, actions, outcome, fresh)
        # A round need not fit in front of the end of the buffer.
        buffer = buffer.at[(step + jnp.arange(envs)) % capacity].set(rows.swapaxes(0, 1))
    else:
        after = jax.vmap(agent.record, in_axes=(0, 0, 0, 0, None))
        agent_states, rows, progress = after(AgentState(trained, high), positions, actions, outcome, step)
        high = agent_states.high
        positions = jax.vmap(agent.next_position)(positions, progress, outcome.observation, fresh)
        buffer = jax.lax.dynamic_update_slice(buffer, rows[None], (step % capacity, 0, 0))
    high, actions = choose(agent, trained, high, positions, step + envs, uniforms, normals)
    return layouts.high.pack(high), layouts.positions.pack(positions), actions, buffer, step + envs


def packed(seen: HostStep) -> NDArray[np.float32]:
    """What the environments answered as one array, since each array that travels costs time."""
    # [seeds * envs, 2 * inputs + 3 + signals]; `_unpacked` reads the same layout. Labels are exact in float32 up to 2^24.
    flags = np.stack([seen.label, seen.ends, seen.truncated], axis=1)
    return np.concatenate([seen.observation, seen.fresh, flags, seen.signals], axis=1, dtype=np.float32)


def _unpacked(agent: DeepAgent, answer: Array) -> tuple[WorldStep, Array]:
    n = agent.shape.observation
    label, ends, truncated = (answer[:, 2 * n + i] for i in range(3))
    signals = answer[:, 2 * n + 3 :]
    outcome = WorldStep(answer[:, :n], label.astype(jnp.int32), ends > 0, truncated > 0, signals)
    return outcome, answer[:, n : 2 * n]


@partial(jax.jit, static_argnums=0)
def _fresh(agent: DeepAgent, keys: Array) -> AgentState:
    agent_states: AgentState = jax.vmap(agent.init)(keys)
    high, envs = agent_states.high, agent.config.envs
    if envs == 1 or not agent.high.episode:
        return agent_states
    # Nothing is under way in any of the environments.
    own = {name: jnp.repeat(getattr(high, name)[:, None], envs, axis=1) for name in agent.high.episode}
    return agent_states._replace(high=high._replace(**own))


@partial(jax.jit, static_argnums=0)
def _randoms(agent: DeepAgent, keys: Array, chunk: Array) -> tuple[Array, Array]:
    uniforms, normals = device.randoms(agent, keys, chunk)
    return uniforms, normals


# Static arguments of compiled functions, compared by identity as agents are: asked again they are the same ones.
@lru_cache(maxsize=16)
def layouts_of(agent: DeepAgent, seeds: int) -> Layouts:
    """How the state of so many seeds of an agent travels."""
    lanes = (seeds,) if agent.config.envs == 1 else (seeds, agent.config.envs)
    agent_states = jax.eval_shape(partial(_fresh, agent), keys_of(range(seeds)))
    number = jnp.zeros(lanes, jnp.int32)
    observation = jnp.zeros((*lanes, agent.shape.observation))
    positions = Position(observation=observation, state=number, time=number, episodes=number)
    return Layouts(Layout.of(agent_states.trained), Layout.of(agent_states.high), Layout.of(positions))


def _travelling(layouts: Layouts, state: HostTeamState) -> Travelling:
    """The state as it goes from step to step."""
    trained, high = state.agent_states
    return Travelling(
        trained=layouts.trained.pack(trained),
        high=layouts.high.pack(high),
        positions=layouts.positions.pack(state.positions),
        actions=state.actions,
        buffer=state.buffer,
        step=state.step,
    )


@lru_cache(maxsize=16)
def phased(agent: DeepAgent) -> tuple[DeepAgent, ...]:
    """The agent at each of the steps from one update of TD3's actor to the next: the host knows where it stands."""
    # One compiled program per phase; which one is due follows from the step, so no branch is left to the device.
    outer = agent.low
    low = outer.low if isinstance(outer, Standardised) else outer
    if not isinstance(low, TD3 | FactoredTD3) or agent.config.envs > 1:
        return (agent,)
    lows = [replace(low, phase=k) for k in range(POLICY_DELAY)]
    return tuple(
        replace(agent, low=replace(outer, low=one) if isinstance(outer, Standardised) else one) for one in lows
    )


@runtime_checkable
class Environments(Protocol):
    """What a team on the host steps: HostEnvs, or the environments of DiRL's edges."""

    senses: Senses

    def reset(self) -> NDArray[np.float32]:
        """Begin the first episode of every seed."""

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the actions over."""

    def receive(self) -> HostStep:
        """What the environments answered; episodes that are over begin anew."""

    def save(self) -> NDArray[np.uint8]:
        """The environments as rows of JSON, one for each seed."""

    def restore(self, saved: NDArray[np.uint8]) -> None:
        """Continue from what `save` gave."""


class OnHost(Team):
    """A team in environments that are stepped on the host, of whatever kind its state is."""

    def __init__(self, agent: ActingAgent, envs: Environments, seeds: tuple[int, ...]) -> None:
        super().__init__(agent, seeds)
        self.host_envs = envs
        self._evaluation_envs: HostEnvs | None = None

    @property
    def diaries(self) -> Sequence[Diary]:
        """What training met, environment by environment."""
        return self.host_envs.diaries if isinstance(self.host_envs, HostEnvs) else ()

    @property
    def see(self) -> Callable[[Any], Any] | None:
        """How an observation of the environment becomes a row."""
        return self.host_envs.senses.see

    def greedy_episodes(self, number: int = 0) -> device.GreedyEpisode:
        """One greedy episode of every seed, in environments of their own that start from the seed."""
        # Environments of their own: an evaluation must leave those of training where they are.
        if self._evaluation_envs is None:
            self._evaluation_envs = host_envs_of(self.agent.machine, self.seeds)
        envs, counter = self._evaluation_envs, EpisodeCounter(self.agent.machine, len(self.seeds))
        rows = envs.reset(number)
        held = np.zeros(len(self.seeds), np.int32)
        with self.on_device():
            while not counter.over.all():
                actions, heads = decide_all(self.agent, self.agent_states, rows, counter.state, held, counter.since)
                # Seeds that are over go on stepping until all are; the counter ignores them.
                counter.since = np.where(np.asarray(heads) == held, counter.since, 0)
                held = np.asarray(heads)
                step = envs.step(np.asarray(actions))
                counter.add(step, envs.limit)
                rows = step.fresh
        return device.GreedyEpisode(*map(jnp.asarray, (counter.length, counter.total, counter.success, counter.order)))

    def form(self) -> Form:
        """What every array of `save` is, for all seeds."""
        return {
            **super().form(),
            "environments": SavedArray("uint8", (len(self.seeds), "bytes"), "the environments of each seed as JSON", acting=False),
        }

    def save(self) -> Saved:
        """The arrays by name, and the environments."""
        return {**super().save(), "environments": self.host_envs.save()}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken."""
        require(int(saved["step"]) % self.agent.config.step_multiple == 0, "every environment has taken as many steps")
        super().restore(saved)
        self.host_envs.restore(saved["environments"])


class HostTeam(OnHost):
    """A team with a buffer each."""

    agent: DeepAgent

    def __init__(self, agent: DeepAgent, envs: Environments, seeds: tuple[int, ...], keys: Array | None = None) -> None:
        super().__init__(agent, envs, seeds)
        config = agent.config
        self._drawn: tuple[int, tuple[Array, Array]] | None = None
        with self.on_device():
            keys = keys_of(seeds) if keys is None else keys
            lanes = (len(seeds),) if config.envs == 1 else (len(seeds), config.envs)
            zeros = [jnp.zeros(lanes, jnp.int32) for _ in range(3)]
            positions = Position(jnp.asarray(envs.reset()).reshape(*lanes, -1), *zeros)
            buffer = jnp.zeros((config.capacity, len(seeds), self.agent.shape.width))
            agent_states = _fresh(self.agent, keys)
            # Counted on the host as well: asking the device would wait for all that it has still to do.
            self._count, step = 0, jnp.int32(0)
            high, actions = choose(
                self.agent, agent_states.trained, agent_states.high, positions, step, *self._random(keys, 0)
            )
            self._state = HostTeamState(agent_states._replace(high=high), positions, actions, buffer, keys, step)

    def _random(self, keys: Array, step: int) -> tuple[Array, Array]:
        """The random numbers of the chunk of a step."""
        chunk = step // device.chunk(self.agent.config)
        if self._drawn is None or self._drawn[0] != chunk:
            self._drawn = (chunk, _randoms(self.agent, keys, jnp.int32(chunk)))
        return self._drawn[1]

    @property
    def step(self) -> int:
        """Training steps so far."""
        return self._count

    @property
    def state(self) -> HostTeamState:
        """Every array."""
        return self._state

    def put(self, state: Any) -> None:
        """Take these arrays."""
        self._state, self._count, self._drawn = state, int(state.step), None

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed, in rounds of one step of each environment."""
        envs = self.agent.config.envs
        if count % envs:
            raise ConfigError(
                f"{count} steps cannot be shared by {envs} environments; let steps be a multiple of envs, such as "
                f"{self.step + count + -count % envs}"
            )
        with self.on_device():
            keys, layouts = self._state.keys, layouts_of(self.agent, len(self.seeds))
            now = _travelling(layouts, self._state)
            (where,) = now.actions.devices()
            for _ in range(count // envs):
                # The order is what makes this fast: start the update on the device (the call returns at once), and only
                # then read the actions, which waits for the turn before, and step the environments meanwhile.
                randoms = self._random(keys, self._count)
                trained, high = now.trained, now.high
                update, between = divmod(self._count, self.agent.config.learn_every)
                if not between:
                    phases = phased(self.agent)
                    agent = phases[update % len(phases)]
                    # Donates what was learnt; positions and buffer are still needed by `turn`, which donates those.
                    trained, high = learn(agent, layouts, trained, high, now.positions, now.buffer, now.step, randoms)
                self.host_envs.send(np.asarray(now.actions).reshape(-1, now.actions.shape[-1]))
                answer = packed(self.host_envs.receive())
                # From here on the numbers are those of the next step, whose action `turn` chooses.
                self._count += envs
                randoms = self._random(keys, self._count)
                before = (high, now.positions, now.actions, now.buffer, now.step)
                now = Travelling(trained, *turn(self.agent, layouts, trained, before, answer, *randoms))
                if where.platform != "cpu":
                    # Asked for before the next update is sent, they are on their way meanwhile, and wait for no update.
                    # On a CPU they need no way: numpy reads them where they are.
                    now.actions.copy_to_host_async()
            agent_states = AgentState(layouts.trained.unpack(now.trained), layouts.high.unpack(now.high))
            positions = layouts.positions.unpack(now.positions)
            self._state = HostTeamState(agent_states, positions, now.actions, now.buffer, keys, now.step)


@partial(jax.jit, static_argnums=0)
def decide_all(
    agent: ActingAgent, agent_states: AgentState, rows: Array, state: Array, held: Array, since: Array
) -> tuple[Array, Array]:
    """The greedy action of every seed and the head that chose it."""
    actions, heads = jax.vmap(partial(decide, agent))(agent_states, rows, state, held, since)
    return actions, heads
