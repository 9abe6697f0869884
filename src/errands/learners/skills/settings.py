"""Settings and presets of Skills."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.engines.deep.config import EngineConfig
from errands.learners.method import Row


@dataclass(frozen=True)
class SkillsConfig(EngineConfig):
    """Settings of Skills; steps count those of all copies of the world."""

    gamma: float = 0.97
    """Discount factor."""
    eval_every: int = 524_288
    """Training steps between two evaluations; the last step is always evaluated."""
    envs: int = 128
    """Copies of the world that step at once, each on a map of its own."""
    rollout: int = 16
    """Steps of each copy to one pass over all of them."""
    errands: int = 4
    """Errands that a step teaches: the one that is pursued, and others drawn at random."""
    minibatches: int = 4
    """Parts of a pass, with one update each."""
    trace: float = 0.65
    """Lambda, the share of what was done next in the target of a step; the rest is the value of what is best there."""
    alpha: float | str = "0.001..0.00002@0,4194304"
    """Step size of Adam: a number, or from..to@first,last in steps."""
    embed: int = 32
    """Numbers in which the network keeps what it knows of a thing."""
    width: int = 96
    """Units of each hidden layer behind them."""
    depth: int = 2
    """Hidden layers behind them."""
    average: float = 0.002
    """How far the averaged weights, which act in evaluations, follow in each update."""
    epsilon_low: float = 0.02
    """Probability of a random action in the first copy; the copies between have equal ratios."""
    epsilon_high: float = 0.4
    """The same in the last one."""
    most: int = 6
    """Features that an errand of training asks for at once; where a machine has more open, their order is planned."""
    cut: int = 160
    """Steps of a copy on a map; its errands follow one another."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._schedule("alpha")
        self._at_least(1, "envs", "rollout", "errands", "minibatches", "embed", "width", "depth", "most", "cut")
        self._probabilities("trace", "average", "epsilon_low", "epsilon_high")
        self._positive("epsilon_low")
        if self.epsilon_high < self.epsilon_low:
            raise ConfigError(f"epsilon_high is {self.epsilon_high}; it must be at least epsilon_low, {self.epsilon_low}")
        if self.step_multiple % self.minibatches:
            raise ConfigError(f"minibatches is {self.minibatches}; it must divide envs x rollout, {self.step_multiple}")
        if self.eval_every % self.step_multiple:
            raise ConfigError(f"eval_every is {self.eval_every}; it must be a multiple of envs x rollout, {self.step_multiple}")

    @property
    def step_multiple(self) -> int:
        """A rollout of every copy."""
        return self.envs * self.rollout


PRESETS = (
    # One at a time with the next two in sight: beyond that an order is planned.
    Row({"most": 1}, world="zones"),
    Row({"most": 12, "gamma": 0.95, "cut": 60}, world="letters"),
)
