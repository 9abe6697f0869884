"""Many seeds of one method side by side: what both loops share, and the team that trains wholly on the device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from errands.errors import ConfigError
from errands.learners import method_of
from errands.learners.base import HOST_EPISODES, Form, Saved, checked, require
from errands.learners.diary import Diary
from errands.learners.engines.deep import device
from errands.learners.engines.deep.agent import ActingAgent, AgentState, DeepAgent
from errands.learners.engines.deep.agents import agent_of
from errands.learners.engines.deep.config import DeepConfig, EngineConfig
from errands.learners.engines.deep.device import DeviceWorld, device_world
from errands.learners.engines.deep.host_envs import Spaces, host_envs_of
from errands.learners.engines.deep.machine import Kind, MachineArrays, machine_arrays
from errands.learners.engines.deep.saving import named, team_form
from errands.learners.method import loaded
from errands.oracle.episode import sampled
from errands.tables import Evaluation
from errands.tasks.task import Task


class Team(ABC):
    """Seeds that train in step; each is a run of its own."""

    def __init__(self, agent: ActingAgent, seeds: tuple[int, ...]) -> None:
        self.agent = agent
        self.seeds = seeds
        self.orders: list[tuple[str, ...]] = [()] * len(seeds)
        """The order of completions in the last evaluation of each seed."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """Every array that the rest of the run depends on, as a named tuple with `agent_states`, `step` and any `buffer`."""

    @abstractmethod
    def put(self, state: Any) -> None:
        """Continue from these arrays."""

    @abstractmethod
    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""

    @abstractmethod
    def greedy_episodes(self, number: int = 0) -> device.GreedyEpisode:
        """One greedy episode of every seed; what is left to chance in it depends on the seed, the step and its number."""

    @property
    def see(self) -> Callable[[Any], Any] | None:
        """How an observation of the environment becomes a row; None where it is one already."""
        return None

    @property
    def diaries(self) -> Sequence[Diary]:
        """What training met, environment by environment; none where the world lives on the device."""
        return ()

    @property
    def step(self) -> int:
        """Training steps so far."""
        return int(self.state.step)

    @property
    def agent_states(self) -> AgentState:
        """What the seeds have learnt."""
        agent_states: AgentState = self.state.agent_states
        return agent_states

    def on_device(self) -> AbstractContextManager[Any]:
        """A context in which arrays are made on the device that the settings name."""
        context: AbstractContextManager[Any] = jax.default_device(chosen_device(self.agent.config.platform))
        return context

    def evaluate(self, number: int = 0) -> list[Evaluation]:
        """One greedy episode of every seed, without touching what training depends on; chance depends on its number."""
        # float32 sums on the device: rounding hides digits that mean nothing.
        episodes = jax.tree.map(np.asarray, self.greedy_episodes(number))
        names = self.agent.machine.objectives
        self.orders = [tuple(names[k] for k in row if k >= 0) for row in episodes.order]
        parts = zip(episodes.length, episodes.total, episodes.success, strict=True)
        return [Evaluation(self.step, int(n), round(float(total), 6), bool(won)) for n, total, won in parts]

    def measure(self) -> list[Evaluation]:
        """What a run reports of every seed: one greedy episode where that says everything, else means of several."""
        count = self.agent.config.eval_episodes or (1 if self.agent.machine.task.certain else HOST_EPISODES)
        if count == 1:
            return self.evaluate()
        # Number 0 comes last, so that `orders` are those of the episode that `evaluate` plays.
        rounds = [self.evaluate(number) for number in reversed(range(count))]
        step = self.step

        def mean(index: int) -> Evaluation:
            each = [evaluations[index] for evaluations in rounds]
            played = [(int(e.episode_length), e.total_reward, bool(e.success)) for e in each]
            return sampled(lambda number: played[number], count).evaluation(step)

        return [mean(index) for index in range(len(self.seeds))]

    def train(self, steps: int) -> Iterator[list[Evaluation]]:
        """Train until `steps` steps were taken; evaluations of all seeds every `eval_every` steps and at the last."""
        every = self.agent.config.eval_every
        while self.step < steps:
            self.advance(min((self.step // every + 1) * every, steps) - self.step)
            yield self.measure()

    def save(self) -> Saved:
        """The arrays by name; of the buffer only what is filled."""
        # Slicing by the step is right for a full buffer too: it then takes all of it.
        saved = {name: np.asarray(leaf) for name, leaf in named(self.state)}
        return saved if "buffer" not in saved else {**saved, "buffer": saved["buffer"][: self.step]}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; a StoreError where its arrays are not those of this team."""
        # Form first, then what only the numbers together can tell; nothing is put on the device before both hold.
        lengths = checked(saved, self.form())
        wanted = dict(named(self.state))
        if "buffer" in wanted:
            rows = np.zeros(wanted["buffer"].shape, np.float32)
            require(lengths["rows"] == min(int(saved["step"]), len(rows)), "the buffer has a row for every step")
            rows[: len(saved["buffer"])] = saved["buffer"]
            saved = {**saved, "buffer": rows}
        # In the order of the present state's leaves, which is the order that unflatten expects.
        leaves = [saved[name] for name in wanted]
        with self.on_device():
            self.put(jax.tree.unflatten(jax.tree.structure(self.state), [jnp.asarray(x) for x in leaves]))

    def form(self) -> Form:
        """What every array of `save` is, for all seeds."""
        return team_form(self.agent, self.state)

    @property
    def checkpoint_bytes(self) -> int:
        """The most bytes that a checkpoint takes, however long the run."""
        return sum(int(leaf.nbytes) for leaf in jax.tree.leaves(self.state))


