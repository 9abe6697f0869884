"""The label <depth, remaining, objective> of a state in an agenda or coupled machine (Definition 3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """How deep a state lies, which subtasks remain, and what must become true next; printed `0{b1,b2}b1`."""

    depth: int
    remaining: tuple[str, ...]
    objective: tuple[str, ...]
    """One name, several that are open at once, or none where the task has ended."""

    def __str__(self) -> str:
        objective = ",".join(self.objective)
        return f"{self.depth}{{{','.join(self.remaining)}}}" + (
            f"{{{objective}}}" if len(self.objective) > 1 else objective
        )
