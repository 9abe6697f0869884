"""The exact optimum of a finite task: the shortest successful episode or the least expected steps; exact steps to go."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from errands.errors import ConfigError, TaskError
from errands.kernels.search import DEAD, DONE, Payment, breadth_first, iterate, surely
from errands.kernels.stepping import advance
from errands.machines.counting import Word, spelt
from errands.machines.stepping import State
from errands.machines.unfolding import couple, unfold_agenda
from errands.oracle.episode import Landing, Pair, Policy
from errands.oracle.product import BUDGET, RANDOM_BYTES, Product, product
from errands.tables import RUNNING, SUCCESS, Floats, Ints
from errands.tasks.task import Task, card

TOLERANCE = 1e-10
"""Relative error of least steps; error of returns in units of the largest reward; last change of a chance."""
_NO_FACTOR, _NO_SIGNAL, _EVERYWHERE = np.empty((0, 0)), np.empty((0, 0), np.int32), np.empty(0, np.bool_)
MOST_SUBTASKS = 8
MOST_STATES = 200_000


@dataclass(frozen=True)
class Plan:
    """A policy without memory, by product state; made by the oracle."""

    product: Product = field(repr=False)
    best: Mapping[int, int] | Ints = field(repr=False)

    def act(self, world_state: int, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The planned action."""
        return int(self.best[self.product.number[machine_state] * self.product.world.states + world_state]), None


@dataclass(frozen=True)
class Optimum:
    """How good a policy can be; `length` is None where that is unknown or none succeeds surely: `reason` says why.

    >>> import errands
    >>> best = errands.optimum(errands.load("figure-1"))
    >>> best.length, best.order, best.orders
    (10, ('b2', 's', 'b1', 's'), 1)
    """

    length: float | None
    """The steps of the shortest successful episode; where moves are random, the least expected number of them."""
    order: tuple[str, ...] = ()
    """The subtasks and Boolean objectives as they are completed on the path."""
    path: tuple[int, ...] = field(default=(), repr=False)
    """World states from start to end; where moves are random, by likeliest outcomes (empty if those go in circles)."""
    actions: tuple[int, ...] = field(default=(), repr=False)
    orders: int | None = None
    """How many orders of subtasks shortest episodes have; None where that was not counted."""
    discounted: float | None = None
    """The optimal discounted return under the task's rewards; None where that was too large to compute."""
    success: float | None = None
    """The greatest probability of success; None where that is unknown."""
    reason: str = ""
    method: str = ""
    policy: Policy | None = field(default=None, repr=False, compare=False)
    """A policy that reaches `length`."""

    def _repr_html_(self) -> str:
        rows: dict[str, object] = {"steps": self.length, "order": " ".join(self.order), "optimal orders": self.orders}
        rows |= {
            "success": self.success,
            "discounted return": self.discounted,
            "why": self.reason,
            "method": self.method,
        }
        return card("Optimum", {name: value for name, value in rows.items() if value is not None and value != ""})


def optimum(task: Task, gamma: float = 0.99, budget: int = BUDGET, orders: bool = True) -> Optimum:
    """The exact optimum; a TaskError where it would take more than `budget` bytes; `orders` asks to count them.

    Parameters:
        task: a task in a finite world; elsewhere the answer has a reason instead of a length.
        gamma: the discount factor of `discounted`, above 0 and below 1.
        budget: the most bytes that the search may take.
        orders: whether optimal orders are counted.

    >>> import errands
    >>> optimum(errands.load("office-6")).length
    60
    """
    check_discount(gamma)
    if task.finite is None:
        return Optimum(None, reason=f"the world {task.untabled}; the optimum of such a task cannot be computed")
    crossed = product(task, budget)
    return _certain(crossed, gamma, budget, orders) if crossed.world.certain else _random(crossed, gamma)


