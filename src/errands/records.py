"""The rows that a run leaves behind: evaluations, and what was run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One greedy episode after `step` training steps; its own steps are counted apart."""

    step: int
    episode_length: int
    total_reward: float
    success: bool
