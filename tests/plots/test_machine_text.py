"""The listing for the terminal."""

from __future__ import annotations

from errands.machines.graph import MachineGraph
from errands.plots.machine_text import as_text
from errands.plots.measure import clean

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
