"""Zones (ours): a point robot with Water's motion among N still discs, with or without walls; rules, world, environment.

A rule takes the library that computes it, NumPy or JAX, so that there is one text of it. Places are whole numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np
from annotated_types import Interval

from errands.errors import SpecError
from errands.worlds.base import Described, Limit, Seed
from errands.worlds.grid import positive, words
from errands.worlds.picture import Disc, Drawing, Rectangle, Shape, Word
from errands.worlds.water import ACTIONS, ARENA, PUSHES, RADIUS, TOP_SPEED, ArenaEnv

if TYPE_CHECKING:
    from errands.worlds.batched import BatchedWorld
    from errands.worlds.families import MapFamily

REACH = 12
"""The radius of a zone: one is in it whose middle is."""
MARGIN = 20
"""From the side of the arena to the middle of any zone, at least."""
WALLS, THICK, DOOR = (130, 260), 10, 20
"""Where walls begin along either axis, how thick they are, and half the width of a door: thick enough for the top speed."""
MAX_ZONES = 100
_HIGH, _TRIES = int(ARENA) - 2 * MARGIN + 1, 100_000
ROOMS = ((int(RADIUS), WALLS[0]), (WALLS[0] + THICK + 1, WALLS[1]), (WALLS[1] + THICK + 1, int(ARENA - RADIUS) + 1))


class ZonesState(NamedTuple):
    """Everything that the future depends on, the map included."""

    agent: Any
    """[2] the middle of the agent."""
    velocity: Any
    """[2] per step."""
    places: Any
    """[N, 2] the middles of the zones."""
    doors: Any
    """[2, 2, 3] for walls across either axis, the first and the second: the middles of their three doors; else of size 0."""


def blocked(place: Any, doors: Any, xp: ModuleType = np) -> Any:
    """Whether a place [..., 2] lies in a wall."""
    shut = xp.zeros(place.shape[:-1], bool)
    for axis in range(2) if doors.size else ():
        across, along = place[..., axis], place[..., 1 - axis]
        room = sum((along > wall + THICK).astype(xp.int32) for wall in WALLS)
        for number, wall in enumerate(WALLS):
            inside = (across >= wall) & (across <= wall + THICK)
            shut = shut | (inside & (xp.abs(along - doors[axis, number][room]) > DOOR))
    return shut


def step(state: ZonesState, action: Any, xp: ModuleType = np) -> tuple[ZonesState, Any]:
    """The next state, and for each zone whether the agent is in it.

    Push and move as in Water; whom a wall would stop stays where he was and is turned round.
    """
    pushed = xp.clip(state.velocity + xp.asarray(PUSHES)[action], -TOP_SPEED, TOP_SPEED).astype(xp.float32)
    moved = state.agent + pushed
    held = xp.clip(moved, RADIUS, ARENA - RADIUS).astype(xp.float32)
    stopped = blocked(held, state.doors, xp)
    agent = xp.where(stopped, state.agent, held)
    velocity = xp.where(stopped | (held != moved), -pushed, pushed)
    return ZonesState(agent, velocity, state.places, state.doors), inside(agent, state.places)


def inside(agent: Any, places: Any) -> Any:
    """For each zone whether the agent is in it."""
    gap = places - agent
    return gap[:, 0] * gap[:, 0] + gap[:, 1] * gap[:, 1] <= REACH * REACH


def observe(state: ZonesState, xp: ModuleType = np) -> Any:
    """Own place and velocity, each zone's place relative to the agent, and the middles of the doors, all in [-1, 1]."""
    parts = (state.agent / ARENA, state.velocity / TOP_SPEED, (state.places - state.agent) / ARENA, state.doors / ARENA)
    return xp.concatenate([part.ravel() for part in parts]).astype(xp.float32)


