"""What every learner is: a value that trains in steps, yields evaluations, and can be saved and restored."""

from __future__ import annotations

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import ConfigError, StoreError, TaskError
from errands.learners.diary import Diary
from errands.learners.schedule import schedule_text
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Stepper
from errands.oracle.episode import Policy
from errands.tables import FAILURE, Evaluation, RandomGenerator
from errands.tasks.task import Task
from errands.worlds.base import World

if TYPE_CHECKING:
    from errands.oracle.certificate import Bounds

Saved = dict[str, NDArray[Any]]
MAX_COUNT = 2**53
"""More steps or anything else than a run can count to."""
FINITE = float(np.finfo(np.float64).max)

UNDISCOUNTED = 1 - 1e-12
"""A discount so near to 1 that discounted rewards are sums of rewards, and loops that pay nothing still sum to 0."""
EPISODES, HOST_EPISODES = 100, 20
"""Episodes of an evaluation where it is not: compiled ones, and ones in an environment without tables."""


@dataclass(frozen=True)
class LearnerConfig:
    """Settings that every learner has.

    >>> LearnerConfig(gamma=0.95).eval_every
    1000
    """

    gamma: float = 0.9
    """Discount factor."""
    eval_every: int = 1_000
    """Training steps between two evaluations; the last step is always evaluated."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not math.isfinite(number):
                    raise ConfigError(f"{field.name} is {value}; it must be finite")
                # From 2^53 on a float64, with which settings are mixed, no longer tells whole numbers apart.
                if isinstance(number, int) and abs(number) >= 2**53:
                    raise ConfigError(f"{field.name} is {value}; it must be smaller than 2 ** 53")
        if not 0 < self.gamma <= 1:
            raise ConfigError(f"gamma is {self.gamma}; it must lie above 0 and not above 1")
        self._at_least(1, "eval_every")

    @property
    def step_multiple(self) -> int:
        """Training steps that are always taken at once: a run takes a multiple of them."""
        return 1

    def _require(self, wanted: str, holds: Callable[[Any], bool], names: Sequence[str]) -> None:
        """Refuse settings of which something does not hold; None is left out of the question."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not holds(value):
                raise ConfigError(f"{name} is {value}; it must {wanted}")

    def _probabilities(self, *names: str) -> None:
        self._require("lie between 0 and 1", lambda value: 0 <= value <= 1, names)

    def _schedule(self, name: str, units: tuple[str, ...] = ("steps",)) -> None:
        """Keep a schedule in the one form in which it is stored; refuse what is none."""
        object.__setattr__(self, name, schedule_text(getattr(self, name), name, units))

    def _positive(self, *names: str) -> None:
        self._require("be positive", lambda value: value > 0, names)

    def _not_negative(self, *names: str) -> None:
        self._require("not be negative", lambda value: value >= 0, names)

    def _at_least(self, least: int, *names: str) -> None:
        self._require(f"be at least {least}", lambda value: value >= least, names)

    def _choices(self, known: Mapping[str, Collection[str]]) -> None:
        """Refuse a setting that is none of the words that are known for it."""
        for name, words in known.items():
            if getattr(self, name) not in words:
                raise ConfigError(f"{name} is '{getattr(self, name)}'; choose from {', '.join(words)}")


@lru_cache(maxsize=1)
def memory() -> int:
    """The memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cores() -> int:
    """How many processes can work at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Stopwatch:
    """The time of training steps alone; a stretch in which something was compiled counts at the pace of the others.

    From the 33rd stretch on one in eight is timed, and stands for all eight: asking the clock of a thread takes as long
    as forty steps.
    """

    def __init__(
        self, clock: Callable[[], float] = time.thread_time, compiled: Callable[[], int] = lambda: 0
    ) -> None:
        self.clock, self.compiled = clock, compiled
        self.seconds, self.steps, self.excluded_seconds, self.stretches = 0.0, 0, 0.0, 0

    def start(self, step: int) -> tuple[float, int, int] | None:
        """Where clock, training and compiler stand, for `stop`; None where this stretch is not timed."""
        self.stretches += 1
        if self.stretches > 32 and self.stretches % 8:
            return None
        return self.clock(), step, self.compiled()

    def stop(self, step: int, began: tuple[float, int, int] | None) -> None:
        """Add the steps since `start`."""
        if began is None:
            return
        # Compiling takes longer than many steps; a stretch with it says nothing about the pace of the others.
        spent = self.clock() - began[0]
        weight = 1 if self.stretches <= 32 else 8
        if self.compiled() == began[2]:
            self.seconds += weight * spent
            self.steps += weight * (step - began[1])
        else:
            self.excluded_seconds += spent

    def estimate(self, steps: int) -> float:
        """The seconds of so many steps."""
        return self.seconds * steps / self.steps if self.steps else self.excluded_seconds


