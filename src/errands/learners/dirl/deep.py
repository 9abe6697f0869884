"""DiRL with DDQN or TD3 on each edge: one seed as a Learner, and its policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from errands.learners.deep.adam import Trained
from errands.learners.deep.brain import Brain
from errands.learners.deep.spaces import senses_of
from errands.learners.deep.td3 import TD3, ActorCritic
from errands.learners.dirl.brain import edge_brain
from errands.learners.dirl.deep_config import DeepDiRLConfig
from errands.learners.dirl.edge import Done, Job, Learnt, Starts
from errands.learners.dirl.graph import AbstractGraph, abstract_graph
from errands.learners.dirl.ground import Ground, ground_of
from errands.learners.dirl.learner import CompositionalLearner
from errands.learners.dirl.snapshots import restorable
from errands.machines.stepping import State
from errands.tables import RUNNING, SUCCESS, Evaluation
from errands.tasks.task import Task


class DeepEdges:
    """Edges learnt one at a time in a single lane."""

    def __init__(self, task: Task, graph: AbstractGraph, config: DeepDiRLConfig) -> None:
        restorable(task)
        self.task, self.graph, self.config = task, graph, config

    @cached_property
    def ground(self) -> Ground:
        """The lane."""
        return ground_of(self.task, self.graph, roomy(self.config, self.config.edge_steps), 1)

    def starts(self) -> Starts:
        """Attempts begin as episodes do."""
        return Starts(np.zeros((0, 0), np.float32), np.zeros(0))

    def solve(self, job: Job) -> Done:
        """Train and try out."""
        self.ground.begin(0, job)
        while not self.ground.ended():
            self.ground.advance()
        return self.ground.collect(0)


def roomy(config: DeepDiRLConfig, steps: int | None) -> DeepDiRLConfig:
    """The settings of a lane: a buffer no larger than `steps` of training can fill, and nothing that a job tells."""
    room = config.capacity if steps is None else min(config.capacity, steps)
    return dataclasses.replace(config, capacity=room, edge_steps=None, training_share=0.5)


class DeepDiRL(CompositionalLearner):
    """One seed of DiRL with DDQN (discrete actions) or TD3 (continuous ones) on each edge."""

    config: DeepDiRLConfig

    def __init__(self, task: Task, config: DeepDiRLConfig, seed: int) -> None:
        graph = abstract_graph(task.machine)
        super().__init__(task, config, seed, graph, DeepEdges(task, graph, config))
        self._walked: tuple[int, Evaluation, tuple[str, ...]] | None = None

    def measure(self) -> Evaluation:
        """The evaluation that a run reports."""
        return self.evaluate()

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        return self._walk()[0]

    @property
    def order(self) -> tuple[str, ...]:
        """The objectives in the order in which the greedy policy completes them."""
        return self._walk()[1]

    def _walk(self) -> tuple[Evaluation, tuple[str, ...]]:
        """The greedy episode; nothing but another edge changes it."""
        known = len(self.results)
        if self._walked is None or self._walked[0] != known:
            length, total, success, order = episode(self.policy, self.task, self.seed)
            self._walked = known, Evaluation(self.step, length, round(total, 6), success), order
        return self._walked[1:]

    @property
    def policy(self) -> WayPolicy:
        """The edges of the way found, one after the other."""
        way = self.search.way()
        weights = np.array([self.learnt[e] for e in way], np.float32)
        index = {self.graph.vertices[self.graph.edges[e].source]: i for i, e in enumerate(way)}
        env = self.task.world.env()
        spaces = senses_of(env, len(self.task.world.signals)).spaces
        env.close()
        return WayPolicy(edge_brain(self.task, roomy(self.config, 1), spaces), weights, index)


@dataclass(frozen=True, eq=False)
class WayPolicy:
    """The networks of a way; `act` takes an observation. Off the way DiRL has no policy: action 0, or no push."""

    brain: Brain
    weights: Learnt
    """[edges, weights]."""
    index: Mapping[State, int]
    """The edge for each machine state on the way."""

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action: a number, or an array in [-1, 1]; nothing is remembered."""
        continuous = self.brain.low.normals > 0
        edge = self.index.get(machine_state)
        if edge is None:
            return (np.zeros(self.brain.shape.action, np.float32) if continuous else 0), None
        seen = jnp.asarray(world_state, jnp.float32).reshape(self.brain.shape.observation)
        action = np.asarray(_greedy(self.brain, self._layers[edge], seen))
        return (action if continuous else int(action[0])), None

    @cached_property
    def _layers(self) -> list[Any]:
        like = self.brain.low.init(jax.random.PRNGKey(0))
        acting = like.actor if isinstance(like, ActorCritic) else like
        unravel = ravel_pytree(acting.weights)[1]
        return [unravel(jnp.asarray(row)) for row in self.weights]


@partial(jax.jit, static_argnums=0)
def _greedy(brain: Brain, layers: Any, seen: Array) -> Array:
    trained = Trained(layers, [], [], [], jnp.int32(0))
    held: Any = ActorCritic(trained, trained) if isinstance(brain.low, TD3) else trained
    return brain.low.greedy(brain.low.view(held, seen, jnp.zeros(0))[0])


def episode(policy: WayPolicy, task: Task, seed: int) -> tuple[int, float, bool, tuple[str, ...]]:
    """Length, total reward, success and order of one episode of a policy that acts on observations."""
    env = task.world.env()
    stepper = abstract_graph(task.machine).stepper
    senses = senses_of(env, len(task.world.signals))
    seen, _ = env.reset(seed=seed)
    state, total, order = stepper.start, 0.0, list[str]()
    carried: Hashable = None
    length = 0
    while length < task.world.limit:
        action, carried = policy.act(senses.see(seen), state, carried)
        seen, _, ends, truncated, info = env.step(senses.do(np.atleast_1d(np.asarray(action, np.float32))))
        length += 1
        step = stepper.step(state, info.get("features", frozenset()))
        total += step.transition.reward.paid(info.get("signals")) if step.transition else 0.0
        order += stepper.completed(state, step)
        state = step.state
        if stepper.status[state[0]] != RUNNING or ends or truncated:
            break
    env.close()
    return length, total, stepper.status[state[0]] == SUCCESS, tuple(order)
