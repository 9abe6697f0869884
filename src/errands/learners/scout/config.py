"""Scout's settings."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.base import LearnerConfig


@dataclass(frozen=True)
class ScoutConfig(LearnerConfig):
    """Settings of Scout; none of them has to be tuned."""

    gamma: float = 0.99
    """Discount factor; it matters only where moves are random."""
    eval_every: int = 50
    """Training steps between two evaluations; the last step is always evaluated."""
    replan_every: int = 25
    """New (cell, action) pairs between two looks for a certificate: 1 notices it at once, more costs less time."""
    unique: bool = False
    """Promise that every feature stands on one cell; the certificate comes sooner, and is wrong if the promise is."""
    kicks: int = 10_000
    """Random kicks of the local search that orders many subtasks."""
    prior: float = 20.0
    """Weight, in steps, of what all cells taught about a random action; times a power of 4 that the counts choose."""
    level: int = 5
    """Tries of every action before exploration shares a random world with the greedy policy, episode by episode."""
    host: bool = False
    """Step the Gymnasium environment although the world has tables."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("replan_every", 1), ("kicks", 0), ("prior", 0), ("level", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least {least}")
