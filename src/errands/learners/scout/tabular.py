"""Scout (ours): explore the frontier of what is known, plan on what is known, stop with a certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from errands.errors import ConfigError
from errands.learners.base import Carried, Form, Learner, LearnerConfig, Saved, refuse_unknown
from errands.learners.scout.claim import MOST, ValueBounds, claimed, claimed_from_starts, learn_meanings
from errands.learners.scout.kernel import explore as ex
from errands.learners.scout.kernel import memory as me
from errands.learners.scout.kernel.explore import scarce_from, wanted_cells
from errands.learners.scout.kernel.law import oddness
from errands.learners.scout.kernel.memory import Explorer, Known, rehearse
from errands.learners.scout.kernel.model import Model, learn_model, seek_values
from errands.learners.scout.kernel.plan import FAR, incoming, measure
from errands.learners.scout.machine import MAX_STATES, Lowering
from errands.learners.scout.planner import (
    ExactPlanner,
    ExactValues,
    PlannedPolicy,
    Planner,
    Planners,
    RandomPlanner,
    RoutedPolicy,
    bounds_so_far,
    proof,
)
from errands.learners.scout.saving import form_of, load_scout, save_scout
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.stages import KnownWay
from errands.learners.scout.world import BEYOND, UNSEEN, Outing, TableSampler, make_sampler
from errands.learners.scout.zones import tour_bounds
from errands.machines.stepping import State
from errands.machines.unfolding import unfold_agenda
from errands.oracle.certificate import AS_SEEN, Bounds
from errands.oracle.episode import Policy, draw, play
from errands.tables import Evaluation, Floats, Ints
from errands.tasks.task import Task
from errands.worlds.grid import Noise


def new_known(states: int, actions: int, outcomes: int) -> Known:
    """Nothing known yet, with room for so many outcomes of a pair."""
    pairs, rows = (states, actions), (states, actions, outcomes)
    tried, mode, sense = np.zeros(pairs, np.int32), np.zeros(pairs, np.int32), np.full(pairs, -1, np.int32)
    target, label, hits, base = (np.zeros(rows, np.int32) for _ in range(4))
    cell_label, started, facts = np.full(states, -1, np.int32), np.zeros(states, np.int32), np.zeros(3, np.int64)
    return Known(tried, target, label, np.zeros(rows, np.bool_), hits, mode, sense, base, cell_label, started, facts)


def roomier(known: Known) -> Known:
    """The same knowledge with room for twice as many outcomes."""
    rows = {name: part for name, part in known._asdict().items() if part.ndim == 3}
    return known._replace(**{name: np.concatenate((part, np.zeros_like(part)), axis=2) for name, part in rows.items()})


def larger(known: Known, states: int) -> Known:
    """The same knowledge with room for so many states."""
    more = states - len(known.tried)
    fresh = new_known(more, known.tried.shape[1], known.hits.shape[2])
    # The first axis of all arrays but `facts` is the cell.
    parts = (np.concatenate(both) for both in zip(known[:-1], fresh[:-1], strict=True))
    return Known._make((*parts, known.facts))


def snapshot(known: Known) -> Known:
    """A copy of what is known, which later steps do not change."""
    return Known._make(part.copy() for part in known)


def new_agent(states: int, limit: int, words: int, labels: int) -> Explorer:
    """An agent about to start its first episode, exploring."""
    at = np.zeros(me.FIELDS, np.int64)
    at[me.CLOCK], at[me.LEVEL] = -1, 1
    room = me.room_of(states, limit)
    path, expect = np.zeros(room, np.int32), np.zeros(room, np.int32)
    mask, after = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    scratch = (np.zeros(states, np.int32) for _ in range(4))
    return Explorer(at, mask, after, path, expect, np.zeros(labels, np.int8), *scratch)


# NEVER: no number of new pairs is due. MAX_LABELS: agenda states that `steps_to_go` unfolds. WILD: the share of
# unusual outcomes above which ways are planned by values, for usual outcomes lead nowhere. PATIENCE: how many times the
# steps that a plan promises it is followed for. SPARE: steps that evaluations may take before they wait for training.
NEVER = 1 << 60
MAX_LABELS = 5_000
WILD = 0.3
PATIENCE = 4
SPARE = 100_000


def known_bounds(task: Task) -> Bounds | None:
    """Bounds of the optimum without a step: Scout's plan where every action was tried, an order of zones; else None."""
    bounds = tour_bounds(task) or _planned_bounds(task)
    return replace(bounds, reason=f"{bounds.reason}, {task.tried}") if bounds is not None and task.tried else bounds


