"""QCoRM+ (ours): landmark values learnt without a model, the exact order of subtasks planned from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from errands.errors import TaskError
from errands.kernels.hashing import node_slot
from errands.kernels.stepping import ACTION, STATE, TIME, advance, outcome, reward, start
from errands.learners.base import Carried, Saved, State, avoided, kept, new_dangers, refuse_unknown, require
from errands.learners.engines.tabular import SteppedWorld, TabularLearner, room
from errands.learners.qcorm_plus.kernel import memory as me
from errands.learners.qcorm_plus.kernel.agenda import Agenda, list_agenda
from errands.learners.qcorm_plus.kernel.loop import actions_of, decide, run
from errands.learners.qcorm_plus.settings import QCoRMPlusConfig
from errands.learners.schedule import Schedule
from errands.machines.counting import predicted
from errands.machines.lower import lower
from errands.machines.numeric import Label
from errands.machines.stepping import State as MachineState
from errands.oracle.episode import Policy, walk
from errands.tables import RUNNING, SUCCESS, AgendaTable, Ints, WorldTable
from errands.tasks.task import Task


def settled(agenda: Agenda, memory: me.Memory, first: int, whole: bool = False) -> me.Memory:
    """A copy that training does not touch and that needs no more planning; `whole` copies what is only read as well."""
    # What planning writes to; values, which are only read, are shared with training unless the copy has to last.
    planned = ("position", "weight", "open", "worth", "choice")
    fresh = {name: getattr(memory, name).copy() for name in planned}
    # Untried pairs have optimistic values, which are for exploring; a greedy policy must not trust them.
    if memory.position[me.UNTRIED] > 0:
        fresh["q"] = np.where(memory.last[:, :, None] < 0, 0.0, memory.q)
        fresh["v"] = fresh["q"].max(axis=1)
        fresh["position"][me.UNTRIED], fresh["position"][me.STALE] = 0, 1
    elif whole:
        fresh.update(q=memory.q.copy(), v=memory.v.copy())
    if whole:
        fresh.update({name: getattr(memory, name).copy() for name in ("keys", "values", "flagged")})
    copy = memory._replace(**fresh)
    # Before any step, so that a plan is due.
    copy.position[TIME], copy.position[me.NODE], copy.position[me.PLANNED] = 0, 0, -(1 << 60)
    decide(agenda, copy, 0, first)
    return copy


@dataclass(frozen=True)
class LandmarkPolicy:
    """Goes for the landmark that is worth most in the agenda state; needs no memory of its own."""

    agenda: Agenda = field(repr=False)
    memory: me.Memory = field(repr=False)
    known: dict[MachineState, Ints] = field(default_factory=dict, repr=False, compare=False)
    """The actions of all cells, by agenda state, as far as they were asked for."""

    def act(self, world_state: int, machine_state: MachineState, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action."""
        if machine_state not in self.known:
            self.known[machine_state] = self.actions(machine_state)
        return int(self.known[machine_state][world_state]), None

    def actions(self, machine_state: MachineState) -> Ints:
        """The greedy action of every cell in an agenda state; 0 in one that the world's labels do not lead to."""
        agenda, greedy = self.agenda, np.zeros(len(self.memory.q), np.int32)
        n = int(agenda.slots[node_slot(agenda.numeric, agenda.mask, agenda.slots, machine_state[0], np.uint64(machine_state[1]))])
        if n >= 0 and agenda.status[n] == RUNNING:
            actions_of(agenda, self.memory, n, greedy)
        return greedy


