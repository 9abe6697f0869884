"""A machine as a listing for the terminal: each state with its outgoing transitions under one another."""

from __future__ import annotations

from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.measure import clean
from errands.tables import FAILURE, RUNNING, SUCCESS

_ENDING = {SUCCESS: "✓ success", FAILURE: "✗ failure"}


def as_text(graph: MachineGraph) -> str:
    """A listing: `▶` marks where the machine starts, `↺` a transition that stays, `∥1` the first coupled group."""
    groups = list(dict.fromkeys(node.group for node in graph.nodes if node.group is not None))
    names = [_name(node, groups) for node in graph.nodes]
    outgoing: list[list[Edge]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        outgoing[edge.source].append(edge)
    width = max(map(len, names), default=0)
    reach = max((len(_label(edge)) for edge in graph.edges), default=0)
    states, transitions = _count(len(graph.nodes), "state"), _count(len(graph.edges), "transition")
    listing = [f"{clean(graph.title)} ({states}, {transitions})".strip()]
    for node, name, edges in zip(graph.nodes, names, outgoing, strict=True):
        ways = [_way(graph, edge, reach) for edge in edges]
        if node.status != RUNNING:
            ways.insert(0, _ENDING[node.status])
        start = f"{'▶' if node.initial else ' '} {name:{width}}"
        listing.append(f"{start}   {ways[0]}" if ways else start.rstrip())
        listing += [f"{'':{width + 5}}{way}" for way in ways[1:]]
    return "\n".join(listing) + "\n"


def _name(node: Node, groups: list[int]) -> str:
    return clean(node.text) if node.group is None else f"{clean(node.text)} ∥{groups.index(node.group) + 1}"


def _label(edge: Edge) -> str:
    return clean(f"⟨{edge.guard}; {edge.reward}⟩")


def _way(graph: MachineGraph, edge: Edge, reach: int) -> str:
    if edge.source == edge.target:
        return f"{_label(edge):{reach}} ↺"
    return f"{_label(edge):{reach}} → {clean(graph.nodes[edge.target].text)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
