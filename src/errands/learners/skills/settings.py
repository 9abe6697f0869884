"""Settings and presets of Skills."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.engines.deep.config import LadderConfig
from errands.learners.method import Row


@dataclass(frozen=True)
class SkillsConfig(LadderConfig):
    """Settings of Skills; steps count those of all copies of the world."""

    eval_every: int = 524_288
    envs: int = 128
    """Copies of the world that step at once, each on a map of its own."""
    rollout: int = 16
    errands: int = 4
    """Errands that a step teaches: the one that is pursued, and others drawn at random."""
    alpha: float | str = "0.001..0.00002@0,4194304"
    embed: int = 32
    """Numbers in which the network keeps what it knows of a thing."""
    width: int = 96
    average: float = 0.002
    epsilon_high: float = 0.4
    most: int = 6
    """Features that an errand of training asks for at once; where a machine has more open, their order is planned."""
    imagined: int = 512
    """Episodes imagined, in the rules of the world, whenever the machine's state is new; 0 acts by the network alone."""
    cut: int = 160
    """Steps of a copy on a map; its errands follow one another."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "errands", "embed", "most")
        self._not_negative("imagined")


PRESETS = (
    # One at a time with the next two in sight: beyond that an order is planned.
    Row({"most": 1}, world="zones"),
    Row({"most": 12, "gamma": 0.95, "cut": 60}, world="letters"),
)
