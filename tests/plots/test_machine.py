"""The formats by name."""

from __future__ import annotations

import html
import json
import re

from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.layout import clean
from errands.plots.machine import FORMATS, as_dot, as_json, as_text


def test_the_formats_are_those_of_the_command() -> None:
    assert list(FORMATS) == ["text", "svg", "dot", "json"]


def test_every_format_draws_every_machine(graph: MachineGraph) -> None:
    for name, draw in FORMATS.items():
        assert isinstance(draw(graph), dict if name == "json" else str)


FIGURE_1B = """\
Figure 1b: numeric (3 states, 5 transitions)
▶ u0   ⟨b!; 0⟩      ↺
       ⟨b↓ ∨ b⤓; 0⟩ → u1
  u1   ⟨¬s; 0⟩      ↺
       ⟨s ∧ b⤓; 1⟩  → u2
       ⟨s ∧ b!; 0⟩  → u0
  u2   ✓ success
"""


def test_figure_1b_reads_as_written_by_hand(samples: dict[str, MachineGraph]) -> None:
    assert as_text(samples["figure-1b"]) == FIGURE_1B


def test_coupled_states_carry_the_number_of_their_group(samples: dict[str, MachineGraph]) -> None:
    listing = as_text(samples["figure-2c"])
    assert "▶ 0{b1,b2}b1 ∥1" in listing
    assert "▶ 0{b1,b2}b2 ∥1" in listing
    assert listing.count("∥") == 2


def test_the_listing_has_every_state_and_one_line_per_transition(graph: MachineGraph) -> None:
    lines = as_text(graph).splitlines()
    assert sum(line.endswith("↺") for line in lines) == sum(edge.source == edge.target for edge in graph.edges)
    assert sum(" → " in line for line in lines) == sum(edge.source != edge.target for edge in graph.edges)
    for node in graph.nodes:
        assert any(line[2:].startswith(clean(node.text)) for line in lines)


def test_failure_is_named(samples: dict[str, MachineGraph]) -> None:
    assert "✗ failure" in as_text(samples["failure"])


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


def test_coupled_groups_are_clusters(samples: dict[str, MachineGraph]) -> None:
    assert as_dot(samples["figure-2c"]).count("subgraph cluster_") == 1
    assert "n0; n1;" in as_dot(samples["figure-2c"])
