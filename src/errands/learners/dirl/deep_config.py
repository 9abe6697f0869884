"""The settings of DiRL with deep edge learners: those of the search and those of DDQN or TD3."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError, UnknownName
from errands.learners import continuous_actions
from errands.learners.deep.config import DeepConfig
from errands.learners.dirl.config import SearchConfig
from errands.tasks.task import Task


@dataclass(frozen=True)
class DeepDiRLConfig(DeepConfig, SearchConfig):
    """Settings of DiRL with DDQN or TD3 on each edge; every edge starts from fresh weights and an empty buffer."""

    full_reward: float = 1.0
    """What is paid at the goal of an edge, after scaling; signals that the machine pays are paid on the way."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.full_reward <= 0:
            raise ConfigError(f"full_reward is {self.full_reward}; it must be positive")


def deep_dirl_preset(preset: str, task: Task) -> DeepDiRLConfig:
    """`paper` has the printed rates and published code's rollouts; `tuned` lets chance fade within an edge's share."""
    if preset not in ("tuned", "paper"):
        raise UnknownName("preset", preset, ("tuned", "paper"))
    paper = {"rollouts": 300, "training_share": 0.38}
    if continuous_actions(task):
        rates = {"gamma": 0.99, "alpha": 3e-4, "polyak": 0.005, "batch": 256, "capacity": 1_000_000, "edge_limit": 500}
        if preset == "paper":
            return DeepDiRLConfig(**rates, **paper, full_reward=1000.0)  # type: ignore[arg-type]
        return DeepDiRLConfig(**rates, full_reward=10.0, reward_scale=0.01, warmup=10_000)  # type: ignore[arg-type]
    if preset == "paper":
        return DeepDiRLConfig(alpha=1e-5, polyak=0.1, epsilon_step=0.01, epsilon_per="episode", **paper)  # type: ignore[arg-type]
    return DeepDiRLConfig(epsilon_step=1e-4)
