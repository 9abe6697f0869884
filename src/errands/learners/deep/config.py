"""Settings of the deep learners, one frozen class per method, and their presets (Section 5, Parameters)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners import continuous_actions
from errands.learners.base import LearnerConfig
from errands.learners.schedule import schedule_text
from errands.tasks.task import Task
from errands.worlds.spaces import seeing

# Literal types are checked by type checkers only; settings may come from a file or a command line, so words are checked
# here.
_WORDS = {
    "network": ("heads", "one-hot", "conv"),
    "platform": ("any", "cpu", "gpu"),
    "vector": ("sync", "async"),
}
EPSILON_UNITS, XI_UNITS = ("steps", "episodes"), ("choices", "steps")
"""What schedules count: the first unless the text says the other. The paper says neither."""
GROUND_CAPACITY = 1_024
"""Grounding transitions that QCoRM's own buffer holds."""
MOST_ENVS = 250
"""Environments of a seed: no more than half a chunk of random numbers."""

_QCORM_WORDS = {
    "ground_replay": ("always", "once"),
    "delta": ("episode", "gated", "printed"),
    "shortest": ("ratchet", "mean"),
    "failed": ("length", "fading"),
}


@dataclass(frozen=True)
class DeepConfig(LearnerConfig):
    """Settings that every deep learner has; QRM and CRM need no others."""

    eval_every: int = 10_000
    """Training steps between two evaluations; the last step is always evaluated."""
    eval_episodes: int | None = None
    """Greedy episodes of an evaluation, reported as means with intervals; None: one where it says everything, else 20."""
    alpha: float = 1e-4
    """Step size of Adam."""
    polyak: float = 0.01
    """How far the target network follows in each update."""
    batch: int = 32
    """Environment steps sampled for an update; each is expanded over all heads."""
    learn_every: int = 1
    """Environment steps to one update, where environments are stepped on the host."""
    n_steps: int = 1
    """Steps whose rewards are added up before the value of what follows counts; fewer where the episode is over."""
    bound_values: bool = False
    """Whether targets are kept between the least and the most that the machine can pay from there; not with qcorm."""
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
    explore_steps: int = 1
    """Steps for which a random action (DDQN) or the noise on actions (TD3) is kept, so that exploring gets somewhere."""
    explore_mixed: bool = False
    """Whether `explore_steps` is the most: every hundred steps then keep to a length of their own, one of 1, 2, 4 ... steps."""
    action_noise: float = 0.1
    """Standard deviation of the noise on actions while training, for actions in [-1, 1] (TD3)."""
    random_actions: float = 0.0
    """Probability of a random action instead of a noisy one (TD3)."""
    action_cost: float = 0.0
    """What the actor pays for the square of its outputs before they are bent into [-1, 1], lest all end at a bound (TD3)."""
    reward_scale: float = 1.0
    """What the machine's rewards are multiplied with before they are learnt from."""
    platform: Literal["any", "cpu", "gpu"] = "any"
    """Where the arrays live; `any` takes the GPU where there is one."""
    envs: int = 1
    """Environments of a seed that step at once, where the world is a Gymnasium environment; steps count those of all."""
    vector: Literal["sync", "async"] = "sync"
    """Whether several environments step one after the other in this process, or each in a process of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._shares("alpha", "polyak", "random_actions")
        object.__setattr__(self, "epsilon", schedule_text(self.epsilon, "epsilon", EPSILON_UNITS))
        self._at_least(1, "batch", "capacity", "width", "depth", "warmup", "explore_steps")
        self._at_least(1, "n_steps", "learn_every", "eval_episodes")
        self._not_negative("action_noise", "action_cost")
        self._positive("reward_scale")
        self._words(_WORDS)
        if (self.n_steps - 1) * self.envs >= self.capacity:
            raise ConfigError(
                f"n_steps is {self.n_steps}; the rows of so many steps do not fit into capacity, {self.capacity}"
            )
        self._check_envs()

    @property
    def together(self) -> int:
        """A step of each environment."""
        return self.envs

    def _check_envs(self) -> None:
        most = min(MOST_ENVS, self.capacity)
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
class DeepHRMConfig(DeepConfig):
    """Settings of deep HRM; those above are of the options."""

    full_reward: float = 1.0
    """What an option is paid for making its transition happen, after scaling."""
    option_limit: int = 200
    """Steps after which an option ends although its transition did not happen."""
    epsilon_controller: float = 0.1
    """Probability that the controller takes a random option."""
    controller_capacity: int = 10_000
    """Ended options that the controller's buffer holds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("full_reward", "option_limit", "controller_capacity")
        self._shares("epsilon_controller")


