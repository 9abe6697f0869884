"""The exact optimum of a finite task: the shortest successful episode or the least expected steps; exact steps to go."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from errands.errors import ConfigError, TaskError
from errands.kernels.search import DEAD, DONE, Payment, breadth_first, iterate, surely, within_steps
from errands.kernels.stepping import advance
from errands.machines.counting import Word, completion_words
from errands.machines.stepping import State
from errands.machines.unfolding import couple, unfold_agenda
from errands.oracle.episode import Policy, TaskStepper, strayed
from errands.oracle.product import BUDGET, RANDOM_BYTES, Product, product
from errands.oracle.water import CELLS, Script, Start, machine_of, replayed, shortest
from errands.tables import RUNNING, SUCCESS, AgendaTable, Floats, Ints
from errands.tasks.task import Task
from errands.worlds.water import Water
from errands.worlds.zones import Zones

TOLERANCE = 1e-10
"""Relative error of least steps; error of returns in units of the largest reward; last change of a chance."""
MAX_WORK = 3_000_000_000
"""Outcomes that are visited to take the time limit into account: some ten seconds."""
_NO_FACTOR, _NO_SIGNAL, _EVERYWHERE = np.empty((0, 0)), np.empty((0, 0), np.int32), np.empty(0, np.bool_)
_ANYTHING = np.empty(0, np.int32)
MAX_SUBTASKS = 8
MAX_STATES = 200_000


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
    """How good a policy can be within the world's time limit: success first, then steps.

    `length` is None where that is unknown or no policy succeeds surely: `reason` says why, `success` how likely the best
    one succeeds.

    >>> import errands
    >>> best = errands.optimum(errands.load("figure-1"))
    >>> best.length, best.order, best.orders
    (10, ('b2', 's', 'b1', 's'), 1)
    """

    length: float | None
    """The steps of the shortest successful episode; where moves are random, the least expected number of them among
    policies that succeed surely, but for one episode in 10,000,000,000."""
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
    unlimited: float | None = None
    """What `length` would be without the time limit, where the limit rules it out."""
    reason: str = ""
    method: str = ""
    policy: Policy | None = field(default=None, repr=False, compare=False)
    """A policy that reaches `length`."""


def optimum(
    task: Task, gamma: float = 0.99, budget: int = BUDGET, orders: bool = True, work: int = MAX_WORK
) -> Optimum:
    """The exact optimum within the time limit; a TaskError where it would take more than `budget` bytes.

    Parameters:
        task: a task in a finite world, in Water or among zones; elsewhere the answer has a reason instead of a length.
        gamma: the discount factor of `discounted`, above 0 and below 1.
        budget: the most bytes that the search may take.
        orders: whether optimal orders are counted.
        work: outcomes that may be visited to take the time limit into account; beyond them `method` says that it was left out.

    >>> import errands
    >>> optimum(errands.load("office-6")).length
    60
    """
    check_discount(gamma)
    if not isinstance(task, Task):
        raise TaskError(f"the optimum of {task!r:.60} was asked for; give a task, such as errands.load('office-6')")
    if isinstance(task.world, Water | Zones):
        return _in_arena(task, task.world.start, gamma, budget)
    if task.finite is None:
        return Optimum(None, reason=f"the world {task.untabled}; the optimum of such a task cannot be computed")
    crossed = product(task, budget)
    best = _certain(crossed, gamma, budget, orders, work) if crossed.world.certain else _random(crossed, gamma, work)
    return _as_tried(best, task) if task.tried else best


def _in_arena(task: Task, start: Start, gamma: float, budget: int) -> Optimum:
    """The optimum in Water and among zones, whose agent is always on whole numbers."""
    crossed, limit = machine_of(task), task.world.limit
    method = f"breadth-first search over {CELLS:,} places and velocities and {len(crossed.following):,} machine states"
    actions = shortest(start, crossed.following, limit, budget)
    if not actions:
        reason = _impossible(task) if actions is not None else f"no episode of at most {limit:,} steps succeeds"
        return Optimum(None, orders=0, success=0.0, reason=reason, method=method)
    prize = _prize(crossed.table, np.unique(crossed.entry))
    order = tuple(name for done in replayed(task, start, actions) for name in done)
    discounted = None if prize is None else prize * gamma ** (len(actions) - 1)
    return Optimum(len(actions), order, (), actions, None, discounted, success=1.0, method=method, policy=Script(actions))


def _as_tried(best: Optimum, task: Task) -> Optimum:
    """The optimum of a table found by trying, with how far it was looked; none where the environment goes otherwise."""
    if best.policy is not None and (astray := strayed(best.policy, task)):
        return Optimum(None, reason=astray, method=best.method)
    reason = f"{best.reason}, {task.tried}" if best.reason else ""
    return replace(best, reason=reason, method=f"{best.method}, of a table found by trying, {task.tried}")


def _certain(crossed: Product, gamma: float, budget: int, orders: bool, work: int) -> Optimum:
    world, origin = crossed.world.table, crossed.starts[0][0]
    origin_of, last = breadth_first(world, crossed.following, origin, np.empty(0, np.int32), False)
    method = f"breadth-first search over {len(crossed):,} product states"
    if last < 0:
        discounted, method = _discounted(crossed, gamma, None, budget, work, method)
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
    length, limit = len(actions), crossed.task.world.limit
    discounted, method = _discounted(crossed, gamma, length if length <= limit else None, budget, work, method)
    if length > limit:
        reason = f"the shortest successful episode takes {length:,} steps, more than the limit of {limit:,}"
        return Optimum(None, orders=0, discounted=discounted, success=0.0, unlimited=length, reason=reason, method=method)
    counted = count_orders(crossed) if orders else None
    return Optimum(
        length, order, path, actions, counted, discounted, success=1.0, method=method, policy=Plan(crossed, plan)
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


def follow(
    crossed: Product, best: Mapping[int, int] | Ints, limit: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
    """World states, actions and completed objectives by likeliest outcomes; empty if `limit` steps do not succeed."""
    task_stepper, chance = TaskStepper(crossed.task), crossed.chance
    here = max(crossed.starts, key=lambda start: start[1])[0]
    path, actions, order = [here % crossed.world.states], list[int](), list[str]()
    while here >= 0 and len(actions) < limit:
        m, s = divmod(here, crossed.world.states)
        action = int(best[here])
        result = task_stepper.step(s, crossed.state(m), action, int(np.argmax(chance[s, action])))
        here = -1 if result.status == SUCCESS else -2
        if result.status == RUNNING:
            here = crossed.number[result.machine_state] * crossed.world.states + int(result.world_state)
        path.append(result.world_state)
        actions.append(action)
        order.extend(result.completed)
    return (tuple(path), tuple(actions), tuple(order)) if here == -1 else ((), (), ())


def _discounted(
    crossed: Product, gamma: float, length: int | None, budget: int, work: int, method: str
) -> tuple[float | None, str]:
    """The optimal return of a certain world: a power of gamma where only success pays, else by value iteration; the method."""
    prize = _prize(crossed.task.agenda_table, np.unique(crossed.entry))
    # The prize is paid in the last step, and the first step is not discounted: hence length - 1.
    if prize is not None:
        return 0.0 if length is None else prize * gamma ** (length - 1), method
    if len(crossed) * RANDOM_BYTES > budget:
        return None, method
    return _return(crossed, gamma, work, method)


def _return(crossed: Product, gamma: float, work: int, method: str) -> tuple[float, str]:
    """The optimal discounted return within the limit, and the method, which says where the limit had to be left out."""
    done, value = _limited(crossed, _rewards(crossed, gamma), 0.0, work, TOLERANCE * _largest(crossed))
    if done:
        return _mean(crossed, value), method
    return _mean(crossed, best_return(crossed, gamma)), f"{method}, the time limit left out of discounted returns"


def _mean(crossed: Product, value: Floats) -> float:
    return float(sum(p * value[x] for x, p in crossed.starts))


def _limited(
    crossed: Product, pay: Payment, late: float, work: int, tolerance: float = TOLERANCE, plan: Ints = _ANYTHING
) -> tuple[bool, Floats]:
    """The values of all product states with the whole limit to go, `late` being worth what runs into it."""
    value, world = np.full(len(crossed), late), crossed.world.table
    limit = crossed.task.world.limit
    done, value = within_steps(world, crossed.chance, crossed.following, pay, value, plan, limit, tolerance, work)
    return bool(done), value


def _prize(machine: AgendaTable, used: Ints) -> float | None:
    """The reward of success where that is the only one and every success pays the same; otherwise None."""
    reached = machine.status[machine.next[used]] == SUCCESS
    prizes = np.unique(machine.reward[used][reached])
    sparse = not machine.reward[used][~reached].any() and (machine.signal[used] < 0).all()
    # A negative prize is better put off: then the shortest success is not the best return.
    return float(prizes[0]) if sparse and len(prizes) == 1 and prizes[0] >= 0 else None


def _random(crossed: Product, gamma: float, work: int) -> Optimum:
    task, limit = crossed.task, crossed.task.world.limit
    method = f"value iteration over {len(crossed):,} product states, relative error at most {TOLERANCE:g}"
    discounted, method = _return(crossed, gamma, work, method)
    steps, best = least_steps(crossed)
    unlimited = _mean(crossed, steps)
    left_out = f"{method}; the time limit of {limit:,} steps is left out: it would take too long"
    if np.isfinite(unlimited):
        # The policy of the fewest steps keeps no time. Where it is practically never cut off the limit changes nothing.
        done, chance = _limited(crossed, _CHANCE, 0.0, work, TOLERANCE / 10, best)
        if not done or _mean(crossed, chance) >= 1.0 - TOLERANCE:
            path, actions, order = follow(crossed, best, limit)
            said, policy = method if done else left_out, Plan(crossed, best)
            return Optimum(unlimited, order, path, actions, None, discounted, success=1.0, method=said, policy=policy)
        # A way that cannot be late may be longer.
        done, value = _limited(crossed, _STEPS, -np.inf, work)
        length = -_mean(crossed, value)
        if done and np.isfinite(length):
            return Optimum(length, discounted=discounted, success=1.0, unlimited=unlimited, method=method)
    done, chance = _limited(crossed, _CHANCE, 0.0, work)
    success = _mean(crossed, chance if done else most_success(crossed))
    within = f" within the limit of {limit:,} steps" if done else ""
    reason = f"no policy succeeds surely{within}; the greatest probability of success is {probability_text(success)}"
    if success == 0.0:
        possible = done and _mean(crossed, most_success(crossed)) > 0.0
        reason = f"no episode succeeds{within}" if possible else _impossible(task)
    known = unlimited if np.isfinite(unlimited) else None
    if known is not None:
        reason += f"; without the limit one does in {known:.6g} expected steps"
    return Optimum(
        None, discounted=discounted, success=success, unlimited=known, reason=reason, method=method if done else left_out
    )


def probability_text(probability: float) -> str:
    """A probability that is not 1 never reads as 1."""
    shown = f"{probability:.6g}"
    return "more than 0.999999" if shown == "1" else shown


def check_discount(gamma: float) -> None:
    """Refuse a discount that leaves endless returns without a value."""
    if not 0.0 < gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; exact discounted returns need a number between 0 and 1, both excluded")


def _impossible(task: Task) -> str:
    """Why nothing can succeed, as far as that can be seen: features that no step of the world has, as after a slip of the pen."""
    known = frozenset[str]().union(*task.finite.labels) if task.finite is not None else frozenset(task.machine.features)
    never = [name for name in task.machine.features if name not in known]
    return "no successful episode exists" + (f": the world never reports {', '.join(never)}" if never else "")


_STEPS = Payment(each=-1.0, factor=_NO_FACTOR, signal=_NO_SIGNAL, success=0.0, failure=-np.inf, gamma=1.0)
_CHANCE = Payment(each=0.0, factor=_NO_FACTOR, signal=_NO_SIGNAL, success=1.0, failure=0.0, gamma=1.0)


def least_steps(product: Product) -> tuple[Floats, Ints]:
    """The least expected steps to success of each product state among policies that succeed surely, and their actions.

    However long they take: the time limit is left out. Infinite where no policy succeeds surely. Sweeps rise from 0 and
    stop when none adds more than d = 1e-10; the values V then satisfy V <= optimum <= V / (1 - d), because V / (1 - d) is
    more than the greedy policy needs. Where moves are certain the values are whole and exact.
    """
    world, chance = product.world.table, product.chance
    # Only where success can be made sure are expected steps finite; the others must not be stepped into.
    inside = surely(world, chance, product.following)
    value, best = iterate(world, chance, product.following, _STEPS, inside, TOLERANCE)
    return np.where(inside, -value, np.inf), best


def _rewards(product: Product, gamma: float) -> Payment:
    table = product.task.agenda_table
    return Payment(0.0, table.reward[product.entry], table.signal[product.entry], success=0.0, failure=0.0, gamma=gamma)


def _largest(product: Product) -> float:
    """The largest reward of a step, or more."""
    table, signals = product.task.agenda_table, product.world.table.signal
    factor, signal = table.reward[product.entry], table.signal[product.entry]
    largest = np.abs(factor).max() * (max(1.0, np.abs(signals).max()) if signals.size and signal.max() >= 0 else 1.0)
    return max(float(largest), 1e-300)


def best_return(product: Product, gamma: float) -> Floats:
    """The optimal discounted return of each product state under the machine's rewards, failures included, without a limit."""
    # A last change of d leaves an error of at most d / (1 - gamma).
    tolerance = TOLERANCE * (1.0 - gamma) * _largest(product)
    pay = _rewards(product, gamma)
    return iterate(product.world.table, product.chance, product.following, pay, _EVERYWHERE, tolerance)[0]


