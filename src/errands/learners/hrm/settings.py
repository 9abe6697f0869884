"""Settings and presets of HRM."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.engines.deep.config import ENGINE, FULL, LONG_HORIZON, NStepConfig
from errands.learners.method import Row
from errands.learners.qrm.settings import QRMConfig


@dataclass(frozen=True)
class HRMConfig(QRMConfig):
    """Settings of HRM; alpha, epsilon and q_init are those of the options."""

    alpha: float = 0.5
    """Learning rate of the options."""
    alpha_controller: float = 0.5
    """Learning rate of the controller."""
    epsilon_controller: float = 0.1
    """Probability that the controller takes a random option."""
    option_limit: int = 200
    """Steps after which an option ends although its transition did not happen."""
    full_reward: float = 1.0
    """What an option is paid for making its transition happen, besides the machine's rewards of its steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha_controller", "epsilon_controller")
        self._at_least(1, "option_limit")
        self._positive("full_reward")


@dataclass(frozen=True)
class DeepHRMConfig(NStepConfig):
    """Settings of deep HRM; those above are of the options."""

    full_reward: float = 1.0
    """What an option is paid for making its transition happen, after scaling."""
    option_limit: int = 200
    """Steps after which an option ends although its transition did not happen."""
    epsilon_controller: float = 0.1
    """Probability that the controller takes a random option."""
    controller_capacity: int = 10_000
    """Ended options that the controller's buffer holds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("full_reward", "option_limit", "controller_capacity")
        self._probabilities("epsilon_controller")


TABULAR = (
    Row({"alpha": 1e-5, "alpha_controller": 1e-5}, "paper"),
    Row(lambda facts: dict.fromkeys(("alpha", "alpha_controller"), 0.5 if facts.certain else 0.05), "tuned"),
)
DEEP = (
    *ENGINE,
    *LONG_HORIZON,
    Row(lambda facts: {"full_reward": facts.largest_reward}, "paper", actions="numbers"),
    Row({"full_reward": FULL}, "tuned", actions="numbers"),
)
