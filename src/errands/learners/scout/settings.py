"""Settings and presets of Scout."""

from __future__ import annotations

from dataclasses import dataclass

from errands.learners.base import LearnerConfig
from errands.learners.method import Facts, Row


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
    delta: float = 0.05
    """Where moves are random: how likely the claim may be wrong."""
    law: str = "test"
    """Whether moves slip by one law: `test` it (a drawn grid promises it), `one` is a promise, `none` asks each pair by itself."""
    host: bool = False
    """Step the Gymnasium environment although the world has tables."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "replan_every", "level")
        self._not_negative("kicks", "prior")
        self._choices({"law": ("test", "one", "none")})
        self._require("lie above 0 and below 1", lambda value: 0 < value < 1, ("delta",))


def _stepped(facts: Facts) -> bool:
    return facts.task.finite is None and not facts.task.certain


TABULAR = (
    # An evaluation is twenty episodes of the environment itself where nothing tells what would come of them.
    Row({"eval_every": 1_000}, when=_stepped),
)
