"""Settings and presets that all learners with networks share (Section 5, Parameters)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from errands.errors import ConfigError, TaskError
from errands.learners.base import LearnerConfig
from errands.learners.method import Facts, Row
from errands.worlds.spaces import observation_encoder

# Literal types are checked by type checkers only, and settings may come from a file.
_CHOICES = {
    "network": ("heads", "one-hot", "conv"),
    "vector": ("sync", "async"),
}
EPSILON_UNITS = ("steps", "episodes")
"""What a schedule of epsilon counts, the first unless its text says the other; the paper says neither."""
MAX_ENVS = 250
"""Environments of a seed: no more than half a chunk of random numbers."""


@dataclass(frozen=True)
class EngineConfig(LearnerConfig):
    """Settings that everything with networks has."""

    eval_every: int = 10_000
    """Training steps between two evaluations; the last step is always evaluated."""
    eval_episodes: int | None = None
    """Greedy episodes of an evaluation, reported as means with intervals; None: one where it says everything, else 20."""
    platform: Literal["any", "cpu", "gpu"] = "any"
    """Where the arrays live; `any` takes the GPU where there is one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "eval_episodes")
        self._choices({"platform": ("any", "cpu", "gpu")})


@dataclass(frozen=True)
class BatchedConfig(EngineConfig):
    """Settings of learners that step many copies of a world at once, without replay; steps count those of all copies."""

    gamma: float = 0.97
    """Discount factor."""
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
    cut: int = 120
    """Steps after which an episode of training is cut off, if its world does not do it before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._schedule("alpha")
        self._at_least(1, "envs", "rollout", "minibatches", "width", "depth", "cut")
        self._probabilities("trace", "average")
        if self.step_multiple % self.minibatches:
            raise ConfigError(f"minibatches is {self.minibatches}; it must divide envs x rollout, {self.step_multiple}")
        if self.eval_every % self.step_multiple:
            raise ConfigError(f"eval_every is {self.eval_every}; it must be a multiple of envs x rollout, {self.step_multiple}")

    @property
    def step_multiple(self) -> int:
        """A rollout of every copy."""
        return self.envs * self.rollout


@dataclass(frozen=True)
class CopiesConfig(BatchedConfig):
    """Settings of PQN and PPO."""

    eval_every: int = 50_000
    elsewhere: float = 0.5
    """Share of episodes that begin in a random machine state, as far as the world allows it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("elsewhere")


def on_host(facts: Facts) -> bool:
    """Whether the world is stepped on the host, where a few copies are as quick as many."""
    return facts.task.finite is None and facts.task.batched is None


def _falling(facts: Facts) -> dict[str, Any]:
    """A step size that falls over the run; whoever trains further keeps its end, or sets another."""
    return {"alpha": f"0.001..0.00005@0,{facts.steps}"}


ON_HOST = (
    Row({"gamma": 0.99, "envs": 8, "rollout": 25, "width": 128, "average": 0.02, "cut": 1_000, "eval_every": 10_000}, when=on_host),
    Row(_falling, when=on_host),
)
"""Presets of PQN and PPO on environments."""


