"""A task: a world, a numeric machine over its features, and which subtasks vanish once they are completed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from errands.errors import SpecError
from errands.machines.lower import lower
from errands.machines.numeric import NumericRM, numeric_of
from errands.machines.rewards import Reward, compound_rows
from errands.machines.stepping import Stepper
from errands.tables import AgendaTable
from errands.worlds.base import FiniteWorld, World
from errands.worlds.grid import GridLayout, unreachable_features
from errands.worlds.picture import grid_svg

if TYPE_CHECKING:
    import gymnasium as gym

    from errands.machines import AgendaRM, BooleanRM, CoupledRM
    from errands.worlds.batched import BatchedWorld
    from errands.worlds.gymnasium.world import Features, Signal, Source
    from errands.worlds.jax_world import Code, Told


MAX_DRAWN = 2_500
"""Cells of a grid that is drawn in a notebook."""


@dataclass(frozen=True, repr=False)
class Task:
    """What is to be done where; everything that learners, the oracle and pictures need follows from it.

    >>> task = Task.from_toml('''
    ... name = "errand"
    ... [world]
    ... kind = "grid"
    ... rows = ["A.x", "..y"]
    ... legend = { x = "x", y = "y" }
    ... [machine]
    ... phrase = "any_order(x, y)"
    ... ''')
    >>> import errands
    >>> errands.optimum(task).length
    3
    """

    name: str
    world: World
    machine: NumericRM
    removed: tuple[str, ...] = ()
    """Subtasks whose cell is empty once the machine has completed them."""
    text: str = field(default="", compare=False, repr=False)
    """The task file that it was read from."""

    def __post_init__(self) -> None:
        problems = list(_faults(self))
        if problems:
            raise SpecError("; ".join(problems), problems)

    @staticmethod
    def from_toml(text: str) -> Task:
        """The task that a task file describes."""
        from errands.tasks.spec import read_task

        return read_task(text)

    @staticmethod
    def from_env(
        env: Source,
        features: Features | Mapping[str, Any] | str,
        machine: NumericRM | AgendaRM | BooleanRM | CoupledRM | str,
        *,
        state: Callable[..., Hashable] | str | None = None,
        signals: Sequence[str] | Mapping[str, Signal] | None = None,
        limit: int | None = None,
        name: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
        step_seconds: float | None = None,
        numbers: Sequence[str] | Mapping[str, Any] | None = None,
    ) -> Task:
        """A task in an environment of your own.

        Parameters:
            env: a Gymnasium id, a function that makes environments, or an environment (which is copied).
            features: a function (observation, action, next_observation, info) -> set of names, observation and action being
                None for the initial state; or a function of the environment itself, its one argument being called `env`; or
                a mapping from names to rules as in task files: `[15]` for states of a Discrete observation,
                `{"index": 0, "above": 2.0}`, `{"index": [0, 1], "above": [0, 0], "below": [1, 1]}` for a box,
                `{"index": [0, 1], "centre": [0.5, 0.5], "radius": 0.1}` for a disc.
            machine: a phrase (`errands.any_order("a", "b")`), its text (`"any_order(a, b)"`), or a machine.
            state: a function to a hashable state: of the observation, of (observation, info), or of the environment itself
                where its one argument is called `env`. It makes the world finite, for Scout and the tabular learners.
            signals: names of numbers in `info` that rewards may use; or a mapping from names to such names or to functions
                of (observation, action, next_observation).
            limit: steps after which an episode is truncated; the environment's own if None.
            name: the task's name; that of the environment if None.
            kwargs: settings for the environment.
            step_seconds: the longest time that one of its steps may take.
            numbers: where the whole numbers come from that the machine's gauges read: names of `info["numbers"]` (those of the
                gauges if None), or a mapping from names to such names, to `"moves"` (it falls by one each step), to an entry of
                the observation (`{"index": 2}`), or to functions of (observation, action, next_observation); none may rise.

        >>> task = Task.from_env("FrozenLake-v1", {"goal": [15]}, "goal", kwargs={"is_slippery": False})
        >>> task.name
        'FrozenLake-v1'
        """
        from errands.tasks.phrases import parse_phrase
        from errands.worlds.gymnasium.world import GymnasiumWorld, with_reward

        numeric = parse_phrase(machine) if isinstance(machine, str) else numeric_of(machine)
        told = with_reward(signals or (), numeric.signals) if state is not None else signals or ()
        gauges = numeric.read if numbers is None else numbers
        world = GymnasiumWorld(env, features, kwargs, limit, state, told, numeric.features, step_seconds, gauges)
        return Task(name or world.id.partition(":")[2] or world.id, world, numeric)

    @staticmethod
    def from_jax(
        reset: Code,
        step: Code,
        features: Told,
        machine: NumericRM | AgendaRM | BooleanRM | CoupledRM | str,
        *,
        actions: int,
        observe: Code | None = None,
        signals: Told | None = None,
        limit: int = 1_000,
        name: str = "jax",
    ) -> Task:
        """A task in a world of your own JAX functions, which are pure and about one state; learners batch them.

        Parameters:
            reset: `reset(key)` gives the state in which an episode begins, a tree of arrays. Without chance the key may be left
                out, here and in `step`.
            step: `step(state, action, key)` gives the next state, of the same shapes and types.
            features: a mapping from names to functions of (state), or of (before, action, state), that give a bool; or one
                function that gives a mapping from names to bools.
            machine: a phrase (`errands.any_order("a", "b")`), its text (`"any_order(a, b)"`), or a machine.
            actions: how many there are; `step` is given one of 0 to `actions` - 1.
            observe: a function of the state to the numbers that networks see, at best about -1 to 1. Without it they see all
                numbers of the state, and a world without chance that has at most 50,000 pairs of a state and an action has
                tables: an exact optimum, certificates, and all tabular learners.
            signals: as features, with numbers for values, which rewards may use.
            limit: steps after which an episode is truncated.
            name: the task's name.

        >>> task = Task.from_jax(lambda: 0, lambda s, a: (s + 2 * a - 1) % 9, {"far": lambda s: s == 4}, "far", actions=2)
        >>> import errands
        >>> errands.optimum(task).length
        4
        """
        from errands.tasks.phrases import parse_phrase
        from errands.worlds.base import make_world

        numeric = parse_phrase(machine) if isinstance(machine, str) else numeric_of(machine)
        code = {"reset": reset, "step": step, "features": features, "observe": observe, "signals": signals}
        return Task(name, make_world("jax", {**code, "actions": actions, "limit": limit}), numeric)

    def __repr__(self) -> str:
        machine, features = self.machine, len(self.world.features)
        subtasks = f" and {len(machine.subtasks)} subtasks" if machine.subtasks else ""
        world = f"{self.world.kind} world with {features} feature{'s' if features != 1 else ''}"
        return f"<Task {self.name}: {world}, machine of {len(machine)} states{subtasks}>"

    def _repr_html_(self) -> str:
        machine, layout = self.machine, self.layout
        rows = {
            "world": f"{self.world.kind}, at most {self.world.limit:,} steps",
            "features": ", ".join(self.world.features[:40]),
            "subtasks": ", ".join(machine.subtasks[:40]) or "none",
            "machine": f"{len(machine)} states, {len(machine.transitions)} transitions",
        }
        drawn = layout is not None and layout.cells <= MAX_DRAWN
        return card(self.name, rows, grid_svg(layout, layout.start) if layout is not None and drawn else "")

    def to_toml(self) -> str:
        """The task file of this task; reading it gives the same task."""
        from errands.tasks.spec import write_task

        return self.text or write_task(self)

    def stored_text(self) -> str:
        """The task file as runs keep it: a Python object that no file can name (a lambda, an environment) is only marked."""
        from errands.tasks.spec import write_task

        return self.text or write_task(self, strict=False)

    @property
    def layout(self) -> GridLayout | None:
        """The plan of a grid world; None for other worlds."""
        return self.world.layout

    @cached_property
    def vanishing(self) -> tuple[str, ...]:
        """The subtasks whose feature is no longer reported once completed: what is removed, and what the world lets be taken."""
        once = _used_once(self.machine)
        return tuple(name for name in once if name in self.removed or name in self.world.taken)

    @cached_property
    def finite(self) -> FiniteWorld | None:
        """The world as tables for this machine: its cells where that is exact, else its states; None if continuous."""
        finite = self.world.finite()
        # A table that lacks a signal which the machine pays is no table of this task.
        if finite is None or not set(self.machine.signals) <= set(finite.signals):
            return None
        rewards = self.machine.compounds
        if not rewards:
            return finite
        table = finite.table._replace(signal=compound_rows(rewards, finite.signals, finite.table.signal))
        return replace(finite, table=table, signals=(*finite.signals, *map(str, rewards)))

    @cached_property
    def batched(self) -> BatchedWorld | None:
        """The world as pure JAX functions, its own or those of its tables; None where it is stepped on the host."""
        if self.finite is None:
            return self.world.batched
        from errands.worlds.batched import DeviceTables

        return DeviceTables(self.finite, len(self.reported)).batched(self.world.features)

    @cached_property
    def reported(self) -> tuple[str, ...]:
        """The signals of the world, in the order of its tables where it has some."""
        compounds = len(self.machine.compounds)
        finite = self.finite
        return self.world.signals if finite is None else finite.signals[: len(finite.signals) - compounds]

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """What a machine's tables call signals: those of the world, then its own compound rewards, as they print."""
        return (*self.reported, *map(str, self.machine.compounds))

    @cached_property
    def untabled(self) -> str:
        """Why the world has no tables, as the rest of a sentence ("is continuous"); empty where it has them."""
        return "" if self.finite is not None else self.world.untabled

    @property
    def tried(self) -> str:
        """How far it was looked, where the world's table was found by trying: every exact word about it needs this clause."""
        return self.finite.tried if self.finite is not None else ""

    @cached_property
    def certain(self) -> bool:
        """Whether one greedy episode says everything: one start, no chance. False where nobody knows."""
        finite = self.finite
        return finite.certain if finite is not None else self.world.certain

    @property
    def paid_beside_success(self) -> str:
        """What the machine pays that can make another policy best than the one that succeeds soonest; empty for nothing."""
        machine = self.machine
        prizes = {t.reward for t in machine.transitions if t.target in machine.success}
        for t in machine.transitions:
            # Where nothing is left to chance a success fails nowhere, whatever that costs.
            fails = t.target in machine.failure and self.certain and t.reward.signal is None and t.reward.value <= 0.0
            if t.target not in machine.success and not fails and t.reward != Reward():
                return f"{t.reward} from {t.source} to {t.target}"
        return "for one success more than for another" if len(prizes) > 1 else ""

    @cached_property
    def agenda_table(self) -> AgendaTable:
        """The machine lowered against the finite world's labels, to be stepped by compiled loops."""
        if self.finite is None:
            raise SpecError(f"the world of '{self.name}' {self.untabled}; tables exist for finite worlds only")
        return lower(self.machine, self.finite.labels, self.finite.signals)

    def env(self, machine: str = "agenda", render_mode: str | None = None) -> gym.Env[Any, Any]:
        """The Gymnasium environment of the task: the world crossed with a machine."""
        from errands.tasks.product import task_env

        return task_env(self, machine, render_mode)


