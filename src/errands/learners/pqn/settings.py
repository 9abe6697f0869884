"""Settings and presets of PQN."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.engines.deep.config import ON_HOST, CopiesConfig, LadderConfig, on_host
from errands.learners.method import Row


@dataclass(frozen=True)
class PQNConfig(CopiesConfig, LadderConfig):
    """Settings of PQN; steps count those of all environments."""

    roam: float = 0.0
    """Share of copies that go on in a random machine state where their task has succeeded, so that every order is seen."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("roam")


PRESETS = (
    Row({"trace": 0.9, "minibatches": 8, "alpha": "0.001..0.00001@0,1000000"}, world="water"),
    *ON_HOST,
    Row({"trace": 0.9, "minibatches": 10}, when=on_host),
)