@dataclass(frozen=True)
class Zones(Described):
    """Zones `z1`..`zN` at random places of Water's arena, and with `walls` nine rooms with a door in every wall between them.

    A zone is a feature as long as the agent is in it.
    """

    kind: ClassVar[str] = "zones"
    zones: Annotated[int, Interval(ge=1, le=MAX_ZONES)]
    map_seed: Seed = 0
    walls: bool = False
    limit: Limit = 2_000
    signals: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ACTIONS
    certain: ClassVar[bool] = True
    untabled: ClassVar[str] = "has seven million places and velocities, too many for tables"

    def __post_init__(self) -> None:
        positive("zones", self.zones)
        positive("limit", self.limit)
        if self.zones > MAX_ZONES:
            raise SpecError(f"zones is {self.zones}, and at most {MAX_ZONES} have room")
        _ = self.start

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the zones."""
        return tuple(f"z{i}" for i in range(1, self.zones + 1))

    @cached_property
    def start(self) -> ZonesState:
        """The state in which every episode starts: at rest in the middle, no zone there, and none upon another or in a wall."""
        stream = words(self.map_seed)

        def below(count: int) -> int:
            return (next(stream) * count) >> 64

        doors = np.zeros(0, np.float32)
        if self.walls:
            rows = [[[low + DOOR + below(high - low - 2 * DOOR) for low, high in ROOMS] for _ in WALLS] for _ in range(2)]
            doors = np.array(rows, np.float32)
        middle = np.array((ARENA / 2, ARENA / 2), np.float32)
        places = [middle]
        for _ in range(_TRIES):
            if len(places) > self.zones:
                break
            place = np.array((MARGIN + below(_HIGH), MARGIN + below(_HIGH)), np.float32)
            # More than two radii apart: in one zone at a time.
            if np.square(np.array(places) - place).sum(axis=1).min() > 4 * REACH * REACH and not blocked(place, doors):
                places.append(place)
        return ZonesState(middle, np.zeros(2, np.float32), np.array(places[1:]), doors)

    @property
    def batched(self) -> BatchedWorld:
        """The rules in JAX."""
        from errands.worlds.families import world_of_map

        return world_of_map(self.start, self.features)

    @property
    def family(self) -> MapFamily:
        """The same with a new map at every start."""
        from errands.worlds.families import zones_family

        return zones_family(self.zones, self.walls)

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this map."""
        return ArenaEnv(self, sys.modules[__name__], render_mode)

    def finite(self) -> None:
        """None: places and velocities are too many for tables."""
        return


def wall_plan(doors: Any) -> list[list[float]]:
    """The walls as rectangles (x, y, width, height), y upwards from the lower edge."""
    plan = []
    for axis in range(2) if doors.size else ():
        for number, wall in enumerate(WALLS):
            ends = [0.0, *(float(door + side * DOOR) for door in doors[axis, number] for side in (-1, 1)), ARENA]
            for low, high in zip(ends[::2], ends[1::2], strict=True):
                corner, sides = (wall, low), (THICK, high - low)
                plan.append([*map(float, (*corner, *sides) if axis == 0 else (*corner[::-1], *sides[::-1]))])
    return plan


def drawing_of(state: ZonesState) -> Drawing:
    """The picture of a state."""
    return zones_drawing(state.agent.tolist(), state.places.tolist(), wall_plan(state.doors))


def zones_drawing(agent: Sequence[float], places: Sequence[Sequence[float]], walls: Sequence[Sequence[float]]) -> Drawing:
    """The arena as shapes, y upwards: walls, numbered zones, the agent as a ring."""
    shapes: list[Shape] = [Rectangle(0, 0, ARENA, ARENA, "#f4f8fb")]
    shapes += [Rectangle(x, ARENA - y - tall, wide, tall, "#5b6770") for x, y, wide, tall in walls]
    for i, (x, y) in enumerate(places, 1):
        shapes += [Disc(x, ARENA - y, REACH, "#8fc3e8"), Word(x, ARENA - y + 4, str(i), 11, "#222222")]
    x, y = agent
    shapes += [Disc(x, ARENA - y, r, fill) for r, fill in ((6.0, "#222222"), (3.0, "#ffffff"))]
    return Drawing(ARENA, ARENA, tuple(shapes))
