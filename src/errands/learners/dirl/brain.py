"""The machine of an edge for DDQN and TD3: on the way, there, elsewhere; what a label means is told edge by edge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.learners.deep.batch import RowShape, rule_arrays
from errands.learners.deep.brain import Brain, Low
from errands.learners.deep.ddqn import DDQN
from errands.learners.deep.expansions import OverHeads
from errands.learners.deep.high import Own
from errands.learners.deep.machine import Listed, listed
from errands.learners.deep.methods import Spaces
from errands.learners.deep.rules import Rule
from errands.learners.deep.td3 import TD3
from errands.learners.dirl.deep_config import DeepDiRLConfig
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph
from errands.tables import FAILURE, RUNNING, SUCCESS, Ints, MachineTable
from errands.tasks.task import Task

AWAY, THERE, ELSEWHERE = range(3)
MOST_BRAINS = 16
_BRAINS: dict[Any, Brain] = {}


class Meaning(NamedTuple):
    """What the labels of the world mean to one edge: all that differs between the machines of two edges."""

    fate: Ints
    """[2 labels] away, there or elsewhere; the second half is for steps with which the world itself ends."""
    pay: NDArray[np.float32]
    """[labels, signals] what each signal is multiplied with while on the way."""


def meaning(task: Task, graph: AbstractGraph, edge: AbstractEdge) -> Meaning:
    """The labels as an edge sees them."""
    machine = listed(task)
    index, table = machine.rm.index, machine.table
    source, target = (index[graph.vertices[v]] for v in (edge.source, edge.target))  # type: ignore[index]
    reached = table.next[source]
    fate = np.where(reached == target, THERE, np.where(reached == source, AWAY, ELSEWHERE))
    ended = np.where((fate == THERE) & graph.final(edge.target), THERE, ELSEWHERE)
    paid = table.signal[source][:, None] == np.arange(len(task.world.signals))
    pay = np.where(paid, table.reward[source][:, None], 0.0).astype(np.float32)
    return Meaning(np.concatenate([fate, ended]).astype(np.int32), pay)


def edge_brain(task: Task, config: DeepDiRLConfig, spaces: Spaces) -> Brain:
    """QRM with one head on three states: the same for all tasks in a world, so that nothing is compiled twice."""
    key = (task.world, config, spaces)
    if key not in _BRAINS:
        if len(_BRAINS) == MOST_BRAINS:
            del _BRAINS[next(iter(_BRAINS))]  # the oldest
        _BRAINS[key] = _brain(task, config, spaces)
    return _BRAINS[key]


def _brain(task: Task, config: DeepDiRLConfig, spaces: Spaces) -> Brain:
    shape = RowShape(spaces.observation, spaces.actions if spaces.continuous else 1, spaces.signals)
    sizes = (spaces.observation, 1, spaces.actions, config)
    low: Low = TD3.of(*sizes) if spaces.continuous else DDQN.of(*sizes)
    expansion = OverHeads(shape, rule_arrays(_rule(config, spaces.signals)), True)
    return Brain(_machine(task), low, Own(single=True), expansion, shape, config)


def _rule(config: DeepDiRLConfig, signals: int) -> Rule:
    """The goal pays, the way pays what the machine pays for signals there; both ends are final."""
    away = np.array([[True], [False], [False]])
    reward = np.array([[0.0], [config.full_reward], [0.0]])
    pay = np.broadcast_to(away[..., None] * config.reward_scale, (3, 1, signals))
    ones = np.ones((3, 1), np.bool_)
    return Rule(reward, pay, away, np.zeros((3, 1), np.int32), ones, ones)


def _machine(task: Task) -> Listed:
    """Three states over three labels of the same names."""
    following = np.array([[AWAY, THERE, ELSEWHERE], [THERE] * 3, [ELSEWHERE] * 3], np.int32)
    reward = np.zeros((3, 3))
    reward[AWAY, THERE] = 1.0
    none = np.full((3, 3), -1, np.int32)
    table = MachineTable(AWAY, following, reward, none, np.array([RUNNING, SUCCESS, FAILURE], np.int8))
    labels = tuple(frozenset({name}) for name in ("away", "there", "elsewhere"))
    zeros, shut = np.zeros(3, np.int32), np.zeros((3, 1), np.bool_)
    return Listed(task, listed(task).rm, labels, table, ("goal",), none, shut, zeros, zeros)