def most_success(product: Product) -> Floats:
    """The greatest probability of success of each product state, however long it may take; approached from below."""
    return iterate(product.world.table, product.chance, product.following, _CHANCE, _EVERYWHERE, TOLERANCE / 100)[0]


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
    if len(product.task.machine.subtasks) > MAX_SUBTASKS or len(product) > MAX_STATES:
        return None
    togo, _ = least_steps(product)
    origin = product.starts[0][0]
    if not np.isfinite(togo[origin]):
        return 0

    @cache
    def ways(here: int, _: int) -> list[tuple[Word, int, int]]:
        return [] if here == DONE else [(word, there, 1) for word, there in optimal_steps(product, togo, here)]

    return sum(orders for places, orders in completion_words(origin, ways) if DONE in places)


MAX_PAIRS = 5_000_000


def steps_to_go(task: Task) -> dict[str, float]:
    """For each label `0{b1,b2}b1` the least steps to success when its objective is what the agent completes next.

    They are counted from the cell in which its agenda state is entered on the shortest successful episode through
    that state (the start for the first one; the lowest such cell where several are equal). States that no successful
    episode passes are left out; a success has 0. For certain worlds of at most 5,000,000 product states.
    """
    crossed = product(task, MAX_PAIRS * RANDOM_BYTES, RANDOM_BYTES)
    if not crossed.world.certain:
        raise TaskError(f"moves are random in '{task.name}'; exact steps to go by label are for certain worlds, slip 0")
    togo, _ = least_steps(crossed)
    level = np.full(len(crossed), -1, np.int32)
    breadth_first(crossed.world.table, crossed.following, crossed.starts[0][0], level, True)
    entered = _entered(crossed, togo, level)
    coupled = couple(unfold_agenda(task.machine))
    task_stepper, least = TaskStepper(task), dict[str, float]()
    for state, group in zip(coupled.agenda.states, coupled.groups, strict=True):
        values: dict[str | None, float] = {}
        if task_stepper.stepper.status[state[0]] == SUCCESS:
            values = {None: 0.0}
        elif (m := crossed.number.get(state, -1)) in entered:
            values = _by_objective(crossed, task_stepper, togo, m, entered[m])
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


def _by_objective(crossed: Product, task_stepper: TaskStepper, togo: Floats, m: int, cell: int) -> dict[str | None, float]:
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
            for name in task_stepper.step(s, state, a).completed:
                if np.isfinite(rest):
                    values[name] = min(steps[s] + 1 + rest, values.get(name, np.inf))
    return values
