"""Machines drawn by hand: those of Figures 1b and 2, larger relatives of them, and awkward ones."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from errands.machines.graph import Edge, MachineGraph, Node
from errands.tables import FAILURE, SUCCESS


def figure_1b() -> MachineGraph:
    edges = (
        Edge(0, 0, "b!", "0"),
        Edge(0, 1, "b↓ ∨ b⤓", "0"),
        Edge(1, 1, "¬s", "0"),
        Edge(1, 2, "s ∧ b⤓", "1"),
        Edge(1, 0, "s ∧ b!", "0"),
    )
    return MachineGraph("Figure 1b: numeric", (Node("u0", initial=True), Node("u1"), Node("u2", SUCCESS)), edges)


def boolean_delivery(count: int) -> MachineGraph:
    """One state per completion order, as Figure 2a draws it for two boxes."""
    boxes = [f"b{i + 1}" for i in range(count)]
    where: dict[tuple[tuple[str, ...], bool], int] = {((), False): 0}
    for length in range(1, count + 1):
        for taken in permutations(boxes, length):
            where[taken, True] = len(where)
        for taken in permutations(boxes, length):
            where[taken, False] = len(where)
    nodes, edges = [], []
    for (taken, loaded), u in where.items():
        over = len(taken) == count and not loaded
        nodes.append(Node(f"u{u}", SUCCESS if over else 0, initial=u == 0))
        left = [box for box in boxes if box not in taken]
        if loaded:
            edges += [Edge(u, where[taken, False], "s", "0" if left else "1"), Edge(u, u, "¬s", "0")]
        elif not over:
            edges += [Edge(u, where[(*taken, box), True], box, "0") for box in left]
            edges.append(Edge(u, u, " ∧ ".join(f"¬{box}" for box in left), "0"))
    return MachineGraph(f"Boolean, {count} boxes", tuple(nodes), tuple(edges))


def delivery(count: int, coupled: bool = False, failure: bool = False) -> MachineGraph:
    """The agenda or coupled machine of Delivery, as Figures 2b and 2c draw them for two boxes."""
    boxes = [f"b{i + 1}" for i in range(count)]
    nodes: list[Node] = []
    at: dict[tuple[tuple[str, ...], bool], list[int]] = {}
    for size in range(count, -1, -1):
        for left in combinations(boxes, size):
            for loaded in (True, False):
                if loaded and size == count:
                    continue
                depth = 2 * (count - size) - loaded
                parts = _objectives(left, loaded, coupled)
                group = len(at) if len(parts) > 1 else None
                at[left, loaded] = list(range(len(nodes), len(nodes) + len(parts)))
                status = 0 if left or loaded else SUCCESS
                nodes += [Node(f"{depth}{{{','.join(left)}}}{x}", status, depth == 0, group) for x in parts]
    edges: list[Edge] = []
    for (left, loaded), places in at.items():
        if loaded:
            edges += [Edge(places[0], u, "s", "0" if left else "1") for u in at[left, False]]
            edges.append(Edge(places[0], places[0], "¬s", "0"))
        else:
            for i, box in enumerate(left):
                here = places[i if coupled else 0]
                edges.append(Edge(here, at[tuple(b for b in left if b != box), True][0], box, "0"))
            for place, own in zip(places, [[b] for b in left] if coupled else [left], strict=False):
                edges += [Edge(place, place, " ∧ ".join(f"¬{b}" for b in own), "0")] if own else []
    if failure:
        edges += [Edge(u, len(nodes), "n", "0") for u, node in enumerate(nodes) if node.status == 0]
        nodes.append(Node("failed", FAILURE))
    kind = "coupled" if coupled else "agenda"
    return MachineGraph(f"Delivery, {count} boxes: {kind}", tuple(nodes), tuple(edges))


def _objectives(left: tuple[str, ...], loaded: bool, coupled: bool) -> list[str]:
    if loaded:
        return ["s"]
    if coupled or len(left) < 2:
        return list(left) or [""]
    return [f"{{{','.join(left)}}}"]


def awkward() -> MachineGraph:
    """Markup in names, parallel edges, an unreachable state, a long way back and a very long name."""
    nodes = (
        Node('<script>alert("x")</script>', initial=True),
        Node("b & c]]>"),
        Node("w" * 70),
        Node("won", SUCCESS),
        Node("lost", FAILURE),
        Node("nowhere"),
    )
    edges = (
        Edge(0, 1, "a < b", "-control_cost"),
        Edge(0, 1, "a > b", "1"),
        Edge(1, 2, "s", "0"),
        Edge(2, 3, '"q"', "1"),
        Edge(2, 0, "r", "0"),
        Edge(2, 1, "x\n\x00y", "0"),
        Edge(0, 4, "f", "-1"),
        Edge(1, 4, "f", "-1"),
        Edge(5, 5, " ∧ ".join(f"¬p{i}" for i in range(20)), "0"),
    )
    return MachineGraph("<b>awkward</b>", nodes, edges)


SAMPLES = {
    "figure-1b": figure_1b(),
    "figure-2a": boolean_delivery(2),
    "figure-2b": delivery(2),
    "figure-2c": delivery(2, coupled=True),
    "boolean-3": boolean_delivery(3),
    "agenda-4": delivery(4),
    "coupled-4": delivery(4, coupled=True),
    "agenda-5": delivery(5),
    "failure": delivery(3, failure=True),
    "awkward": awkward(),
    "empty": MachineGraph("", (), ()),
}


@pytest.fixture(params=SAMPLES.values(), ids=SAMPLES)
def graph(request: pytest.FixtureRequest) -> MachineGraph:
    """Each of the machines in turn."""
    value = request.param
    assert isinstance(value, MachineGraph)
    return value


@pytest.fixture
def samples() -> dict[str, MachineGraph]:
    """All of the machines by name."""
    return SAMPLES
