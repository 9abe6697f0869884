"""Settings and presets of PPO."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.engines.deep.config import ON_HOST, CopiesConfig
from errands.learners.method import Row


@dataclass(frozen=True)
class PPOConfig(CopiesConfig):
    """Settings of PPO; steps count those of all environments."""

    trace: float = 0.95
    """Lambda of the advantages: the share of what was done next in them; the rest is the value of what follows."""
    epochs: int = 4
    """Passes over the steps just taken."""
    clip: float = 0.2
    """How far an action's probability may move, as a share of what it was, before moving on earns nothing more."""
    entropy: float = 0.01
    """What the entropy of the policy earns, so that it keeps exploring."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "epochs")
        self._positive("clip")
        self._not_negative("entropy")


PRESETS = (Row({"minibatches": 8, "alpha": "0.001..0.00001@0,1000000"}, world="water"), *ON_HOST)
