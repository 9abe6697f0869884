"""What a method says of itself: one `Method` for each name, made in the `__init__` of its folder or registered by a user."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from errands.tasks.task import Task

Reference = Any
"""`module:name`, loaded when it is needed, or the object itself."""


def loaded(reference: Reference) -> Any:
    """The object that a reference names."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Facts:
    """What presets ask about the task that a learner is made for."""

    task: Task
    steps: int = 50_000
    """How many will be taken; what is meant where nobody says."""

    @property
    def own(self) -> bool:
        """Whether the world is a user's environment without tables."""
        return self.task.world.kind in ("gymnasium", "jax") and self.task.finite is None

    @property
    def certain(self) -> bool:
        """Whether every move has one outcome, so that the newest target is the true one; starts may differ."""
        return self.task.finite is None or self.task.finite.table.next.shape[2] == 1

    @cached_property
    def numbers(self) -> bool:
        """Whether actions are numbers and not choices: what decides between TD3 and DDQN."""
        return self.task.world.continuous_actions

    @property
    def largest_reward(self) -> float:
        """The largest constant reward of the machine; 1 where it pays none."""
        rewards = [transition.reward for transition in self.task.machine.transitions]
        return max((abs(reward.value) for reward in rewards if reward.signal is None), default=0.0) or 1.0


@dataclass(frozen=True)
class Row:
    """Values that a preset gives where its conditions hold; a condition left out always holds."""

    values: Mapping[str, Any] | Callable[[Facts], Mapping[str, Any]]
    preset: str | None = None
    method: str | None = None
    actions: Literal["choices", "numbers"] | None = None
    world: str | None = None
    """A kind of world; `table` and `own` stand for worlds with tables and for users' environments without."""
    when: Callable[[Facts], bool] = field(default=lambda facts: True)
    """Any other condition."""

    def holds(self, method: str, preset: str, facts: Facts) -> bool:
        """Whether the row counts for a method under a preset."""
        worlds = {"table": facts.task.finite is not None, "own": facts.own}
        return (
            self.preset in (None, preset)
            and self.method in (None, method)
            and (self.actions is None or (self.actions == "numbers") == facts.numbers)
            and (self.world is None or worlds.get(self.world, self.world == facts.task.world.kind))
            and self.when(facts)
        )


@dataclass(frozen=True)
class Form:
    """A method on one kind of world."""

    learner: Reference
    """Its class: (task, settings, seed), and `machine` where there is a choice of machines."""
    config: Reference
    """The class of its settings."""
    presets: Reference = ()
    """Rows of values for those settings; of rows that hold the later ones win."""
    agent: Reference | None = None
    """With networks: what makes the agent that DDQN or TD3 trains, `agent(method, machine, settings, spaces)`."""
    teams: Reference | None = None
    """With networks that train in a way of their own: what makes their teams, `teams(task, method, settings, seeds)`."""
    success_alone: bool = False
    """Whether it looks at success alone, whatever else the machine pays."""
    most_states: float = 2**64
    """States of an agenda machine up to which it is practical, where it keeps, trains or plans something for each of them."""
    networks: bool = False
    """Whether it trains networks although its seeds are trained one by one."""

    @property
    def team(self) -> bool:
        """Whether the seeds of a run train side by side in one process."""
        return self.agent is not None or self.teams is not None

    def settings(self, method: str, preset: str, facts: Facts) -> Any:
        """The settings under a preset."""
        values = dict[str, Any]()
        for row in loaded(self.presets):
            if row.holds(method, preset, facts):
                values |= row.values(facts) if callable(row.values) else row.values
        return loaded(self.config)(**values)


@dataclass(frozen=True)
class Method:
    """A learner by its name, what it runs on, and how its runs are driven.

    >>> Method("greedy", "always the first action", tabular=Form("mine:Greedy", "mine:GreedyConfig")).default_steps
    1000000
    """

    name: str
    about: str
    """One clause for tables and help."""
    paper: str = ""
    """Where the paper describes it; empty for a method of errands' own."""
    tabular: Form | None = None
    """On finite worlds."""
    deep: Form | None = None
    """With networks."""
    machines: Sequence[str] = ()
    """The machines that it can be run on, the default first; empty when it has its own."""
    machine: str | None = None
    """The machine that it always uses."""
    default_steps: int = 1_000_000
    """Training steps where none are asked for."""
    steps_per_pair: int = 0
    """And at least so many for each pair of a state and an action where the world has tables."""
    evaluated_at_end: bool = False
    """Whether each budget is a run of its own, evaluated at its end, so that no curve joins two."""
    stops_when_proved: bool = False
    """Whether it ends by itself once it has proved its policy; `steps` is then the most that it may take."""
    default_for: Literal["tables", "rewards", "batched", "families", "networks"] | None = None
    """Where it is taken if no learner is named: in worlds with tables, in those whose machine pays for more than success, ..."""
    per_state: tuple[float, int] | None = None
    """Where it updates every machine state: nanoseconds for each of them in a step, and its tables of the size of Q."""
    looks: Sequence[tuple[str, str, str, str]] = ()
    """How figures draw it: what follows its name (a machine, a variant), colour, dashes, mark."""
    order: int = 100
    """Its place in lists."""

    def steps_by_default(self, task: Task) -> int:
        """Training steps where none are asked for: more in a large world, where the learner knows its size."""
        world = task.finite if self.steps_per_pair else None
        return max(self.default_steps, self.steps_per_pair * world.states * world.actions if world else 0)
