"""HRM: options for machine transitions, all learnt at once, and a controller that chooses among them."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from errands.kernels import Repeated
from errands.kernels.stepping import MACHINE
from errands.learners.base import FINITE, State, kept
from errands.learners.engines.machines import CounterfactualLearner, Kind
from errands.learners.engines.tabular import room
from errands.learners.hrm import kernel
from errands.learners.hrm.settings import HRMConfig
from errands.learners.schedule import Schedule
from errands.machines.unfolding import BooleanRM, extend, mask_of
from errands.policies.tables import OptionPolicy
from errands.tables import FAILURE, Ints
from errands.tasks.task import Task


class HRM(CounterfactualLearner):
    """One seed of HRM."""

    config: HRMConfig

    def __init__(self, task: Task, config: HRMConfig, seed: int, machine: Kind = "agenda") -> None:
        super().__init__(task, config, seed, machine, kernel.FIELDS)
        # S world states, A actions, E options (edges of the machine). E comes last, so that all options of a step,
        # which learn together, lie side by side in memory.
        states, edges = self.world.states, len(self.options.target)
        room("the tables of HRM", states, self.world.actions + 2, edges)
        self.values = kernel.OptionValues(
            q=np.full((states, self.world.actions, edges), config.q_init),
            v=np.full((states, edges), config.q_init),
            controller=np.full((states, edges), config.q_init),
            # Of the option in hand: discounted reward so far, and gamma to the number of its steps.
            gain=np.array([0.0, 1.0]),
        )
        self.settled, self.rates = self.unsettled(), self._rates()
        self.train_loop, self.play = Repeated(kernel.hrm_loop), Repeated(kernel.greedy_options)
        self.begin()

    def check_size(self, states: int) -> None:
        """Refuse a machine whose tables would not fit: each state has at least one option."""
        room("the tables of HRM", self.world.states, self.world.actions + 2, states)

    @cached_property
    def options(self) -> kernel.Options:
        """One per transition between two states, none into a failure."""
        # They come from the machine, not from labels: new labels must not renumber them, or the tables would be wrong.
        # The options of machine state i are first[i] to first[i + 1], in one row for all states.
        first, target = [0], []
        stepper = self.enumerated.stepper
        for i, outgoing in enumerate(self._outgoing()):
            target += [j for j in outgoing if j != i and stepper.status[self.enumerated.states[j][0]] != FAILURE]
            first.append(len(target))
        return self._in_runs(np.array(first, np.int32), np.array(target, np.int32))

    def _in_runs(self, first: Ints, target: Ints) -> kernel.Options:
        """The options, with the unbroken runs of those that learn together listed for each group of machine states."""
        # One machine state speaks for its group; a kernel loops over unbroken runs sooner than over single options.
        _, states = np.unique(self.alive.group, return_index=True)
        none = np.zeros((0, 2), np.uint32)
        # Counted first, with no rows to write to, then written: compiled code makes no arrays that grow.
        counts = [kernel.count_runs(self.alive, first, i, none, 0) for i in states]
        begin = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        run = np.zeros((int(begin[-1]), 2), np.uint32)
        for at, i in zip(begin, states, strict=False):
            kernel.count_runs(self.alive, first, i, run, at)
        return kernel.Options(first=first, target=target, run_first=begin, run=run)

    def _outgoing(self) -> list[list[int]]:
        """The states one move away from each, by the machine itself rather than by the labels seen so far."""
        machine, stepper = self.enumerated, self.enumerated.stepper
        if isinstance(machine, BooleanRM):
            moves = [
                [extend(stepper, m.target[0], order, m.completed) for m in stepper.moves((u, mask_of(stepper, order)))]
                for u, order in machine.states
            ]
            return [sorted({machine.index[t] for t in row}) for row in moves]
        return [sorted({machine.index[m.target] for m in stepper.moves(state)}) for state in machine.states]

    def _rates(self) -> kernel.OptionRates:
        c = self.config
        return kernel.OptionRates(
            alpha=c.alpha,
            gamma=c.gamma,
            epsilon=Schedule.of(c.epsilon).line,
            alpha_controller=c.alpha_controller,
            epsilon_controller=c.epsilon_controller,
            full_reward=c.full_reward,
            option_limit=c.option_limit,
            limit=self.world.limit,
        )

    def begin(self) -> None:
        """Put the agent at the start of an episode."""
        # No option is carried over a reset.
        self.position[kernel.OPTION] = -1
        self.loop(0)

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        model = (self.world.table, self.machine, self.alive, self.options)
        return int(self.train_loop(*model, self.values, self.settled, self.position, self.rates, self.step, count, self.rng))

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode."""
        episode: tuple[int, float, bool]
        episode = self.play(self.world.table, self.machine, self.options, self.values, self.rates, rng)
        return episode

    def take_rows(self, other: HRM, pair: Ints) -> None:
        """The values of another's options between machine states that are paired with ours."""
        firsts = (learner.options.first for learner in (self, other))
        from_, to = (np.repeat(np.arange(len(first) - 1), np.diff(first)) for first in firsts)
        number = {edge: i for i, edge in enumerate(zip(to.tolist(), other.options.target.tolist(), strict=True))}
        edges = zip(pair[from_].tolist(), pair[self.options.target].tolist(), strict=True)
        for i, edge in enumerate(edges):
            if edge in number:
                for name in ("q", "v", "controller"):
                    getattr(self.values, name)[..., i] = getattr(other.values, name)[..., number[edge]]

    @property
    def policy(self) -> OptionPolicy:
        """The greedy policy learnt so far."""
        first, states = self.options.first, self.world.states
        # Options of other machine states are never compared: the argmax runs within a state's own stretch.
        controller = np.zeros((states, len(self.enumerated)), np.int32)
        for i, (low, high) in enumerate(pairwise(first.tolist())):
            if high > low:
                controller[:, i] = low + self.values.controller[:, low:high].argmax(axis=1)
        actions = self.values.q.argmax(axis=1).astype(np.int8)
        return OptionPolicy(self.machine_states(), first.copy(), controller, actions, self.config.option_limit)

    def state(self) -> State:
        """The position, the values of options and of the controller, and the option in hand."""
        values, edges = self.values, len(self.options.target)
        about = {
            "q": "values by world state, action and option",
            "v": "their maximum over actions",
            "controller": "values by world state and option",
            "gain": "discounted reward of the option in hand, and the discount so far",
        }
        counts = {MACHINE: len(self.enumerated), kernel.OPTION: edges, kernel.FROM: self.world.states}
        position = self.position_form(counts, low={kernel.OPTION: -1})
        return {"position": position, **{name: kept(getattr(values, name), text, -FINITE, FINITE) for name, text in about.items()}}