@dataclass(frozen=True)
class SavedArray:
    """What one array of a saved learner is, and how it must look to be taken back: a checkpoint is a stranger's.

    A learner describes all its arrays in `form`; `save` writes exactly those, `restore` begins with `checked`, which
    refuses anything else before a kernel sees it, and `described` is the documentation. To describe a learner of your
    own, return one SavedArray by name for each array of `save`, with every index bounded by what it points into.

    >>> checked({"next": np.array([0, 5])}, {"next": SavedArray("int64", ("n",), "the state after each", into="n")})
    Traceback (most recent call last):
    errands.errors.StoreError: the saved array 'next' has values from 0 to 5; 0 to 1 was wanted
    """

    dtype: str
    """Numpy's name of the type, for example int64."""
    shape: tuple[int | str, ...]
    """Lengths; a word stands for one that the file decides, the same wherever the word occurs in the form."""
    about: str
    """What it holds, in one sentence."""
    low: Any = None
    """The least value: a number, or an array that broadcasts where columns differ."""
    high: Any = None
    """The greatest value, likewise; no bound admits NaN."""
    into: int | str | None = None
    """For indices: how long, or by which word of a shape, the thing is that they point into."""
    acting: bool = True
    """Whether acting needs it; replay buffers, for example, only training does."""

    @property
    def described(self) -> str:
        """Type and shape as documentation shows them."""
        return f"{self.dtype} [{', '.join(map(str, self.shape))}]"


Form = Mapping[str, SavedArray]


class StateArray(NamedTuple):
    """One array that a learner's run depends on, and what it is."""

    array: NDArray[Any]
    form: SavedArray


State = Mapping[str, StateArray]
"""All of them, by name: what is saved, checked and restored in one walk."""


def kept(
    array: NDArray[Any], about: str, low: Any = None, high: Any = None, into: int | str | None = None, *shape: int | str,
    acting: bool = True,
) -> StateArray:  # fmt: skip
    """An array of a learner's state, of the type and shape that it has; `shape` names lengths that the file decides."""
    return StateArray(array, SavedArray(array.dtype.name, shape or array.shape, about, low, high, into, acting))


def checked(saved: Saved, form: Form) -> dict[str, int]:
    """The lengths that the words of a form stand for; a StoreError of one sentence where `saved` has another form."""
    if missing := sorted(set(form) - set(saved)):
        raise StoreError(f"the saved array '{missing[0]}' is missing; {', '.join(form)} were wanted")
    if strange := sorted(set(saved) - set(form)):
        raise StoreError(f"a saved array is called '{strange[0][:100]}'; only {', '.join(form)} were wanted")
    # Two rounds: a bound may be a length that is learnt only from an array further on.
    lengths: dict[str, int] = {}
    for name, wanted in form.items():
        array = saved[name]
        fits = array.ndim == len(wanted.shape) and array.dtype.name == wanted.dtype
        for have, want in zip(array.shape, wanted.shape, strict=False):
            fits = fits and have == (lengths.setdefault(want, have) if isinstance(want, str) else want)
        if not fits:
            shape = ", ".join(map(str, array.shape))
            raise StoreError(f"the saved array '{name}' is {array.dtype.name} [{shape}]; {wanted.described} was wanted")
    for name, wanted in form.items():
        _check_range(name, saved[name], wanted, lengths)
    return lengths


def _check_range(name: str, array: NDArray[Any], wanted: SavedArray, lengths: Mapping[str, int]) -> None:
    low, high = wanted.low, wanted.high
    if wanted.into is not None:
        low = 0 if low is None else low
        high = (lengths[wanted.into] if isinstance(wanted.into, str) else wanted.into) - 1
    if array.size == 0 or (low is None and high is None):
        return
    # Asked for what is inside rather than outside, because every comparison with NaN is false: NaN is then refused.
    inside = np.ones(array.shape, np.bool_)
    if low is not None:
        inside &= array >= low
    if high is not None:
        inside &= array <= high
    if not inside.all():
        least, most = (np.min(low) if low is not None else "any"), (np.max(high) if high is not None else "any")
        raise StoreError(
            f"the saved array '{name}' has values from {array.min()} to {array.max()}; {least} to {most} was wanted"
            + (" (each column its own)" if np.ndim(low) or np.ndim(high) else "")
        )