class OnDevice(Team):
    """A team in a world that lives on the device, of whatever kind its state is."""

    world: DeviceWorld
    _state: Any

    @property
    def state(self) -> Any:
        """Every array."""
        return self._state

    def put(self, state: Any) -> None:
        """Take these arrays."""
        self._state = state

    def greedy_episodes(self, number: int = 0) -> device.GreedyEpisode:
        """One greedy episode of every seed."""
        # Keys of their own, apart from those of any chunk of training steps.
        keys = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, 2**31 - 2 - number), self._state.step))(
            self._state.keys
        )
        episodes: device.GreedyEpisode = device.greedy_episodes(self.agent, self.world, self._state.agent_states, keys)
        return episodes


class DeviceTeam(OnDevice):
    """A team with a buffer each; `keys` and `before` are those of `launch`, where seeds do not say all."""

    agent: DeepAgent
    _state: device.TeamState

    def __init__(
        self,
        agent: DeepAgent,
        world: DeviceWorld,
        seeds: tuple[int, ...],
        keys: Array | None = None,
        before: Any = None,
    ) -> None:
        super().__init__(agent, seeds)
        self.world = world
        with self.on_device():
            self._state = device.launch(agent, world, keys_of(seeds) if keys is None else keys, before)

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        step = self.step
        end = step + count
        while step < end:
            # A call never crosses the border of a chunk: random numbers are drawn per chunk. Whole chunks run in a
            # program of their own, whose number of turns is known.
            stop = min(end, (step // device.CHUNK + 1) * device.CHUNK)
            whole = stop - step == device.CHUNK
            self._state = device.advance(self.agent, self.world, self._state, None if whole else jnp.int32(stop))
            step = stop


def keys_of(seeds: Sequence[int]) -> Array:
    """The random key of each seed, [seeds, 2]."""
    return jnp.stack([jax.random.PRNGKey(seed) for seed in seeds])


def chosen_device(platform: str) -> jax.Device:
    """The device of a platform; `any` takes the first that JAX offers."""
    if platform == "any":
        return jax.devices()[0]
    try:
        return jax.devices(platform)[0]
    except RuntimeError:
        have = jax.devices()[0].platform
        raise ConfigError(
            f"platform is '{platform}', but JAX sees only {have} here; set platform='any', or install jax[cuda13]"
        ) from None


def team_of(
    task: Task, learner: str, config: EngineConfig, seeds: Sequence[int], machine: Kind = "agenda", host: bool = False
) -> Team:
    """The team of a learner on a task: on the device where the world lives there, else (or with `host`) stepped on the host."""
    form = method_of(learner).deep
    if form is not None and form.teams is not None:
        team: Team = loaded(form.teams)(task, learner, config, tuple(seeds))
        return team
    if not isinstance(config, DeepConfig):
        raise ConfigError(f"'{learner}' takes a DeepConfig, not a {type(config).__name__}")
    # QCoRM and QCoRM+ are about agendas; a Boolean machine would tell apart what they treat as one.
    arrays: MachineArrays = machine_arrays(task, "agenda" if learner.startswith("qcorm") else machine)
    world = None if host else device_world(arrays)
    if world is None:
        # Here, because that module imports this one.
        from errands.learners.engines.deep.host import HostTeam

        envs = host_envs_of(arrays, tuple(seeds), config.envs, config.vector == "async")
        return HostTeam(agent_of(learner, arrays, config, envs.senses.spaces), envs, tuple(seeds))
    for name, why in (
        ("learn_every", "learns from every step"),
        ("envs", "steps all seeds at once, at next to no cost"),
    ):
        if getattr(config, name) > 1:
            raise ConfigError(
                f"{name} is {getattr(config, name)}, but the world of '{task.name}' lives on the device, which {why}; leave it "
                "out"
            )
    spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
    return DeviceTeam(agent_of(learner, arrays, config, spaces), world, tuple(seeds))