def card(title: str, rows: Mapping[str, object], picture: str = "") -> str:
    """A value as a notebook shows it: a title, a table of names and values, a picture in SVG."""
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table>{picture}</div>"


def _faults(task: Task) -> Iterable[str]:
    """Where world and machine do not fit, one sentence each."""
    known = set(task.world.features)
    for name in task.machine.features:
        if name not in known:
            kind = "subtask" if name in task.machine.subtasks else "feature"
            yield f"the world cannot report the {kind} '{name}'; it reports {_listed(task.world.features)}"
    world, machine = task.world, task.machine
    for kind, asked, told in (("signal", machine.signals, world.signals), ("number", machine.read, world.gauges)):
        missing = (name for name in asked if name not in told)
        yield from (f"the world does not report the {kind} '{name}'; it reports {_listed(told)}" for name in missing)
    once = _used_once(machine)
    for name in task.removed:
        if name not in machine.subtasks:
            yield f"removed names '{name}', which is not a subtask; it must be one of {_listed(machine.subtasks)}"
        elif name not in once:
            yield f"'{name}' is removed once completed, but the machine uses it in more than one way; unlist it"
    if task.layout is not None:
        optional = {task.machine.counted[i] for group in task.machine.rules.choices for i in group.members}
        for name in unreachable_features(task.layout):
            if name in task.machine.counted and name not in optional:
                yield f"the subtask '{name}' cannot be reached from the start; open a way to its cell"


def _used_once(machine: NumericRM) -> tuple[str, ...]:
    """The subtasks that stand once in the machine, and in no guard."""
    looked = Stepper(machine)
    guarded = [name for bits in looked.looked_at for name in looked.named(bits)]
    return tuple(name for name in machine.subtasks if machine.subtasks.count(name) == 1 and name not in guarded)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
