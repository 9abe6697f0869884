"""A replay: an episode recorded step by step, and everything that the page shows of a run, as one value of plain data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from errands.machines import AgendaRM, BooleanRM, CoupledRM, Machine, NumericRM, couple
from errands.machines.counting import Quotient, size
from errands.machines.stepping import State
from errands.machines.unfolding import Ordered, extend
from errands.oracle.episode import EpisodeStep, Policy, episode
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task
from errands.viewer.scene import (
    Diagram,
    Scene,
    action_name,
    drawn,
    is_picture,
    part,
    posture,
    scene,
    small_machines,
    stage,
)

MAX_FRAMES = 1_200


class Moment(NamedTuple):
    """One frame: the world as it is shown after a step, the action as people read it, and the step."""

    at: Any
    """The cell, or what scene.posture gives."""
    action: str | None
    step: EpisodeStep


@dataclass(frozen=True)
class Recording:
    """One greedy episode."""

    moments: tuple[Moment, ...]
    """The start, then one moment for each step."""
    success: bool
    cut: bool = False
    """Whether the episode goes on after the last moment shown."""
    length: int = 0

    @property
    def order(self) -> tuple[str, ...]:
        """The objectives as they were completed."""
        return tuple(name for moment in self.moments for name in moment.step.completed)


def record(task: Task, policy: Policy, seed: int = 0, most: int = MAX_FRAMES) -> Recording:
    """One episode of a policy; at most `most` steps of it are kept.

    In a certain world a policy that comes back to where it was goes round until the time limit: one round is kept.
    """
    env = stage(task)
    moments: list[Moment] = []
    passed: set[Hashable] = set()
    length, last = -1, RUNNING
    try:
        for moved in episode(policy, task, seed, env):
            length, last = length + 1, moved.status
            if len(moments) <= most:
                moments.append(_moment(task, env, moved))
            if task.finite is None or not task.certain:
                continue
            here = (moved.world_state, moved.machine_state, moved.memory)
            # World, machine and the policy's memory are as before, so everything that follows would be, too.
            if last == RUNNING and here in passed:
                length = task.world.limit
                break
            passed.add(here)
    finally:
        if env is not None:
            env.close()
    return Recording(tuple(moments), last == SUCCESS, length + 1 > len(moments), length)


def _moment(task: Task, env: Any, moved: EpisodeStep) -> Moment:
    at = moved.world_state if env is None else posture(env)
    return Moment(at, None if moved.action is None else action_name(task, moved.action), moved)


MAX_PART = 150
Frame = dict[str, Any]


@dataclass(frozen=True)
class Prospect:
    """One coupled state of a group: its objective, and the steps to go that were learnt and that are exact."""

    label: str
    objective: str
    learnt: float | None
    exact: float | None


@dataclass(frozen=True)
class Episode:
    """One greedy episode, frame by frame."""

    title: str
    step: int | None
    """After how many training steps; None for the optimum."""
    length: int
    success: bool
    cut: bool
    order: tuple[str, ...]
    frames: tuple[Frame, ...] = field(repr=False)
    groups: Mapping[str, tuple[Prospect, ...]] = field(default_factory=dict, repr=False)
    """The coupled group of every agenda state passed, by the agenda state's label."""
    maps: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """What the policy does in every cell, one map for each objective or stage."""


@dataclass(frozen=True)
class Replay:
    """A run as the page shows it."""

    title: str
    task: str
    learner: str
    facts: Mapping[str, Any]
    """Small things to be told in words: optimum, certificate, seed, settings."""
    scene: Scene
    subtasks: tuple[str, ...]
    machines: Mapping[str, Diagram]
    sizes: Mapping[str, int]
    stands: tuple[dict[str, Any], ...]
    """Where the machines can stand: label, numeric state, occupied states by kind of machine, remaining subtasks."""
    moves: tuple[dict[str, Any], ...]
    """What the machines can do in a step: the guard of the transition and the edges taken by kind of machine."""
    episodes: tuple[Episode, ...]
    """By training step, the last one learnt at the end."""
    optimal: Episode | None
    curves: Mapping[str, Any] | None
    pictures: tuple[str, ...] = ()
    """The environment's own pictures (PNG as data addresses), each once; frames of a world told in them have a number."""
    figures: tuple[dict[str, str], ...] = ()
    """Figures of this seed that no module of the page draws: what each shows, and its SVG."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


class Once:
    """A list in which equal things stand once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._at: dict[str, int] = {}

    def place(self, item: Any) -> int:
        """Where an item stands, now at the latest."""
        # Most items are dictionaries of plain values, which cannot be keys themselves.
        at = self._at.setdefault(repr(item), len(self.items))
        self.items += [item] if at == len(self.items) else []
        return at


