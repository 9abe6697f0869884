"""A learnt policy as one safetensors file, to be acted by with numpy alone (see policy_file.py).

A tabular policy is written as the table of all situations that it can get into, or, where the world has no tables, as its
actions in every state that was met. A network is written as the program that JAX made of it (see program.py).
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.learners.tabular.policies import MachinePolicy, OptionPolicy
from errands.machines.rules import write_rules
from errands.machines.stepping import State, Stepper
from errands.machines.unfolding import BooleanRM
from errands.oracle.episode import Pair, Policy
from errands.runs.files import digest, pack_with, write_file
from errands.runs.policy_file import KIND, UNMARKED
from errands.runs.program import write_program
from errands.tables import RUNNING
from errands.tasks.task import Task
from errands.worlds.base import numbered
from errands.worlds.foreign_env import MOST_STATES
from errands.worlds.observed import InBox, InDisc, InStates, Rule
from errands.worlds.saving import plain
from errands.worlds.spaces import done_form, seen_form

if TYPE_CHECKING:
    import gymnasium as gym

Array = NDArray[Any]
MOST_SITUATIONS = 2_000_000
_MASK = (1 << 64) - 1


def write_policy(task: Task, policy: Policy, path: Path) -> Path:
    """Write the policy of a run into a file; a TaskError says why one cannot be written."""
    if not path.parent.is_dir():
        raise StoreError(f"{path} cannot be written: there is no folder {path.parent}; make it, or name another file")
    env = task.world.env()
    seen, done = env.observation_space, env.action_space
    env.close()
    deep = hasattr(policy, "agent")
    about: dict[str, Any] = {
        "kind": KIND, "sha256": UNMARKED, "task": task.name, "machine": _machine(task), "action": done_form(done),
        **_rules(task, seen), "observation": seen_form(seen) if deep else _seen_as_number(task, seen),
    }  # fmt: skip
    if deep:
        arrays = _network(policy, about)
    elif task.finite is not None:
        arrays = _situations(task, policy, about)
    else:
        arrays = _all_states(task, policy, about)
    data = pack_with(arrays, {"errands": json.dumps(about, default=np.ndarray.tolist)})
    # The checksum is that of the file with noughts in its place, which is the first where so many of them stand.
    write_file(path, data.replace(UNMARKED.encode(), digest(data).encode(), 1))
    return path


def _situations(task: Task, policy: Policy, about: dict[str, Any]) -> dict[str, Array]:
    """Follow a tabular policy through every outcome of its actions, from every start."""
    pair = Pair(task)
    table = pair.table
    # A policy's memory may be any value; the file holds numbers for them, and 0 is None, the memory at the start.
    memories: dict[Hashable, int] = {None: 0}
    rows: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    waiting: list[tuple[int, State, Hashable]] = [
        (int(s), pair.stepper.start, None) for s in dict.fromkeys(table.starts.tolist())
    ]
    held: list[Hashable] = [None]
    while waiting:
        world, state, memory = waiting.pop()
        key = (world, *state, memories[memory])
        if key in rows:
            continue
        _bounded(len(rows) + 1)
        action, after = policy.act(world, state, memory)
        if after not in memories:
            memories[after] = len(held)
            held.append(after)
        rows[key] = (action, memories[after])
        # Differences of cumulative probabilities are those of the outcomes; only possible outcomes are followed.
        shares = np.diff(table.cumulative[world, action], prepend=0.0)
        for outcome in np.flatnonzero(shares > 0):
            landing = pair.step(world, state, action, int(outcome))
            if landing.status == RUNNING:
                waiting.append((landing.world_state, landing.machine_state, after))
    words = max(1, -(-len(task.machine.subtasks) // 64))
    keys = list(rows)
    about["situations"] = len(keys)
    return {
        "world": np.array([k[0] for k in keys], np.int64),
        "numeric": np.array([k[1] for k in keys], np.int32),
        "mask": np.array([[k[2] >> 64 * w & _MASK for w in range(words)] for k in keys], np.uint64),
        "memory": np.array([k[3] for k in keys], np.int32),
        "action": np.array([a for a, _ in rows.values()], np.int32),
        "next": np.array([m for _, m in rows.values()], np.int32),
    }


def _bounded(situations: int) -> None:
    if situations > MOST_SITUATIONS:
        raise TaskError(f"the policy gets into more than {MOST_SITUATIONS:,} situations; keep its run folder instead")


def _all_states(task: Task, policy: Any, about: dict[str, Any]) -> dict[str, Array]:
    """A tabular policy in a world without tables: what it does in every state that was met, and in one that was not."""
    known = about["observation"].get("states")
    space: Any = task.world.space  # type: ignore[attr-defined]
    worlds = int(space.n) if known is None else min(len(known) + 1, MOST_STATES)  # tables have no more room
    options = policy if isinstance(policy, OptionPolicy) else None
    if options is not None:
        policy = options.machine
    if not isinstance(policy, MachinePolicy):
        states = _running(task)
        _bounded(len(states) * worlds)
        _ask_starts(task, policy)
        about |= {"ordered": False, "full": 0, "states": states}
        rows = [[policy.act(world, state, None)[0] for world in range(worlds)] for state in states]
        return {"actions": np.array(rows, np.int32)}
    places = sorted(policy.index, key=policy.index.__getitem__)
    about |= {"ordered": policy.ordered, "full": policy.full, "states": [[u, x] for u, x in places]}
    if options is None:
        return {"actions": np.asarray(policy.actions[:, :worlds], np.int32)}
    about["option_limit"] = options.option_limit
    return {
        "first": np.asarray(options.first, np.int32),
        "controller": np.asarray(options.controller[:worlds], np.int32),
        "actions": np.asarray(options.actions[:worlds], np.int32),
    }


def _running(task: Task) -> list[State]:
    """The agenda states in which the task goes on."""
    stepper = Stepper(task.machine)
    reached, waiting = {stepper.start: None}, [stepper.start]
    while waiting:
        for move in stepper.moves(waiting.pop()):
            if move.target not in reached and stepper.status[move.target[0]] == RUNNING:
                _bounded(len(reached))
                reached[move.target] = None
                waiting.append(move.target)
    return list(reached)


def _ask_starts(task: Task, policy: Policy, starts: int = 8) -> None:
    """Have ways planned from some starts first: Scout's policy keeps what it planned, and equally short ways differ."""
    env = numbered(task.world)
    first = int(getattr(env.observation_space, "start", 0))
    for seed in range(starts):
        policy.act(int(env.reset(seed=seed)[0]) - first, Stepper(task.machine).start, None)
    env.close()