def episode(
    world: WorldTable, agenda: Agenda, machine: AgendaTable, frozen: me.Memory, limit: int, rng: np.random.Generator
) -> tuple[int, float, bool]:
    """Length, total reward and success of one greedy episode in a world of tables."""
    policy = LandmarkPolicy(agenda, frozen)
    # In Python: the actions of all cells of an agenda state are computed at once anyway.
    s, u, mask, total = int(start(world, rng)), machine.initial, machine.full, 0.0
    for t in range(limit):
        a, _ = policy.act(s, (int(u), int(mask)), None)
        o = outcome(world, s, a, rng)
        entry, mask, _ = advance(machine, u, np.uint64(mask), world.label[s, a, o])
        u = machine.next[entry]
        total += reward(world, machine.reward[entry], machine.signal[entry], s, a, o)
        if machine.status[u] != RUNNING or world.ends[s, a, o]:
            return t + 1, total, bool(machine.status[u] == SUCCESS)
        s = int(world.next[s, a, o])
    return limit, total, False


MAX_VALUES = 1 << 25
"""Numbers in the tables of all landmarks."""


class QCoRMPlus(TabularLearner):
    """One seed of QCoRM+."""

    config: QCoRMPlusConfig
    max_listed = 1 << 19
    """Agenda states at most: 18 subtasks with a phase between them."""

    def __init__(self, task: Task, config: QCoRMPlusConfig, seed: int) -> None:
        super().__init__(task, config, seed, me.FIELDS)
        states, actions = self.world.states, self.world.actions
        self._list()
        # S world states, A actions, K landmarks. A landmark is a cell with a label that matters; q[s, a, k] is gamma to
        # the number of steps to it. All start one step away: optimistic, hence lower bounds of durations.
        room("the tables of QCoRM+", states, actions, len(self.world.labels) + 1)
        self.memory = me.new_memory(states, actions, len(self.agenda.status), config.recent, config.gamma)
        # The position is part of the memory, one array under two names; both must be replaced together (see `take`).
        self.position = self.memory.position
        self.begin()

    def _list(self) -> None:
        self.machine = lower(self.task.machine, self.world.labels, self.world.signals)
        # Counted before it is tried: listing half a million states only to give up takes long.
        sizes, most, agenda = predicted(self.task.machine), self.max_listed, None
        if sizes is None or sizes.agenda <= most:
            agenda = list_agenda(self.machine, self.config.gamma, most, not isinstance(self.world, SteppedWorld))
        if agenda is None:
            raise TaskError(f"'{self.task.name}' has more than {most:,} agenda states, too many for QCoRM+; use learner 'scout'")
        self.agenda = agenda

    def begin(self) -> None:
        """Put the agent at the start of an episode."""
        first = int(start(self.world.table, self.rng))
        self.position[STATE], self.position[me.NODE], self.position[TIME], self.position[ACTION] = first, 0, 0, -1
        decide(self.agenda, self.memory, 0, first)

    @property
    def settings(self) -> me.Settings:
        """The numbers that the kernels read."""
        c = self.config
        most = c.landmarks or max(2, MAX_VALUES // (self.world.states * self.world.actions))
        return me.Settings(
            gamma=c.gamma, epsilon=Schedule.of(c.epsilon).line, horizon=c.horizon, replays=c.replays, backwards=c.backwards,
            passes=c.passes, limit=self.world.limit, most=most, correct=c.corrections,
        )  # fmt: skip

    def loop(self, count: int) -> int:
        """Run the compiled loop."""
        return int(run(self.world.table, self.agenda, self.memory, self.settings, count, self.rng))

    def supply(self) -> None:
        """Give the loop larger tables where they are full."""
        self.memory = me.grown(self.memory, self.config.gamma)

    def relabel(self) -> None:
        """List the agenda again, with the new label; what was learnt about cells stays."""
        # Nodes get new numbers; the present one is found again by its numeric state and mask.
        old, n = self.agenda, int(self.position[me.NODE])
        n = n if n < len(old.numeric) else 0
        self._list()
        self.memory = me.on_agenda(self.memory, len(self.agenda.status))
        new = self.agenda
        self.position[me.NODE] = new.slots[node_slot(new.numeric, new.mask, new.slots, old.numeric[n], old.mask[n])]

    def greedy_episode(self, rng: np.random.Generator) -> tuple[int, float, bool]:
        """One compiled greedy episode."""
        frozen = settled(self.agenda, self.memory, self._first)
        return episode(self.world.table, self.agenda, self.machine, frozen, self.world.limit, rng)

    @property
    def _first(self) -> int:
        return int(self.world.table.starts[0])

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """A learner with the same landmark values, whose order is planned anew."""
        new = type(self)(task, config, seed)
        new.take_labels(self)
        count = int(self.position[me.LANDMARKS])
        marked = {name for label in self.memory.label[1:count] for name in self.world.labels[int(label)]}
        refuse_unknown(task, marked | avoided(self.task.machine), self, "reached")
        fresh = new.memory
        mine = {name: part.copy() for name, part in self.memory._asdict().items()}
        position = fresh.position.copy()
        position[[me.LANDMARKS, me.MARKS]] = self.position[[me.LANDMARKS, me.MARKS]]
        # What belongs to the old machine stays behind; the tables of nodes are as wide as there are landmarks.
        theirs = {name: getattr(fresh, name) for name in ("keys", "values", "flagged", "trace", "numbers")}
        new.memory = me.on_agenda(me.Memory(**{**mine, **theirs, "position": position}), len(new.agenda.status))
        new.position = new.memory.position
        new.begin()
        return Carried(new, f"its values of {count - 1} landmarks, with an order planned anew", new_dangers(task, self.task))

    @property
    def policy(self) -> LandmarkPolicy:
        """The greedy policy learnt so far."""
        return LandmarkPolicy(self.agenda, settled(self.agenda, self.memory, self._first, whole=True))

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The steps to go of the labels that one greedy episode passes."""
        return walked_steps_to_go(self.task, self.policy)

    def state(self) -> State:
        """The memory, which has room for more than is in use; the position is a part of it."""
        memory, labels = self.memory, len(self.world.labels)
        states, actions, nodes = self.world.states, self.world.actions, len(self.agenda.status)
        flags = (me.RANDOM, me.STALE, me.TOUCHED, me.CHANGED, me.FULL)
        counts = {me.NODE: nodes, **dict.fromkeys(flags, 2)}
        # Columns of the trace: state, action, next state, landmark reached, whether it was fatal. A ring written at STEP
        # modulo its size: what is filled lies at the front until it is full, and then it is all of it.
        least, most = np.array([0, 0, 0, 0, 0]), np.array([states - 1, actions - 1, states - 1, MAX_VALUES, 1])
        trace = memory.trace[: int(self.position[me.STEP])]
        marks, landmarks, slots = ("marks",), ("landmarks",), ("slots",)
        free = nodes * states * actions - 1
        return {
            # The time of the last plan lies before the first step where none was made.
            "position": self.position_form(counts, low={me.PLANNED: -(1 << 60)}, acting=True),
            "q": kept(memory.q, "value of each landmark for each pair", 0.0, 1.0, None, states, actions, "landmarks"),
            "v": kept(memory.v, "their maximum over actions", 0.0, 1.0, None, states, "landmarks"),
            "last": kept(memory.last, "the state that a pair led to last, -1 for none", -1, states - 1),
            "updates": kept(memory.updates, "how often a pair was learnt from", 0, 2**31 - 1),
            "seen": kept(memory.seen, "whether actions can be tried there"),
            "head": kept(memory.head, "the newest mark of a cell, -1 for none", low=-1, into="marks"),
            "mark_cell": kept(memory.mark_cell, "the cell of each mark", None, None, states, *marks),
            "mark_code": kept(memory.mark_code, "twice its label, and one where the world ends", None, None, 2 * labels, *marks),
            "mark_next": kept(memory.mark_next, "an older mark of the same cell, -1 for none", -1, None, "marks", *marks),
            "mark_landmark": kept(memory.mark_landmark, "the landmark of each mark", None, None, "landmarks", *marks),
            "label": kept(memory.label, "the label of each landmark", None, None, labels, *landmarks),
            "ends": kept(memory.ends, "whether the world ends there", None, None, None, *landmarks),
            "worth": kept(memory.worth, "planned value by node and landmark", -1.0, 1.0, None, nodes, *landmarks),
            "choice": kept(memory.choice, "the landmark planned next", None, None, "landmarks", nodes, *landmarks),
            "weight": kept(memory.weight, "what each landmark is worth now", 0.0, 1.0, None, *landmarks),
            "open": kept(memory.open, "landmarks of positive weight come first", None, None, "landmarks", *landmarks),
            "keys": kept(memory.keys, "hash table of corrections, -1 for free", -1, free, None, *slots),
            "values": kept(memory.values, "corrected values", 0.0, 1.0, None, *slots),
            "flagged": kept(memory.flagged, "nodes that have a correction"),
            "trace": kept(trace, "recent steps", least, most, None, "steps", 5, acting=False),
            "numbers": kept(memory.numbers, "the value promised now, and the least of a landmark", 0.0, 1.0),
        }

    def acting(self) -> Saved:
        """The memory without its recent steps, of which there are none then."""
        saved = super().acting()
        saved["position"] = saved["position"].copy()
        saved["position"][me.STEP] = 0
        return saved

    def load_arrays(self, saved: Saved, lengths: Mapping[str, int]) -> None:
        """Take the memory back, once its counts and links are known to stay inside its arrays."""
        arrays = {name: saved[name].copy() for name in me.Memory._fields}
        position, count, marks, slots = arrays["position"], lengths["landmarks"], lengths["marks"], lengths["slots"]
        require(1 <= position[me.LANDMARKS] <= count and position[me.MARKS] <= marks, "more landmarks or marks than have room")
        require(position[me.OPEN] <= count and position[me.GOAL] < count, "more landmarks are open than there are")
        used = int(position[me.MARKS])  # the rest of the arrays is room
        # Marks of a cell are a linked list, in which the kernel would run round if it led to newer ones.
        require(bool((arrays["mark_next"][:used] < np.arange(used)).all()), "a mark leads to a newer one")
        for name in ("head", "mark_next"):
            require(bool((arrays[name] < max(int(position[me.MARKS]), 1)).all()), f"'{name}' names a mark that is not in use")
        for name, x in (("mark_landmark", arrays["mark_landmark"]), ("trace", arrays["trace"][:, 3])):
            require(bool((x < position[me.LANDMARKS]).all()), f"'{name}' names a landmark that is not in use")
        require(bool((arrays["v"] == arrays["q"].max(axis=1)).all()), "'v' is not the maximum of 'q'")
        taken = int((arrays["keys"] >= 0).sum())
        require(slots >= 4 and slots & (slots - 1) == 0, "the hash table's size is no power of two")
        require(taken == position[me.CORRECTED] and 2 * taken <= slots, "the hash table is fuller than it says, or than half")
        require(lengths["steps"] == min(int(position[me.STEP]), len(self.memory.trace)), "'trace' has other steps than were taken")
        trace = np.zeros_like(self.memory.trace)
        trace[: lengths["steps"]] = arrays["trace"]
        self.memory = me.Memory(**{**arrays, "trace": trace})
        self.position = self.memory.position


def walked_steps_to_go(task: Task, policy: Policy) -> dict[str, float]:
    """The steps to go of the labels that one greedy episode passes; nothing where it does not succeed."""
    walked = walk(policy, task)
    if not walked.success:
        return {}
    left, since, by_label = list(task.machine.subtasks), 0, dict[str, float]()
    together = groupby(zip(walked.completed_at, walked.order, strict=True), key=lambda pair: pair[0])
    depth = 0
    for depth, (at, done) in enumerate(together, 1):
        names = [name for _, name in done]
        by_label |= {str(Label(depth - 1, tuple(left), (name,))): float(walked.length - since) for name in names}
        since = at
        for name in names:
            if name in left:
                left.remove(name)
    return {**by_label, str(Label(depth, (), ())): 0.0}
