"""The best that one policy per subtask can do: the paper's class, which its optimality claim overlooks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from errands.errors import TaskError
from errands.kernels.search import DEAD, DONE, breadth_first
from errands.oracle.episode import TaskStepper
from errands.oracle.optimum import least_steps
from errands.oracle.product import RANDOM_BYTES, Product, product
from errands.tables import Flags, Ints
from errands.tasks.task import Task

MAX_STATES, MAX_NODES, MAX_DETOUR = 1_000_000, 2_000_000, 1_000
FREE = "one policy for each"
CHOICE = "the objective chosen in agenda state"
Binding = tuple[str, int]
"""(objective, cell) or (CHOICE, agenda state)."""
Bound = tuple[tuple[Binding, int | str], ...]


class OnePolicy(NamedTuple):
    """The shortest episode whose actions depend on (objective, cell) only, and its objectives on the agenda state."""

    length: int | None
    """None where no such episode exists within the time limit."""
    optimum: int | None
    """The length of the shortest episode of any kind."""


def one_policy_per_subtask(task: Task, nodes: int = MAX_NODES) -> OnePolicy:
    """Lengthen the optimum step by step until a walk exists that never needs two actions for one (objective, cell).

    An objective is chosen for each agenda state; a subtask completed on the way counts. Exact, for certain worlds; a
    TaskError where more than `nodes` steps would have to be tried.
    """
    crossed = product(task, MAX_STATES * RANDOM_BYTES, RANDOM_BYTES)
    if not crossed.world.certain:
        raise TaskError(f"moves are random in '{task.name}'; one policy per subtask is solved for certain worlds only")
    search = _Search(crossed, nodes)
    if not np.isfinite(search.least):
        return OnePolicy(None, None)
    shortest = int(search.least)
    # Iterative deepening: the first bound with a walk is the least length, as shorter ones have been ruled out.
    for bound in range(shortest, min(shortest + MAX_DETOUR, task.world.limit + 1)):
        if (length := search.within(bound)) is not None:
            return OnePolicy(length, shortest)
        # Nothing was left out for its length alone: a larger bound would only try the same walks.
        if not search.cut:
            break
    return OnePolicy(None, shortest)


class _Way(NamedTuple):
    """A step that may be tried: the action, the product state reached, the objective pursued there, what it binds."""

    action: int
    there: int
    label: str
    bound: Bound


class _Search:
    """Depth-first search within a length; what was decided for (objective, cell) stays decided further down."""

    def __init__(self, crossed: Product, nodes: int) -> None:
        self.crossed, self.limit, self.tried, self.cut = crossed, nodes, 0, False
        self.task_stepper = TaskStepper(crossed.task)
        self.togo, _ = least_steps(crossed)
        self.origin = crossed.starts[0][0]
        self.least = float(self.togo[self.origin])
        self.level = np.full(len(crossed), -1, np.int32)
        breadth_first(crossed.world.table, crossed.following, self.origin, self.level, True)

    @cached_property
    def labels(self) -> list[tuple[str, ...]]:
        """The objectives that can be pursued in each agenda state.

        A subtask with a feature of its own is completed once, so its policy serves one leg and cannot be in conflict:
        where all objectives are such subtasks one FREE objective stands for them. That is exact unless some state
        offers both kinds; then every objective binds.
        """
        stepper = self.task_stepper.stepper
        own = {name for name, bits in stepper.bits_of.items() if bits & (bits - 1) == 0}
        open_ = [stepper.alternatives(self.crossed.state(m)) for m in range(len(self.crossed.u))]
        if any(own & set(names) and not own >= set(names) for names in open_):
            return open_
        return [(FREE,) if own >= set(names) else names for names in open_]

    def within(self, bound: int) -> int | None:
        """The length of a consistent walk of at most `bound` steps, or None."""
        matters = self._matters(bound)
        # `decided` holds what the walk on the stack has bound; a frame that is popped takes its own bindings back.
        # `failed` has, for a situation, the fewest steps after which it was entered in vain; later is hopeless too.
        decided: dict[Binding, int | str] = {}
        failed: dict[object, int] = {}
        self.cut = False
        stack = [_Frame(iter(self._enter(-1, self.origin, decided)), None, None)]
        while stack:
            steps = len(stack) - 1
            way = next(stack[-1].ways, None)
            if way is None:
                frame = stack.pop()
                failed[frame.key] = min(steps - 1, failed.get(frame.key, bound))
                for binding, _ in frame.came.bound if frame.came else ():
                    del decided[binding]
                continue
            if way.there == DONE:
                return steps
            self.tried += 1
            if self.tried > self.limit:
                raise TaskError(
                    f"more than {self.limit:,} steps would have to be tried to find the best single policy per subtask "
                    f"of '{self.crossed.task.name}'; give it fewer subtasks or raise nodes="
                )
            before = failed.get(key := self._key(way, decided, matters), bound + 1)
            if steps < before:
                decided.update(way.bound)
                stack.append(_Frame(self._ways(way, steps, bound, decided), way, key))
        return None

    def _key(self, way: _Way, decided: dict[Binding, int | str], matters: dict[str, Flags]) -> object:
        """What the rest of the walk depends on: where it is, and the decisions that it can still meet."""
        m = way.there // self.crossed.world.states
        met = [d for d in (*decided.items(), *way.bound) if d[0][0] == CHOICE or matters[d[0][0]][m, d[0][1]]]
        return way.there, way.label, frozenset(met)

    def _ways(self, came: _Way, steps: int, bound: int, decided: dict[Binding, int | str]) -> Iterator[_Way]:
        """The steps on from a product state under an objective that keep within the bound, the nearest first."""
        table, count, label = self.crossed.world.table, self.crossed.world.states, came.label
        m, s = divmod(came.there, count)
        fixed = decided.get((label, s))
        action_to: dict[int, int] = {}
        for a in range(self.crossed.world.actions) if fixed is None else (int(fixed),):
            target = int(self.crossed.following[m, table.label[s, a, 0]])
            if target == DONE:
                action_to.setdefault(DONE, a)
            elif target != DEAD and not table.ends[s, a, 0]:
                action_to.setdefault(target * count + int(table.next[s, a, 0]), a)
        # Exact steps to go of any policy: a lower bound of what a consistent walk still needs.
        far = {there: steps + 1 + (0.0 if there == DONE else float(self.togo[there])) for there in action_to}
        self.cut |= any(bound < f < np.inf for f in far.values())
        for there in sorted((t for t in action_to if far[t] <= bound), key=lambda t: far[t]):
            bind: Bound = () if label == FREE or fixed is not None else (((label, s), action_to[there]),)
            if there != DONE and there // count == m:
                yield _Way(action_to[there], there, label, bind)
            else:
                yield from self._enter(action_to[there], there, decided, bind)

    def _enter(self, action: int, there: int, decided: dict[Binding, int | str], bind: Bound = ()) -> list[_Way]:
        """The step into another agenda state, once for each objective that can be pursued there."""
        if there == DONE:
            return [_Way(action, DONE, "", bind)]
        m = there // self.crossed.world.states
        if len(self.labels[m]) == 1:
            return [_Way(action, there, self.labels[m][0], bind)]
        if (chosen := decided.get((CHOICE, m))) is not None:
            return [_Way(action, there, str(chosen), bind)]
        return [_Way(action, there, label, (*bind, ((CHOICE, m), label))) for label in self.labels[m]]

    def _matters(self, bound: int) -> dict[str, Flags]:
        """[M, S] for each objective that binds: whether a walk within the bound can still come to a cell under it."""
        shape = (len(self.crossed.u), self.crossed.world.states)
        # Cells on some walk of at most `bound` steps: steps from the start plus steps to go.
        near = ((self.level >= 0) & (self.level + self.togo <= bound)).reshape(shape)
        matters = {}
        for label in {name for names in self.labels for name in names} - {FREE}:
            flags = near & np.array([label in names for names in self.labels])[:, None]
            changed = True
            while changed:
                before = flags.copy()
                # Agenda states are numbered breadth first, so successors mostly come later: few passes are needed.
                for m in reversed(range(shape[0])):
                    flags[m] |= flags[self.following_states[m]].any(axis=0)
                changed = bool((flags != before).any())
            matters[label] = flags
        return matters

    @cached_property
    def following_states(self) -> list[Ints]:
        """The agenda states that one label leads to from each."""
        return [np.unique(row[row >= 0]) for row in self.crossed.following]


class _Frame(NamedTuple):
    ways: Iterator[_Way]
    came: _Way | None
    key: object
