"""What tabular learners share: the world they step in, evaluations, and a limit on memory."""

from __future__ import annotations

import json
from abc import abstractmethod

import numpy as np

from errands.errors import TaskError
from errands.learners.base import Learner, LearnerConfig, Saved, memory, pack_rng, unpack_rng
from errands.learners.tabular.world import UNKNOWN, Asked, world_of
from errands.oracle.episode import play
from errands.tables import Evaluation
from errands.tasks.task import Task

STATE, TIME, ACTION = 0, 2, 3


MOST_STEPS = 50_000
"""Steps of one call of a compiled loop: Ctrl-C waits for its end, and each step of a large task may take 10 us."""


class TabularLearner(Learner):
    """A learner whose compiled loop stops when it lacks something: an outcome, a machine state, or room."""

    def __init__(self, task: Task, config: LearnerConfig, seed: int, fields: int) -> None:
        super().__init__(task, config, seed)
        self.world = world_of(task, seed)
        self.where = np.zeros(fields, np.int64)
        """Where the agent is: the kernels' own record, in which STATE, TIME and ACTION have the same place."""
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

    def save(self) -> Saved:
        """Step counts, position and random state; learners add their tables."""
        counts = np.array([self.step, self.evaluation_steps], np.int64)
        found: Saved = {"counts": counts, "where": self.where.copy(), "rng": pack_rng(self.rng)}
        if isinstance(self.world, Asked):
            text = json.dumps([sorted(label) for label in self.world.labels])
            found["labels"] = np.frombuffer(text.encode(), np.uint8).copy()
        return found

    def restore(self, saved: Saved) -> None:
        """Set what `save` gave; an environment without tables starts a new episode."""
        self.step, self.evaluation_steps = (int(x) for x in saved["counts"])
        self.where[:] = saved["where"]
        unpack_rng(self.rng, saved["rng"])
        if isinstance(self.world, Asked):
            self.world.labels[:] = [frozenset(label) for label in json.loads(saved["labels"].tobytes())]
            self.relabel()

    def resumed(self) -> None:
        """Where the environment has no tables its state is lost with it: a resumed run starts a new episode."""
        if isinstance(self.world, Asked):
            self.world.reset(self.seed)
            self.where[ACTION] = -1
            self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Put the agent at the start of an episode."""


def room(what: str, *shape: int) -> tuple[int, ...]:
    """The shape itself, when a table of this many 8-byte numbers fits into memory; else a refusal with its size."""
    needed = 8 * int(np.prod([float(n) for n in shape]))
    if needed > 0.8 * memory():
        raise TaskError(
            f"{what} would take {needed / 1e9:,.1f} GB and this machine has {memory() / 1e9:,.1f} GB; "
            "use learner 'qcorm', 'qcorm-plus' or 'scout', or machine 'agenda'"
        )
    return shape
