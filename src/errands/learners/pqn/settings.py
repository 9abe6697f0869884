"""Settings and presets of PQN."""

from __future__ import annotations

from dataclasses import dataclass

from errands.errors import ConfigError
from errands.learners.engines.deep.config import EngineConfig
from errands.learners.method import Row


@dataclass(frozen=True)
class PQNConfig(EngineConfig):
    """Settings of PQN; steps count those of all environments."""

    gamma: float = 0.97
    """Discount factor."""
    eval_every: int = 50_000
    """Training steps between two evaluations; the last step is always evaluated."""
    envs: int = 50
    """Copies of the world that step at once."""
    rollout: int = 20
    """Steps of each copy to one pass over all of them."""
    minibatches: int = 4
    """Parts of a pass, with one update each."""
    trace: float = 0.65
    """Lambda, the share of what was done next in the target of a step; the rest is the value of what is best there."""
    alpha: float | str = "0.0005..0.00001@0,1000000"
    """Step size of Adam: a number, or from..to@first,last in steps."""
    width: int = 64
    """Units of each hidden layer."""
    depth: int = 2
    """Hidden layers."""
    average: float = 0.0025
    """How far the averaged weights, which act in evaluations, follow in each update."""
    epsilon_low: float = 0.02
    """Probability of a random action in the first copy; the copies between have equal ratios."""
    epsilon_high: float = 0.5
    """The same in the last one."""
    elsewhere: float = 0.5
    """Share of episodes that begin in a random machine state, as far as the world allows it."""
    roam: float = 0.0
    """Share of copies that go on in a random machine state where their task has succeeded, so that every order is seen."""
    cut: int = 120
    """Steps after which an episode of training is cut off, if its world does not do it before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._schedule("alpha")
        self._at_least(1, "envs", "rollout", "minibatches", "width", "depth", "cut")
        self._probabilities("trace", "average", "epsilon_low", "epsilon_high", "elsewhere", "roam")
        self._positive("epsilon_low")
        if self.epsilon_high < self.epsilon_low:
            raise ConfigError(f"epsilon_high is {self.epsilon_high}; it must be at least epsilon_low, {self.epsilon_low}")
        if self.step_multiple % self.minibatches:
            raise ConfigError(f"minibatches is {self.minibatches}; it must divide envs x rollout, {self.step_multiple}")
        if self.eval_every % self.step_multiple:
            raise ConfigError(f"eval_every is {self.eval_every}; it must be a multiple of envs x rollout, {self.step_multiple}")

    @property
    def step_multiple(self) -> int:
        """A rollout of every environment."""
        return self.envs * self.rollout


PRESETS = (Row({}, world="water"),)
