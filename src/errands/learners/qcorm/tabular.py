"""QCoRM: the paper's method (Section 4), with every choice that the paper leaves open as a field."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from errands.errors import TaskError
from errands.features import parse_guard, satisfying
from errands.kernels import Repeated
from errands.learners.base import (
    FINITE,
    MAX_COUNT,
    UNDISCOUNTED,
    Carried,
    Saved,
    State,
    kept,
    listed,
    new_dangers,
    require,
)
from errands.learners.engines.tabular import TabularLearner, room
from errands.learners.qcorm import kernel
from errands.learners.qcorm.settings import XI_UNITS, QCoRMConfig, start_of
from errands.learners.schedule import Schedule
from errands.machines.counting import Quotient, size
from errands.machines.gauges import bits_of
from errands.machines.lower import lower
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State as MachineState
from errands.machines.stepping import Stepper
from errands.machines.unfolding import unfold_agenda
from errands.policies.tables import ObjectivePolicy
from errands.tables import RUNNING, SUCCESS, Floats
from errands.tasks.task import Task

MAX_PLANNED = 1 << 15
"""Pairs of an agenda state and a place of which all orders are looked at."""


def legs(machine: NumericRM) -> set[tuple[str, str]] | None:
    """The pairs of objectives that can follow each other in a machine; None where it is too large to be gone through."""
    if size(machine).agenda > MAX_PLANNED:
        return None
    stepper, pairs = Stepper(machine), set[tuple[str, str]]()
    for state in unfold_agenda(machine).states:
        for name in stepper.alternatives(state):
            after = stepper.step(state, satisfying(parse_guard(name)) or frozenset()).state
            pairs |= {(name, later) for later in stepper.alternatives(after) if after != state}
    return pairs


Leg = Callable[[Any, int], tuple[float, Any]]
"""From a place (whatever tells what was completed last, and where) and an objective: the steps to it, and the place then."""


def planned(stepper: Stepper, objectives: Sequence[str], start: Hashable, leg: Leg) -> dict[tuple[int, int, str], float]:
    """Steps to go by numeric state, remaining mask and the objective pursued next.

    Parameters:
        stepper: the machine.
        objectives: by the numbers that `leg` knows them by.
        start: the place at which an episode begins.
        leg: what each leg costs; infinite where no way is known.
    """
    number = {name: k for k, name in enumerate(objectives)}
    true = [satisfying(parse_guard(name)) or frozenset() for name in objectives]
    best: dict[tuple[MachineState, Any], float] = {}
    open_: set[tuple[MachineState, Any]] = set()

    def ways(state: MachineState, place: Any) -> list[tuple[int, MachineState, float, Any]]:
        both = [(number[name], stepper.step(state, true[number[name]]).state) for name in stepper.alternatives(state)]
        return [(k, after, *leg(place, k)) for k, after in both if after != state]

    def togo(state: MachineState, place: Any) -> float:
        if stepper.status[state[0]] != RUNNING:
            return 0.0 if stepper.status[state[0]] == SUCCESS else math.inf
        here = state, place
        if here not in best:
            if here in open_:  # a machine that leads back to itself: no way goes round
                return math.inf
            open_.add(here)
            choices = ways(state, place)
            if len(best) + len(open_) > MAX_PLANNED:
                choices = sorted(choices, key=lambda way: way[2])[:1]
            best[here] = min((cost + togo(after, there) for _, after, cost, there in choices), default=math.inf)
            open_.discard(here)
        return best[here]

    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, 20 * len(stepper.machine.subtasks) + 2_000))
    try:
        togo(stepper.start, start)
        steps: dict[tuple[int, int, str], float] = {}
        for state, place in list(best):
            for k, after, cost, there in ways(state, place):
                key = (*state, objectives[k])
                rest = 0.0 if stepper.status[after[0]] == SUCCESS else best.get((after, there), math.inf)
                steps[key] = min(cost + rest, steps.get(key, math.inf))
        # Where the best way enters a state it is known what was completed last.
        state, place = stepper.start, start
        while stepper.status[state[0]] == RUNNING and togo(state, place) < math.inf:
            choices = ways(state, place)
            costs = [cost + togo(after, there) for _, after, cost, there in choices]
            steps |= {(*state, objectives[way[0]]): cost for way, cost in zip(choices, costs, strict=True)}
            _, state, _, place = choices[costs.index(min(costs))]
    finally:
        sys.setrecursionlimit(depth)
    return {key: cost for key, cost in steps.items() if cost < math.inf}


UNLEARNT = 1e6
"""Steps of a leg whose beginning an objective's policy has never learnt about."""
# The printed delta K punishes a fast leg even in the best episode so far; the proof needs that only where K > K_mi.
DELTAS = {"episode": kernel.EPISODE, "gated": kernel.GATED, "printed": kernel.PRINTED}


