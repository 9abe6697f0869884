"""Plain values: the flat arrays that compiled loops read (world, machine, agenda), and the evaluation of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Compiled loops take NamedTuples of arrays as they are; each element type is part of a kernel's signature.
Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
# One word for a set of subtasks, bit k for subtask k: so at most 64 subtasks in compiled loops.
Masks = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int8]

# RUNNING is 0, so that a table of zeros is one of running states.
RUNNING, SUCCESS, FAILURE = 0, 1, 2


class RandomGenerator(np.random.Generator):
    """The random numbers of a seed: PCG64, in a form that compiled loops take over without running Python (kernels.compiler)."""

    # Named outright: what default_rng returns may change between versions, and PCG64 is what saved runs hold.
    def __init__(self, *seed: int) -> None:
        super().__init__(np.random.PCG64(seed[0] if len(seed) == 1 else seed))


class WorldTable(NamedTuple):
    """A finite world: outcome o of action a in world state s; one outcome where moves are certain."""

    # S world states, A actions, O outcomes, L labels (feature sets), K signals; U machine states below.
    starts: Ints
    """[n] the states an episode can start in."""
    start_cumulative: Floats
    """[n] cumulative probability of the starts; the last entry is 1."""
    start_label: Ints
    """[n] the label (index of a feature set) of each start; reported, never consumed by a machine."""
    # Worlds asked step by step fill these rows as they are met; -1 is an outcome not yet known.
    next: Ints
    """[S, A, O] the state reached."""
    # Cumulative, so that one uniform draw and a short walk find the outcome (stepping.outcome).
    cumulative: Floats
    """[S, A, O] cumulative probability over outcomes; padding outcomes repeat 1."""
    label: Ints
    """[S, A, O] the label of the step: an index into the world's list of feature sets."""
    ends: Flags
    """[S, A, O] whether the world itself ends the episode with this step."""
    signal: Floats
    """[K, S, A, O] the value of each signal that the world reports."""


class MachineTable(NamedTuple):
    """An enumerated machine (Boolean or agenda) lowered against a world's labels."""

    # Rows are machine states here; learners that replay a step in all states keep a transposed copy (Alive).
    initial: int
    next: Ints
    """[U, L] the machine state after a step with label l."""
    reward: Floats
    """[U, L] the constant reward, or the factor of the signal."""
    signal: Ints
    """[U, L] index of the signal that is paid, -1 for a constant."""
    status: Codes
    """[U] RUNNING, SUCCESS or FAILURE."""


class OrderTable(NamedTuple):
    """Rules between subtasks as masks (machines.rules); machines without rules never look further than `ruled`."""

    ruled: bool
    before: Masks
    """[N] what must not remain for each subtask bit to be open."""
    ends: np.uint64
    """the bits that say that a visit has yet to end: no variable counts them, and all that hold are completed."""
    # Choices first, an inner one before the outer one that it is a part of; then capacities. Both use `part`.
    enough: Ints
    """[C] how many parts of choice c are enough; its parts are part[part_first[c] : part_first[c + 1]]."""
    room: Ints
    """[D] how many parts of capacity d may be begun and not done; its slice is that of C + d."""
    part_first: Ints
    """[C + D + 1]"""
    part: Masks


class AgendaTable(NamedTuple):
    """An agenda machine that is stepped, never enumerated: state = (numeric state u, mask of remaining subtasks)."""

    initial: int
    full: np.uint64
    """the mask of all subtasks."""
    active: Masks
    """[U] the subtasks that can be completed in u where no rule holds them back."""
    label_bits: Masks
    """[L] the subtasks whose feature is true in label l."""
    variable_bits: Masks
    """[V] the subtasks that numeric variable v counts."""
    first: Ints
    """[U + 1] slice of `variables` that u's guards mention."""
    variables: Ints
    # A digit of q is 0 for unchanged, 1 for decreased, 2 for reached; the first variable mentioned is the lowest.
    # The blocks of the machine's states lie behind one another, so that states with few variables take little room.
    offset: Ints
    """[U] where u's block of entries begins; entry = offset[u] + l * 3**n_u + q, q the mentioned values in base 3."""
    width: Ints
    """[U] 3**n_u."""
    next: Ints
    """[E] the numeric state after the step."""
    reward: Floats
    """[E] the constant reward, or the factor of the signal."""
    signal: Ints
    """[E] index of the signal that is paid, -1 for a constant."""
    fired: Ints
    """[E] the Boolean objective that this transition completes where it was open (Stepper.fired); -1 for none (stay, failure)."""
    status: Codes
    """[U] RUNNING, SUCCESS or FAILURE."""
    subtask_objective: Ints
    """[N] the objective (low-level policy) of each subtask bit."""
    # No label here: what is open depends on the state and on which variables are at their bound, not on a step.
    alternative_first: Ints
    """[sum of widths + 1] slice of `alternatives` open in (u, q), at row_of_u + q."""
    alternative_row: Ints
    """[U] the first row of u."""
    alternatives: Ints
    """Boolean objectives open in (u, q), besides the open subtasks."""
    order: OrderTable
    """The rules between the subtasks."""


class Slope(NamedTuple):
    """A probability that changes in a straight line with a count, between two bounds; `learners/schedule.py` reads its text."""

    start: float
    slope: float
    first: int
    low: float
    high: float


# A policy's length and the optimum come from two different solvers, whose last bits need not agree.
ROUNDING = 1e-9
"""Relative differences of expected lengths below this are rounding."""


ENDS = ("length_low", "length_high", "success_low", "success_high")
"""The ends of the intervals of means, by their fields of Evaluation."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The greedy policy after `step` training steps.

    Where there is no chance one episode says everything: its length in whole steps, and whether it succeeded. Elsewhere
    the numbers are expectations over all starts and outcomes: exact ones (`episodes` is 0), or the means of so many
    episodes with 95 % intervals. One drawn episode is never compared with an expected optimum.

    >>> Evaluation(step=1000, episode_length=12, total_reward=1.0, success=True).gap(10.0)
    2.0
    """

    step: int
    episode_length: float
    """Steps until the episode ends, in success or failure, or the time limit cuts it off."""
    total_reward: float
    success: float
    """True or False for one episode, else the probability of success or the share of episodes that succeeded."""
    episodes: int = 1
    """1: one episode, in a world without chance; 0: exact expectations; more: means over so many episodes."""
    length_low: float | None = None
    length_high: float | None = None
    success_low: float | None = None
    success_high: float | None = None
    """The ends of the intervals of means; None where the numbers are exact."""

    @property
    def exact(self) -> bool:
        """Whether the numbers are what they say, and not estimates."""
        return self.episodes <= 1

    @property
    def sure(self) -> bool:
        """Whether every episode succeeds, as far as is known."""
        return self.success >= 1

    @property
    def steps_taken(self) -> int:
        """The steps in the environment that the evaluation itself took; an exact expectation takes none."""
        return round(self.episodes * self.episode_length) if self.episodes else 0

    @property
    def rank(self) -> tuple[float, float]:
        """Lower is better: success first, then length."""
        return -float(self.success), self.episode_length

    def gap(self, best: float | None) -> float | None:
        """Steps above the optimum; None where success is not sure, or either number is not known exactly."""
        if best is None or not self.sure or not self.exact:
            return None
        gap = self.episode_length - best
        return 0 if abs(gap) <= ROUNDING * self.episode_length else gap

    def optimal(self, best: float | None) -> bool:
        """Whether the policy surely succeeds in the optimal number of steps."""
        gap = self.gap(best)
        return gap is not None and gap <= 0
