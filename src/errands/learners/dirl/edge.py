"""What learns an edge, and what is known of an edge that was learnt; the seam for tabular and deep edge learners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from errands.learners.dirl.graph import AbstractEdge
from errands.tables import Floats

Rows = NDArray[Any]
"""World states, one a row: numbers of a finite world, or all that a continuous world's future depends on."""
Learnt = NDArray[Any]
"""What an edge learner remembers of its policy: an action per world state, or the weights of a network."""


class Starts(NamedTuple):
    """The world states in which attempts at an edge begin, and their cumulative probabilities.

    Where there are none, attempts begin as episodes of the world do.
    """

    rows: Rows
    cumulative: Floats


class Attempts(NamedTuple):
    """What attempts at an edge came to: how many were made in how many steps, and where the successful ones ended."""

    made: int
    steps: int
    ends: Rows


class Job(NamedTuple):
    """An edge to be learnt from nothing: where attempts begin, and how much may be spent."""

    number: int
    edge: AbstractEdge
    starts: Starts
    training: int
    """Steps of training, exactly."""
    rollouts: int
    """Greedy attempts afterwards, at most."""
    most: int
    """Steps that these may take together; one that this cuts short was not made."""
    seed: int

    def rng(self) -> np.random.Generator:
        """All random numbers of the edge come from here."""
        return np.random.Generator(np.random.PCG64([self.seed, self.number]))


class Done(NamedTuple):
    """What became of a job."""

    learnt: Learnt
    attempts: Attempts


class EdgeLearner(Protocol):
    """Learns edges one by one, each from nothing."""

    def starts(self) -> Starts:
        """Where episodes of the task start."""
        ...

    def solve(self, job: Job) -> Done:
        """Train with a reward at the goal, ending up elsewhere being the end of an attempt, then try the policy out."""
        ...


@dataclass(frozen=True)
class EdgeResult:
    """What was spent on an edge and how often it succeeded."""

    edge: int
    training_steps: int
    rollout_steps: int
    attempts: int
    successes: int

    @property
    def probability(self) -> float:
        """The estimated probability of success; 0 where no attempt was made."""
        return self.successes / self.attempts if self.attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the probability."""
        return wilson(self.successes, self.attempts)


def wilson(successes: int, attempts: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a probability; everything is possible when nothing was tried."""
    if attempts == 0:
        return 0.0, 1.0
    p, spread = successes / attempts, z * z / attempts
    middle = (p + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(p * (1 - p) / attempts + spread / (4 * attempts))
    return max(0.0, middle - half) if successes else 0.0, min(1.0, middle + half) if successes < attempts else 1.0


def gathered(ends: Rows) -> Starts:
    """The states in which attempts ended as starts of the next ones, each as likely as it was frequent."""
    rows, counts = np.unique(ends, axis=0, return_counts=True)
    cumulative = np.cumsum(counts) / counts.sum()
    cumulative[-1] = 1.0
    return Starts(rows, cumulative)


def joined(groups: Sequence[Rows]) -> tuple[Rows, NDArray[np.int64]]:
    """Groups of rows end to end, and how long each is; rows of text are filled with blanks."""
    lengths = np.array([len(group) for group in groups], np.int64)
    if not groups:
        return np.zeros(0), lengths
    if groups[0].dtype == np.uint8:
        width = max(group.shape[1] for group in groups)
        groups = [np.pad(g, ((0, 0), (0, width - g.shape[1])), constant_values=ord(" ")) for g in groups]
    return np.concatenate(groups), lengths
