"""QRM: Q-learning over world state x machine state, on either machine; CRM: the same with counterfactual steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from errands.kernels import Repeated
from errands.kernels.q_learning import FIELDS, Rates, greedy_episode, qrm_loop
from errands.kernels.stepping import ACTION, MACHINE, OUTCOME, STATE
from errands.learners.base import FINITE, Saved, State, kept, require
from errands.learners.engines.machines import CounterfactualLearner, Kind, LazyMachine
from errands.learners.engines.tabular import TabularLearner, room
from errands.learners.qrm.kernel import crm_loop
from errands.learners.qrm.settings import QRMConfig
from errands.learners.schedule import Schedule
from errands.policies.tables import MachinePolicy, MachineStates
from errands.tables import Floats, Ints
from errands.tasks.task import Task

MAX_ORDER = 64
"""Completions that the state of a Boolean machine can tell apart: as many as there are bits for subtasks."""


class QRM(TabularLearner):
    """One seed of QRM."""

    config: QRMConfig

    def __init__(self, task: Task, config: QRMConfig, seed: int, machine: Kind = "agenda") -> None:
        super().__init__(task, config, seed, FIELDS)
        self.machine = LazyMachine(task.machine, machine, self.world.labels, self.world.signals)
        # [U, S, A] machine states, world states, actions: growing the first axis is a plain copy. Initial values of
        # exactly 0 matter under the printed learning rate, as ties are broken at random while training.
        self.rates = Rates(config.alpha, config.gamma, Schedule.of(config.epsilon).line, self.world.limit)
        self.train_loop, self.play = Repeated(qrm_loop), Repeated(greedy_episode)
        self._fill(np.zeros((0, self.world.states, self.world.actions)))
        self.begin()

    def _shape(self) -> tuple[int, ...]:
        return room("the table of QRM", self.machine.capacity, self.world.states, self.world.actions)

    def _fill(self, rows: np.ndarray) -> None:
        """A table with room for all machine states, of which the first have these values."""
        self.q = np.full(self._shape(), self.config.q_init)
        self.q[: len(rows)] = rows
        # [world state, action, machine state], the order in which kernels index it: a view of the same memory.
        self.by_state = self.q.transpose(1, 2, 0)

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        table = self.world.table
        return int(self.train_loop(table, self.machine.table, self.by_state, self.position, self.rates, self.step, count, self.rng))

    def supply(self) -> None:
        """Give birth to the machine state that was met."""
        # The loop has stopped in the middle of a step, whose action and outcome stay drawn.
        s, a, o = (int(self.position[field]) for field in (STATE, ACTION, OUTCOME))
        self.machine.birth(int(self.position[MACHINE]), int(self.world.table.label[s, a, o]))
        if self.machine.capacity > len(self.q):
            # The machine doubles its capacity, so this copy is rare.
            self._fill(self.q)

    def relabel(self) -> None:
        """Widen the machine's tables."""
        # Values do not depend on labels; only the machine's transitions have a column for each.
        self.machine.widen()

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode; machine states that it meets first are born and keep their initial values."""
        episode: tuple[int, float, bool]
        episode = self.play(self.world.table, self.machine.table, self.by_state, self.world.limit, rng)
        return episode

    @property
    def policy(self) -> MachinePolicy:
        """The greedy policy learnt so far."""
        # Rows behind the last state are room. The index is copied, since later births must not change the policy.
        actions = self.q[: len(self.machine)].argmax(axis=2).astype(np.int8)
        machine = self.machine
        return MachinePolicy(actions, MachineStates(dict(machine.index), machine.stepper.full, machine.kind == "boolean"))

    def values_of(self, column: int) -> Floats:
        """The largest value of each world state in a machine state."""
        largest: Floats = self.q[column].max(axis=1)
        return largest

    def state(self) -> State:
        """The machine as far as it was born, and a row of values for each state."""
        subtasks, states = len(self.task.machine.subtasks), len(self.task.machine.states)
        most = np.array([states - 1, subtasks if self.machine.kind == "agenda" else MAX_ORDER])
        heads, orders = self.machine.pack()
        born, q = self.machine.born(), self.q[: len(self.machine)]
        about = "numeric state and number of completions of each machine state"
        return {
            "position": self.position_form({}),  # the machine's states are counted by `load_arrays`
            "heads": kept(heads, about, 0, most, None, "states", 2),
            "orders": kept(orders, "the subtasks completed, end to end", None, None, subtasks, "completions"),
            "born": kept(born, "which transitions are known", None, None, None, "states", born.shape[1]),
            "q": kept(q, "values by machine state, world state and action", -FINITE, FINITE, None, "states", *q.shape[1:]),
        }

    def load_arrays(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take the machine and its values back."""
        heads, orders = saved["heads"], saved["orders"]
        require(len(orders) == heads[:, 1].sum(), "'orders' is not as long as 'heads' says")
        require(0 <= saved["position"][MACHINE] < len(heads), "'position' names a machine state that 'heads' lacks")
        # Built aside and put in place when everything holds: a refused checkpoint leaves the tables as they were.
        fresh = LazyMachine(self.task.machine, self.machine.kind, self.world.labels, self.world.signals)
        first = fresh.states[0]
        fresh.unpack(heads, orders, saved["born"])
        require(len(fresh) == len(heads) == len(fresh.index), "'born' leads to machine states that 'heads' lacks")
        require(fresh.states[0] == first, "'heads' does not begin with the initial state")
        self.machine = fresh
        self._fill(saved["q"])
        self.position[:] = saved["position"]


