"""A machine as a picture's value: boxes and arrows, before anything is drawn (Figures 1b and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errands.features import Guard, conjunction, literal, negation, parse_guard
from errands.machines.numeric import NumericRM
from errands.machines.rules import rule_sentences
from errands.machines.stepping import Move, State, Stepper, objective_of
from errands.machines.unfolding import AgendaRM, BooleanRM, CoupledRM, agenda_state, moves_from
from errands.tables import FAILURE


@dataclass(frozen=True)
class Node:
    """One box: a machine state with the text in it."""

    text: str
    status: int = 0
    """tables.RUNNING, SUCCESS or FAILURE."""
    initial: bool = False
    group: int | None = None
    """Coupled states of one group are occupied at once and share an ellipse."""


@dataclass(frozen=True)
class Edge:
    """One arrow: from and to are indices of nodes; equal for a self-loop."""

    source: int
    target: int
    guard: str
    reward: str


@dataclass(frozen=True)
class MachineGraph:
    """All boxes and arrows of one machine."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(machine: NumericRM | BooleanRM | AgendaRM | CoupledRM) -> MachineGraph:
    """The boxes and arrows of any machine, as the paper draws it; moves to states that a part of one lacks are left out."""
    if isinstance(machine, NumericRM):
        return _numeric(machine)
    if isinstance(machine, CoupledRM):
        return _coupled(machine)
    stepper, agenda = machine.stepper, isinstance(machine, AgendaRM)
    texts = list(map(str, machine.labels)) if isinstance(machine, AgendaRM) else [f"u{i}" for i in range(len(machine))]
    positions: Sequence[Any] = machine.states
    index: Mapping[Any, int] = machine.index
    edges = {
        Edge(i, index[there], _guard(stepper, agenda_state(stepper, position), move), _reward(move)): None
        for i, position in enumerate(positions)
        for move, there in moves_from(stepper, position)
        if there in index
    }
    nodes = _nodes(texts, [stepper.status[u] for u, _ in machine.states])
    return MachineGraph("agenda machine" if agenda else "Boolean machine", nodes, tuple(edges))


def _numeric(machine: NumericRM) -> MachineGraph:
    index = {name: i for i, name in enumerate(machine.states)}
    status = [1 if s in machine.success else 2 if s in machine.failure else 0 for s in machine.states]
    edges = tuple(Edge(index[t.source], index[t.target], str(t.guard), str(t.reward)) for t in machine.transitions)
    sentences = [f"{state} completes {' and '.join(names) or 'nothing'}" for state, names in machine.restated.items()]
    sentences += (sentence.rstrip(".") for sentence in rule_sentences(machine.counted, machine.rules))
    return MachineGraph("; ".join(["numeric machine", *sentences]), _nodes(list(machine.states), status), edges)


def _coupled(machine: CoupledRM) -> MachineGraph:
    agenda, stepper = machine.agenda, machine.agenda.stepper
    split = {i for i, group in enumerate(machine.groups) if len(group) > 1}
    nodes = tuple(
        Node(str(label), stepper.status[agenda.states[i][0]], i == 0, i if i in split else None)
        for label, (i, _) in zip(machine.labels, machine.states, strict=True)
    )
    edges: dict[Edge, None] = {}
    for here, (i, objective) in enumerate(machine.states):
        for m in stepper.moves(agenda.states[i]):
            if (j := agenda.index.get(m.target)) is None:
                continue
            names = stepper.named(m.completed)
            # A move belongs to the coupled state whose objective it completes. A move that completes no subtask
            # belongs to all of them, unless it leads on: then to the one whose Boolean objective it is.
            leads = not names and m.transition is not None and stepper.leads_on(agenda.states[i][0], m.transition)
            mine = objective in names if names else not leads or objective_of(m.guard) == objective
            if mine and i == j:
                # Its own objective does not become true.
                other = [negation(parse_guard(objective))] if objective else []
                edges[Edge(here, here, str(conjunction([*other, m.guard])), _reward(m))] = None
            elif mine:
                for there in machine.groups[j]:
                    edges[Edge(here, there, _guard(stepper, agenda.states[i], m), _reward(m))] = None
    return MachineGraph("coupled machine", nodes, tuple(edges))


def _nodes(texts: list[str], status: list[int]) -> tuple[Node, ...]:
    return tuple(Node(text, code, i == 0) for i, (text, code) in enumerate(zip(texts, status, strict=True)))


def _guard(stepper: Stepper, state: State, move: Move) -> str:
    """The Boolean guard of a move: the subtasks that it completes, or that none of the open ones is completed."""
    parts: list[Guard] = []
    if stepper.status[move.target[0]] == FAILURE:
        return str(move.guard)
    if move.completed:
        parts += map(literal, dict.fromkeys(stepper.named(move.completed)))
    elif move.target == state:
        parts += [negation(literal(name)) for name in stepper.named(stepper.open(state))]
    return str(conjunction([*parts, move.guard]))


def _reward(move: Move) -> str:
    return str(move.transition.reward) if move.transition else "0"
