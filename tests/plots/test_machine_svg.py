"""SVG: well formed, complete, escaped, and in the manner of the paper's figures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from errands.errors import TaskError
from errands.machines.graph import Edge, MachineGraph, Node
from errands.plots.layout import clean
from errands.plots.machine import as_svg
from errands.tables import FAILURE, RUNNING

SVG = "{http://www.w3.org/2000/svg}"


def parts(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if element.get("class") == kind]


def drawn(element: ElementTree.Element) -> str:
    """The text one sees, without the spaces at which lines were broken."""
    return "".join("".join(text.itertext()) for text in element.iter(f"{SVG}text")).replace(" ", "")


def parsed(graph: MachineGraph) -> ElementTree.Element:
    return ElementTree.fromstring(as_svg(graph))  # noqa: S314  (we wrote it ourselves)


def test_every_state_is_drawn_once_with_its_whole_text(graph: MachineGraph) -> None:
    states = parts(parsed(graph), "state")
    assert [state.findtext(f"{SVG}title") for state in states] == [clean(node.text) for node in graph.nodes]
    assert [drawn(state) for state in states] == [clean(node.text).replace(" ", "") for node in graph.nodes]


def test_every_edge_is_drawn_with_its_guard_and_reward(graph: MachineGraph) -> None:
    root = parsed(graph)
    seen = "\n".join(drawn(element) for element in parts(root, "edge") + parts(root, "loop"))
    tips = "\n".join(e.findtext(f"{SVG}title") or "" for e in parts(root, "edge") + parts(root, "loop"))
    for edge in graph.edges:
        label = clean(f"⟨{edge.guard}; {edge.reward}⟩")
        assert label.replace(" ", "") in seen
        assert label in tips
    assert len(parts(root, "edge")) == len({(e.source, e.target) for e in graph.edges if e.source != e.target})
    assert len(parts(root, "loop")) == len({e.source for e in graph.edges if e.source == e.target})


def test_initial_states_have_an_arrow_and_terminals_a_double_border(graph: MachineGraph) -> None:
    root = parsed(graph)
    assert len(parts(root, "initial")) == sum(node.initial for node in graph.nodes)
    for node, state in zip(graph.nodes, parts(root, "state"), strict=True):
        borders = len(list(state.iter(f"{SVG}rect"))) + len(list(state.iter(f"{SVG}circle")))
        assert borders == (1 if node.status == RUNNING else 2)


def test_failure_does_not_look_like_success(samples: dict[str, MachineGraph]) -> None:
    graph = samples["failure"]
    fills = {}
    for node, state in zip(graph.nodes, parts(parsed(graph), "state"), strict=True):
        fills[node.status] = next(state.iter(f"{SVG}rect")).get("fill")
    assert len(set(fills.values())) == 3
    assert FAILURE in fills


def test_coupled_groups_have_a_dashed_ellipse(samples: dict[str, MachineGraph]) -> None:
    (ring,) = parts(parsed(samples["figure-2c"]), "group")
    assert ring.tag == f"{SVG}ellipse"
    assert ring.get("stroke-dasharray")


def test_markup_in_names_stays_text(samples: dict[str, MachineGraph]) -> None:
    text = as_svg(samples["awkward"])
    assert "<script" not in text
    assert {element.tag.removeprefix(SVG) for element in parsed(samples["awkward"]).iter()} <= {
        *("svg", "g", "title", "text", "tspan", "rect", "circle", "ellipse", "path", "polygon")
    }


def test_short_names_are_circles_and_labels_are_boxes(samples: dict[str, MachineGraph]) -> None:
    assert len(list(parsed(samples["figure-2a"]).iter(f"{SVG}circle"))) == 9 + 2
    assert not list(parsed(samples["figure-2b"]).iter(f"{SVG}circle"))


def test_the_same_machine_gives_the_same_picture(graph: MachineGraph) -> None:
    assert as_svg(graph) == as_svg(MachineGraph(graph.title, tuple(graph.nodes), tuple(graph.edges)))


def test_a_picture_that_nobody_could_read_is_refused() -> None:
    huge = MachineGraph("", tuple(Node(f"u{i}") for i in range(2_001)), (Edge(0, 1, "p", "0"),))
    with pytest.raises(TaskError, match="2,001 states"):
        as_svg(huge)