def _planned_bounds(task: Task) -> Bounds | None:
    world = task.finite
    if world is None or not world.certain:
        return None
    table, pairs = world.table, (world.states, world.actions)
    known = new_known(*pairs, 1)._replace(
        tried=np.ones(pairs, np.int32), target=table.next, label=table.label, ends=table.ends, hits=np.ones((*pairs, 1), np.int32)
    )
    start = int(table.starts[0])
    known.cell_label[start] = table.start_label[0]
    known.cell_label[table.next.ravel()] = table.label.ravel()
    lowering = Lowering(task.machine, world.labels, world.signals)
    first = lowering.stepper.start
    planner = Planners(lowering, ScoutConfig(), 0, ExactPlanner).certain(known, True)
    if isinstance(planner, ExactPlanner):
        plan = planner.certified(planner.agenda.number(first), start)
        if plan is not None:
            return proof(plan, 0, True).within(task.world.limit)
    # The other planners take features for positions.
    if (known.cell_label[table.next] != table.label).any():
        return None
    return bounds_so_far(planner, first, {start: 1}, False, 0, True).within(task.world.limit)


class Scout(Learner):
    """Learns a finite world step by step and plans on what it knows; `claim` says what is proved."""

    config: ScoutConfig
    planner_type: type[ExactPlanner] = ExactPlanner
    most_states = MAX_STATES

    def __init__(self, task: Task, config: LearnerConfig, seed: int) -> None:
        super().__init__(task, config, seed)
        if not isinstance(config, ScoutConfig):
            raise ConfigError(f"Scout was given a {type(config).__name__}; give it a ScoutConfig")
        self.sampler = make_sampler(task, seed, config.host)
        world = task.finite if isinstance(self.sampler, TableSampler) else None
        labels, signals = (world.labels, world.signals) if world else ((), task.signals)
        self.lowering = Lowering(task.machine, labels, signals)
        self.planners = Planners(self.lowering, config, seed, self.planner_type, self.most_states)
        # Unless the world promises certain moves there is room for four outcomes; `advance` doubles it when it is full.
        self.known = new_known(self.sampler.states, self.sampler.actions, 1 if self.sampler.certain else 4)
        self.agent = new_agent(self.sampler.states, task.world.limit, self.lowering.words, len(self.lowering.labels))
        self.route: Ints = np.zeros(self.sampler.states, np.int32)
        # In a random world plans rest on this copy, so that the policy does not change with every step.
        self.frozen = snapshot(self.known)
        self.frozen_step = 0
        self.settled = False
        self.proof: Bounds | None = None
        self._sought: tuple[tuple[int, int, bytes, bytes], Floats, Ints] | None = None
        self._modelled: tuple[int, Model] | None = None
        self._measured: tuple[Policy, Evaluation] | None = None
        self._claimed: tuple[int, ValueBounds] | None = None
        self._cached: tuple[tuple[int, ...], Planner | RandomPlanner, Policy] | None = None

    @property
    def random(self) -> bool:
        """Whether moves are random: declared so, or seen."""
        return self.sampler.certain is False or bool(self.known.facts[me.RANDOM])

    @property
    def starts(self) -> list[int]:
        """The cells in which episodes have started."""
        return [int(s) for s in np.flatnonzero(self.known.started)]

    @property
    def here(self) -> State:
        """The agenda state that the agent is in."""
        return int(self.agent.at[me.STATE]), self.lowering.mask_of(self.agent.mask)

    def advance(self, count: int) -> None:
        """Take up to `count` steps: none more once all is proved or explored."""
        goal = self.step + count
        while self.step < goal and self.proof is None:
            # A random world has no certificate, so that there is nothing to look for.
            due = NEVER if self.random else self.planners.due or NEVER
            along = (self.known, self.lowering, self.agent, self.route)
            until = min(goal, self.renewal) if self.random and self.step < self.renewal else goal
            taken, why = self.sampler.explore(Outing(*along, until - self.step, due, self.random, self.rng))
            self.step += taken
            # FULL, UNSEEN and BEYOND only make room; the step that lacked it was not taken or waits in the sampler. SPENT is
            # left alone: what is learnt must not depend on when somebody looks.
            if why == ex.FULL:
                self.known = roomier(self.known)
            elif why == UNSEEN:
                self._meet_label()
            elif why == BEYOND:
                self.make_room(min(2 * len(self.known.tried), self.sampler.most))
            elif self.random and (why != ex.SPENT or self.step == self.renewal):
                self._venture(why)
            elif why in (ex.DUE, ex.DRY):
                self._reason(why)

    @property
    def waits(self) -> bool:
        """Evaluations take a tenth of the training steps, besides some that are not noticed."""
        return self.evaluation_steps > SPARE + self.step // 10

    def measure(self) -> Evaluation:
        """The evaluation that a run reports; where exact, that of a plan which has not changed costs nothing."""
        if self._measured is None or self._measured[0] is not self.policy or self._measured[1].episodes:
            self._measured = self.policy, super().measure()
        return replace(self._measured[1], step=self.step)

    @property
    def finished(self) -> bool:
        """Whether the task is proved or all is explored, so that nothing is left to learn."""
        return self.proof is not None

    def make_room(self, states: int) -> None:
        """Make room for so many states: in memory, in the plan of a random world, on the way ahead."""
        self.known, self.frozen = larger(self.known, states), larger(self.frozen, states)
        fresh = new_agent(states, self.task.world.limit, self.lowering.words, len(self.lowering.labels))
        ahead = self.agent.at[me.END]
        fresh.path[:ahead], fresh.expect[:ahead] = self.agent.path[:ahead], self.agent.expect[:ahead]
        # `seen` restarts at zeros while STAMP (in `at`) goes on: stamps only grow, so no cell looks met.
        carried = {name: getattr(self.agent, name) for name in ("at", "mask", "after", "effect")}
        self.agent = fresh._replace(**carried)
        self.route = np.concatenate((self.route, np.zeros(states - len(self.route), np.int32)))
        self._cached = self._sought = self._modelled = self._claimed = None

    def _meet_label(self) -> None:
        """Lower the machine against the feature set that the environment has just shown."""
        pending_observation = getattr(self.sampler, "pending_observation", None)
        if pending_observation is not None:
            self.lowering.add([pending_observation.features])
            self.agent = self.agent._replace(effect=np.zeros(len(self.lowering.labels), np.int8))
            # Between two episodes nothing has to be found: `begin` does it.
            if self.agent.at[me.CLOCK] >= 0:
                me.refresh(self.lowering.machine, self.agent)

    def _reason(self, why: int) -> None:
        """Certain moves: look for a certificate; when nothing untried is near, follow a plan or wait for the limit."""
        at = self.agent.at
        if why == ex.DRY:
            # Ways that change the machine can keep the frontier out of reach; then every way follows the hopeful plan.
            at[me.LEVEL] = at[me.FRESH] > 0
        at[me.FRESH] = 0
        # A proof is about one start, and needs cells that always show the same label.
        if len(self.starts) == 1 and not self.known.facts[me.EVENTS]:
            self.proof = self._settled(self.starts[0])
        if self.proof is not None and math.isinf(self.proof.lower) and self.sampler.certain is None:
            # Nothing says that moves are certain, and one odd step may hide the only way: each pair is tried twice.
            at[me.LEVEL] = 2
            if scarce_from(self.known, self.agent, np.array(self.starts, np.int32)):
                self.proof = None
        if self.proof is None and why == ex.DRY:
            planner, cell = self.planner, int(at[me.CELL])
            actions: Ints | None = None
            if isinstance(planner, ExactPlanner):
                actions = planner.onward(planner.agenda.number(self.here), cell)
            elif (walk := planner.walk(self.here, cell)) is not None:
                actions = np.array(walk.actions, np.int32)
            self._commit(actions)

    def _settled(self, start: int) -> Bounds | None:
        """The claim that ends the run: a plan that nothing untried can beat, or nothing left to try."""
        planner, first = self.planner, self.lowering.stepper.start
        if isinstance(planner, ExactPlanner):
            plan = planner.certified(planner.agenda.number(first), start)
            return None if plan is None else proof(plan, self.step, self.sampler.certain)
        # Too many agenda states for a search. Still, with no untried action in reach of the start, all is known.
        none, ways = np.zeros(0, np.int32), incoming(self.known, self.planners.fatal)
        marks = measure(self.known, ways, none, none, True)
        self.settled = bool(marks.exit[start] >= FAR)
        return self._bounds() if self.settled else None

    def _commit(self, actions: Ints | None) -> None:
        """Make these actions the path ahead; None: pass the time until the episode ends."""
        agent, limit = self.agent, self.task.world.limit
        way = np.zeros(limit, np.int32) if actions is None else actions
        length = min(len(way), limit - int(agent.at[me.CLOCK]), len(agent.path))
        # No cell is expected (-1): where the untried action at the end of a hopeful plan leads is not known.
        agent.path[:length], agent.expect[:length] = way[:length], -1
        agent.at[me.AT], agent.at[me.END], agent.at[me.GUIDED] = 0, length, 1

    def _venture(self, why: int) -> None:
        """Random moves: renew the plan as experience grows, and share episodes between exploring and following it."""
        at = self.agent.at
        if self.step >= self.renewal:
            if self.config.law != "none":
                learn_meanings(self.known, self.config.delta, self._noise)
            self.frozen, self.frozen_step = snapshot(self.known), self.step
        # Chosen at the start and for a whole episode; only `_rest` turns it greedy before its end.
        if at[me.CLOCK] == 0:
            greedy = at[me.LEVEL] > self.config.level and self.known.started.sum() % 2 == 0
            if not (greedy and self._follow()):
                self._explore()
        elif at[me.FOLLOWING] == me.GREEDY and at[me.CLOCK] >= at[me.UNTIL]:
            self._explore()
        if why == ex.DRY:
            self._rest()
        if at[me.FOLLOWING] == me.GREEDY and at[me.CLOCK] >= 0:
            self.route = np.maximum(self.random_planner.route(self.here), 0)
        elif at[me.FOLLOWING] == me.SEEKING and at[me.CLOCK] >= 0:
            self._seek()

    @property
    def renewal(self) -> int:
        """When the plan of a random world is renewed: steps grow by a tenth, the number of plans with their logarithm."""
        return self.frozen_step + self.frozen_step // 10 + 20

    def _explore(self) -> None:
        self.agent.at[me.FOLLOWING] = me.SEEKING if oddness(self.frozen) > WILD else 0

    def _follow(self) -> bool:
        """Follow the plan for as long as it may take; whether there is one, for a plan without hope waits at a wall."""
        at = self.agent.at
        value = self.random_planner.value(self.here, int(at[me.CELL]))
        if value <= 0.0:
            return False
        # E[gamma^T] >= gamma^E[T]: where success is sure the plan takes at least this long on average. Beyond PATIENCE times
        # that it does not do what it promises.
        promised = math.log(min(value, self.config.gamma)) / math.log(self.config.gamma) if self.config.gamma < 1.0 else math.inf
        at[me.FOLLOWING] = me.GREEDY
        at[me.UNTIL] = int(min(at[me.CLOCK] + PATIENCE * promised + 1, self.task.world.limit))
        return True

    def _rest(self) -> None:
        """Nothing scarce is in reach: end the episode by the plan if the start offers more, else ask for more tries."""
        at = self.agent.at
        if scarce_from(self.known, self.agent, np.array(self.starts, np.int32)) and self._follow():
            return
        # Levels 1 to 6, 8, 10, 13: every pair is tried about equally often, and each round costs a third more.
        at[me.LEVEL] = max(at[me.LEVEL] + 1, at[me.LEVEL] * 4 // 3)
        # The level has run away from all counts: what is scarce is out of reach at every level.
        if at[me.LEVEL] > 2 * self.known.tried.max() + 2:
            self._follow()

    def _seek(self) -> None:
        """Where outcomes are mostly unusual, the way to what is scarce is planned by values."""
        at = self.agent.at
        wanted = wanted_cells(self.known, self.agent)
        start = int(np.argmax(self.known.started))
        key = (start, self.frozen_step, (self.agent.effect == me.FINAL).tobytes(), wanted.tobytes())
        if self._sought is None or key != self._sought[0]:
            self._sought = key, *seek_values(self.model, self.agent.effect, wanted, start, self.config.gamma)
        self.route = self._sought[2]
        if self._sought[1][at[me.CELL]] <= 0.0 and not wanted[at[me.CELL]]:
            self._rest()

    @property
    def model(self) -> Model:
        """The model of a random world as last renewed."""
        if self._modelled is None or self._modelled[0] != self.frozen_step:
            self._modelled = self.frozen_step, learn_model(self.frozen, self.config.prior)
        return self._modelled[1]

    # What was learnt

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """A Scout of another task that knows the world as this one does; what suffices for a proof is proved at once."""
        new = Scout(task, config, seed)
        labels = self.lowering.labels
        met = {name for i in np.unique(self.known.label[self.known.hits > 0]).tolist() for name in labels[i]}
        met |= {name for i in np.unique(self.known.cell_label[self.known.cell_label >= 0]).tolist() for name in labels[i]}
        refuse_unknown(task, met, self)
        if isinstance(self.sampler, TableSampler) and isinstance(new.sampler, TableSampler):
            new.known = snapshot(self.known)
        else:
            shown = [label & set(task.machine.features) for label in labels]
            new.lowering.add(dict.fromkeys(label for label in shown if label not in new.lowering.number))
            number = np.array([new.lowering.number[label] for label in shown], np.int32)
            new.make_room(len(self.known.tried))
            seen = self.known.cell_label
            new.known = snapshot(self.known)._replace(
                label=number[self.known.label], cell_label=np.where(seen >= 0, number[seen], -1).astype(np.int32)
            )
        new.frozen = snapshot(new.known)
        new.agent = new_agent(len(new.known.tried), task.world.limit, new.lowering.words, len(new.lowering.labels))
        # Where nothing is left to be tried even a cell that shows now this and now that hides nothing.
        if not new.random and len(new.starts) == 1 and (not new.known.facts[me.EVENTS] or new.known.tried.all()):
            new.proof = new._settled(new.starts[0])
        pairs, every = int(new.known.facts[me.PAIRS]), new.known.tried.size
        cells = int((new.known.cell_label >= 0).sum())
        uses = f"its map of the world: {cells:,} states that it met, and {pairs:,} pairs of state and action that it tried"
        return Carried(new, uses, "" if new.proof or pairs == every else f"what {every - pairs:,} untried pairs would do")

    def _greedy(self) -> tuple[Planner | RandomPlanner, Policy]:
        """The planner on what is known now (random moves: when the plan was last renewed), and its policy."""
        # In a certain world what a plan reads changes only with a new pair, so their number is enough of a key.
        key = (1, self.frozen_step) if self.random else (0, int(self.known.facts[me.PAIRS]), self.settled)
        if self._cached is None or self._cached[0] != key:
            if self.random:
                random_planner = self.planners.chance(self.frozen, self.model)
                self._cached = key, random_planner, RoutedPolicy(random_planner)
            else:
                planner = self.planners.certain(snapshot(self.known), self.settled)
                self._cached = key, planner, PlannedPolicy(planner, len(self.known.tried))
        return self._cached[1:]

    @property
    def planner(self) -> Planner:
        """The planner for certain moves on what is known now."""
        return cast(Planner, self._greedy()[0])

    @property
    def random_planner(self) -> RandomPlanner:
        """The planner for random moves as last renewed."""
        return cast(RandomPlanner, self._greedy()[0])

    @property
    def policy(self) -> Policy:
        """The greedy policy learnt so far, as a value that later training does not change."""
        return self._greedy()[1]

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start; without a plan it takes action 0 until the episode ends."""
        policy, sampler, chance = self.policy, self.sampler, np.random.PCG64((self.seed, self.step))
        if not isinstance(policy, PlannedPolicy) or not isinstance(sampler, TableSampler):
            return Evaluation(self.step, *play(policy, self.task, int(chance.random_raw() >> 33)))
        # A planned walk in tables is replayed by compiled code; all else is played step by step.
        table = sampler.world.table
        cell = int(table.starts[draw(table.start_cumulative, np.random.Generator(chance))])
        walk = policy.walk(self.lowering.stepper.start, cell)
        actions = np.array(walk.actions if walk else (), np.int32)
        machine = self.lowering.machine
        played = rehearse(
            table, machine, cell, actions, self.task.world.limit, self.rng, machine.full.copy(), machine.full.copy()
        )
        return Evaluation(self.step, int(played[0]), float(played[1]), bool(played[2]))

    @property
    def claim(self) -> Bounds:
        """What is proved by now: the optimum, or bounds of it."""
        bounds = self.proof or self._bounds()
        bounds = bounds.within(self.task.world.limit) if len(self.starts) == 1 or bounds.gamma else bounds
        clause = self.task.tried if isinstance(self.sampler, TableSampler) else AS_SEEN
        known = bounds.lower == 0.0 or (bounds.gamma and clause == AS_SEEN) or bounds.reason.endswith(clause)
        return bounds if known else replace(bounds, reason=f"{bounds.reason}, {clause}")

    def _bounds(self) -> Bounds:
        if self.random and self.starts and isinstance(self.random_planner, ExactValues):
            return self._interval(self.random_planner)
        starts = {s: int(self.known.started[s]) for s in self.starts}
        planner = None if self.random or not starts else self.planner
        events = bool(self.known.facts[me.EVENTS])
        if isinstance(planner, ExactPlanner) and len(starts) > 1 and not events:
            ends = [planner.bounds_from(self.lowering.stepper.start, s) for s in starts]
            return self._bounded(claimed_from_starts(ends, np.array([*starts.values()], float), self.config), "starts are drawn")
        return bounds_so_far(planner, self.lowering.stepper.start, starts, events, self.step, self.settled)

    def _interval(self, planner: ExactValues) -> Bounds:
        """Where there is chance: the interval at which the plan was last renewed."""
        if self._claimed is None or self._claimed[0] != self.frozen_step:
            tables = isinstance(self.sampler, TableSampler)
            found = claimed(self.frozen, planner, self.lowering, self.config, tables, self._noise)
            self._claimed = self.frozen_step, found
        return self._bounded(self._claimed[1], "moves are random")

    def _bounded(self, found: ValueBounds, why: str) -> Bounds:
        reason = f"{why}: an interval of the discounted chance of success"
        lower, upper, condition = found
        # As in all discounted returns the first step is not discounted.
        lower, upper = lower / self.config.gamma, min(upper / self.config.gamma, 1.0)
        return Bounds(lower, upper, False, self.step, reason, self.config.delta, condition, self.config.gamma)

    @property
    def _noise(self) -> Noise | None:
        """The noise of a drawn grid in which moves slip to their sides, as a claim may take it for granted."""
        layout = self.task.layout if isinstance(self.sampler, TableSampler) else None
        noise = layout.noise if layout is not None else None
        return noise if noise is not None and 0.0 < noise.sides <= MOST and not noise.other and not noise.delay else None

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """Steps to go along the plan, by the label of the agenda state in which they are left; for small machines."""
        policy, states = self.policy, self.planners.agenda
        if not isinstance(policy, PlannedPolicy) or not self.starts or states is None or len(states.states.u) > MAX_LABELS:
            return {}
        walk: KnownWay | None = policy.walk(self.lowering.stepper.start, self.starts[0])
        agenda = unfold_agenda(self.task.machine)
        togo: dict[str, float] = {}
        for done, state in enumerate(walk.states if walk else ()):
            togo.setdefault(str(agenda.labels[agenda.index[state]]), float(len(walk.actions) - done if walk else 0))
        return togo

    def form(self) -> Form:
        """What the arrays of `save` are."""
        return form_of(self, len(self.lowering.labels))

    def save(self, copy: bool = True) -> Saved:
        """Everything that the rest of the run depends on, as arrays."""
        return save_scout(self)

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; the finished run is then equal to one that was never interrupted."""
        load_scout(self, saved)
        self._cached = self._sought = self._modelled = self._claimed = None