@dataclass(frozen=True)
class DeepQCoRMConfig(DeepConfig):
    """Settings of deep QCoRM and, with joint=False, of QCoRM-0."""

    full_reward: float = 1.0
    """The reward of a completed subtask, after scaling."""
    min_step_reward: float = 0.0
    """The smallest reward of a step after scaling, as Theorem 1 needs it."""
    joint: bool = True
    """Pay the reward of Theorem 1 for a completed subtask; without it (QCoRM-0) the full reward."""
    dedicated: bool = True
    """Grounding transitions wait in a buffer of their own for the end of the episode; else they are learnt from at once."""
    ground_batch: int = 8
    """Rows of that buffer which join each update."""
    ground_replay: Literal["always", "once"] = "always"
    """Whether they are sampled in every update, or replayed once when their episode has ended."""
    relabel: bool = True
    """Learn from each step for every objective, as if it were open, rather than for those that are."""
    alpha_eta: float = 0.05
    """Learning rate of the steps to go."""
    alpha_k: float = 0.05
    """Learning rate of the running shortest episode and best durations."""
    xi: float | str = "1.0..0.1@0,900"
    """Probability of exploring the order: a number, or from..to@first,last in choices of an objective or in steps."""
    delta: Literal["episode", "gated", "printed"] = "episode"
    """Theorem 1's delta K, never below 0: K - K_mi; the printed max(K_op - K^tau, K - K_mi) only where K > K_mi; or always."""
    shortest: Literal["ratchet", "mean"] = "mean"
    """K_mi moves towards exploited successful episodes that are no longer than it, or is the running mean of all of them."""
    floor: float | None = None
    """The least share of the full reward that a completion is paid; None sets no bound, as printed."""
    failed: Literal["length", "fading"] = "length"
    """What completions of failed episodes are paid: by the episode's length, or less with each success."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._shares("alpha_eta", "alpha_k", "floor")
        object.__setattr__(self, "xi", schedule_text(self.xi, "xi", XI_UNITS))
        self._words(_QCORM_WORDS)
        if self.full_reward <= 0 or self.min_step_reward > 0:
            raise ConfigError("full_reward must be positive and min_step_reward not positive, as Theorem 1 assumes")
        if not 1 <= self.ground_batch <= GROUND_CAPACITY:
            raise ConfigError(f"ground_batch is {self.ground_batch}; it must lie between 1 and {GROUND_CAPACITY:,}")
        if self.joint and not self.dedicated:
            raise ConfigError(
                "the reward of Theorem 1 is known at the end of the episode only; set dedicated=True or joint=False"
            )


@dataclass(frozen=True)
class DeepPlusConfig(DeepConfig):
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
        self._shares("visited")
        if not 0 <= self.late < self.depth:
            raise ConfigError(f"late is {self.late}; it must be at least 0 and less than depth, {self.depth}")


CONFIGS: dict[str, type[DeepConfig]] = {
    "qrm": DeepConfig,
    "crm": DeepConfig,
    "hrm": DeepHRMConfig,
    "qcorm": DeepQCoRMConfig,
    "qcorm-0": DeepQCoRMConfig,
    "qcorm-plus": DeepPlusConfig,
}
"""The settings of each deep learner."""
PRESETS = ("tuned", "paper")
PLUS_GRID = {"leg": 3.0, "visited": 0.5}
"""QCoRM+ in grids: a move of the machine takes about three steps where there are many places."""
PLUS_WATER = {"leg": 8.0, "late": 1}
"""QCoRM+ in Water, where a ball is about eight steps away."""
STRANGER = {
    "gamma": 0.99,
    "alpha": 5e-4,
    "polyak": 0.005,
    "width": 128,
    "depth": 2,
    "batch": 64,
    "epsilon": "1.0..0.05@0,19000",
    "explore_steps": 16,
    "explore_mixed": True,
    "standardise": True,
}
"""DDQN on users' environments, whose episodes are mostly longer than Water's and whose observations are shorter."""
PICTURES = {"network": "conv", "learn_every": 4, "explore_steps": 2, "explore_mixed": False}
"""What pictures change about it: convolutions take long."""
ROOM = 2**28
"""Numbers of observations that a buffer holds at most, unless 10,000 steps need more: 1 GiB."""
STRANGER_TD3 = {
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
FAR = {"gamma": 0.995, "n_steps": 5, "bound_values": True}
"""Learners whose targets are the machine's alone: several steps at once, and never more than the machine can pay.

