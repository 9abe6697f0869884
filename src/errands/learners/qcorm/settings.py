"""Settings and presets of QCoRM and QCoRM-0, with every choice that the paper leaves open as a field."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from errands.errors import ConfigError
from errands.learners.base import LearnerConfig
from errands.learners.engines.deep.config import ENGINE, FULL, LONG_HORIZON, DeepConfig, NStepConfig
from errands.learners.method import Row

DELTAS = ("episode", "gated", "printed")
FIRST = "first"
XI_UNITS = ("choices", "steps", "episodes")
"""What a schedule of xi counts, the first unless its text says the other; the paper says neither."""
GROUND_CAPACITY = 1_024
"""Grounding transitions that QCoRM's own buffer holds."""
_CHOICES = {
    "delta": DELTAS,
    "shortest": ("ratchet", "mean"),
    "best_durations": ("objective", "coupled"),
    "failed": ("length", "fading"),
}


def start_of(value: float | str) -> float:
    """The number that K_mi or K_op begins with; infinite where the first episode that counts sets it."""
    return math.inf if value == FIRST else float(value)


class TheoremConfig(LearnerConfig):
    """What both forms read of Theorem 1's reward in the same way."""

    def _check_theorem(self) -> None:
        given: Any = self
        for name in ("shortest_start", "best_duration_start"):
            value = getattr(given, name)
            if value != FIRST and not (isinstance(value, (int, float)) and 0 <= value < math.inf):
                raise ConfigError(f"{name} is {value!r:.60}; write a number of steps, or {FIRST!r} for the first that counts")
        if given.full_reward <= 0 or given.min_step_reward > 0:
            raise ConfigError("full_reward must be positive and min_step_reward not positive, as Theorem 1 assumes")


@dataclass(frozen=True)
class QCoRMConfig(TheoremConfig):
    """Settings of QCoRM and, with joint=False, of QCoRM-0."""

    alpha: float = 1e-6
    """Learning rate of the low-level policies."""
    epsilon: float | str = 0.1
    """Probability of a random action while training: a number, or from..to@first,last in steps."""
    q_init: float = 0.0
    """Initial value of every entry of the table."""
    alpha_eta: float = 0.05
    """Learning rate of the steps to go."""
    alpha_k: float = 0.005
    """Learning rate of the running shortest episode and best durations."""
    xi: float | str = "1.0..0.1@0,900"
    """Probability of exploring the order: a number, or from..to@first,last in choices of a coupled state, steps or episodes."""
    joint: bool = True
    """Pay the reward of Theorem 1 for a completed subtask; without it (QCoRM-0) the full reward."""
    delta: Literal["episode", "gated", "printed"] = "episode"
    """Theorem 1's delta K, never below 0: K - K_mi; the printed max(K_op - K^tau, K - K_mi) only where K > K_mi; or always."""
    shortest_start: float | Literal["first"] = "first"
    """K_mi before any episode counts: steps, or the first that counts sets it."""
    best_duration_start: float | Literal["first"] = "first"
    """K_op before any completion counts, in the same way; the paper gives neither."""
    full_reward: float = 1.0
    """The reward of a completed subtask."""
    min_step_reward: float = 0.0
    """The smallest reward of a step, as Theorem 1 needs it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha", "alpha_eta", "alpha_k")
        self._schedule("epsilon")
        self._schedule("xi", XI_UNITS)
        self._check_theorem()
        self._choices({"delta": DELTAS})


@dataclass(frozen=True)
class CoupledConfig(DeepConfig):
    """Settings that deep QCoRM and QCoRM-0 share."""

    full_reward: float = 1.0
    """The reward of a completed subtask, after scaling."""
    ground_batch: int = 8
    """Rows of the buffer of grounding transitions which join each update."""
    ground_replay: Literal["always", "once", "episode"] = "always"
    """Sampled in every update; each of them once when its episode has ended; or sampled for one update after each episode."""
    relabel: bool = True
    """Learn from each step for every objective, as if it were open, rather than for those that are."""
    alpha_eta: float = 0.05
    """Learning rate of the steps to go."""
    xi: float | str = "1.0..0.1@0,900"
    """Probability of exploring the order: a number, or from..to@first,last in choices of an objective, steps or episodes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha_eta")
        self._positive("full_reward")
        self._schedule("xi", XI_UNITS)
        self._choices({"ground_replay": ("always", "once", "episode")})
        if not 1 <= self.ground_batch <= GROUND_CAPACITY:
            raise ConfigError(f"ground_batch is {self.ground_batch}; it must lie between 1 and {GROUND_CAPACITY:,}")

    @property
    def dedicated(self) -> bool:
        """Whether grounding transitions wait in a buffer of their own: Theorem 1 rewards them at the end of an episode."""
        return True


