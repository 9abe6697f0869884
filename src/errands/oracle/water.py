"""The exact optimum in Water and among zones: breadth-first search over places, velocities and machine states at once."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.kernels.search import DEAD, DONE
from errands.kernels.water import BITS, PUSH, SIDE, SPEEDS, TOP, Bits, Touches, before, spread
from errands.machines.lower import lower
from errands.machines.stepping import State, Stepper
from errands.oracle.product import listed
from errands.tables import RUNNING, AgendaTable, Ints
from errands.tasks.task import Task
from errands.worlds import water, zones

MAX_STATES = 1_024
"""Machine states, each a bit at every place and velocity: two arrays of 0.86 GB."""
CELLS = (SIDE * SPEEDS) ** 2
"""Places and velocities."""
LABELS = tuple(frozenset(some) for n in range(len(water.COLOURS) + 1) for some in combinations(water.COLOURS, n))
_GRID = np.arange(SIDE, dtype=np.float32) + np.float32(water.RADIUS)
_PUSHES = (water.PUSHES / water.PUSH).astype(np.int32)
_NEAR = int(2 * water.RADIUS) + 2


@dataclass(frozen=True)
class Script:
    """A policy that takes given actions one after the other, whatever it sees."""

    actions: tuple[int, ...]

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The next action; `memory` counts them."""
        time = memory if isinstance(memory, int) else 0
        return self.actions[min(time, len(self.actions) - 1)], time + 1


class Machine(NamedTuple):
    """The machine states of a task that Water's labels can bring about."""

    table: AgendaTable
    entry: Ints
    following: Ints


def labels_of(task: Task) -> tuple[frozenset[str], ...]:
    """What a step can report: any colours, or one zone at most, since no two have a place in common."""
    world = task.world
    return (frozenset(), *(frozenset({name}) for name in world.features)) if isinstance(world, zones.Zones) else LABELS


def machine_of(task: Task) -> Machine:
    """The machine of a task as tables; a TaskError where it has too many states."""
    table = lower(task.machine, labels_of(task))
    _, _, entry, following = listed(table, MAX_STATES, lambda states: _refused(task, states))
    return Machine(table, entry, _hopeless(following))


def _refused(task: Task, states: int) -> TaskError:
    return TaskError(
        f"the exact optimum of '{task.name}' has {states:,} machine states or more at each of {CELLS:,} places and "
        f"velocities, and 2 GB have room for {MAX_STATES:,}; use fewer subtasks"
    )


def _hopeless(following: Ints) -> Ints:
    """The same machine, its states from which no success can be reached taken for dead."""
    hope = (following == DONE).any(axis=1)
    while True:
        wider = hope | np.where(following >= 0, hope[following], False).any(axis=1)
        if (wider == hope).all():
            return np.where((following >= 0) & ~hope[following], DEAD, following).astype(np.int32)
        hope = wider


Start = water.WaterState | zones.ZonesState


def shortest(start: Start, following: Ints, limit: int, budget: int) -> tuple[int, ...] | None:
    """The actions of a shortest success; none where none is possible, None where none was found within `limit` steps."""
    search = _search(start, following, budget)
    length, landing = search.found(limit)
    return None if landing is None else search.back(length, *landing) if landing != (DEAD, DEAD) else ()


def steps_of(start: Start, following: Ints, limit: int, budget: int) -> int | None:
    """The length of a shortest success alone, for which no layer is kept; None where there is none within `limit` steps."""
    length, landing = _search(start, following, budget).found(limit, keep=False)
    return None if landing in (None, (DEAD, DEAD)) else length


def _search(start: Start, following: Ints, budget: int) -> _Search:
    return (_AmongZones if isinstance(start, zones.ZonesState) else _Search)(start, following, budget)


