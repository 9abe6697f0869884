"""What tabular learners share: the world they step in, evaluations, and a limit on memory."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from errands.errors import StoreError, TaskError
from errands.learners.base import (
    MOST,
    RNG,
    Form,
    Learner,
    LearnerConfig,
    Saved,
    SavedArray,
    checked,
    memory,
    pack_rng,
    unpack_rng,
)
from errands.learners.tabular.world import UNKNOWN, Asked, world_of
from errands.oracle.episode import play
from errands.tables import Evaluation
from errands.tasks.task import Task

STATE, TIME, ACTION, OUTCOME = 0, 2, 3, 4


MOST_STEPS = 50_000
"""Steps of one call of a compiled loop: Ctrl-C waits for its end, and each step of a large task may take 10 us."""


class TabularLearner(Learner):
    """A learner whose compiled loop stops when it lacks something: an outcome, a machine state, or room."""

    OPTIONAL: tuple[int, ...] = (ACTION,)
    """Fields of `where` that are -1 where there is none."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int, fields: int) -> None:
        super().__init__(task, config, seed)
        self.world = world_of(task, seed)
        self.where = np.zeros(fields, np.int64)
        """Where the agent is: the kernels' own record, in which STATE, TIME, ACTION and OUTCOME have the same place."""
        self.where[ACTION] = -1

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
        asked = self.world if isinstance(self.world, Asked) else None
        while self.step < end:
            done = self.loop(1 if asked else min(end - self.step, MOST_STEPS))
            self.step += done
            if asked and done:
                asked.forget()
                if self.where[TIME] == 0:
                    self.where[STATE] = asked.reset()
            elif self.step < end:
                self._supply(asked)

    def _supply(self, asked: Asked | None) -> None:
        s, a = int(self.where[STATE]), int(self.where[ACTION])
        if asked is not None and a >= 0 and asked.table.next[s, a, 0] == UNKNOWN:
            if asked.ask(s, a):
                self.relabel()
            if asked.truncated:
                self.where[TIME] = self.world.limit - 1
        else:
            self.supply()

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        rng = np.random.Generator(np.random.PCG64([self.seed, self.step]))
        if isinstance(self.world, Asked):
            return Evaluation(self.step, *play(self.policy, self.task, self.seed))
        length, total, success = self.greedy_episode(rng)
        return Evaluation(self.step, int(length), float(total), bool(success))

    def episode(self, number: int) -> tuple[int, float, bool]:
        """One of several greedy episodes, compiled where the world has tables."""
        if isinstance(self.world, Asked):
            return super().episode(number)
        return self.greedy_episode(np.random.Generator(np.random.PCG64([self.seed, self.step, number])))

    @abstractmethod
    def fields(self) -> Mapping[int, int]:
        """How many values each field of `where` can have, from 0 on, or from -1 where it is OPTIONAL."""

    def place(self) -> dict[int, int]:
        """The same for the fields that all kernels have."""
        table = self.world.table
        return {STATE: self.world.states, TIME: self.world.limit, ACTION: self.world.actions, OUTCOME: table.next.shape[2]}

    @abstractmethod
    def tables(self) -> Form:
        """What the learner saves besides its position and random state."""

    @abstractmethod
    def arrays(self) -> Saved:
        """The arrays of `tables` themselves, not copied."""

    def form(self) -> Form:
        """All arrays of a saved learner."""
        low, high = np.zeros(len(self.where), np.int64), np.full(len(self.where), MOST, np.int64)
        for field, count in self.fields().items():
            low[field], high[field] = (-1 if field in self.OPTIONAL else 0), count - 1
        form = {
            "counts": SavedArray("int64", (2,), "training steps, and steps of evaluations", 0, MOST),
            "where": SavedArray("int64", (len(self.where),), "where the agent is, by the kernel's fields", low, high),
            "rng": RNG,
        }
        if isinstance(self.world, Asked):
            form["labels"] = SavedArray("uint8", ("bytes",), "the sets of features seen so far, as JSON")
            form["env"] = SavedArray("uint8", ("state",), "the environment's state, as JSON; empty where it cannot be stored")
        return {**form, **self.tables()}

    def save(self) -> Saved:
        """Everything that the rest of the run depends on."""
        counts = np.array([self.step, self.evaluation_steps], np.int64)
        saved: Saved = {"counts": counts, "where": self.where.copy(), "rng": pack_rng(self.rng)}
        if isinstance(self.world, Asked):
            text = json.dumps([sorted(label) for label in self.world.labels])
            saved["labels"] = np.frombuffer(text.encode(), np.uint8).copy()
            saved["env"] = self.world.save()
        return saved | {name: array.copy() for name, array in self.arrays().items()}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; an environment without tables goes on where it was, if it can."""
        if isinstance(self.world, Asked):
            saved = {"env": np.zeros(0, np.uint8), **saved}  # of a run that did not store it yet
            labels = _labels(saved.get("labels"))
            self.world.labels[:] = labels
            self.relabel()
        self.take(saved, checked(saved, self.form()))
        self.step, self.evaluation_steps = (int(x) for x in saved["counts"])
        self.where[:] = saved["where"]
        unpack_rng(self.rng, saved["rng"])
        self.resumed(saved)

    def take(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take back arrays that have the right form; here, into arrays of the same shape."""
        for name, array in self.arrays().items():
            array[...] = saved[name]

    def resumed(self, saved: Saved) -> None:
        """Put an environment without tables back to where it was; one that cannot starts a new episode, and says so."""
        if isinstance(self.world, Asked) and not self.world.restore(saved["env"]):
            self.world.reset(self.seed)
            self.where[ACTION] = -1
            self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Put the agent at the start of an episode."""


def refuse(unless: bool, sentence: str) -> None:
    """Refuse a saved learner whose arrays contradict one another."""
    if not unless:
        raise StoreError(f"the saved arrays contradict one another: {sentence}")


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
    needed = 8 * int(np.prod([float(n) for n in shape]))
    if needed > 0.8 * memory():
        raise TaskError(
            f"{what} would take {needed / 1e9:,.1f} GB and this machine has {memory() / 1e9:,.1f} GB; "
            "use learner 'qcorm', 'qcorm-plus' or 'scout', or machine 'agenda'"
        )
    return shape
