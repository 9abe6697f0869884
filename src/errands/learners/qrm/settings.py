"""Settings and presets of QRM and CRM."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.base import LearnerConfig
from errands.learners.engines.deep.config import ENGINE, LONG_HORIZON
from errands.learners.method import Row


@dataclass(frozen=True)
class QRMConfig(LearnerConfig):
    """Settings of QRM and CRM."""

    alpha: float = 1.0
    """Learning rate."""
    epsilon: float | str = 0.1
    """Probability of a random action while training: a number, or from..to@first,last in steps."""
    q_init: float = 0.0
    """Initial value of every entry of the table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha")
        self._schedule("epsilon")


TABULAR = (
    Row({"alpha": 1e-5}, "paper"),
    Row(lambda facts: {"alpha": 1.0 if facts.certain else 0.1}, "tuned"),
    Row({"q_init": 1.0}, "tuned", when=lambda facts: facts.task.world.kind != "visit"),
    Row({"q_init": 1.0}, "tuned", "crm"),
    Row({"epsilon": 0.3}, "tuned", "qrm", world="visit"),
)
DEEP = (*ENGINE, *LONG_HORIZON)