def stacked(groups: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Groups of rows of JSON end to end, filled with blanks, which JSON ignores at its end."""
    width = max((group.shape[1] for group in groups), default=0)
    filled = (np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=ord(" ")) for rows in groups)
    return np.concatenate([np.zeros((0, width), np.uint8), *filled])


def require(holds: bool | np.bool_, sentence: str) -> None:
    """Refuse a saved learner whose arrays contradict one another."""
    if not holds:
        raise StoreError(f"the saved arrays contradict one another: {sentence}")


class Carried(NamedTuple):
    """A learner of another task in the same world, and what it took over from the one that trained."""

    learner: Learner
    uses: str
    """Which parts of what was learnt it goes by."""
    unknown: str = ""
    """What of the new task was not learnt; empty where that is nothing."""


def refuse_unknown(task: Task, known: Collection[str], learner: Learner, verb: str = "seen") -> None:
    """Refuse a task that needs a feature which a learner has not met."""
    if strange := [name for name in task.machine.features if name not in known]:
        raise TaskError(
            f"'{strange[0]}' was never {verb} in {learner.step:,} steps of {type(learner).__name__}, which knows "
            f"{', '.join(sorted(known)) or 'nothing'}; use those, or train on for it: errands.train(task, start=run, steps=...)"
        )


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def avoided(machine: NumericRM) -> frozenset[str]:
    """The features that fail a task from its start."""
    stepper = Stepper(machine)
    ends = {name: stepper.step(stepper.start, {name}).state[0] for name in machine.features}
    return frozenset(name for name, u in ends.items() if stepper.status[u] == FAILURE)


def new_dangers(task: Task, old: Task) -> str:
    """What of a task was not learnt where ways were learnt for another: to keep away from what fails only the new one."""
    strange = sorted(avoided(task.machine) - avoided(old.machine))
    return f"ways around {listed(strange)}" if strange else ""


class Learner(ABC):
    """One seed of one method on one task; nothing here writes files or prints."""

    max_situations = 4_000
    """Situations up to which an evaluation during training is an exact expectation: some forty milliseconds."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int) -> None:
        self.task = task
        self.config = config
        self.seed = seed
        self.rng = RandomGenerator(seed)
        self.step = 0
        self.evaluation_steps = 0
        self.stopwatch = Stopwatch()

    def train(self, steps: int) -> Iterator[Evaluation]:
        """Train until `steps` steps were taken in all or it has finished; an evaluation every `eval_every` and at the last."""
        every = self.config.eval_every
        while self.step < steps and not self.finished:
            began = self.stopwatch.start(self.step)
            # Evaluations fall on multiples of eval_every, wherever a run was interrupted.
            self.advance(min((self.step // every + 1) * every, steps) - self.step)
            self.stopwatch.stop(self.step, began)
            if self.waits and self.step < steps and not self.finished:
                continue
            evaluation = self.measure()
            self.evaluation_steps += evaluation.steps_taken
            yield evaluation

    def stages(self, steps: int) -> Iterator[Evaluation | None]:
        """Train as `train` does, and pause with None wherever else the run can be saved."""
        yield from self.train(steps)

    def predicted(self, steps: int) -> int:
        """The most training steps that a run to `steps` can take, known before it starts."""
        return steps

    @property
    def waits(self) -> bool:
        """Whether the next evaluation would cost too much beside the training so far; the last one never does."""
        return False

    @property
    def finished(self) -> bool:
        """Whether more steps could change nothing, so that training stops before its budget is spent."""
        return False

    @property
    def diaries(self) -> Sequence[Diary]:
        """What training met, by environment; none where tables or a device tell nobody."""
        return ()

    @property
    def counts(self) -> Mapping[str, int]:
        """How the steps divide by what they were for, where the method tells kinds apart."""
        return {}

    @abstractmethod
    def advance(self, count: int) -> None:
        """Take `count` training steps, fewer only when it finishes (self.step grows by them); it may stop inside an episode."""

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """One greedy episode from the start, without touching what training depends on."""

    def measure(self) -> Evaluation:
        """The evaluation that a run reports: one greedy episode where that says everything, elsewhere expectations."""
        # Where nothing is left to chance one episode is the truth. Else the exact expectation, where the task is small
        # enough; else an average over episodes.
        if self.task.certain:
            return self.evaluate()
        if self.task.finite is not None:
            from errands.oracle.certificate import expected

            with suppress(TaskError):  # more situations than can be followed exactly so often
                value = expected(self.policy, self.task, UNDISCOUNTED, self.max_situations)
                return Evaluation(self.step, value.length, round(value.discounted, 9), value.success, episodes=0)
        return self.average(EPISODES if self.task.finite is not None else HOST_EPISODES)

    def average(self, episodes: int, first: int = 0) -> Evaluation:
        """The means of several greedy episodes, with their intervals; `first` is the number of the first."""
        from errands.oracle.episode import sampled

        return sampled(self.episode, episodes, first).evaluation(self.step)

    def episode(self, number: int) -> tuple[int, float, bool]:
        """Length, total reward and success of one of several greedy episodes; chance depends on seed, step and number."""
        from errands.oracle.episode import play

        # Never from self.rng: an evaluation must not change what training draws next.
        return play(self.policy, self.task, (self.seed * 1_000_003 + self.step) % 2**31 + number)

    def fits(self, world: World) -> bool:
        """Whether what was learnt is about this world."""
        return self.task.world is world or self.task.world == world

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """An untrained learner of another task in the same world that begins with whatever of this one's knowledge fits."""
        raise TaskError(f"{type(self).__name__} learns nothing that another phrase could use; train for the phrase itself")

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The greedy policy learnt so far, as a value that later training does not change."""

    def values_of(self, column: int) -> NDArray[np.float64] | None:
        """The value of each world state under an objective, or in a machine state, by its number in the policy."""
        return None

    @property
    def order(self) -> tuple[str, ...]:
        """The subtasks and Boolean objectives in the order in which the greedy policy completes them."""
        from errands.oracle.episode import walk

        return walk(self.policy, self.task, 0 if self.task.finite is not None else self.seed).order

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The learnt steps to go by label, where the method keeps them."""
        return {}

    @property
    def claim(self) -> Bounds | None:
        """What it has proved of the optimum by now, where it proves anything."""
        return None

    def everything(self) -> State:
        """All that the rest of the run depends on, by name; where a learner describes nothing, nothing is checked."""
        return {}

    def form(self) -> Form:
        """What the arrays of `save` are."""
        return {name: part.form for name, part in self.everything().items()}

    def save(self, copy: bool = True) -> Saved:
        """Everything as arrays; not copied, the next step may change them, and a copy of tables can be gigabytes."""
        return {name: part.array.copy() if copy else part.array for name, part in self.everything().items()}

    def acting(self) -> Saved:
        """What acting needs of `save`, not copied: all that is kept of a learner that is looked at but not trained on."""
        form = self.form()
        return {name: array for name, array in self.save(copy=False).items() if name not in form or form[name].acting}

    def act_by(self, acting: Saved) -> None:
        """Act as the learner did of which `acting` was taken; here nothing was learnt yet, and nothing will be."""
        self.restore({**self.save(), **acting})

    @abstractmethod
    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; the finished run is then equal to one that was never interrupted.

        What has not the learner's `form` is refused with a StoreError before anything of it is used.
        """


RNG = SavedArray(
    "uint64", (6,), "the random generator: state and increment in two words each, and a half-used word",
    low=0, high=np.array([2**64 - 1] * 4 + [1, 2**32 - 1], np.uint64),
)  # fmt: skip


def pack_rng(rng: np.random.Generator) -> NDArray[np.uint64]:
    """The state of a PCG64 generator as six words."""
    # The generator's state has 128 bits; each half is a word, the lower one first.
    state = rng.bit_generator.state
    words = [state["state"]["state"], state["state"]["inc"]]
    halves = [word >> shift & (2**64 - 1) for word in words for shift in (0, 64)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def unpack_rng(rng: np.random.Generator, words: NDArray[np.uint64]) -> None:
    """Set a PCG64 generator to a packed state."""
    low, high, inc_low, inc_high, has, value = (int(w) for w in words)
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": low | high << 64, "inc": inc_low | inc_high << 64},
        "has_uint32": has,
        "uinteger": value,
    }