def _certain(crossed: Product, gamma: float, budget: int, orders: bool) -> Optimum:
    world, origin = crossed.world.table, crossed.starts[0][0]
    origin_of, last = breadth_first(world, crossed.following, origin, np.empty(0, np.int32), False)
    method = f"breadth-first search over {len(crossed):,} product states"
    if last < 0:
        discounted = _discounted(crossed, gamma, None, budget)
        reason = _impossible(crossed.task)
        return Optimum(None, orders=0, discounted=discounted, success=0.0, reason=reason, method=method)
    # Back from the state whose next step succeeds, by the state that each was found from.
    states = [last]
    while states[-1] != origin:
        states.append(int(origin_of[states[-1]]))
    # Large, and value iteration may be about to ask for more.
    del origin_of
    plan = _retrace(crossed, states[::-1])
    path, actions, order = follow(crossed, plan, len(plan) + 1)
    length = len(actions)
    discounted = _discounted(crossed, gamma, length, budget)
    counted = count_orders(crossed) if orders else None
    return Optimum(
        length=length,
        order=order,
        path=path,
        actions=actions,
        orders=counted,
        discounted=discounted,
        success=1.0,
        method=method,
        policy=Plan(crossed, plan),
    )


def _retrace(crossed: Product, states: list[int]) -> dict[int, int]:
    """The first action that leads from each state to the next one, and to success from the last."""
    table, count = crossed.world.table, crossed.world.states
    plan: dict[int, int] = {}
    for here, there in zip(states, [*states[1:], DONE], strict=True):
        m, s = divmod(here, count)
        # As the search has it: success counts even where the world ends the episode with that very step.
        target = crossed.following[m, table.label[s, :, 0]]
        reached = np.where(target == DONE, DONE, target * count + table.next[s, :, 0])
        reached[(target != DONE) & ((target == DEAD) | table.ends[s, :, 0])] = DEAD
        plan[here] = int(np.argmax(reached == there))
    return plan


def _index(crossed: Product, landing: Landing) -> int:
    """The product state of a landing: -1 for success, -2 for failure."""
    if landing.status != RUNNING:
        return -1 if landing.status == SUCCESS else -2
    return crossed.number[landing.machine_state] * crossed.world.states + landing.world_state