@dataclass(frozen=True)
class LadderConfig(BatchedConfig):
    """Settings of those that explore by random actions, each copy with a probability of its own."""

    epsilon_low: float = 0.02
    """Probability of a random action in the first copy; the copies between have equal ratios."""
    epsilon_high: float = 0.5
    """The same in the last one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("epsilon_low", "epsilon_high")
        self._positive("epsilon_low")
        if self.epsilon_high < self.epsilon_low:
            raise ConfigError(f"epsilon_high is {self.epsilon_high}; it must be at least epsilon_low, {self.epsilon_low}")


@dataclass(frozen=True)
class DeepConfig(EngineConfig):
    """Settings that learners with a replay buffer have."""

    alpha: float = 1e-4
    """Step size of Adam."""
    polyak: float = 0.01
    """How far the target network follows in each of its moves."""
    target_every: int = 1
    """Steps between two moves of the target network; Stable-Baselines3's DQN, on which the paper builds, has 10,000."""
    batch: int = 32
    """Environment steps sampled for an update; each is expanded over all heads."""
    pairs: bool = False
    """Whether a sampled step teaches one of its heads, as a buffer of single experiences would, instead of all of them."""
    learn_every: int = 1
    """Environment steps to one update, where environments are stepped on the host."""
    capacity: int = 50_000
    """Environment steps that the replay buffer holds."""
    warmup: int = 100
    """Environment steps before the first update; TD3 acts at random until then."""
    width: int = 512
    """Units of each hidden layer."""
    depth: int = 3
    """Hidden layers."""
    network: Literal["heads", "one-hot", "conv"] = "heads"
    """A trunk with a head per objective or machine state, the paper's one-hot input, or heads behind a convolution (pictures)."""
    standardise: bool = False
    """Whether observations are shifted and scaled by mean and deviation of those learnt from; pictures channel by channel."""
    epsilon: float | str = "1.0..0.1@0,30000"
    """Probability of a random action (DDQN): a number, or from..to@first,last in steps or, with that word behind it, episodes."""
    explore_steps: int | str = 1
    """Steps for which a random action (DDQN) or noise (TD3) is kept; 1..16: one of 1, 2, 4, 8 or 16, anew every hundred steps."""
    action_noise: float = 0.1
    """Standard deviation of the noise on actions while training, for actions in [-1, 1] (TD3)."""
    random_actions: float = 0.0
    """Probability of a random action instead of a noisy one (TD3)."""
    action_cost: float = 0.0
    """What the actor pays for the square of its outputs before they are bent into [-1, 1], lest all end at a bound (TD3)."""
    reward_scale: float = 1.0
    """What the machine's rewards are multiplied with before they are learnt from."""
    envs: int = 1
    """Environments of a seed that step at once, where the world is a Gymnasium environment; steps count those of all."""
    vector: Literal["sync", "async"] = "sync"
    """Whether several environments step one after the other in this process, or each in a process of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probabilities("alpha", "polyak", "random_actions")
        self._schedule("epsilon", EPSILON_UNITS)
        self._at_least(1, "batch", "capacity", "width", "depth", "warmup", "learn_every", "target_every")
        if re.fullmatch(r"(1\.\.)?[1-9][0-9]{0,8}", words := str(self.explore_steps)) is None:
            raise ConfigError(f"explore_steps is {words[:60]}; write a number of steps, or 1..16 for lengths up to 16")
        object.__setattr__(self, "explore_steps", int(words) if words.isdigit() else words)
        self._not_negative("action_noise", "action_cost")
        self._positive("reward_scale")
        self._choices(_CHOICES)
        self._check_envs()

    @property
    def step_multiple(self) -> int:
        """A step of each environment."""
        return self.envs

    @property
    def n_steps(self) -> int:
        """Steps whose rewards are added up before the value of what follows counts."""
        return 1

    @property
    def bound_values(self) -> bool:
        """Whether targets are kept between the least and the most that the machine can pay from there."""
        return False

    @property
    def exploring(self) -> tuple[int, bool]:
        """The most steps for which a random action is kept, and whether their number is drawn anew now and then."""
        words = str(self.explore_steps)
        return int(words.removeprefix("1..")), not words.isdigit()

    def target_moves(self, step: Any) -> Any:
        """Whether the target network follows in the update of this step."""
        stride = max(self.learn_every, self.envs)
        return self.target_every <= stride or step % self.target_every < stride

    def _check_envs(self) -> None:
        most = min(MAX_ENVS, self.capacity)
        if not 1 <= self.envs <= most:
            raise ConfigError(f"envs is {self.envs}; it must lie between 1 and {most}")
        if self.learn_every % self.envs and self.envs % self.learn_every:
            raise ConfigError(
                f"learn_every is {self.learn_every} and envs is {self.envs}; let one be a multiple of the other"
            )
        if self.eval_every % self.envs:
            wanted = -(-self.eval_every // self.envs) * self.envs
            raise ConfigError(
                f"eval_every is {self.eval_every}, no multiple of envs = {self.envs}; set eval_every={wanted}"
            )


@dataclass(frozen=True)
class NStepConfig(DeepConfig):
    """Settings of learners whose targets are the machine's alone; QRM and CRM need no others."""

    n_steps: int = 1
    """Steps whose rewards are added up before the value of what follows counts; fewer where the episode is over."""
    bound_values: bool = False
    """Whether targets are kept between the least and the most that the machine can pay from there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least(1, "n_steps")
        if (self.n_steps - 1) * self.envs >= self.capacity:
            raise ConfigError(
                f"n_steps is {self.n_steps}; the rows of so many steps do not fit into capacity, {self.capacity}"
            )


GRID = {"width": 128, "alpha": 3e-4, "epsilon": "1.0..0.1@0,9000"}
"""Cells come as one-hot rows, for which a smaller network and larger steps do."""
CUSTOM_ENV = {
    "gamma": 0.99,
    "alpha": 5e-4,
    "polyak": 0.005,
    "width": 128,
    "depth": 2,
    "batch": 64,
    "explore_steps": "1..16",
    "standardise": True,
}
"""DDQN on users' environments, whose episodes are mostly longer than Water's and whose observations are shorter."""
EXPLORED, LEAST_EXPLORED = 0.4, 8_000
"""The share of a run over which epsilon falls on users' environments, and the steps that it takes at least."""
PICTURES = {"network": "conv", "learn_every": 4, "explore_steps": 2}
"""What pictures change about it: convolutions take long."""
SMALLEST_PICTURE = 5
"""Pixels of the shorter side from which on a convolution is used."""
MAX_BUFFER_NUMBERS = 2**28
"""Numbers of observations that a buffer holds at most, unless 10,000 steps need more: 1 GiB."""
CUSTOM_ENV_TD3 = {
    "width": 128,
    "depth": 2,
    "batch": 64,
    "warmup": 1_000,
    "explore_steps": 8,
    "action_noise": 0.3,
    "random_actions": 0.2,
    "action_cost": 0.05,
    "standardise": True,
}
"""TD3 on users' environments, where all that is paid may come at the end: it has to be found before it can be learnt."""
FULL = 10.0
"""What the largest constant reward of the machine is scaled to for TD3."""