@lru_cache(maxsize=32)
def _small(numeric: NumericRM) -> tuple[dict[str, Machine], dict[str, Diagram]]:
    """The machines that are small enough to be drawn whole, and their diagrams."""
    machines = small_machines(numeric)
    return machines, {kind: drawn(machine) for kind, machine in machines.items()}


class Places:
    """Where the states of an episode lie in the drawn machines."""

    def __init__(self, task: Task, recordings: Iterable[Recording]) -> None:
        self.numeric = task.machine
        self.quotient = Quotient(task.machine)
        machines, diagrams = _small(task.machine)
        self.machines, self.diagrams = dict(machines), dict(diagrams)
        self.stands = Once()
        self.moves = Once()
        self.pictures = Once()
        passed = tuple(dict.fromkeys(moment.step.machine_state for r in recordings for moment in r.moments))
        if "coupled" not in machines and 0 < len(passed) <= MAX_PART:
            agenda = part(task.machine, passed)
            for kind, some in (("agenda", agenda), ("coupled", couple(agenda))):
                if kind not in machines:
                    self.machines[kind], self.diagrams[kind] = some, drawn(some, partly=True)

    def stand(self, state: State, ordered: Ordered) -> dict[str, Any]:
        """Where the machines stand: label, numeric state, occupied states, remaining subtasks."""
        left = [state[1] >> i & 1 for i in range(len(self.numeric.subtasks))]
        name = self.quotient.stepper.name(state[0])
        return {"label": self.label(state), "state": name, "lit": self.lit(state, ordered), "remaining": left}

    def lit(self, state: State, ordered: Ordered) -> dict[str, list[int]]:
        """The occupied states by kind of machine; several of a coupled one."""
        occupied = {}
        for kind, machine in self.machines.items():
            if isinstance(machine, NumericRM):
                occupied[kind] = [state[0]]
            elif isinstance(machine, BooleanRM):
                occupied[kind] = [machine.index[ordered]]
            elif isinstance(machine, AgendaRM):
                occupied[kind] = [machine.index[state]]
            elif isinstance(machine, CoupledRM):
                occupied[kind] = list(machine.groups[machine.agenda.index[state]])
        return occupied

    def taken(
        self, before: Mapping[str, list[int]], after: Mapping[str, list[int]], state: State, done: Sequence[str]
    ) -> dict[str, list[list[int]]]:
        """The edges taken by kind; out of a coupled group the one whose objective was completed."""
        edges = {}
        for kind, sources in before.items():
            targets = after[kind]
            if kind == "coupled" and len(sources) > 1:
                if sources == targets:
                    edges[kind] = [[s, s] for s in sources]
                    continue
                names = self.quotient.stepper.alternatives(state)
                sources = [s for s, name in zip(sources, names, strict=False) if name in done] or sources
            edges[kind] = [[s, t] for s in sources for t in targets]
        return edges

    def label(self, state: State) -> str:
        """The label of an agenda state."""
        return str(self.quotient.label(state))


