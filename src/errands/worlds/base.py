"""What a world promises, and the worlds by the word of task files; heavy libraries load only when a world needs them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from annotated_types import Interval

from errands.errors import SpecError, UnknownName, install
from errands.tables import Flags, Floats, Ints, WorldTable

if TYPE_CHECKING:
    import gymnasium as gym

    from errands.worlds.batched import BatchedWorld
    from errands.worlds.families import MapFamily
    from errands.worlds.grid import GridLayout
    from errands.worlds.gymnasium.world import GymnasiumWorld

Probability = Annotated[float, Interval(ge=0, lt=1)]
Limit = Annotated[int, Interval(ge=1, le=10_000_000)]
Count = Annotated[int, Interval(ge=1, le=16_384)]
Seed = Annotated[int, Interval(ge=0, lt=2**63)]
"""Settings of worlds, with what a task file may say of them (tasks/spec.py)."""


@dataclass(frozen=True)
class FiniteWorld:
    """A finite world as tables, with the names behind the numbers."""

    table: WorldTable
    # Positions, not events: counterfactual updates ask what a step would mean in other machine states.
    labels: tuple[frozenset[str], ...]
    """The feature set behind each label index; features are positions, nothing is removed here."""
    signals: tuple[str, ...] = ()
    """The name behind each row of `table.signal`."""
    tried: str = ""
    """How far it was looked ("as far as 900 tries, 104 starts and 9 walks showed") where the table was found by trying."""

    def __post_init__(self) -> None:
        # Compiled loops follow these numbers without looking: what is out of range would be somebody else's memory.
        for problem in _faults(self.table, len(self.labels), len(self.signals)):
            raise SpecError(f"the table of a world {problem}")

    @property
    def states(self) -> int:
        """The number of world states."""
        return int(self.table.next.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.table.next.shape[1])

    @property
    def certain(self) -> bool:
        """Whether every move has one outcome and every episode one start."""
        return self.table.next.shape[2] == 1 and len(self.table.starts) == 1


def _faults(table: WorldTable, labels: int, signals: int) -> Iterator[str]:
    """What is wrong with a table, as the rest of a sentence."""
    if table.next.ndim != 3 or 0 in table.next.shape:
        yield f"has moves of the shape {table.next.shape}; they are [states, actions, outcomes], and none of these is 0"
        return
    states, count, shape = len(table.next), len(table.starts), table.next.shape
    wanted = {"starts": (count,), "start_cumulative": (count,), "start_label": (count,), "cumulative": shape, "label": shape,
              "ends": shape, "signal": (signals, *shape)}  # fmt: skip
    for name, one in wanted.items():
        if getattr(table, name).shape != one:
            yield f"has {name} of the shape {getattr(table, name).shape}; it must be {one}"
            return
    ranges = {"next": states, "starts": states, "label": labels, "start_label": labels}
    for name, end in ranges.items():
        numbers = getattr(table, name)
        if not count or numbers.min() < 0 or numbers.max() >= end:
            yield f"has {name} outside of 0 to {end - 1}" if count else "has no state in which an episode starts"
    for name in ("start_cumulative", "cumulative"):
        sums = getattr(table, name)
        if not ((sums[..., 0] >= 0).all() and (sums[..., 1:] >= sums[..., :-1]).all() and (sums[..., -1] == 1).all()):
            yield f"has {name} probabilities that do not rise from 0 to 1"
    if not np.isfinite(table.signal).all():
        yield "has a signal that is not finite"


class Described(Protocol):
    """Facts that decide how a world is learnt in, and its settings; what a world does not override holds as it stands here."""

    batched_physics: ClassVar[bool] = False
    """Whether many copies of the environment can be stepped in one call of its simulator."""
    action_names: ClassVar[tuple[str, ...]] = ()
    """What people call its actions, by their numbers; empty where they have no names."""

    @property
    def discrete(self) -> bool:
        """Whether states and actions are numbered although there are no tables, so that tabular learners can be run."""
        return False

    @property
    def certain(self) -> bool:
        """Whether every episode of a policy is the same one although there are no tables to see that in."""
        return False

    @property
    def continuous_actions(self) -> bool:
        """Whether actions are numbers and not choices: what decides between TD3 and DDQN."""
        return False

    @property
    def batched(self) -> BatchedWorld | None:
        """The world as pure JAX functions; None where it has none (finite worlds have theirs by their tables: `Task.batched`)."""
        return None

    @property
    def layout(self) -> GridLayout | None:
        """The plan of a world on a grid; None for others."""
        return None

    @property
    def taken(self) -> tuple[str, ...]:
        """The features of things that are gone once a machine has completed them."""
        return ()

    @property
    def family(self) -> MapFamily | None:
        """The world with a new map at every start, for learners that learn for all maps at once; None where it has none."""
        return None

    @property
    def gauges(self) -> Mapping[str, Any]:
        """Where each number for a gauge comes from: `moves`, a name in `info["numbers"]`, or a function of a step.

        The world's own environment reports it as a reading (features.reading) among the features of a step.
        """
        return {}

    @property
    def numberable(self) -> bool:
        """Whether a state function would make the world finite: its actions are numbered, its observations are not."""
        return False

    @property
    def untabled(self) -> str:
        """Why the world has no tables, as the rest of a sentence."""
        return "is continuous"

    def settings(self, strict: bool = True) -> dict[str, Any]:
        """The keys of the [world] table; where something has no name that a file could hold a SpecError, or a mark in its place."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def fresh(self) -> Self:
        """The same world as if nothing had been met in it yet."""
        return self