def _explored(facts: Facts) -> dict[str, Any]:
    """A schedule that knows how long the run is; whoever trains further keeps it, or sets another."""
    return {"epsilon": f"1.0..0.05@0,{max(LEAST_EXPLORED, round(EXPLORED * facts.steps))}"}


def _observed(facts: Facts) -> dict[str, Any]:
    """What a user's observations change: pictures are worth a convolution, and the longer a row, the fewer are kept."""
    env = facts.task.world.env()
    try:
        seen = observation_encoder(env.observation_space)
    except TaskError:
        return {}
    finally:
        env.close()
    pictures = seen.image is not None and min(seen.image[:2]) >= SMALLEST_PICTURE
    most = 50_000 if pictures else 200_000
    return (PICTURES if pictures else {}) | {"capacity": max(10_000, min(most, MAX_BUFFER_NUMBERS // (2 * seen.size)))}


ENGINE = (
    # The paper says that epsilon falls by 0.01 but not per what: per episode, else exploring would end after 90 steps. Its
    # buffer and batch, times the number of objectives or states, are ours of one: rows are expanded when sampled.
    Row({"alpha": 1e-5, "polyak": 0.1, "epsilon": "1.0..0.1@0,90 episodes"}, "paper", actions="choices"),
    Row(GRID, "tuned", actions="choices", world="table"),
    Row(CUSTOM_ENV, "tuned", actions="choices", world="own"),
    Row(_explored, "tuned", actions="choices", world="own"),
    Row(_observed, "tuned", actions="choices", world="own"),
    Row({"gamma": 0.99, "alpha": 3e-4, "polyak": 0.005, "batch": 256, "capacity": 1_000_000}, actions="numbers"),
    # HalfCheetah pays 1000 per subtask and takes 0.6 per step at most; both are scaled alike, so what is best stays the same.
    Row(lambda facts: {"reward_scale": FULL / facts.largest_reward, "warmup": 10_000}, "tuned", actions="numbers"),
    Row(CUSTOM_ENV_TD3, "tuned", actions="numbers", world="own"),
    Row(lambda facts: {"capacity": _observed(facts).get("capacity", 200_000)}, "tuned", actions="numbers", world="own"),
)
"""Presets of every learner with networks."""
LONG_HORIZON = (
    # Without bounds values grow beyond everything with this gamma.
    Row({"gamma": 0.995, "n_steps": 5, "bound_values": True}, "tuned", actions="choices", world="own"),
    Row({"n_steps": 3, "bound_values": True}, "tuned", actions="numbers", world="own"),
)
"""Of learners whose targets are the machine's alone: several steps at once, never more than the machine can pay."""
