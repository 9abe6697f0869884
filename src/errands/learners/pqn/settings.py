"""Settings and presets of PQN."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.engines.deep.config import ON_HOST, CopiesConfig, LadderConfig, on_host
from errands.learners.method import Row


@dataclass(frozen=True)
class PQNConfig(CopiesConfig, LadderConfig):
    """Settings of PQN; steps count those of all environments."""

    revisit: float = 0.0
    """Share of episodes that follow the shortest way found so far, up to somewhere on it, and go on from there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("revisit")


PRESETS = (
    Row({"trace": 0.9, "minibatches": 8, "alpha": "0.001..0.00001@0,1000000", "gamma": 0.95, "revisit": 0.5}, world="water"),
    *ON_HOST,
    Row({"trace": 0.9, "minibatches": 10}, when=on_host),
)
