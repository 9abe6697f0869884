"""DiRL with DDQN or TD3 on each edge: an edge as a machine of three states, learner and policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from numpy.typing import NDArray

from errands.learners.dirl.edges import DeepEdges, DeviceEdges, HostEdges, Meaning, acting_part
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph, abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.dirl.tabular import AWAY, ELSEWHERE, THERE, CompositionalLearner, Learnt, fates
from errands.learners.engines.deep.agent import DeepAgent, SingleHead, ValueLearner
from errands.learners.engines.deep.batch import OverHeads, RowShape, Rule, rule_arrays
from errands.learners.engines.deep.ddqn import DDQN
from errands.learners.engines.deep.device import device_world
from errands.learners.engines.deep.host_envs import Spaces, host_envs_of, senses_of
from errands.learners.engines.deep.learner import wall_stopwatch
from errands.learners.engines.deep.machine import MachineArrays, machine_arrays
from errands.learners.engines.deep.network import TrainedWeights
from errands.learners.engines.deep.td3 import TD3, ActorCritic
from errands.machines.stepping import State
from errands.policies.program import write_program
from errands.policies.tables import Exported, MachineStates
from errands.tables import FAILURE, RUNNING, SUCCESS, Evaluation, MachineTable
from errands.tasks.task import Task

MAX_AGENTS = 16
# Compiled code belongs to an agent object, so agents are shared; only the latest few are kept.
_AGENTS: dict[Any, DeepAgent] = {}


def meaning(task: Task, graph: AbstractGraph, edge: AbstractEdge) -> Meaning:
    """The labels as an edge sees them."""
    machine = machine_arrays(task)
    index, table = machine.rm.index, machine.table
    source, target = (index[graph.vertices[v]] for v in (edge.source, edge.target))  # type: ignore[index]
    # [labels] the agenda state after one step with each label. An attempt ends when it leaves the source, so that every
    # step of it starts there and one step of the task's machine is all that an edge needs to know.
    fate = fates(table.next[source], source, target, graph.final(edge.target))
    # Column 0 is the constant reward of the task, which edges do not get.
    return Meaning(fate, machine.pays[source][:, 1:].astype(np.float32))


def edge_agent(task: Task, config: DeepDiRLConfig, spaces: Spaces) -> DeepAgent:
    """QRM with one head on three states: the same for all tasks in a world, so that nothing is compiled twice."""
    key = (task.world, config, spaces)
    if key not in _AGENTS:
        if len(_AGENTS) == MAX_AGENTS:
            del _AGENTS[next(iter(_AGENTS))]  # the oldest
        _AGENTS[key] = _agent(task, config, spaces)
    return _AGENTS[key]


def _agent(task: Task, config: DeepDiRLConfig, spaces: Spaces) -> DeepAgent:
    shape = RowShape(spaces.observation, spaces.actions if spaces.continuous else 1, spaces.signals)
    sizes = (spaces.observation, 1, spaces.actions, config)
    low: ValueLearner = TD3.of(*sizes) if spaces.continuous else DDQN.of(*sizes)
    expansion = OverHeads(shape, rule_arrays(_rule(config, spaces.signals)), True)
    return DeepAgent(_machine(task, config.edge_limit), low, SingleHead(), expansion, shape, config)


def _rule(config: DeepDiRLConfig, signals: int) -> Rule:
    """The goal pays, the way pays what the machine pays for signals there; both ends are final."""
    # By state and head, and there is one head.
    away = np.array([[True], [False], [False]])
    reward = np.array([[0.0], [config.full_reward], [0.0]])
    pay = np.broadcast_to(away[..., None] * config.reward_scale, (3, 1, signals))
    ones = np.ones((3, 1), np.bool_)
    return Rule(reward, pay, away, np.zeros((3, 1), np.int32), ones, ones)


def _machine(task: Task, limit: int) -> MachineArrays:
    """Three states over three labels of the same names."""
    # The world's labels are turned into these three by `Meaning.fate`: edges differ in data only, not in compiled code.
    following = np.array([[AWAY, THERE, ELSEWHERE], [THERE] * 3, [ELSEWHERE] * 3], np.int32)
    reward = np.zeros((3, 3))
    reward[AWAY, THERE] = 1.0
    none = np.full((3, 3), -1, np.int32)
    table = MachineTable(AWAY, following, reward, none, np.array([RUNNING, SUCCESS, FAILURE], np.int8))
    labels = tuple(frozenset({name}) for name in ("away", "there", "elsewhere"))
    zeros, shut = np.zeros(3, np.int32), np.zeros((3, 1), np.bool_)
    return MachineArrays(
        task=task,
        rm=machine_arrays(task).rm,
        labels=labels,
        table=table,
        objectives=("goal",),
        completed=none[..., None],
        open=shut,
        masks=zeros,
        numeric=zeros,
        attempt=limit,
    )


def edges_of(task: Task, graph: AbstractGraph, config: DeepDiRLConfig) -> DeepEdges:
    """What learns the edges of a task: on the device where its world lives there, else in an environment on the host."""
    machine = machine_arrays(task)
    meant, world, config = partial(meaning, task, graph), device_world(machine), roomy(config, config.edge_steps)
    if world is None:
        outside = host_envs_of(machine, (0,))
        return HostEdges(edge_agent(task, config, outside.senses.spaces), meant, outside, task)
    spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
    return DeviceEdges(edge_agent(task, config, spaces), meant, world)


def roomy(config: DeepDiRLConfig, steps: int | None) -> DeepDiRLConfig:
    """The settings of an edge: a buffer no larger than `steps` of training can fill, and nothing that a job tells."""
    # Settings are part of what is compiled: those that each job tells anyway are set to one value for all.
    room = config.capacity if steps is None else min(config.capacity, steps)
    return dataclasses.replace(config, capacity=room, edge_steps=None, training_share=0.5)


class DeepDiRL(CompositionalLearner):
    """One seed of DiRL with DDQN (discrete actions) or TD3 (continuous ones) on each edge."""

    config: DeepDiRLConfig

    def __init__(self, task: Task, config: DeepDiRLConfig, seed: int) -> None:
        graph = abstract_graph(task.machine)
        super().__init__(task, config, seed, graph, edges_of(task, graph, config))
        self.stopwatch = wall_stopwatch()

    def measure(self) -> Evaluation:
        """The evaluation that a run reports."""
        return self.evaluate()

    @property
    def policy(self) -> WayPolicy:
        """The edges of the way found, one after the other."""
        way = self.search.way()
        weights = np.array([self.learnt[e] for e in way], np.float32)
        index = {self.graph.vertices[self.graph.edges[e].source]: i for i, e in enumerate(way)}
        env = self.task.world.env()
        senses = senses_of(env, len(self.task.world.signals) + len(self.task.machine.functions))
        env.close()
        return WayPolicy(edge_agent(self.task, roomy(self.config, 1), senses.spaces), weights, index, senses.see)


@dataclass(frozen=True, eq=False)
class WayPolicy:
    """The networks of a way; `act` takes an observation. Off the way DiRL has no policy: action 0, or no push."""

    agent: DeepAgent = field(repr=False)
    weights: Learnt = field(repr=False)
    """[edges, weights]."""
    index: Mapping[State, int] = field(repr=False)
    """The edge for each machine state on the way."""
    see: Callable[[Any], NDArray[np.float32]] = field(repr=False)
    """An observation as a row of numbers."""

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action: a number, or an array in [-1, 1]; nothing is remembered."""
        discrete = self.agent.low.discrete
        edge = self.index.get(machine_state)
        if edge is None:
            return (0 if discrete else np.zeros(self.agent.shape.action, np.float32)), None
        action = np.asarray(self.choose(edge, jnp.asarray(self.see(world_state))))
        return (int(action[0]) if discrete else action), None

    def choose(self, edge: int, seen: Array) -> Array:
        """What the network of an edge does where this row is seen."""
        action: Array = _greedy(self.agent, self._layers[edge], seen)
        return action

    def exported(self) -> Exported:
        """What a policy file holds of it: the programs of its edges; each one's arrays begin with its number."""
        seen = jnp.zeros(self.agent.shape.observation, jnp.float32)
        programs: list[Any] = []
        arrays: dict[str, NDArray[Any]] = {}
        for edge in range(len(self.weights)):
            self.choose(edge, seen)  # unpacks the weights, which must not happen while JAX traces
            program, constants = write_program(jax.make_jaxpr(lambda row, edge=edge: self.choose(edge, row))(seen))
            programs.append(program)
            arrays |= {f"{edge}.{name}": value for name, value in constants.items()}
        return {"kind": "edges", **MachineStates(self.index, 0, ordered=False).exported(), "programs": programs}, arrays

    @cached_property
    def _layers(self) -> list[Any]:
        unravel = ravel_pytree(acting_part(self.agent.low.init(jax.random.PRNGKey(0))).weights)[1]
        return [unravel(jnp.asarray(row)) for row in self.weights]


@partial(jax.jit, static_argnums=0)
def _greedy(agent: DeepAgent, layers: Any, seen: Array) -> Array:
    # Acting reads the weights alone; the optimiser's parts stay empty.
    trained = TrainedWeights(layers, [], [], [], jnp.int32(0))
    held: Any = ActorCritic(trained, trained) if isinstance(agent.low, TD3) else trained
    return agent.low.greedy(agent.low.view(held, seen, jnp.zeros(0))[0])