def follow(
    crossed: Product, best: Mapping[int, int] | Ints, limit: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
    """World states, actions and completed objectives by likeliest outcomes; empty if `limit` steps do not succeed."""
    pair, chance = Pair(crossed.task), crossed.chance
    here = max(crossed.starts, key=lambda start: start[1])[0]
    path, actions, order = [here % crossed.world.states], list[int](), list[str]()
    while here >= 0 and len(actions) < limit:
        m, s = divmod(here, crossed.world.states)
        action = int(best[here])
        landing = pair.step(s, crossed.state(m), action, int(np.argmax(chance[s, action])))
        here = _index(crossed, landing)
        path.append(landing.world_state)
        actions.append(action)
        order.extend(landing.completed)
    return (tuple(path), tuple(actions), tuple(order)) if here == -1 else ((), (), ())


def _discounted(crossed: Product, gamma: float, length: int | None, budget: int) -> float | None:
    """The optimal return of a certain world: a power of gamma where only success pays, else by value iteration."""
    prize = _prize(crossed)
    # The prize is paid in the last step, and the first step is not discounted: hence length - 1.
    if prize is not None:
        return 0.0 if length is None else prize * gamma ** (length - 1)
    if len(crossed) * RANDOM_BYTES > budget:
        return None
    return float(best_return(crossed, gamma)[crossed.starts[0][0]])


def _prize(crossed: Product) -> float | None:
    """The reward of success where that is the only one and every success pays the same; otherwise None."""
    machine, used = crossed.task.agenda_table, np.unique(crossed.entry)
    reached = machine.status[machine.next[used]] == SUCCESS
    prizes = np.unique(machine.reward[used][reached])
    sparse = not machine.reward[used][~reached].any() and (machine.signal[used] < 0).all()
    # A negative prize is better put off: then the shortest success is not the best return.
    return float(prizes[0]) if sparse and len(prizes) == 1 and prizes[0] >= 0 else None


def _random(crossed: Product, gamma: float) -> Optimum:
    steps, best = least_steps(crossed)
    method = f"value iteration over {len(crossed):,} product states, relative error at most {TOLERANCE:g}"
    value = best_return(crossed, gamma)
    discounted = float(sum(p * value[x] for x, p in crossed.starts))
    length = float(sum(p * steps[x] for x, p in crossed.starts))
    if not np.isfinite(length):
        chance = most_success(crossed)
        success = float(sum(p * chance[x] for x, p in crossed.starts))
        reason = f"no policy succeeds surely; the greatest probability of success is {success:.6g}"
        reason = reason if success else _impossible(crossed.task)
        return Optimum(None, discounted=discounted, success=success, reason=reason, method=method)
    path, actions, order = follow(crossed, best, crossed.task.world.limit)
    return Optimum(
        length=length,
        order=order,
        path=path,
        actions=actions,
        discounted=discounted,
        success=1.0,
        method=method,
        policy=Plan(crossed, best),
    )


def check_discount(gamma: float) -> None:
    """Refuse a discount that leaves endless returns without a value."""
    if not 0.0 < gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; exact discounted returns need a number between 0 and 1, both excluded")


def _impossible(task: Task) -> str:
    """Why nothing can succeed, as far as that can be seen: features that no step of the world has, as after a slip of the pen."""
    known = frozenset[str]().union(*task.finite.labels) if task.finite is not None else frozenset(task.machine.features)
    never = [name for name in task.machine.features if name not in known]
    return "no successful episode exists" + (f": the world never reports {', '.join(never)}" if never else "")


def least_steps(product: Product) -> tuple[Floats, Ints]:
    """The least expected steps to success of each product state among policies that succeed surely, and their actions.

    Infinite where no policy succeeds surely. Sweeps rise from 0 and stop when none adds more than d = 1e-10; the
    values V then satisfy V <= optimum <= V / (1 - d), because V / (1 - d) is more than the greedy policy needs.
    Where moves are certain the values are whole and exact.
    """
    world, chance = product.world.table, product.chance
    # Only where success can be made sure are expected steps finite; the others must not be stepped into.
    inside = surely(world, chance, product.following)
    pay = Payment(each=-1.0, factor=_NO_FACTOR, signal=_NO_SIGNAL, success=0.0, gamma=1.0)
    value, best = iterate(world, chance, product.following, pay, inside, TOLERANCE)
    return np.where(inside, -value, np.inf), best


def best_return(product: Product, gamma: float) -> Floats:
    """The optimal discounted return of each product state under the machine's rewards, failures included."""
    table = product.task.agenda_table
    factor, signal = table.reward[product.entry], table.signal[product.entry]
    signals = product.world.table.signal
    largest = np.abs(factor).max() * (max(1.0, np.abs(signals).max()) if signals.size and signal.max() >= 0 else 1.0)
    pay = Payment(each=0.0, factor=factor, signal=signal, success=0.0, gamma=gamma)
    # A last change of d leaves an error of at most d / (1 - gamma).
    tolerance = TOLERANCE * (1.0 - gamma) * max(float(largest), 1e-300)
    return iterate(product.world.table, product.chance, product.following, pay, _EVERYWHERE, tolerance)[0]


def most_success(product: Product) -> Floats:
    """The greatest probability of success of each product state, however long it may take; approached from below."""
    pay = Payment(each=0.0, factor=_NO_FACTOR, signal=_NO_SIGNAL, success=1.0, gamma=1.0)
    return iterate(product.world.table, product.chance, product.following, pay, _EVERYWHERE, TOLERANCE / 100)[0]


def optimal_steps(product: Product, togo: Floats, here: int) -> Iterator[tuple[Word, int]]:
    """The shortest ways on from a product state in a certain world: (subtasks completed, next product state or DONE)."""
    table, count = product.world.table, product.world.states
    m, s = divmod(here, count)
    for a in range(product.world.actions):
        label = table.label[s, a, 0]
        target = int(product.following[m, label])
        if target == DONE:
            if togo[here] == 1:
                yield _completed(product, m, label), DONE
        elif target != DEAD and not table.ends[s, a, 0]:
            there = target * count + int(table.next[s, a, 0])
            if togo[there] == togo[here] - 1:
                yield _completed(product, m, label), there


def _completed(product: Product, m: int, label: int) -> Word:
    """The bits of the subtasks that a step completes, in declared order."""
    done = int(advance(product.task.agenda_table, int(product.u[m]), product.masks[m], label)[2])
    return tuple(i for i in range(done.bit_length()) if done >> i & 1)


def count_orders(product: Product) -> int | None:
    """The number of orders in which shortest episodes complete the subtasks; None where there is too much to count."""
    if len(product.task.machine.subtasks) > MOST_SUBTASKS or len(product) > MOST_STATES:
        return None
    togo, _ = least_steps(product)
    origin = product.starts[0][0]
    if not np.isfinite(togo[origin]):
        return 0

    @cache
    def ways(here: int) -> list[tuple[Word, int]]:
        return [] if here == DONE else list(optimal_steps(product, togo, here))

    return sum(orders for places, orders in spelt(origin, ways) if DONE in places)


MOST_PAIRS = 5_000_000


def steps_to_go(task: Task) -> dict[str, float]:
    """For each label `0{b1,b2}b1` the least steps to success when its objective is what the agent completes next.

    They are counted from the cell in which its agenda state is entered on the shortest successful episode through
    that state (the start for the first one; the lowest such cell where several are equal). States that no successful
    episode passes are left out; a success has 0. For certain worlds of at most 5,000,000 product states.
    """
    crossed = product(task, MOST_PAIRS * RANDOM_BYTES, RANDOM_BYTES)
    if not crossed.world.certain:
        raise TaskError(f"moves are random in '{task.name}'; exact steps to go by label are for certain worlds, slip 0")
    togo, _ = least_steps(crossed)
    level = np.full(len(crossed), -1, np.int32)
    breadth_first(crossed.world.table, crossed.following, crossed.starts[0][0], level, True)
    entered = _entered(crossed, togo, level)
    coupled = couple(unfold_agenda(task.machine))
    pair, least = Pair(task), dict[str, float]()
    for state, group in zip(coupled.agenda.states, coupled.groups, strict=True):
        values: dict[str | None, float] = {}
        if pair.stepper.status[state[0]] == SUCCESS:
            values = {None: 0.0}
        elif (m := crossed.number.get(state, -1)) in entered:
            values = _by_objective(crossed, pair, togo, m, entered[m])
        for j in group:
            if (steps := values.get(coupled.states[j][1])) is not None:
                label = str(coupled.labels[j])
                least[label] = min(steps, least.get(label, np.inf))
    return least


def _entered(crossed: Product, togo: Floats, level: Ints) -> dict[int, int]:
    """The cell in which each agenda state is entered on the shortest successful episode that passes it."""
    table, count = crossed.world.table, crossed.world.states
    origin = crossed.starts[0][0]
    best = {crossed.initial: (float(togo[origin]), origin % count)}
    for here in np.flatnonzero(level >= 0):
        m, s = divmod(int(here), count)
        for a in range(crossed.world.actions):
            target, cell = int(crossed.following[m, table.label[s, a, 0]]), int(table.next[s, a, 0])
            # A stay is no entry, and the initial state is entered at the start.
            if target < 0 or target in (m, crossed.initial) or table.ends[s, a, 0]:
                continue
            whole = level[here] + 1 + togo[target * count + cell]
            if np.isfinite(whole):
                best[target] = min(best.get(target, (np.inf, -1)), (float(whole), cell))
    return {m: cell for m, (whole, cell) in best.items() if np.isfinite(whole)}


def _by_objective(crossed: Product, pair: Pair, togo: Floats, m: int, cell: int) -> dict[str | None, float]:
    """From a cell in agenda state m, the least steps to success by each objective that can end the stay in m."""
    table, count, state = crossed.world.table, crossed.world.states, crossed.state(m)
    steps, queue = {cell: 0}, deque([cell])
    values: dict[str | None, float] = {}
    while queue:
        s = queue.popleft()
        for a in range(crossed.world.actions):
            target, there = int(crossed.following[m, table.label[s, a, 0]]), int(table.next[s, a, 0])
            if target == DEAD or (target != DONE and table.ends[s, a, 0]):
                continue
            if target == m:
                if there not in steps:
                    steps[there] = steps[s] + 1
                    queue.append(there)
                continue
            rest = 0.0 if target == DONE else float(togo[target * count + there])
            for name in pair.step(s, state, a).completed:
                if np.isfinite(rest):
                    values[name] = min(steps[s] + 1 + rest, values.get(name, np.inf))
    return values
