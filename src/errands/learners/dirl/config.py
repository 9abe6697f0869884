"""The settings of DiRL: how much is spent on each edge, and the settings of tabular edge learners."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.base import LearnerConfig


@dataclass(frozen=True)
class SearchConfig(LearnerConfig):
    """What is spent on an edge, whoever learns it."""

    edge_steps: int | None = None
    """Training steps for each edge; None shares the total of interactions equally among the edges still to come."""
    rollouts: int = 30
    """Attempts by which the success probability of a learnt edge is estimated."""
    edge_limit: int = 100
    """Steps after which an attempt at an edge is given up."""
    training_share: float = 0.9
    """The part of an edge's share that is trained with; rollouts take at most the rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rollouts", "edge_limit"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.edge_steps is not None and self.edge_steps < 1:
            raise ConfigError(f"edge_steps is {self.edge_steps}; it must be at least 1, or left out to share the total")
        if not 0 < self.training_share < 1:
            raise ConfigError(f"training_share is {self.training_share}; it must lie between 0 and 1")


@dataclass(frozen=True)
class DiRLConfig(SearchConfig):
    """Settings of DiRL with tabular Q-learning on each edge."""

    alpha: float = 1.0
    """Learning rate."""
    epsilon: float = 0.1
    """Probability of a random action while training."""
    q_init: float = 1.0
    """Initial value of every entry of an edge's table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")
