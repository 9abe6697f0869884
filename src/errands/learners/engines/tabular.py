"""What tabular learners share: the world they step in, evaluations, what is saved, and a limit on memory."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError, words_of
from errands.kernels.stepping import ACTION, OUTCOME, STATE, TIME, UNKNOWN
from errands.learners.base import (
    MAX_COUNT,
    RNG,
    Learner,
    LearnerConfig,
    Saved,
    State,
    StateArray,
    checked,
    kept,
    memory,
    pack_rng,
    unpack_rng,
)
from errands.learners.diary import Diary
from errands.oracle.episode import play
from errands.tables import Evaluation, RandomGenerator
from errands.tasks.task import Task
from errands.worlds.base import numbered, one_start
from errands.worlds.saving import from_json, to_json


class Tables:
    """A finite world whose tables are known to the loop that steps it (never to the learner)."""

    def __init__(self, task: Task) -> None:
        finite = task.finite
        if finite is None:
            raise TaskError(f"the world of '{task.name}' publishes no tables; a tabular learner needs a finite world")
        self.table = finite.table
        self.labels: list[Set[str]] = list(finite.labels)
        self.signals = finite.signals
        self.limit = task.world.limit

    @property
    def states(self) -> int:
        """The number of world states."""
        return int(self.table.next.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.table.next.shape[1])


class SteppedWorld(Tables):
    """A Gymnasium environment with Discrete spaces: each row of its table is asked for, used and forgotten."""

    def __init__(self, task: Task, seed: int) -> None:
        self.env: gym.Env[Any, Any] = numbered(task.world)
        spaces = gym.spaces
        if not isinstance(self.env.observation_space, spaces.Discrete) or not isinstance(
            self.env.action_space, spaces.Discrete
        ):
            raise TaskError(
                f"the world of '{task.name}' has observations {self.env.observation_space} and actions "
                f"{self.env.action_space}; a tabular learner needs both to be Discrete"
            )
        self.base = int(self.env.observation_space.start)
        self.first = int(self.env.action_space.start)
        self.labels = [frozenset()]
        self.reported, self.compounds = task.world.signals, task.machine.compounds
        self.signals = task.signals
        self.limit = task.world.limit
        shape = (int(self.env.observation_space.n), int(self.env.action_space.n), 1)
        # [S, A, 1]: one outcome per pair, UNKNOWN until asked. The kernels stop there and the host asks the
        # environment, so the same compiled loops serve worlds without tables. One start, written anew by each reset.
        signals = np.zeros((max(1, len(self.signals)), *shape))
        self.table = one_start(0, np.full(shape, UNKNOWN, np.int32), np.zeros(shape, np.int32), signal=signals)
        # At most one row is known at a time: what an environment answers may be random.
        self.asked: tuple[int, int] | None = None
        self.truncated = False
        self.diary = Diary(task.machine)
        self.reset(seed)

    def save(self) -> NDArray[np.uint8]:
        """The environment's state as bytes; empty where it cannot be stored."""
        env: Any = self.env
        try:
            text = json.dumps({"start": int(self.table.starts[0]), "env": to_json(env.save()), "diary": self.diary.save()})
        except (TaskError, AttributeError, TypeError, ValueError):
            return np.zeros(0, np.uint8)
        return np.frombuffer(text.encode(), np.uint8).copy()

    def restore(self, saved: NDArray[np.uint8] | None) -> bool:
        """Put the environment back; False, with a warning, where that cannot be done."""
        env: Any = self.env
        try:
            state = json.loads(saved.tobytes()) if saved is not None and len(saved) else None
            if state is not None:
                # Many environments refuse to be used before a first reset; what it sets is overwritten by the restore.
                env.reset(seed=0)
                env.restore(from_json(state["env"]))
                self.diary.restore(state["diary"])
                start = int(state["start"])
                if not 0 <= start < self.states:
                    raise StoreError(f"the stored episode began in state {start}, and there are {self.states:,}")
                self.table.starts[0] = start
                return True
            reason = "its state cannot be stored"
        except TaskError as fault:
            reason = str(fault)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
            raise StoreError(f"the environment's stored state is damaged ({words_of(fault)})") from None
        warnings.warn(
            f"the environment starts a new episode, so this run will differ from one without interruption: {reason}",
            stacklevel=2,
        )
        return False

    def reset(self, seed: int | None = None) -> int:
        """Start an episode and return its state."""
        self.diary.begin()
        observation, _ = self.env.reset(seed=seed)
        self.table.starts[0] = self._state(observation)
        return int(self.table.starts[0])

    def _state(self, observation: Any) -> int:
        """The state of an observation; one outside the space would make compiled loops read foreign memory."""
        if observation not in self.env.observation_space:
            raise TaskError(f"the environment observed {observation}, which is not in its {self.env.observation_space}")
        return int(observation) - self.base

    def ask(self, s: int, a: int) -> bool:
        """Take action a in state s and write its outcome into the table; True when it showed a new label."""
        # The learner must never see more of the world than the step it has just taken.
        self.forget()
        observation, _, terminated, self.truncated, info = self.env.step(a + self.first)
        features = frozenset(info.get("features", ()))
        self.diary.note(features, terminated, self.truncated)
        known = features in self.labels
        if not known:
            self.labels.append(features)
        self.table.next[s, a, 0] = self._state(observation)
        self.table.label[s, a, 0] = self.labels.index(features)
        self.table.ends[s, a, 0] = terminated
        values = {name: info.get("signals", {}).get(name, 0.0) for name in self.reported}
        for i, value in enumerate((*values.values(), *(reward.paid(values) for reward in self.compounds))):
            self.table.signal[i, s, a, 0] = value
        self.asked = (s, a)
        return not known

    def forget(self) -> None:
        """Make the last row unknown again: the next visit asks the environment anew."""
        if self.asked is not None:
            self.table.next[self.asked[0], self.asked[1], 0] = UNKNOWN
            self.asked = None