def _network(policy: Any, about: dict[str, Any]) -> dict[str, Array]:
    """The program of a deep policy, with its weights as constants."""
    import jax
    import jax.numpy as jnp

    from errands.learners.deep.agent import decide

    if not hasattr(policy, "agent_state"):
        return _way(policy, about)
    size, rm = policy.agent.shape.observation, policy.agent.machine.rm
    zero = jnp.int32(0)
    closed = jax.make_jaxpr(lambda *inputs: decide(policy.agent, policy.agent_state, *inputs))(
        jnp.zeros(size, jnp.float32), zero, zero, zero
    )
    ordered = isinstance(rm, BooleanRM)
    states = sorted(rm.index, key=rm.index.__getitem__)
    about |= {"ordered": ordered, "full": rm.stepper.full, "states": [[u, list(x) if ordered else x] for u, x in states]}
    about["program"], arrays = write_program(closed)
    return arrays


def _way(policy: Any, about: dict[str, Any]) -> dict[str, Array]:
    """The programs of deep DiRL's edges, one after the other; each one's arrays begin with its number."""
    import jax
    import jax.numpy as jnp

    seen = jnp.zeros(policy.agent.shape.observation, jnp.float32)
    about |= {"ordered": False, "full": 0, "states": list(policy.index), "edges": list(policy.index.values()), "way": []}
    arrays: dict[str, Array] = {}
    for edge in range(len(policy.weights)):
        policy.choose(edge, seen)  # unpacks the weights, which must not happen while JAX traces
        program, constants = write_program(jax.make_jaxpr(lambda row, edge=edge: policy.choose(edge, row))(seen))
        about["way"].append(program)
        arrays |= {f"{edge}.{name}": value for name, value in constants.items()}
    return arrays


def _machine(task: Task) -> dict[str, Any]:
    machine = task.machine
    return {
        "initial": machine.initial, "success": list(machine.success), "failure": list(machine.failure),
        "numeric": {name: list(subtasks) for name, subtasks in machine.numeric},
        "transitions": [str(t) for t in machine.transitions], "completing": machine.restated, "vanishing": list(task.vanishing),
        **write_rules(machine.counted, machine.rules),
    }  # fmt: skip


def _seen_as_number(task: Task, space: gym.Space[Any]) -> dict[str, Any]:
    """How an observation becomes the number of a state."""
    from gymnasium.spaces import Dict

    numbers = getattr(task.world, "numbers", None)
    if numbers is not None:
        return {"states": [plain(state) for state in numbers.save()]}
    if isinstance(space, Dict) and task.layout is not None:
        return {"cells": task.layout.cells, "lockstep": task.lockstep}
    numbered: Any = space  # Discrete, else no tabular learner could have been run
    return {"start": int(numbered.start)}


def _rules(task: Task, space: gym.Space[Any]) -> dict[str, Any]:
    """The states and regions that features are, where no function tells them, and how observations are read for them."""
    from gymnasium.spaces import Discrete

    rules: tuple[Rule, ...] = getattr(task.world, "rules", ())
    if not rules:
        return {}
    written = {name: _write_rule(rule) for name, rule in zip(task.world.features, rules, strict=True)}
    return {"rules": written, "observed": {"start": 0} if isinstance(space, Discrete) else seen_form(space)}


def _write_rule(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, InStates):
        return {"states": sorted(rule.states)}
    if isinstance(rule, InDisc):
        return {"index": rule.index, "centre": rule.centre, "radius": rule.radius}
    sides = rule.sides if isinstance(rule, InBox) else (rule,)
    return {"sides": [[side.index, side.above, side.below] for side in sides]}
