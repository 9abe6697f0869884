"""Settings and presets of QCoRM+."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.base import LearnerConfig
from errands.learners.engines.deep.config import ENGINE, LONG_HORIZON, NStepConfig
from errands.learners.method import Row


@dataclass(frozen=True)
class QCoRMPlusConfig(LearnerConfig):
    """Settings of QCoRM+; where moves are certain only the first six play a part."""

    gamma: float = 0.99
    """Discount factor, below 1: it is what makes a shorter way worth more."""
    backwards: int = 1 << 12
    """Steps that are learnt again, last first, after every 128 and after each episode in which something changed."""
    passes: int = 50
    """How often at most; it ends when nothing changes any more."""
    corrections: bool = True
    """Whether values by agenda state are kept where landmarks alone promise too much; without them not always exact."""
    landmarks: int = 0
    """Cells with a value table of their own; further ones share that of their features. 0 takes what memory allows."""
    epsilon: float | str = 0.2
    """Probability of a random action in a world whose moves have proved random: a number, or from..to@first,last in steps."""
    replays: int = 32
    """Recent steps learnt from again with each step in a random world."""
    horizon: float = 32.0
    """h of the learning rate (h + 1) / (h + n) in a random world, n counting the updates of a pair; about `replays`."""
    recent: int = 1 << 19
    """How many recent steps are kept for that, and at most of an episode; a power of two."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma >= 1:
            raise ConfigError(f"gamma is {self.gamma}; QCoRM+ needs it below 1, for example 0.99")
        self._schedule("epsilon")
        self._not_negative("backwards", "passes", "landmarks", "horizon", "replays")
        if self.recent < 1 or self.recent & (self.recent - 1):
            raise ConfigError(f"recent is {self.recent}; it must be a power of two, for example {1 << 19}")


@dataclass(frozen=True)
class DeepPlusConfig(NStepConfig):
    """Settings of deep QCoRM+: the agenda enters as a factor on the features of the trunk."""

    contexts: int = 16
    """Machine states drawn for each update, the same for the whole batch; all of them where there are no more."""
    visited: float = 0.0
    """The share of them that is taken from the sampled steps instead of being drawn."""
    leg: float = 0.0
    """Values are divided by those of a plan that takes so many steps per move of the machine: all are then of one size."""
    code_width: int = 64
    """Hidden units of the small network that turns an agenda into a factor."""
    late: int = 0
    """How many of the hidden layers lie behind the factor; they are computed for every machine state drawn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "contexts", "code_width")
        self._not_negative("leg")
        self._probabilities("visited")
        if self.pairs:
            raise ConfigError("QCoRM+ has contexts instead of heads: set contexts, and leave pairs out")
        if not 0 <= self.late < self.depth:
            raise ConfigError(f"late is {self.late}; it must be at least 0 and less than depth, {self.depth}")


TABULAR = ()
TD3_CONTEXTS = 4
"""Agendas drawn per update for TD3, which sends every row through both critics once for each of them."""
DEEP = (
    *ENGINE,
    *LONG_HORIZON,
    # In grids a move of the machine takes about three steps where there are many places, in Water about eight.
    Row({"leg": 3.0, "visited": 0.5}, "tuned", actions="choices", world="table"),
    Row({"leg": 8.0, "late": 1}, "tuned", actions="choices", world="water"),
    Row({"contexts": TD3_CONTEXTS}, actions="numbers"),
)