@runtime_checkable
class World(Described, Protocol):
    """A frozen description of a world, from which environments and tables are made; it knows no machine."""

    @property
    def kind(self) -> str:
        """The word used in task files: one of `KINDS`."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all Boolean features that the world can report."""

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the numbers it reports in `info["signals"]`."""

    @property
    def limit(self) -> int:
        """Steps after which an episode is truncated."""

    def env(self, render_mode: str | None = None) -> gym.Env[Any, Any]:
        """A fresh Gymnasium environment of this world."""

    def finite(self) -> FiniteWorld | None:
        """The world as flat tables; None where it is not finite."""


class Observed:
    """The base of worlds that are environments of the user's, whose features are told of what was observed."""

    @staticmethod
    def of(world: object) -> GymnasiumWorld | None:
        """The world itself where it is one, else None."""
        return world if isinstance(world, Observed) else None  # type: ignore[return-value]


KINDS: Mapping[str, tuple[str, str]] = {
    "grid": ("errands.worlds.grid_world", "GridWorld"),
    "delivery": ("errands.worlds.places", "Delivery"),
    "office": ("errands.worlds.places", "Office"),
    "visit": ("errands.worlds.places", "Visit"),
    "pickup": ("errands.worlds.places", "Pickup"),
    "taxi": ("errands.worlds.places", "Taxi"),
    "letters": ("errands.worlds.places", "Letters"),
    "water": ("errands.worlds.water", "Water"),
    "zones": ("errands.worlds.zones", "Zones"),
    "cheetah": ("errands.worlds.cheetah", "HalfCheetah"),
    "gymnasium": ("errands.worlds.gymnasium.world", "GymnasiumWorld"),
    "jax": ("errands.worlds.jax_world", "JaxWorld"),
}
"""Module and class behind each kind of world."""


def one_start(
    start: int,
    reached: Ints,
    label: Ints,
    start_label: int = 0,
    cumulative: Floats | None = None,
    ends: Flags | None = None,
    signal: Floats | None = None,
) -> WorldTable:
    """The table of a world with one start; moves are certain, never end an episode and report no signal unless told."""
    return WorldTable(
        starts=np.array([start], np.int32),
        start_cumulative=np.ones(1),
        start_label=np.array([start_label], np.int32),
        next=reached,
        cumulative=np.ones(reached.shape) if cumulative is None else cumulative,
        label=label,
        ends=np.zeros(reached.shape, np.bool_) if ends is None else ends,
        signal=np.zeros((0, *reached.shape)) if signal is None else signal,
    )


def numbered(world: World, render_mode: str | None = None) -> gym.Env[Any, Any]:
    """The environment as tabular methods see it: where a function numbers the world's states, it observes the number."""
    able = Observed.of(world)
    return world.env(render_mode) if able is None else able.numbered(render_mode)


def world_class(kind: str) -> type[World]:
    """The class behind a kind of world."""
    if kind not in KINDS:
        raise UnknownName("kind of world", kind, KINDS)
    module, name = KINDS[kind]
    try:
        cls: type[World] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as fault:
        raise SpecError(f"the world '{kind}' needs {fault.name}; run: {install('deep')}") from None
    return cls


def make_world(kind: str, settings: Mapping[str, Any]) -> World:
    """The world that a task file's [world] table describes, all keys but `kind` given as settings."""
    built = world_class(kind)
    known = inspect.signature(built).parameters
    for name in settings:
        if name not in known:
            raise UnknownName(f"setting of the world '{kind}'", name, known)
    missing = [n for n, p in known.items() if p.default is p.empty and n not in settings and not _has_factory(built, n)]
    if missing:
        raise SpecError(f"the world '{kind}' lacks {' and '.join(missing)}; add it to the [world] table")
    return built(**settings)


def _has_factory(built: type[Any], name: str) -> bool:
    fields = {field.name: field for field in dataclasses.fields(built)}
    return fields[name].default_factory is not dataclasses.MISSING


def make_env(kind: str, render_mode: str | None = None, **settings: Any) -> gym.Env[Any, Any]:
    """The entry point of the registered ids: the environment of a world."""
    return make_world(kind, settings).env(render_mode)
