"""What a learnt tabular policy is to the oracle: a deterministic choice with a small memory."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol


class Policy(Protocol):
    """Chooses by world state, agenda state and its own memory (an option in hand, a completion order, or nothing)."""

    def act(self, world_state: int, machine_state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        """The action, and the memory to hand back at the next step; memory is None at the start of an episode.

        machine_state is (index of the numeric state, bit mask of remaining subtasks) as in machines.Stepper.
        """
        ...
