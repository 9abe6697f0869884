"""Settings and presets of DiRL: what is spent on each edge, and those of tabular and of deep edge learners."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.base import LearnerConfig
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.method import Row
from errands.learners.qrm.settings import QRMConfig


@dataclass(frozen=True)
class SearchConfig(LearnerConfig):
    """What is spent on an edge, whoever learns it."""

    edge_steps: int | None = None
    """Training steps for each edge; None shares the total of interactions equally among the edges still to come."""
    rollouts: int = 30
    """Attempts by which the success probability of a learnt edge is estimated."""
    # An attempt's limit is not the episode's: an edge is a small part of a task.
    edge_limit: int = 100
    """Steps after which an attempt at an edge is given up."""
    training_share: float = 0.9
    """The part of an edge's share that is trained with; rollouts take at most the rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "rollouts", "edge_limit")
        if self.edge_steps is not None and self.edge_steps < 1:
            raise ConfigError(f"edge_steps is {self.edge_steps}; it must be at least 1, or left out to share the total")
        if not 0 < self.training_share < 1:
            raise ConfigError(f"training_share is {self.training_share}; it must lie between 0 and 1")


@dataclass(frozen=True)
class DiRLConfig(QRMConfig, SearchConfig):
    """Settings of DiRL with tabular Q-learning on each edge; a schedule of epsilon counts the steps of an edge."""

    q_init: float = 1.0
    """Initial value of every entry of an edge's table."""


@dataclass(frozen=True)
class DeepDiRLConfig(DeepConfig, SearchConfig):
    """Settings of DiRL with DDQN or TD3 on each edge; every edge starts from fresh weights and an empty buffer."""

    full_reward: float = 1.0
    """What is paid at the goal of an edge, after scaling; signals that the machine pays are paid on the way."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("full_reward")
        for name, only in (("learn_every", 1), ("standardise", False), ("envs", 1)):
            if getattr(self, name) != only:
                raise ConfigError(f"{name} is {getattr(self, name)}; 'dirl' has no such thing, so leave it out")


TABULAR = (
    Row({"alpha": 1e-5, "q_init": 0.0, "rollouts": 300, "training_share": 0.38}, "paper"),
    Row(lambda facts: {"alpha": 1.0 if facts.certain else 0.1}, "tuned"),
)
DEEP = (
    # Published code spends about 62 % of all interactions on rollouts, which its own counts leave out.
    Row({"rollouts": 300, "training_share": 0.38}, "paper"),
    Row({"alpha": 1e-5, "polyak": 0.1, "epsilon": "1.0..0.1@0,90 episodes"}, "paper", actions="choices"),
    # Chance fades within an edge's share.
    Row({"epsilon": "1.0..0.1@0,9000"}, "tuned", actions="choices"),
    Row({"gamma": 0.99, "alpha": 3e-4, "polyak": 0.005, "batch": 256, "capacity": 1_000_000, "edge_limit": 500}, actions="numbers"),
    Row({"full_reward": 1000.0}, "paper", actions="numbers"),
    # The same reward at another scale: 1000 at the goal times 0.01 is 10, and signals on the way are scaled alike.
    Row({"full_reward": 10.0, "reward_scale": 0.01, "warmup": 10_000}, "tuned", actions="numbers"),
)