def shown_episode(
    title: str,
    step: int | None,
    task: Task,
    recording: Recording,
    places: Places,
    learnt: Mapping[str, float],
    exact: Mapping[str, float],
    maps: Sequence[dict[str, Any]] = (),
) -> Episode:
    """The frames of a recording, with the machines' states and the groups of steps to go."""
    stepper = places.quotient.stepper
    frames: list[Frame] = []
    passed: dict[str, State] = {}
    chosen: dict[str, str | None] = {}
    total = 0.0
    ordered: Ordered = (stepper.start[0], ())
    before: dict[str, list[int]] = {}
    was = stepper.start
    for at, action, moved in recording.moments:
        state, taken = moved.machine_state, moved.machine_step
        if taken is not None:
            ordered = extend(stepper, state[0], ordered[1], taken.completed)
        stand = places.stand(state, ordered)
        edges = places.taken(before, stand["lit"], was, moved.completed) if action is not None else {}
        guard = str(taken.transition.guard) if taken is not None and taken.transition is not None else None
        total += moved.reward
        frames.append({
            "at": places.pictures.place(at) if is_picture(at) else at, "action": action, "features": sorted(moved.features),
            "status": moved.status, "reward": moved.reward, "total": total, "done": list(moved.completed), "next": None,
            "stand": places.stands.place(stand), "move": places.moves.place({"guard": guard, "edges": edges}),
        })  # fmt: skip
        passed.setdefault(stand["label"], state)
        before, was = stand["lit"], state
    following: str | None = None
    # From the end to the start, so that each frame learns which objective is the next to be completed.
    for frame in reversed(frames):
        frame["next"] = following
        chosen[places.stands.items[frame["stand"]]["label"]] = following
        following = frame["done"][0] if frame["done"] else following
    groups = {label: _bars(places, state, chosen[label], learnt, exact) for label, state in passed.items()}
    outcome = (recording.length, recording.success, recording.cut, recording.order)
    return Episode(title, step, *outcome, tuple(frames), groups, tuple(maps))


def _bars(
    places: Places, state: State, chosen: str | None, learnt: Mapping[str, float], exact: Mapping[str, float]
) -> tuple[Prospect, ...]:
    """The coupled group of an agenda state; a method that knows one number for the group knows it of its choice."""
    bars = []
    whole_group = learnt.get(places.label(state))
    names = places.quotient.stepper.alternatives(state)
    for name in names:
        label = str(places.quotient.label(state, name))
        known = learnt.get(label, whole_group if name == chosen or len(names) == 1 else None)
        bars.append(Prospect(label, name, known, exact.get(label)))
    return tuple(bars)


def headline(last: Episode, optimum: float | None, certificate: str | None) -> str:
    """What came out, said once: the certificate's words, or the length of the last episode; then the order."""
    order = " → ".join(last.order)
    words = f"{last.length} steps" if last.success else f"not done in {last.length} steps"
    if certificate:
        words = certificate
    elif optimum is None:
        words += ", the optimum is not known"
    elif last.success:
        more = last.length - optimum
        words += f", {more:g} more than the optimum of {optimum:g}" if more > 0 else ", the optimum"
    else:
        words += f", the optimum is {optimum:g}"
    return f"{words}; {order}" if order else words


def replay_of(
    task: Task,
    learner: str,
    shown: Sequence[tuple[int, Recording, Mapping[str, float], Sequence[dict[str, Any]]]],
    optimal: Recording | None,
    exact: Mapping[str, float],
    facts: Mapping[str, Any],
    curves: Mapping[str, Any] | None = None,
) -> Replay:
    """The replay of some recordings: (training step, recording, learnt steps to go, policy maps) for each."""
    places = Places(task, [r for _, r, _, _ in shown] + ([optimal] if optimal else []))
    episodes = tuple(
        shown_episode(f"after {step:,} steps" if step else "before training", step, task, recording, places, learnt, exact, maps)
        for step, recording, learnt, maps in shown
    )
    best = shown_episode("optimum", None, task, optimal, places, {}, exact) if optimal else None
    facts = {**facts, "headline": headline(episodes[-1], facts.get("optimum"), facts.get("certificate"))}
    counted = asdict(size(task.machine)) | {"numeric": len(task.machine.states)}
    shown_scene = {**scene(task), "kind": "pictures"} if places.pictures.items else scene(task)
    return Replay(
        title=f"{task.name}, {learner}", task=task.name, learner=learner, facts=facts, scene=shown_scene,
        subtasks=tuple(task.machine.subtasks), machines=places.diagrams, sizes=counted,
        stands=tuple(places.stands.items), moves=tuple(places.moves.items), episodes=episodes, optimal=best,
        curves=curves, pictures=tuple(places.pictures.items),
    )  # fmt: skip
