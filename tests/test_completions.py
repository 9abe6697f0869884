"""What a step completes has one answer: definition, machine, tables, oracle, learners, viewer and replay agree."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.features import holds, substitute
from errands.kernels.stepping import advance, completes
from errands.learners import LEARNERS, make_learner
from errands.learners.engines.deep.machine import machine_arrays
from errands.machines import NumericRM, Stepper, couple, unfold_agenda, unfold_boolean
from errands.machines.counting import objectives
from errands.machines.lower import lower
from errands.machines.stepping import objective_of
from errands.oracle.episode import walk
from errands.tables import FAILURE, RUNNING, WorldTable
from errands.tasks import Task
from errands.tasks.product import RewardMachineReplay
from errands.viewer.replay import record
from errands.worlds.base import Described, FiniteWorld

from .machines.definition import walked
from .machines.examples import random_machine, random_ruled_machine

BOTH = ["u0 -> u0 : x! & y! ; 0", "u0 -> won : x⤓ & y⤓ ; 1", "u0 -> u0 : x↓ & y↓ ; 0"]


def test_one_step_completes_a_subtask_of_each_variable_and_the_others_wait() -> None:
    """Assumption 5, by pencil: {x1,y1} then {x2,y2} ends; {x1,x2} completes x1 alone."""
    machine = NumericRM.of("u0", ["won"], BOTH, numeric={"x": ["x1", "x2"], "y": ["y1", "y2"]})
    agenda = unfold_agenda(machine)
    for kind in (machine, unfold_boolean(machine), agenda, couple(agenda)):
        outcome = walked(kind, [{"x1", "y1"}, {"x2", "y2"}])
        assert (outcome.rewards, outcome.terminal, outcome.success) == ((0.0, 1.0), True, True)
        assert not walked(kind, [{"x1", "x2", "y1"}, {"y2"}]).terminal
        assert walked(kind, [{"x1", "x2", "y1"}, {"y2"}, {"x2"}]).success
    stepper = Stepper(machine)
    step = stepper.step(stepper.start, {"x1", "x2", "y2"})
    assert stepper.completed(stepper.start, step) == ("x1", "y2")


def _defined(machine: NumericRM, state: str, left: dict[str, list[str]], true: set[str]) -> tuple[str, ...]:
    """The objectives that a step completes, by the definition alone; `left` is what remains and is changed."""
    from errands.features import Change

    changes = {v: Change.UNCHANGED if names else Change.REACHED for v, names in left.items()}
    onward = [t for t in machine.leaving[state] if t.target != state and t.target not in machine.failure]
    wanted = {objective_of(substitute(t.guard, {}, changes)) for t in onward}
    found: list[str] = []
    for variable, _ in machine.numeric:
        name = next((n for n in left[variable] if n in true), None) if variable in machine.completing[state] else None
        if name is not None:
            left[variable].remove(name)
            found.append(name)
            changes[variable] = Change.DECREASED if left[variable] else Change.REACHED
    taken = next((t for t in machine.leaving[state] if holds(t.guard, true, changes)), None)
    if taken in onward and (name := objective_of(substitute(taken.guard, {}, changes))) in wanted:
        found.append(name)
    return tuple(dict.fromkeys(found))


@pytest.mark.parametrize("seed", range(6))
def test_machine_tables_deep_lists_and_replay_follow_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        machine = random_machine(chance)
        if not objectives(machine):
            continue
        task = graph_task(chance, machine)
        assert task.finite is not None
        labels, stepper = task.finite.labels, Stepper(machine)
        names, table, deep = objectives(machine), lower(machine, labels, ["cost"]), machine_arrays(task)
        replay = RewardMachineReplay(machine, "coupled", space=gym.spaces.Discrete(2))
        for _ in range(12):
            state, left = stepper.start, {v: list(own) for v, own in machine.numeric}
            for _ in range(8):
                label = chance.randrange(len(labels))
                true, step = labels[label], stepper.step(state, labels[label])
                expected = _defined(machine, machine.states[state[0]], left, set(true))
                assert stepper.completed(state, step) == expected, str(machine)
                entry, _, done = advance(table, state[0], np.uint64(state[1]), label)
                open_ = stepper.alternatives(state)
                assert (
                    {n for n in open_ if completes(table, entry, done, names.index(n))} == set(expected) <= set(open_)
                )
                row = deep.completed[deep.rm.index[state], label]
                assert tuple(names[k] for k in row if k >= 0) == expected
                if replay.walker.agenda is not None and stepper.status[step.state[0]] != FAILURE:
                    at = replay.walker.index(state)
                    grounded = [
                        r.of for r in replay.transitions(0, 0, 1, true, {"cost": 0.0}, False, at) if r.terminated
                    ]
                    assert grounded == [n for n in open_ if n in expected]
                state = step.state
                if stepper.status[state[0]] != RUNNING:
                    break


@pytest.mark.parametrize("seed", range(6))
def test_tables_deep_lists_and_replay_follow_machines_with_rules(seed: int) -> None:
    chance = random.Random(50 + seed)
    for _ in range(8):
        machine = random_ruled_machine(chance)
        task = graph_task(chance, machine)
        assert task.finite is not None
        labels, stepper = task.finite.labels, Stepper(machine)
        names, deep = objectives(machine), machine_arrays(task)
        replay = RewardMachineReplay(machine, "coupled", space=gym.spaces.Discrete(2))
        for _ in range(10):
            state = stepper.start
            for _ in range(10):
                label = chance.randrange(len(labels))
                step, open_ = stepper.step(state, labels[label]), stepper.alternatives(state)
                expected = stepper.completed(state, step)
                assert set(expected) <= set(open_)
                row = deep.completed[deep.rm.index[state], label]
                assert tuple(names[k] for k in row if k >= 0) == expected
                if replay.walker.agenda is not None and stepper.status[step.state[0]] != FAILURE:
                    at = replay.walker.index(state)
                    found = replay.transitions(0, 0, 1, labels[label], {"cost": 0.0}, False, at)
                    assert [r.of for r in found if r.terminated] == [n for n in open_ if n in expected]
                state = step.state
                if stepper.status[state[0]] != RUNNING:
                    break


@pytest.mark.parametrize("learner", ["qrm", "crm", "hrm", "qcorm", "qcorm-plus", "scout", "dirl"])
def test_oracle_viewer_and_every_learner_tell_the_same_order(learner: str) -> None:
    chance = random.Random(len(learner))
    told, form = 0, LEARNERS[learner].tabular
    assert form is not None
    for _ in range(60 if form.success_alone else 12):
        machine = random_machine(chance)
        if machine.signals or not machine.success:
            continue
        task = graph_task(chance, machine)
        if form.success_alone and task.paid_beside_success:
            continue
        trained = make_learner(task, learner)
        trained.advance(300)
        episode = walk(trained.policy, task)
        recording = record(task, trained.policy)
        # A policy that goes round and round is recorded once round.
        assert recording.order == episode.order[: len(recording.order)]
        assert recording.cut or recording.order == episode.order
        assert task.finite is not None
        state, left = Stepper(machine).start, {v: list(own) for v, own in machine.numeric}
        stepper, order = Stepper(machine), list[str]()
        for s, a in zip(episode.path, episode.actions, strict=False):
            true = task.finite.labels[int(task.finite.table.label[s, a, 0])]
            order += _defined(machine, machine.states[state[0]], left, set(true))
            state = stepper.step(state, true).state
        assert tuple(order) == episode.order
        told += len(order)
    assert told > 0


@dataclass(frozen=True, eq=False)
class GraphWorld(Described):
    """A world of a few cells whose moves and feature sets were drawn at random; several features may be true at once."""

    finite_world: FiniteWorld
    features: tuple[str, ...]
    signals: tuple[str, ...] = ("cost",)
    limit: int = 40
    kind: str = "graph"

    def env(self, render_mode: str | None = None) -> Any:
        raise NotImplementedError

    def finite(self) -> FiniteWorld:
        return self.finite_world


def graph_task(chance: random.Random, machine: NumericRM, cells: int = 8, actions: int = 3) -> Task:
    """A random world under a machine."""
    names = tuple(dict.fromkeys((*machine.features, "p", "q", "r")))
    sets = [frozenset[str](), *(frozenset(n for n in names if chance.random() < 0.3) for _ in range(cells - 1))]
    labels = tuple(dict.fromkeys(sets))
    shape = (cells, actions, 1)
    following = np.array([chance.randrange(cells) for _ in range(cells * actions)], np.int32).reshape(shape)
    label = np.array([labels.index(s) for s in sets], np.int32)[following]
    table = WorldTable(
        starts=np.zeros(1, np.int32), start_cumulative=np.ones(1), start_label=np.zeros(1, np.int32), next=following,
        cumulative=np.ones(shape), label=label, ends=np.zeros(shape, np.bool_), signal=np.zeros((1, *shape)),
    )  # fmt: skip
    return Task("graph", GraphWorld(FiniteWorld(table, labels, ("cost",)), names), machine)