class QCoRM(TabularLearner):
    """One seed of QCoRM; works with the stepping machine, so nothing grows with 2^N but the states visited."""

    config: QCoRMConfig

    def __init__(self, task: Task, config: QCoRMConfig, seed: int) -> None:
        super().__init__(task, config, seed, kernel.FIELDS)
        self.quotient = Quotient(task.machine)
        self.objectives = self.quotient.objectives
        states, count, rows = self.world.states, len(self.objectives), min(self.world.limit, 1_000_000)
        # S world states, A actions, K objectives. q is [S, A, K] and v [S, K]: K is last because all open objectives
        # learn from each step. Nothing has an axis for the 2^N agendas; steps to go are a hash table of those met.
        self.relabel()
        self.table = kernel.empty(1024)
        self.values = kernel.CoupledValues(
            q=np.full(room("the table of QCoRM", states, self.world.actions, count), config.q_init),
            v=np.full((states, count), config.q_init),
            shortest_episode=np.array([start_of(config.shortest_start)]),
            best_duration=np.full(count, start_of(config.best_duration_start)),
            position=self.position,
            mask=np.zeros(1, np.uint64),
            open=np.zeros(count, np.int32),
            ground=np.zeros((rows, 5), np.int64),
            passed=np.zeros((rows, 2), np.int64),
            passed_mask=np.zeros(rows, np.uint64),
        )
        self.rates = self._rates()
        # Shares q and v with training, but not the position: an evaluation may come in the middle of an episode.
        self.twin = self.values._replace(
            position=np.zeros_like(self.position), mask=np.zeros(1, np.uint64), open=np.zeros(count, np.int32)
        )
        """The values, with a position of its own for greedy episodes."""
        # Called again and again with the very same objects, whose types need not be found out each time.
        self.train_loop, self.play = Repeated(kernel.qcorm_loop), Repeated(kernel.coupled_episode)
        self.begin()

    def relabel(self) -> None:
        """Lower the machine against the labels known now."""
        self.machine = lower(self.task.machine, self.world.labels, self.world.signals)

    def _rates(self) -> kernel.Coefficients:
        c, xi = self.config, Schedule.of(self.config.xi, "xi", XI_UNITS)
        return kernel.Coefficients(
            alpha=c.alpha, gamma=c.gamma, alpha_eta=c.alpha_eta, alpha_k=c.alpha_k,
            epsilon=Schedule.of(c.epsilon).line, xi=xi.line, xi_unit=XI_UNITS.index(xi.unit),
            full_reward=c.full_reward, min_step_reward=c.min_step_reward, joint=c.joint, delta=DELTAS[c.delta],
            limit=self.world.limit,
        )  # fmt: skip

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        return int(self.train_loop(self.world.table, self.machine, self.values, self.table, self.rates, count, self.rng))

    def supply(self) -> None:
        """Make the steps-to-go table larger."""
        # The loop stops before the table is more than half full, so that looking something up stays short.
        larger = kernel.empty(4 * len(self.table.key))
        kernel.refill(self.table, larger)
        self.table = larger

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode, with a position of its own."""
        episode: tuple[int, float, bool]
        episode = self.play(self.world.table, self.machine, self.twin, self.table, self.world.limit, rng)
        return episode

    def known(self) -> dict[tuple[int, int, str], float]:
        """The steps to go by numeric state, remaining mask and objective, where an episode has reached the goal."""
        width = len(self.objectives)
        # A key is numeric state * objectives + objective.
        slots = np.flatnonzero((self.table.key >= 0) & np.isfinite(self.table.eta))
        rows = zip(*(column[slots].tolist() for column in (self.table.key, self.table.mask, self.table.eta)), strict=True)
        return {(key // width, mask, self.objectives[key % width]): eta for key, mask, eta in rows}

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The learnt steps to go of every coupled state that an episode has passed on its way to the goal."""
        stepper = self.quotient.stepper
        # The goal has no steps to go and is in no table; it is added where anything at all is known.
        ends = [(u, at) for (u, counts), at in self.quotient.levels.items() if stepper.status[u] == SUCCESS and not any(counts)]
        done = [(u + level * stepper.base, 0) for u, levels in ends for level in bits_of(levels)]
        by_label = {
            str(self.quotient.label((u, mask), name)): eta for (u, mask, name), eta in sorted(self.known().items())
        }
        return by_label | {str(self.quotient.label(state)): 0.0 for state in done if by_label}

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """A learner that pursues the same objectives in an order planned from what their values tell of the steps between."""
        new = type(self)(task, config, seed)
        new.take_labels(self)
        completed = {name for _, _, name in self.known()}
        if strange := [name for name in new.objectives if name not in completed]:
            known = listed(sorted(completed)) if completed else "nothing"
            raise TaskError(
                f"'{strange[0]}' was never completed on the way to success in {self.step:,} steps of QCoRM, which knows {known}; "
                "use those, or train on for it: errands.train(task, start=run, steps=...)"
            )
        at = [self.objectives.index(name) for name in new.objectives]
        new.values.q[:], new.values.v[:] = self.values.q[:, :, at], self.values.v[:, at]
        new.values.best_duration[:] = self.values.best_duration[at]
        # A value is gamma to the number of steps, times what the last of them is worth: that of the cell where it is taken.
        v, gamma = np.maximum(new.values.v, 1e-300), min(self.config.gamma, UNDISCOUNTED)
        learnt = new.values.v != self.config.q_init
        steps = np.where(learnt, 1 + np.log(v / np.where(learnt, v, 1e-300).max(axis=0)) / np.log(gamma), UNLEARNT)
        doors = [np.flatnonzero(column < 1.5) for column in steps.T]

        def leg(place: tuple[int, int], k: int) -> tuple[float, tuple[int, int]]:
            # Of the cells from which one step completes k the nearest to where the leg begins, as if ways back were as long.
            cell, last = place
            return float(steps[cell, k]), (int(doors[k][steps[doors[k], k if last < 0 else last].argmin()]), k)

        start, stepper = (int(self.world.table.starts[0]), -1), new.quotient.stepper
        togo = planned(stepper, new.objectives, start, leg)
        for (u, mask, name), cost in togo.items():
            if 2 * new.table.size[0] + 2 > len(new.table.key):
                new.supply()
            slot = kernel.insert(new.table, np.uint64(mask), u * len(new.objectives) + new.objectives.index(name))
            new.table.eta[slot] = cost
        trained, wanted = legs(self.task.machine), legs(task.machine)
        untrodden = sorted(wanted - trained) if trained is not None and wanted is not None else []
        ways = [f"the way from {a} to {b}" for a, b in untrodden]
        unknown = "; ".join(filter(None, (new_dangers(task, self.task), listed(ways) if ways else "")))
        uses = f"its policies of {listed(new.objectives)}, in an order planned from the steps that their values tell"
        return Carried(new, uses, unknown)

    @property
    def policy(self) -> ObjectivePolicy:
        """The greedy policy learnt so far."""
        actions = self.values.q.argmax(axis=1).astype(np.int8)
        return ObjectivePolicy(actions, self.objectives, self.known(), self.quotient.stepper)

    def values_of(self, column: int) -> Floats:
        """The value of each world state under an objective."""
        return self.values.v[:, column]

    def state(self) -> State:
        """The position, values, running estimates, the episode so far, and the steps to go."""
        values, table, full = self.values, self.table, self.machine.full
        (states, actions, count), rows, limit = values.q.shape, len(values.ground), self.world.limit
        keys, c = len(self.machine.status) * count, kernel
        counts = {
            c.NUMERIC: len(self.machine.status), c.CHOICE: count, c.EXPLOITED: 2, c.ENTERED: limit,
            c.OPEN: count + 1, c.GROUNDED: rows + 1, c.PASSED: rows + 1, c.CLEAN: 2,
        }  # fmt: skip
        # Columns of a grounding transition: world state, action, objective, its duration, whether its choice exploited.
        grounded = np.array([states, actions, count, limit + 1, 2]) - 1
        passed, slots = np.array([keys - 1, limit]), (None, "slots")
        return {
            "position": self.position_form(counts, low={c.CHOICE: -1}),
            "values_q": kept(values.q, "values of each objective", -FINITE, FINITE),
            "values_v": kept(values.v, "their maximum over actions", -FINITE, FINITE),
            "values_shortest_episode": kept(values.shortest_episode, "running K_mi", 0, np.inf),
            "values_best_duration": kept(values.best_duration, "running K_op of each objective", 0, np.inf),
            "values_mask": kept(values.mask, "the remaining subtasks", 0, full, acting=False),
            "values_open": kept(values.open, "the objectives open now come first", into=count, acting=False),
            "values_ground": kept(values.ground, "grounding transitions of the episode", 0, grounded, acting=False),
            "values_passed": kept(values.passed, "coupled states left: key, time", 0, passed, acting=False),
            "values_passed_mask": kept(values.passed_mask, "and the subtasks that remained", 0, full, acting=False),
            "eta_mask": kept(table.mask, "hash table of coupled states: remaining subtasks", 0, full, *slots),
            "eta_key": kept(table.key, "numeric state and objective, -1 for a free slot", -1, keys - 1, *slots),
            "eta_eta": kept(table.eta, "steps to go, infinite while unknown", 0, np.inf, *slots),
            "eta_used": kept(table.used, "how often it was chosen", 0, MAX_COUNT, *slots),
            "eta_size": kept(table.size, "slots taken", 0, MAX_COUNT),
        }

    def load_arrays(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take the tables back; the hash table may be larger than a new one's."""
        slots, full, count = lengths["slots"], np.uint64(self.machine.full), int(saved["position"][kernel.OPEN])
        # A table that is full, or of another size than a power of two, could make the kernel's search run for ever.
        taken = int((saved["eta_key"] >= 0).sum())
        require(slots >= 4 and slots & (slots - 1) == 0, "the hash table's size is no power of two")
        require(taken == saved["eta_size"][0] and 2 * taken <= slots, "the hash table is fuller than it says, or than half")
        require(len(set(saved["values_open"][:count].tolist())) == count, "an objective is open twice")
        for name in ("values_mask", "values_passed_mask", "eta_mask"):
            require(not (saved[name] & ~full).any(), f"'{name}' has subtasks that the machine lacks")
        # Replaced first: `super().load_arrays` writes into arrays, which must have the saved size by then.
        self.table = self.table._replace(**{name: saved[f"eta_{name}"].copy() for name in self.table._fields})
        super().load_arrays(saved, lengths)