class _Search:
    """Layers of reachable states, as many of them kept as there is room for; the others are found again from those."""

    def __init__(self, start: Any, following: Ints, budget: int) -> None:
        self.following = following
        self.same = (following == np.arange(len(following))[:, None]).all(axis=0)
        self.moving = [start]
        self.colours, self.shut = self._scenery()
        x, y = (int(place - water.RADIUS) for place in start.agent)
        ux, uy = (int((speed + TOP) / PUSH) for speed in start.velocity)
        self.now, self.then = self._blank(), self._blank()
        self.now[x * SIDE + y, ux * SPEEDS + uy, 0] = 1
        self.origin = x * SIDE + y, ux * SPEEDS + uy
        self.time, self.every = 0, 1 + self.now.shape[2] // 4
        self.room = budget - 2 * self.now.nbytes
        if self.room < 0:
            needed = f"{2 * self.now.nbytes / 1e9:.2f} GB, more than the budget of {budget / 1e9:.2f} GB"
            raise TaskError(f"the search for the optimum with {len(following):,} machine states takes {needed}")
        self.kept: dict[int, list[bytes]] = {}

    def _scenery(self) -> tuple[Ints, NDArray[np.bool_]]:
        """The label of every set of balls, and which places are shut."""
        number = {label: i for i, label in enumerate(LABELS)}
        sets = [frozenset(water.COLOURS[c] for c in range(6) if balls >> 2 * c & 3) for balls in range(1 << water.BALLS)]
        return np.array([number[colours] for colours in sets], np.int32), np.zeros(SIDE * SIDE, np.bool_)

    def around(self, time: int) -> tuple[Touches, Touches]:
        """What places overlap before and after a step."""
        return self.touches(time), self.touches(time + 1)

    def touches(self, time: int) -> Touches:
        """The balls that overlap an agent at each place, as bits, at a time."""
        while len(self.moving) <= time:
            self.moving.append(water.step(self.moving[-1], 0)[0])
        found = np.zeros((SIDE, SIDE), np.uint16)
        if time == 0:
            return self._given(found)
        for i, (x, y) in enumerate(self.moving[time].balls):
            # Only around the ball, and in the arithmetic of the world, so that the same places touch.
            ax, ay = (max(0, int(centre - water.RADIUS) - _NEAR) for centre in (x, y))
            gx, gy = x - _GRID[ax : ax + 2 * _NEAR], y - _GRID[ay : ay + 2 * _NEAR]
            near = (gx * gx)[:, None] + (gy * gy)[None] <= np.float32(4 * water.RADIUS * water.RADIUS)
            found[ax : ax + 2 * _NEAR, ay : ay + 2 * _NEAR] |= near.astype(np.uint16) << np.uint16(i)
        return found.ravel()

    def _given(self, found: Touches) -> Touches:
        """The overlaps of the first state are those that it tells."""
        found[:] = sum(1 << i for i, touching in enumerate(self.moving[0].touching) if touching)
        return found.ravel()

    def found(self, limit: int, keep: bool = True) -> tuple[int, tuple[int, int] | None]:
        """After how many steps a success is reached and where, or nothing is left to be tried: (DEAD, DEAD)."""
        landings = ((n, self.forward(keep)) for n in range(1, limit + 1))
        return next(((n, there) for n, there in landings if there is not None), (limit, None))

    def forward(self, keep: bool = True) -> tuple[int, int] | None:
        """One more step; where it led if it succeeds, (DEAD, DEAD) where nothing is left to be tried."""
        if keep and self.time > 0 and self.time % self.every == 0:
            self._keep()
        landing = np.array([DONE, DONE], np.int32)
        box, around = self._box(self.time), (*self.around(self.time), self.colours, self.following)
        if spread(self.now, self.then, *around, self.same, box, landing, self.shut) or landing[0] == DEAD:
            return int(landing[0]), int(landing[1])
        self.now, self.then, self.time = self.then, self.now, self.time + 1
        return None

    def _box(self, time: int) -> Ints:
        """The first and last places (x, x, y, y) that can be reached by a time."""
        x, y = divmod(self.origin[0], SIDE)
        far = TOP * time
        return np.array([max(0, x - far), min(SIDE - 1, x + far), max(0, y - far), min(SIDE - 1, y + far)], np.int32)

    def _part(self, layer: Bits, time: int) -> Bits:
        left, right, low, high = self._box(time)
        return layer.reshape(SIDE, SIDE, *layer.shape[1:])[left : right + 1, low : high + 1]

    def _keep(self) -> None:
        # Neighbouring places have much in common: packed, a layer takes a hundredth of its room.
        packed = [zlib.compress(row.tobytes(), 1) for row in self._part(self.now, self.time)]
        size = sum(map(len, packed))
        while self.kept and sum(sum(map(len, kept)) for kept in self.kept.values()) + size > self.room:
            self.every *= 2
            self.kept = {time: kept for time, kept in self.kept.items() if time % self.every == 0}
        if self.time % self.every == 0 and size <= self.room:
            self.kept[self.time] = packed

    def back(self, length: int, there: int, speed: int) -> tuple[int, ...]:
        """The actions that lead there in `length` steps, found from the last to the first."""
        actions, target, found = [], DONE, np.zeros(4, np.int32)
        for time in reversed(range(length)):
            around = (*self.around(time), self.colours, self.following)
            before(self._at(time), *around, _PUSHES, there, speed, target, found, self.shut)
            there, speed, target, action = (int(part) for part in found)
            actions.append(action)
        return tuple(reversed(actions))

    def _at(self, time: int) -> Bits:
        """The layer of a time: as it stands, as it was kept, or found again; later ones are needed no more."""
        self.kept = {other: layer for other, layer in self.kept.items() if other <= time}
        if self.time == time:
            return self.now
        self.time, self.every = max(self.kept, default=0), 1
        # New arrays of zeros cost nothing where they are not written to; the old ones go first.
        self.now = self.then = np.zeros(0, np.uint32)
        self.now, self.then = self._blank(), self._blank()
        if self.time:
            for row, packed in zip(self._part(self.now, self.time), self.kept[self.time], strict=True):
                row[:] = np.frombuffer(zlib.decompress(packed), np.uint32).reshape(row.shape)
        else:
            self.now[(*self.origin, 0)] = 1
        while self.time < time:
            self.forward()
        return self.now

    def _blank(self) -> Bits:
        return np.zeros((SIDE * SIDE, SPEEDS * SPEEDS, -(-len(self.following) // BITS)), np.uint32)


class _AmongZones(_Search):
    """The same among zones, which stand still and hold as long as the agent is in them."""

    def _scenery(self) -> tuple[Ints, NDArray[np.bool_]]:
        start = self.moving[0]
        grid = np.stack(np.meshgrid(_GRID, _GRID, indexing="ij"), axis=-1).reshape(-1, 2)
        shut = zones.blocked(grid, start.doors)
        self.within = np.zeros(SIDE * SIDE, np.uint16)
        for number, place in enumerate(start.places, 1):
            self.within[((place - grid) ** 2).sum(axis=1) <= zones.REACH**2] = number
        return np.arange(len(start.places) + 1, dtype=np.int32), shut

    def around(self, time: int) -> tuple[Touches, Touches]:
        """The zone that each place is in, whatever it was before."""
        return np.zeros_like(self.within), self.within


def replayed(task: Task, start: Any, actions: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
    """What each of these actions completes, by the rules of the world and of the machine."""
    stepper = Stepper(task.machine)
    state, machine = start, stepper.start
    physics, names = (zones, task.world.features) if isinstance(start, zones.ZonesState) else (water, water.COLOURS)
    for action in actions:
        if stepper.status[machine[0]] != RUNNING:
            return
        state, touched = physics.step(state, action)
        step = stepper.step(machine, {names[i] for i in np.flatnonzero(touched)})
        yield stepper.completed(machine, step)
        machine = step.state
