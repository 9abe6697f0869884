"""A learnt policy as one safetensors file, to be acted by with numpy alone (see file.py).

A table is written whole, a network as the program that JAX made of it (program.py). A planner is asked what it does in
every situation; where these are too many, the file holds its way, and the shortest ways back to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.machines.rules import write_rules
from errands.machines.stepping import State, Stepper
from errands.machines.unfolding import unfold_agenda
from errands.oracle.episode import Policy, TaskStepper
from errands.policies.agent import numbering_of, observation_form, spaces_of
from errands.policies.file import KIND, NO_CHECKSUM
from errands.policies.tables import MachinePolicy, MachineStates, NearestPolicy
from errands.tables import FAILURE, RUNNING
from errands.tasks.task import Task
from errands.worlds.base import Observed, numbered
from errands.worlds.gymnasium.rules import Entry, InDisc, InStates, Rule
from errands.worlds.saving import to_json
from errands.worlds.spaces import done_form

Array = NDArray[Any]
MAX_SITUATIONS = 250_000
EVERYWHERE = "every situation"


def policy_bytes(task: Task, policy: Any, most: int = MAX_SITUATIONS) -> bytes:
    """The policy file of a run's policy; a TaskError says why there is none.

    A policy that cannot write itself (`exported`) is asked in at most `most` situations.
    """
    from safetensors.numpy import save

    seen, done = spaces_of(task)
    numbering = numbering_of(task, policy, seen)
    covers = EVERYWHERE
    if hasattr(policy, "exported"):
        fields, arrays = policy.exported()
    else:
        worlds = _world_states(task, seen)
        states = _running(task, most // worlds)
        if states is not None:
            table: Any = _full_table(task, policy, states, worlds)
        else:
            table = _way_table(task, policy, most)
            covers = (
                f"the {len(table.states.index):,} machine states of the policy's way; off the way the shortest way back to it, and "
                "in another machine state what is done in the nearest one (what is done there next is still to be done, the same "
                "numeric state, the fewest other subtasks)"
            )
        fields, arrays = table.exported()
    world = Observed.of(task.world)
    if numbering is not None and "states" in numbering and world is not None and world.numbers is not None:
        known = len(numbering["states"])
        axes = {name: _AXES[fields["kind"], name] for name in arrays if (fields["kind"], name) in _AXES}
        arrays |= {name: np.take(arrays[name], range(known), axis) for name, axis in axes.items()}  # the rest is room
        numbering = {"states": [to_json(state) for state in world.numbers.save()]}
    about = {
        "kind": KIND, "sha256": NO_CHECKSUM, "task": task.name, "covers": covers, "machine": _machine(task),
        "action": done_form(done), "observation": observation_form(seen, numbering), "numbering": numbering,
        "rules": _rules(task), "gauges": _gauges(task), "policy": fields,
    }  # fmt: skip
    text = json.dumps(about, default=np.ndarray.tolist)
    # Sorted and made contiguous, since equal policies must give equal bytes.
    data = bytes(save({name: np.ascontiguousarray(x).reshape(x.shape) for name, x in sorted(arrays.items())}, {"errands": text}))
    # The checksum is that of the file with noughts in its place, which is the first where so many of them stand.
    return data.replace(NO_CHECKSUM.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


_AXES = {
    ("actions", "actions"): 1, ("nearest", "actions"): 1, ("options", "actions"): 0, ("options", "controller"): 0,
    ("objectives", "actions"): 0,
}  # fmt: skip
"""The axis of world states, where an array has one."""


def _world_states(task: Task, space: Any) -> int:
    """How many states of the world a policy is asked in."""
    if task.finite is not None:
        return int(task.finite.table.next.shape[0])
    world = Observed.of(task.world)
    return int(space.n) if world is None or world.numbers is None else len(world.numbers)


def _running(task: Task, most: int) -> list[State] | None:
    """The agenda states in which the task goes on; None where they are more than so many."""
    try:
        agenda = unfold_agenda(task.machine, most)
    except TaskError:
        return None
    return [state for state in agenda.states if agenda.stepper.status[state[0]] == RUNNING]


def _action(policy: Policy, world: int, state: State) -> int:
    action, memory = policy.act(world, state, None)
    if memory is not None:
        raise TaskError(f"a {type(policy).__name__} remembers what it did, which policy files do not; keep the run folder instead")
    return int(action)


def _full_table(task: Task, policy: Policy, states: list[State], worlds: int) -> MachinePolicy:
    """What a policy does in every situation."""
    # From the starts first: a planner keeps to what it planned, and equally short ways differ.
    if task.finite is not None:
        _reachable(task, policy, len(states) * worlds)
    else:
        env = numbered(task.world)
        first = int(getattr(env.observation_space, "start", 0))
        for seed in range(8):
            _action(policy, int(env.reset(seed=seed)[0]) - first, states[0])
        env.close()
    actions = [[_action(policy, world, state) for world in range(worlds)] for state in states]
    return MachinePolicy(np.array(actions, np.int32), _machine_states(task, states))


def _reachable(task: Task, policy: Policy, most: int) -> tuple[dict[tuple[int, State], int], dict[State, int]]:
    """The situations that a policy can get into, from every start and by every outcome, with its actions.

    Then the machine states of these, with the mask of the subtasks that are completed in them.
    """
    task_stepper = TaskStepper(task)
    reached: dict[tuple[int, State], int] = {}
    completed: dict[State, int] = {}
    waiting = [(int(s), task_stepper.stepper.start) for s in reversed(task_stepper.table.starts.tolist())]
    while waiting:
        here = waiting.pop()
        if here in reached:
            continue
        if len(reached) >= most:
            raise TaskError(f"the policy gets into more than {most:,} situations; keep its run folder instead")
        reached[here] = action = _action(policy, *here)
        # Differences of cumulative probabilities are those of the outcomes; only possible outcomes are followed.
        for outcome in np.flatnonzero(np.diff(task_stepper.table.cumulative[here[0], action], prepend=0.0) > 0):
            result = task_stepper.step(*here, action, int(outcome))
            if result.status != FAILURE:
                completed[here[1]] = completed.get(here[1], 0) | here[1][1] & ~result.machine_state[1]
            if result.status == RUNNING:
                waiting.append((result.world_state, result.machine_state))
    return reached, completed


def _way_table(task: Task, policy: Policy, most: int) -> NearestPolicy:
    """The situations that a policy gets into, and in every machine state of them the shortest ways back."""
    if task.finite is None:
        raise TaskError(f"the machine has too many states for {most:,} situations; keep the run folder instead")
    (reached, completed), task_stepper = _reachable(task, policy, most), TaskStepper(task)
    states = list(dict.fromkeys(state for _, state in reached))
    worlds, choices = task_stepper.table.next.shape[:2]
    if len(states) * worlds > most:
        raise TaskError(f"the policy's way has more than {most:,} situations; keep its run folder instead")
    likeliest = np.diff(task_stepper.table.cumulative, prepend=0.0, axis=2).argmax(axis=2)
    actions = np.full((len(states), worlds), -1, np.int32)
    for row, state in enumerate(states):
        before: dict[int, list[tuple[int, int]]] = {}
        for world, action in product(range(worlds), range(choices)):
            result = task_stepper.step(world, state, action, int(likeliest[world, action]))
            if result.status == RUNNING and result.machine_state == state:
                before.setdefault(result.world_state, []).append((world, action))
        waiting = [world for world, at in reached if at == state]
        actions[row, waiting] = [reached[world, state] for world in waiting]
        for world in waiting:  # grows while it is read
            for origin, action in before.get(world, ()):
                if actions[row, origin] < 0:
                    actions[row, origin] = action
                    waiting.append(origin)
    return NearestPolicy(np.maximum(actions, 0), _machine_states(task, states), tuple(completed.get(state, 0) for state in states))


def _machine_states(task: Task, states: list[State]) -> MachineStates:
    return MachineStates({state: i for i, state in enumerate(states)}, Stepper(task.machine).start[1], ordered=False)


def _machine(task: Task) -> dict[str, Any]:
    machine = task.machine
    return {
        "initial": machine.initial, "success": list(machine.success), "failure": list(machine.failure),
        "numeric": machine.declared,
        "transitions": [str(t) for t in machine.transitions], "completing": machine.restated, "vanishing": list(task.vanishing),
        **write_rules(machine.counted, machine.rules),
    }  # fmt: skip


def _rules(task: Task) -> Mapping[str, Any]:
    """The states and regions that features are, where no function tells them."""
    world = Observed.of(task.world)
    return {} if world is None else {name: _write_rule(rule) for name, rule in zip(task.world.features, world.rules, strict=False)}


def _gauges(task: Task) -> dict[str, Any]:
    """Where the numbers of gauges come from; what a function tells must stand in `info["numbers"]`."""
    rules = {name: task.world.gauges[name] for name in task.machine.read}
    return {
        name: {"index": rule.index} if isinstance(rule, Entry) else rule if isinstance(rule, str) else name
        for name, rule in rules.items()
    }


def _write_rule(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, InStates):
        return {"states": sorted(rule.states)}
    if isinstance(rule, InDisc):
        return {"index": rule.index, "centre": rule.centre, "radius": rule.radius}
    sides = rule.sides
    return {"sides": [[side.index, side.above, side.below] for side in sides]}