class CRM(CounterfactualLearner):
    """One seed of CRM; the table is [world state, action, machine state]."""

    config: QRMConfig

    def __init__(self, task: Task, config: QRMConfig, seed: int, machine: Kind = "agenda") -> None:
        super().__init__(task, config, seed, machine, FIELDS)
        # [S, A, U]: every machine state learns from each step, so these lie side by side in memory.
        shape = (self.world.states, self.world.actions, len(self.enumerated))
        self.q = np.full(shape, config.q_init)
        self.rates = Rates(config.alpha, config.gamma, Schedule.of(config.epsilon).line, self.world.limit)
        self.train_loop, self.play = Repeated(crm_loop), Repeated(greedy_episode)
        self.settled = self.unsettled()
        self.begin()

    def check_size(self, states: int) -> None:
        """Refuse a machine whose tables would not fit."""
        # Where things vanish the record of settled steps is as large as the table, in numbers of half the size.
        actions = self.world.actions
        room("the tables of CRM", self.world.states, actions + actions // 2 if self.task.vanishing else actions, states)

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        model = (self.world.table, self.machine, self.alive)
        return int(self.train_loop(*model, self.q, self.settled, self.position, self.rates, self.step, count, self.rng))

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode."""
        episode: tuple[int, float, bool]
        episode = self.play(self.world.table, self.machine, self.q, self.world.limit, rng)
        return episode

    def take_rows(self, other: CRM, pair: Ints) -> None:
        """The values of another's machine states where they are paired with ours."""
        self.q[:, :, pair >= 0] = other.q[:, :, pair[pair >= 0]]

    @property
    def policy(self) -> MachinePolicy:
        """The greedy policy learnt so far."""
        return MachinePolicy(self.q.argmax(axis=1).T.astype(np.int8), self.machine_states())

    def values_of(self, column: int) -> Floats:
        """The largest value of each world state in a machine state."""
        largest: Floats = self.q[:, :, column].max(axis=1)
        return largest

    def state(self) -> State:
        """The position and the table."""
        q = kept(self.q, "values by world state, action and machine state", -FINITE, FINITE)
        return {"position": self.position_form({MACHINE: len(self.enumerated)}), "q": q}