def world_of(task: Task, seed: int) -> Tables:
    """Tables where the world has them, else its environment asked step by step."""
    return Tables(task) if task.finite is not None else SteppedWorld(task, seed)


MAX_STEPS = 50_000
"""Steps of one call of a compiled loop: Ctrl-C waits for its end, and each step of a large task may take 10 us."""

# Handed to kernels that want a generator and will not draw from it.
_SPARE = RandomGenerator(0)


class TabularLearner(Learner):
    """A learner whose compiled loop stops when it lacks something: an outcome, a machine state, or room."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int, fields: int) -> None:
        super().__init__(task, config, seed)
        self.world = world_of(task, seed)
        self.position = np.zeros(fields, np.int64)
        """Where the agent is: the kernels' own record; kernels/stepping.py has its layout."""
        self.position[ACTION] = -1

    @property
    def diaries(self) -> Sequence[Diary]:
        """What training met in the environment; the steps in known tables are counted by nobody."""
        return (self.world.diary,) if isinstance(self.world, SteppedWorld) else ()

    @abstractmethod
    def loop(self, count: int) -> int:
        """Run the compiled loop for at most `count` steps; returns those taken."""

    @abstractmethod
    def supply(self) -> None:
        """Give the loop what it stopped for."""

    @abstractmethod
    def relabel(self) -> None:
        """Make room for labels that the world showed for the first time."""

    @abstractmethod
    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """Length, total reward and success of one compiled greedy episode."""

    def advance(self, count: int) -> None:
        """Take `count` training steps."""
        end = self.step + count
        asked = self.world if isinstance(self.world, SteppedWorld) else None
        while self.step < end:
            # An environment is asked for one step at a time: after it the row is forgotten again.
            wanted = 1 if asked else min(end - self.step, MAX_STEPS)
            done = self.loop(wanted)
            self.step += done
            if asked and done:
                asked.forget()
                # The kernel has begun an episode in the table's old start; the environment knows the new one.
                if self.position[TIME] == 0:
                    self.position[STATE] = asked.reset()
            elif done < wanted:
                self._supply(asked)

    def _supply(self, asked: SteppedWorld | None) -> None:
        s, a = int(self.position[STATE]), int(self.position[ACTION])
        if asked is not None and a >= 0 and asked.table.next[s, a, 0] == UNKNOWN:
            if asked.ask(s, a):
                self.relabel()
            if asked.truncated:
                # A truncation by the environment becomes the time limit of the kernel, which bootstraps through it.
                self.position[TIME] = self.world.limit - 1
        else:
            self.supply()

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        if isinstance(self.world, SteppedWorld):
            return Evaluation(self.step, *play(self.policy, self.task, self.seed))
        # Where there is no chance nothing is drawn, and a generator takes longer to make than the episode.
        rng = _SPARE if self.task.certain else RandomGenerator(self.seed, self.step)
        length, total, success = self.greedy_episode(rng)
        return Evaluation(self.step, int(length), float(total), bool(success))

    def episode(self, number: int) -> tuple[int, float, bool]:
        """One of several greedy episodes, compiled where the world has tables."""
        if isinstance(self.world, SteppedWorld):
            return super().episode(number)
        return self.greedy_episode(RandomGenerator(self.seed, self.step, number))

    @abstractmethod
    def state(self) -> State:
        """The learner's own arrays, not copied: its position and its tables."""

    def position_form(self, counts: Mapping[int, int], low: Mapping[int, int] | None = None, acting: bool = False) -> StateArray:
        """The record `position`: how many values each field can have, and the least of a field where that is not 0."""
        table = self.world.table
        shared = {STATE: self.world.states, TIME: self.world.limit, ACTION: self.world.actions, OUTCOME: table.next.shape[2]}
        least, most = np.zeros(len(self.position), np.int64), np.full(len(self.position), MAX_COUNT, np.int64)
        for field, count in {**shared, **counts}.items():
            most[field] = count - 1
        for field, value in {ACTION: -1, **(low or {})}.items():
            least[field] = value
        return kept(self.position, "where the agent is, by the kernel's fields", least, most, acting=acting)

    def everything(self) -> State:
        """The learner's own arrays, its counts, its random numbers, and what an environment without tables has shown."""
        counts = np.array([self.step, self.evaluation_steps], np.int64)
        shared = {
            "counts": kept(counts, "training steps, and steps of evaluations", 0, MAX_COUNT),
            "rng": StateArray(pack_rng(self.rng), RNG),
        }
        if isinstance(self.world, SteppedWorld):
            text = json.dumps([sorted(label) for label in self.world.labels])
            labels, env = np.frombuffer(text.encode(), np.uint8), self.world.save()
            shared["labels"] = kept(labels, "the sets of features seen so far, as JSON", None, None, None, "bytes")
            about = "the environment's state, as JSON; empty where there is none"
            shared["env"] = kept(env, about, None, None, None, "state", acting=False)
        return {**shared, **self.state()}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; an environment without tables goes on where it was, if it can."""
        if isinstance(self.world, SteppedWorld):
            # Labels come first: the shapes that `form` asks for depend on how many there are.
            labels = _labels(saved.get("labels"))
            self.world.labels[:] = labels
            self.relabel()
        # `load_arrays` may still refuse; only after it are counts and generator changed.
        self.load_arrays(saved, checked(saved, self.form()))
        self.step, self.evaluation_steps = (int(x) for x in saved["counts"])
        unpack_rng(self.rng, saved["rng"])
        # An environment that cannot go on where it was starts a new episode, and says so.
        if isinstance(self.world, SteppedWorld) and not self.world.restore(saved["env"]):
            self.world.reset(self.seed)
            self.position[ACTION] = -1
            self.begin()

    def load_arrays(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take back arrays that have the right form, with these lengths; here, into arrays of the same shape."""
        for name, part in self.state().items():
            part.array[...] = saved[name]

    def begin(self) -> None:
        """Put the agent at the start of an episode, which a loop of no steps does where there is none."""
        self.loop(0)

    def take_labels(self, other: TabularLearner) -> None:
        """Know the labels that a learner of another task has met in the same world; refuse one of another world."""
        if self.world.states != other.world.states:
            raise TaskError(
                f"{type(self).__name__} learnt '{other.task.name}' by {other.world.states:,} states of the world, and "
                f"'{self.task.name}' tells {self.world.states:,} apart; use scout, or train for it"
            )
        if isinstance(self.world, SteppedWorld):
            self.world.labels[:] = other.world.labels
            self.relabel()


def _labels(array: np.ndarray | None) -> list[frozenset[str]]:
    try:
        sets = json.loads(np.asarray(array, np.uint8).tobytes())
        good = isinstance(sets, list) and sets[:1] == [[]] and all(isinstance(s, list) for s in sets)
        good = good and all(isinstance(name, str) for s in sets for name in s)
        labels = [frozenset(s) for s in sets] if good else []
    except (TypeError, ValueError, RecursionError):
        labels = []
    if not labels or len(set(labels)) != len(labels):
        raise StoreError("the saved array 'labels' is no list of different sets of features in JSON, the empty one first")
    return labels


def room(what: str, *shape: int) -> tuple[int, ...]:
    """The shape itself, when a table of this many 8-byte numbers fits into memory; else a refusal with its size."""
    # Floats, since whole numbers of numpy would overflow silently for a Boolean machine.
    needed = 8 * int(np.prod([float(n) for n in shape]))
    if needed > 0.8 * memory():
        raise TaskError(
            f"{what} would take {needed / 1e9:,.1f} GB and this machine has {memory() / 1e9:,.1f} GB; "
            "use learner 'qcorm', 'qcorm-plus' or 'scout', or machine 'agenda'"
        )
    return shape
