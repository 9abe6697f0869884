"""DOT, Mermaid and JSON hold every state and every edge, whatever their names contain."""

from __future__ import annotations

import html
import json
import re

from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.machine_code import as_dot, as_json, as_mermaid
from errands.plots.measure import clean


def wanted(graph: MachineGraph) -> tuple[list[str], list[tuple[int, int, str]]]:
    edges = [(e.source, e.target, clean(f"⟨{e.guard}; {e.reward}⟩")) for e in graph.edges]
    return [clean(node.text) for node in graph.nodes], edges


def test_json_gives_the_machine_back(graph: MachineGraph) -> None:
    value = json.loads(json.dumps(as_json(graph)))
    status = {"running": 0, "success": 1, "failure": 2}
    nodes = tuple(Node(n["text"], status[n["status"]], n["initial"], n["group"]) for n in value["nodes"])
    edges = tuple(Edge(e["source"], e["target"], e["guard"], e["reward"]) for e in value["edges"])
    assert MachineGraph(value["title"], nodes, edges) == graph


def test_dot_holds_every_state_and_edge(graph: MachineGraph) -> None:
    def read(quoted: str) -> str:
        return html.unescape(re.sub(r"\\(.)", r"\1", quoted))

    text = as_dot(graph)
    string = r'"((?:[^"\\]|\\.)*)"'
    nodes = [read(label) for label in re.findall(rf"^  n\d+ \[label={string}, fill", text, re.MULTILINE)]
    found = re.findall(rf"^  n(\d+) -> n(\d+) \[label={string}\];$", text, re.MULTILINE)
    assert (nodes, [(int(a), int(b), read(label)) for a, b, label in found]) == wanted(graph)


def test_mermaid_holds_every_state_and_edge(graph: MachineGraph) -> None:
    def read(quoted: str) -> str:
        return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), quoted)

    text = as_mermaid(graph)
    nodes = [read(label) for label in re.findall(r'^  n\d+\("([^"]*)"\):::', text, re.MULTILINE)]
    found = re.findall(r'^  n(\d+) -->\|"([^"]*)"\| n(\d+)$', text, re.MULTILINE)
    assert (nodes, [(int(a), int(b), read(label)) for a, label, b in found]) == wanted(graph)


def test_coupled_groups_are_clusters_and_subgraphs(samples: dict[str, MachineGraph]) -> None:
    assert as_dot(samples["figure-2c"]).count("subgraph cluster_") == 1
    assert as_mermaid(samples["figure-2c"]).count("subgraph") == 1
    assert "n0; n1;" in as_dot(samples["figure-2c"])
