"""A machine as the page draws it: the layout of Figures 1b and 2 as plain values, of all its states or of some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from errands.errors import TaskError
from errands.features import conjunction, literal
from errands.machines import AgendaRM, BooleanRM, CoupledRM, NumericRM, couple, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient, size
from errands.machines.graph import Edge, MachineGraph, Node, graph_of
from errands.machines.stepping import Move, State, Stepper
from errands.plots.layout import clean, layout
from errands.tables import FAILURE

MOST = 60
"""A machine with more states is drawn only in part: the states that the shown episodes pass."""
KINDS = ("numeric", "boolean", "agenda", "coupled")
Diagram = dict[str, Any]
Machine = NumericRM | BooleanRM | AgendaRM | CoupledRM


def diagram(graph: MachineGraph, objectives: Sequence[str | None] = ()) -> Diagram:
    """Boxes, wires and rings with their places, the text on each, and each state's objective where it has just one."""
    picture = layout(graph)
    states = []
    for node, box, objective in zip(graph.nodes, picture.boxes, objectives or [None] * len(graph.nodes), strict=True):
        member = box.member
        states.append({
            "text": clean(node.text), "objective": objective, "status": node.status, "initial": node.initial, "group": node.group,
            "x": box.x, "y": box.y, "w": member.half_width, "h": member.half_height,
            "lines": list(member.lines), "loop": list(member.loop), "above": member.loop_above,
            "reach": member.reach,
        })  # fmt: skip
    wires = [
        {
            "source": wire.source, "target": wire.target, "spans": [list(span) for span in wire.spans],
            "label": list(wire.label), "lines": list(wire.lines),
            "fails": graph.nodes[wire.target].status == FAILURE,
        }
        for wire in picture.wires
    ]  # fmt: skip
    rings = [[ring.x, ring.y, ring.half_width, ring.half_height] for ring in picture.rings]
    edges = [[e.source, e.target, e.guard, e.reward] for e in graph.edges]
    return {
        "title": graph.title, "width": picture.width, "height": picture.height, "round": picture.round,
        "states": states, "wires": wires, "rings": rings, "edges": edges,
    }  # fmt: skip


def small_machines(numeric: NumericRM, most: int = MOST) -> dict[str, Machine]:
    """Those of the four machines that have few enough states to be drawn whole, by kind."""
    found: dict[str, Machine] = {"numeric": numeric}
    try:
        sizes = size(numeric)
        if sizes.boolean <= most:
            found["boolean"] = unfold_boolean(numeric, most)
        if sizes.agenda <= most:
            agenda = unfold_agenda(numeric, most)
            found["agenda"] = agenda
            if sizes.coupled <= most:
                found["coupled"] = couple(agenda)
    except TaskError:
        pass
    return found


def whole(machine: Machine) -> Diagram:
    """The diagram of a whole machine."""
    if isinstance(machine, AgendaRM | CoupledRM):
        single = [label.objective[0] if len(label.objective) == 1 else None for label in machine.labels]
        return diagram(graph_of(machine), single)
    return diagram(graph_of(machine))


def part(numeric: NumericRM, states: Iterable[State], coupled: bool) -> tuple[Diagram, dict[State, tuple[int, ...]]]:
    """The agenda or coupled machine on some of its states, and where each of them is drawn; nothing is unfolded."""
    quotient = Quotient(numeric)
    stepper = quotient.stepper
    nodes: list[Node] = []
    place: dict[State, tuple[int, ...]] = {}
    objectives: list[str | None] = []
    for state in dict.fromkeys(states):
        # A state without alternatives stands once, as its agenda state, in the coupled machine, too.
        names: tuple[str | None, ...] = (stepper.alternatives(state) if coupled else ()) or (None,)
        place[state] = tuple(range(len(nodes), len(nodes) + len(names)))
        group = len(place) if len(names) > 1 else None
        for name in names:
            text = str(quotient.label(state) if name is None else quotient.label(state, name))
            nodes.append(Node(text, stepper.status[state[0]], state == stepper.start, group))
        objectives += names
    edges = dict.fromkeys(_edges(stepper, place, objectives))
    kind = "coupled" if coupled else "agenda"
    return diagram(MachineGraph(f"part of the {kind} machine", tuple(nodes), tuple(edges)), objectives), place


def _edges(stepper: Stepper, place: dict[State, tuple[int, ...]], objectives: list[str | None]) -> Iterator[Edge]:
    """The arrows between drawn states, self-loops left out; a subtask leads only out of its own coupled state."""
    for state, sources in place.items():
        for move in stepper.moves(state):
            done = stepper.named(move.completed)
            paid = str(move.transition.reward) if move.transition else "0"
            targets = () if move.target == state else place.get(move.target, ())
            able = [here for here in sources if not done or objectives[here] in (None, *done)]
            for here, there in product(able, targets):
                yield Edge(here, there, _guard(done, move), paid)


def _guard(done: tuple[str, ...], move: Move) -> str:
    return str(conjunction([*map(literal, done), move.guard]))