@dataclass(frozen=True)
class DeepQCoRM0Config(CoupledConfig, NStepConfig):
    """Settings of deep QCoRM-0, which pays the full reward for a completed subtask."""

    dedicated: bool = True
    """Grounding transitions wait in a buffer of their own for the end of the episode; else they are learnt from at once."""


@dataclass(frozen=True)
class DeepQCoRMConfig(CoupledConfig, TheoremConfig):
    """Settings of deep QCoRM, which pays the reward of Theorem 1."""

    min_step_reward: float = 0.0
    """The smallest reward of a step after scaling, as Theorem 1 needs it."""
    alpha_k: float = 0.05
    """Learning rate of the running shortest episode and best durations."""
    delta: Literal["episode", "gated", "printed"] = "episode"
    """Theorem 1's delta K, never below 0: K - K_mi; the printed max(K_op - K^tau, K - K_mi) only where K > K_mi; or always."""
    shortest: Literal["ratchet", "mean"] = "mean"
    """K_mi moves towards exploited successful episodes that are no longer than it, or is the running mean of all of them."""
    best_durations: Literal["objective", "coupled"] = "objective"
    """Whether K_op is kept for each objective, or for each in each machine state."""
    shortest_start: float | Literal["first"] = "first"
    """K_mi before any episode counts: steps, or the first that counts sets it."""
    best_duration_start: float | Literal["first"] = "first"
    """K_op before any completion counts, in the same way; the paper gives neither."""
    floor: float | None = None
    """The least share of the full reward that a completion is paid; None sets no bound, as printed."""
    failed: Literal["length", "fading"] = "length"
    """What completions of failed episodes are paid: by the episode's length, or less with each success."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha_k", "floor")
        self._choices(_CHOICES)
        self._check_theorem()


TABULAR = (
    Row({"joint": False}, method="qcorm-0"),
    Row({"alpha": 1e-5, "alpha_eta": 0.005, "alpha_k": 0.005}, "paper"),
    Row({"epsilon": 0.3}, "tuned", "qcorm", world="office"),
    Row(lambda facts: {"alpha": 1.0 if facts.certain else 0.1, "q_init": 1.0}, "tuned", "qcorm-0"),
    Row({"alpha_eta": 0.2}, "tuned", "qcorm-0", world="office"),
)
COST = 0.6
"""The largest control cost of a step of HalfCheetah: 0.1 times six squared actions of size 1."""
DEEP = (
    *ENGINE,
    *(replace(row, method="qcorm-0") for row in LONG_HORIZON),
    Row({"alpha_eta": 0.005, "relabel": False, "ground_replay": "once"}, "paper"),
    Row({"shortest": "ratchet"}, "paper", "qcorm"),
    # Where an episode can fail: K_mi as the text has it keeps ways short, fading pay for failures keeps them.
    Row({"shortest": "ratchet", "failed": "fading"}, "tuned", "qcorm", "choices", "water"),
    # A constant reward need not wait for the end of the episode.
    Row({"dedicated": False}, "tuned", "qcorm-0"),
    Row({"ground_batch": 32}, actions="numbers"),
    Row(lambda facts: {"full_reward": facts.largest_reward}, "paper", actions="numbers"),
    Row({"full_reward": FULL}, "tuned", actions="numbers"),
    # Completions wait for the end of the episode, and those of explored choices teach nothing. With a choice or two in a
    # thousand steps exploring that falls per choice goes on and on, and who is paid for nothing stands still.
    Row({"xi": "1.0..0.1@0,900 steps"}, method="qcorm", actions="numbers"),
    Row({"xi": "1.0..0.1@0,900 steps"}, "paper", "qcorm-0", "numbers"),
    # In the scale of the rewards that are learnt from, not of those that the machine pays.
    Row({"min_step_reward": -COST}, "paper", "qcorm", world="cheetah"),
    Row(lambda facts: {"min_step_reward": -COST * FULL / facts.largest_reward}, "tuned", "qcorm", world="cheetah"),
    # The term with r_mi can fall far below 0, which teaches the robot to avoid the places it should go to.
    Row({"floor": 0.0}, "tuned", "qcorm", "numbers"),
)