Without those bounds values grow beyond everything with this gamma."""
FAR_TD3 = {"n_steps": 3, "bound_values": True}
FAR_LEARNERS = ("qrm", "crm", "hrm", "qcorm-0", "qcorm-plus")
SMALLEST_PICTURE = 5
"""Pixels of the shorter side from which on a convolution is used."""
TD3_CONTEXTS = 4
"""Agendas drawn per update for TD3, which sends every row through both critics once for each of them."""
FULL = 10.0
"""What the largest constant reward of the machine is scaled to for TD3."""
COST = 0.6
"""The largest control cost of a step of HalfCheetah: 0.1 times six squared actions of size 1."""


def deep_preset(learner: str, preset: str, task: Task) -> DeepConfig:
    """The settings of a deep learner under a preset, for DDQN or, where actions are continuous, for TD3."""
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    if learner not in CONFIGS:
        raise UnknownName("deep learner", learner, CONFIGS)
    values = _td3(learner, preset, task) if continuous_actions(task) else _ddqn(learner, preset, task)
    if learner == "qcorm-0":
        values["joint"] = False
    return CONFIGS[learner](**values)


def _ddqn(learner: str, preset: str, task: Task) -> dict[str, Any]:
    if preset == "paper":
        # The paper says that epsilon falls by 0.01 but not per what: per episode, else exploring would end after 90
        # steps. Its buffer and batch, times the number of objectives or states, are ours of one: rows are expanded when
        # sampled.
        values: dict[str, Any] = {"alpha": 1e-5, "polyak": 0.1, "epsilon": "1.0..0.1@0,90 episodes"}
        if CONFIGS[learner] is DeepQCoRMConfig:
            values |= {"alpha_eta": 0.005, "relabel": False, "ground_replay": "once", "shortest": "ratchet"}
        return values
    # Cells come as one-hot rows, for which a smaller network and larger steps do.
    values = {"width": 128, "alpha": 3e-4, "epsilon": "1.0..0.1@0,9000"} if task.finite is not None else {}
    if task.world.kind == "gymnasium" and task.finite is None:
        values = STRANGER | _sight(task) | (FAR if learner in FAR_LEARNERS else {})
    if learner == "qcorm-plus":
        values |= PLUS_GRID if task.finite is not None else PLUS_WATER if task.world.kind == "water" else {}
    if learner == "qcorm" and task.world.kind == "water":
        # Where an episode can fail: K_mi as the text has it keeps ways short, fading pay for failures keeps them.
        values |= {"shortest": "ratchet", "failed": "fading"}
    if learner == "qcorm-0":
        # A constant reward need not wait for the end of the episode.
        values["dedicated"] = False
    return values


def _sight(task: Task) -> dict[str, Any]:
    """What a user's observations change: pictures are worth a convolution, and the longer a row, the fewer are kept."""
    env = task.world.env()
    try:
        seen = seeing(env.observation_space)
    except TaskError:
        return {}
    finally:
        env.close()
    pictures = seen.image is not None and min(seen.image[:2]) >= SMALLEST_PICTURE
    most = 50_000 if pictures else 200_000
    return (PICTURES if pictures else {}) | {"capacity": max(10_000, min(most, ROOM // (2 * seen.size)))}


def _td3(learner: str, preset: str, task: Task) -> dict[str, Any]:
    # The printed numbers; `tuned` below changes some of them.
    values: dict[str, Any] = {"gamma": 0.99, "alpha": 3e-4, "polyak": 0.005, "batch": 256, "capacity": 1_000_000}
    robot = task.world.kind == "cheetah"
    rewards = [t.reward for t in task.machine.transitions]
    largest = max((abs(reward.value) for reward in rewards if reward.signal is None), default=0.0) or 1.0
    full = largest
    if preset == "tuned":
        # HalfCheetah pays 1000 per subtask and takes 0.6 per step at most; both are scaled alike, so what is best stays
        # the same.
        values |= {"reward_scale": FULL / largest, "warmup": 10_000}
        if not robot:
            seen = {"capacity": _sight(task).get("capacity", 200_000)}
            values |= STRANGER_TD3 | seen | (FAR_TD3 if learner in FAR_LEARNERS else {})
        full = FULL
    if learner in ("qcorm", "qcorm-0", "hrm"):
        values["full_reward"] = full
    if learner in ("qcorm", "qcorm-0"):
        values["ground_batch"] = 32
        if learner == "qcorm" or preset == "paper":
            # Completions wait for the end of the episode, and those of explored choices teach nothing. With a choice or
            # two in a thousand steps exploring that falls per choice goes on and on, and who is paid for nothing stands still.
            values["xi"] = "1.0..0.1@0,900 steps"
        if robot:
            # In the scale of the rewards that are learnt from, not of those that the machine pays.
            values["min_step_reward"] = -COST * full / largest
        if preset == "paper":
            values |= {"alpha_eta": 0.005, "relabel": False, "ground_replay": "once", "shortest": "ratchet"}
    if learner == "qcorm" and preset == "tuned":
        # The term with r_mi can fall far below 0, which teaches the robot to avoid the places it should go to.
        values["floor"] = 0.0
    if learner == "qcorm-0" and preset == "tuned":
        values["dedicated"] = False
    if learner == "qcorm-plus":
        values["contexts"] = TD3_CONTEXTS
    return values
