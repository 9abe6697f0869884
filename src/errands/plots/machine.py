"""A machine as a picture or text: SVG, plain text, DOT, Mermaid, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.layout import clean
from errands.plots.machine_svg import as_svg
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


_STATUS = {RUNNING: "running", SUCCESS: "success", FAILURE: "failure"}


def as_json(graph: MachineGraph) -> dict[str, Any]:
    """The machine as plain values; edges name states by their place in `nodes`."""
    nodes = [
        {"text": node.text, "status": _STATUS[node.status], "initial": node.initial, "group": node.group}
        for node in graph.nodes
    ]
    edges = [{"source": e.source, "target": e.target, "guard": e.guard, "reward": e.reward} for e in graph.edges]
    return {"title": graph.title, "nodes": nodes, "edges": edges}


def as_dot(graph: MachineGraph) -> str:
    """The machine for Graphviz, with coupled groups as dashed clusters."""
    fill = {RUNNING: "white", SUCCESS: "lightcyan", FAILURE: "mistyrose"}
    lines = [f"digraph {_quoted(graph.title)} {{", "  rankdir=LR;", '  node [shape=box, style="rounded,filled"];']
    for i, node in enumerate(graph.nodes):
        borders = 1 if node.status == RUNNING else 2
        lines.append(f"  n{i} [label={_quoted(node.text)}, fillcolor={fill[node.status]}, peripheries={borders}];")
        if node.initial:
            lines += [f"  start{i} [shape=point, style=invis];", f"  start{i} -> n{i};"]
    for group, members in _groups(graph).items():
        inside = " ".join(f"n{i};" for i in members)
        lines.append(f"  subgraph cluster_{group} {{ style=dashed; color=red; {inside} }}")
    for e in graph.edges:
        lines.append(f"  n{e.source} -> n{e.target} [label={_quoted(f'⟨{e.guard}; {e.reward}⟩')}];")
    return "\n".join([*lines, "}", ""])


def as_mermaid(graph: MachineGraph) -> str:
    """The machine as a Mermaid flowchart, with coupled groups as subgraphs."""
    names = {RUNNING: "running", SUCCESS: "success", FAILURE: "failure"}
    lines = ["flowchart LR"]
    lines += [f"  n{i}({_entities(node.text)}):::{names[node.status]}" for i, node in enumerate(graph.nodes)]
    lines += [f"  start{i}(( )) --> n{i}" for i, node in enumerate(graph.nodes) if node.initial]
    for group, members in _groups(graph).items():
        lines += [f'  subgraph g{group}[" "]', *(f"    n{i}" for i in members), "  end"]
        lines.append(f"  style g{group} fill:none,stroke:#d32f2f,stroke-dasharray:6 4")
    lines += [f"  n{e.source} -->|{_entities(f'⟨{e.guard}; {e.reward}⟩')}| n{e.target}" for e in graph.edges]
    lines += [
        "  classDef running fill:#ffffff,stroke:#1b1b1f",
        "  classDef success fill:#c9f4fb,stroke:#1b1b1f,stroke-width:4px",
        "  classDef failure fill:#fde3e1,stroke:#b3261e,stroke-width:4px",
    ]
    return "\n".join([*lines, ""])


def _groups(graph: MachineGraph) -> dict[int, list[int]]:
    """The members of each coupled group that has more than one."""
    members: dict[int, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        if node.group is not None:
            members.setdefault(node.group, []).append(i)
    return {group: states for group, states in members.items() if len(states) > 1}


def _quoted(text: str) -> str:
    # Graphviz reads entities inside its strings, so an ampersand must be one.
    return '"' + clean(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') + '"'


def _entities(text: str) -> str:
    """A Mermaid string: whatever could end it or be read as markup becomes a numbered entity."""
    safe = (c if c.isalnum() or c in " _{}(),.;:!=+-⟨⟩∧∨¬↓⤓∅⊤⊥" else f"#{ord(c)};" for c in clean(text))
    return '"' + "".join(safe) + '"'


FORMATS: Mapping[str, Callable[[MachineGraph], str | dict[str, Any]]] = {
    "text": as_text,
    "svg": as_svg,
    "dot": as_dot,
    "mermaid": as_mermaid,
    "json": as_json,
}
"""How `errands show --format` draws a machine."""

__all__ = ["FORMATS", "as_dot", "as_json", "as_mermaid", "as_svg", "as_text"]
