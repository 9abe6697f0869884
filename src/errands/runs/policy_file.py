"""A learnt policy as one safetensors file that numpy alone reads and acts by: no JAX, no numba, no Gymnasium.

A tabular policy is written as the table of all situations that it can get into. A network is written as the program
that JAX made of it, a list of some thirty elementary operations, which `Program` carries out in numpy.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError
from errands.machines.numeric import NumericRM
from errands.machines.rules import write_rules
from errands.runs.agent import Follower, Info

if TYPE_CHECKING:
    from errands.oracle.episode import Policy
    from errands.tasks.task import Task

Array = NDArray[Any]
KIND = "errands policy 1"
MOST_SITUATIONS = 2_000_000
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Numpy's words for those of the file."""
_MASK = (1 << 64) - 1


def write_policy(task: Task, policy: Policy, path: Path) -> Path:
    """Write the policy of a run into a file; a TaskError says why one cannot be written."""
    from errands.runs.files import pack_with, write_file

    about: dict[str, Any] = {"kind": KIND, "task": task.name, "machine": _machine(task), **_spaces(task)}
    arrays = _network(policy, about) if hasattr(policy, "agent_state") else _situations(task, policy, about)
    write_file(path, pack_with(arrays, {"errands": json.dumps(about)}))
    return path


def read_policy(path: str | Path, features: Callable[..., Any] | None = None) -> FileAgent:
    """The agent of a policy file.

    `features` is the task's function (observation, action, next_observation, info) -> set of names; without it
    `info["features"]` must tell what is true.
    """
    data = Path(path).read_bytes()
    try:
        # A safetensors file: the header's length in 8 bytes, a header in JSON, then all arrays. It is read by hand here
        # so that a policy needs numpy and nothing else.
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        about = json.loads(header.pop("__metadata__")["errands"])
        body = data[8 + length :]
        arrays = {
            name: np.frombuffer(body[slice(*entry["data_offsets"])], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()
        }
        if about["kind"] != KIND:
            raise KeyError(about["kind"])
    except (KeyError, ValueError, TypeError, struct.error) as fault:
        raise StoreError(f"{path} is no policy file of errands ({type(fault).__name__}); write one with 'errands export'") from None
    return FileAgent(about, arrays, features)


class FileAgent(Follower):
    """Acts by a policy file: `reset(observation, info)`, then `act` and `see` in turn until it is `done`."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array], features: Callable[..., Any] | None) -> None:
        machine = dict(about["machine"])
        vanishing = tuple(machine.pop("vanishing"))
        rules = {key: [(g["number"], g["of"]) for g in machine.pop(key, [])] for key in ("choose", "capacity")}
        super().__init__(NumericRM.of(**machine, choose=rules["choose"], capacity=rules["capacity"]), vanishing)
        self.about, self.features = about, features
        self._choose = _Network(about, arrays) if "program" in about else _Table(arrays)

    def act(self, observation: Any) -> Any:
        """The action to take in the environment."""
        self._observation = observation
        chosen, self._memory = self._choose(self._seen(observation), self.machine_state, self._memory)
        space = self.about["action"]
        if "low" not in space:
            self._action = int(chosen) + int(space["start"])
        else:
            low, high = np.array(space["low"], np.float32), np.array(space["high"], np.float32)
            # Networks act in [-1, 1]; that is stretched to the bounds of the action space.
            self._action = (low + (np.asarray(chosen).reshape(low.shape) + 1) / 2 * (high - low)).astype(space["dtype"])
        return self._action

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action; signals are taken from `info["signals"]`."""
        known = dict(info or {})
        if self.features is not None:
            true = set(self.features(self._observation, self._action, observation, known))
        elif "features" in known:
            true = set(known["features"])
        else:
            raise TaskError("info has no 'features'; give read_policy the task's features function")
        self._follow(observation, known, true, known.get("signals", {}))

    def _seen(self, observation: Any) -> Any:
        space = self.about["observation"]
        # States are numbered as in TaskAgent._state; the rows of the table go by these numbers.
        if "cells" in space:  # Delivery's boxes and hands
            left = sum(1 << i for i, here in enumerate(observation["boxes"]) if here)
            cell = int(observation["cell"])
            return cell if space["lockstep"] else (2 * left + int(observation["carrying"])) * space["cells"] + cell
        if "start" in space:
            return int(observation) - int(space["start"])
        return np.asarray(observation, np.float32).ravel() * np.float32(space["scale"])


class _Table:
    """All situations (world state, machine state, memory) with the action and the memory that follow."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        # There may be more than 64 subtasks: a mask is stored as words of 64 bits, the lowest first.
        masks = [sum(int(word) << 64 * k for k, word in enumerate(row)) for row in arrays["mask"]]
        keys = zip(arrays["world"].tolist(), arrays["numeric"].tolist(), masks, arrays["memory"].tolist(), strict=True)
        answers = zip(arrays["action"].tolist(), arrays["next"].tolist(), strict=True)
        self.rows = dict(zip(keys, answers, strict=True))

    def __call__(self, world: int, state: tuple[int, int], memory: Hashable) -> tuple[int, Hashable]:
        key = (world, *state, 0 if memory is None else memory)
        if key not in self.rows:
            raise TaskError(
                f"the policy never gets into this situation (world state {world}, machine state {state}): the environment "
                "does something that its tables do not have"
            )
        return self.rows[key]


def _situations(task: Task, policy: Policy, about: dict[str, Any]) -> dict[str, Array]:
    """Follow a tabular policy through every outcome of its actions, from every start."""
    from errands.oracle.episode import Pair
    from errands.tables import RUNNING

    if task.finite is None:
        raise TaskError(f"the world of '{task.name}' {task.untabled}; a tabular policy is written for worlds with tables")
    pair = Pair(task)
    table = pair.table
    # A policy's memory may be any value; the file holds numbers for them, and 0 is None, the memory at the start.
    memories: dict[Hashable, int] = {None: 0}
    rows: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    waiting: list[tuple[int, tuple[int, int], Hashable]] = [
        (int(s), pair.stepper.start, None) for s in dict.fromkeys(table.starts.tolist())
    ]
    held: list[Hashable] = [None]
    while waiting:
        world, state, memory = waiting.pop()
        key = (world, *state, memories[memory])
        if key in rows:
            continue
        if len(rows) == MOST_SITUATIONS:
            raise TaskError(f"the policy gets into more than {MOST_SITUATIONS:,} situations; keep its run folder instead")
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


class _Network:
    """A deep policy: the numbered machine state and the head in hand go into the program, action and head come out."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.program = Program(about["program"], arrays)
        self.ordered = bool(about["ordered"])
        self.full = int(about["full"])
        self.continuous = "low" in about["action"]
        self.index = {(u, tuple(x) if self.ordered else x): i for i, (u, x) in enumerate(about["states"])}

    def __call__(self, seen: Array, state: tuple[int, int], memory: Hashable) -> tuple[Any, Hashable]:
        before, order, held, since = memory if isinstance(memory, tuple) else (None, (), 0, 0)
        if self.ordered:
            # The state of a Boolean machine is the order in which subtasks were done: what left the mask is appended.
            gone = (self.full if before is None else before[1]) & ~state[1]
            order = (*order, *(i for i in range(gone.bit_length()) if gone >> i & 1))
        number = self.index[(state[0], order if self.ordered else state[1])]
        if before is not None and before != state:
            since = 0
        inputs = (np.asarray(seen, np.float32), *(np.int32(n) for n in (number, held, since)))
        action, head = self.program(*inputs)
        # Steps with this head in hand and this machine state; a change of either begins anew.
        since = (since if int(head) == held else 0) + 1
        return (action if self.continuous else int(np.ravel(action)[0])), (state, order, int(head), since)


def _network(policy: Any, about: dict[str, Any]) -> dict[str, Array]:
    """The program of a deep policy, with its weights as constants."""
    import jax
    import jax.numpy as jnp

    from errands.learners.deep.agent import decide
    from errands.machines.boolean import BooleanRM

    if "start" in about["observation"] or "cells" in about["observation"]:
        raise TaskError("a network on numbered states is not written yet; use a Box observation")
    size, rm = policy.agent.shape.observation, policy.agent.machine.rm
    zero = jnp.int32(0)
    closed = jax.make_jaxpr(lambda *inputs: decide(policy.agent, policy.agent_state, *inputs))(
        jnp.zeros(size, jnp.float32), zero, zero, zero
    )
    ordered = isinstance(rm, BooleanRM)
    states = sorted(rm.index, key=rm.index.__getitem__)
    about["ordered"], about["full"] = ordered, rm.stepper.full
    about["states"] = [[u, list(x) if ordered else x] for u, x in states]
    about["program"], arrays = write_program(closed)
    return arrays


def write_program(closed: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A jaxpr as plain data: numbered values, constants as arrays, inner functions written out."""
    lines: list[list[Any]] = []
    arrays: dict[str, Array] = {}
    count = 0

    def fresh() -> int:
        nonlocal count
        count += 1
        return count - 1

    def constant(value: Any) -> int:
        number = fresh()
        arrays[f"c{number}"] = np.asarray(value)
        return number

    def inline(jaxpr: Any, names: dict[Any, int]) -> list[int]:
        def number(atom: Any) -> int:
            return constant(np.asarray(atom.val)) if hasattr(atom, "val") else names[atom]

        for equation in jaxpr.eqns:
            inputs = [number(atom) for atom in equation.invars]
            name, parameters = equation.primitive.name, equation.params
            inner = parameters.get("jaxpr") or parameters.get("call_jaxpr")
            if inner is not None and name in ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"):
                own = {var: constant(value) for var, value in zip(inner.jaxpr.constvars, inner.consts, strict=True)}
                own |= dict(zip(inner.jaxpr.invars, inputs, strict=True))
                outputs = inline(inner.jaxpr, own)
            else:
                if name not in _OPERATIONS:
                    raise TaskError(f"the network uses '{name}', which policy files do not know; keep the run folder instead")
                outputs = [fresh() for _ in equation.outvars]
                lines.append([name, inputs, outputs, _plain(name, parameters)])
            names |= dict(zip(equation.outvars, outputs, strict=True))
        return [number(atom) for atom in jaxpr.outvars]

    names = {var: constant(value) for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)}
    inputs = [fresh() for _ in closed.jaxpr.invars]
    outputs = inline(closed.jaxpr, names | dict(zip(closed.jaxpr.invars, inputs, strict=True)))
    return {"inputs": inputs, "outputs": outputs, "lines": lines}, arrays


_PARAMETERS = (
    "shape", "broadcast_dimensions", "dimension_numbers", "new_sizes", "dimensions", "axes", "dimension", "new_dtype", "dtype",
    "slice_sizes", "index_dtype", "permutation", "start_indices", "limit_indices", "strides", "y", "axis",
)  # fmt: skip


def _plain(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in _PARAMETERS:
        value = parameters.get(key)
        if value is not None:
            kept[key] = np.dtype(value).str if key.endswith("dtype") else json.loads(json.dumps(value, default=int))
    return kept


class Program:
    """A list of operations on numbered values, carried out in numpy."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.inputs, self.outputs, self.lines = about["inputs"], about["outputs"], about["lines"]
        self.constants = {int(name[1:]): value for name, value in arrays.items() if name.startswith("c")}

    def __call__(self, *inputs: Any) -> list[Any]:
        """The outputs for these inputs."""
        values: dict[int, Any] = {**self.constants, **dict(zip(self.inputs, inputs, strict=True))}
        for name, sources, targets, parameters in self.lines:
            result = _OPERATIONS[name](parameters, *(np.asarray(values[k]) for k in sources))
            values[targets[0]] = result
        return [values[k] for k in self.outputs]


def _broadcast(p: Mapping[str, Any], x: Array, *_: Array) -> Array:
    shape = [1] * len(p["shape"])
    for source, target in enumerate(p["broadcast_dimensions"]):
        shape[target] = x.shape[source]
    return np.broadcast_to(x.reshape(shape), p["shape"])


def _dot(p: Mapping[str, Any], x: Array, y: Array) -> Array:
    (left, right), (batch_left, batch_right) = p["dimension_numbers"]
    free_left = [i for i in range(x.ndim) if i not in left and i not in batch_left]
    free_right = [i for i in range(y.ndim) if i not in right and i not in batch_right]
    # Axes in the order batch, free, summed on the left and batch, summed, free on the right: then one matmul does it.
    a = x.transpose([*batch_left, *free_left, *left])
    b = y.transpose([*batch_right, *right, *free_right])
    batch = a.shape[: len(batch_left)]
    inner = int(np.prod([x.shape[i] for i in left], initial=1))
    shape = (*batch, *(x.shape[i] for i in free_left), *(y.shape[i] for i in free_right))
    rows, columns = (int(np.prod([z.shape[i] for i in free], initial=1)) for z, free in ((x, free_left), (y, free_right)))
    return np.asarray(np.matmul(a.reshape(*batch, rows, inner), b.reshape(*batch, inner, columns)).reshape(shape))


def _cut(p: Mapping[str, Any], x: Array, *starts: Array) -> Array:
    sizes = p["slice_sizes"]
    # JAX moves a slice that would leave the array back inside; numpy would cut it short.
    begins = [int(np.clip(int(s), 0, n - size)) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(b, b + size) for b, size in zip(begins, sizes, strict=True))]


def _select(p: Mapping[str, Any], which: Array, *cases: Array) -> Array:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases)


def _slice(p: Mapping[str, Any], x: Array) -> Array:
    strides = p.get("strides") or [1] * x.ndim
    return x[tuple(slice(*part) for part in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _iota(p: Mapping[str, Any]) -> Array:
    shape = [1] * len(p["shape"])
    shape[p["dimension"]] = -1
    return np.broadcast_to(np.arange(p["shape"][p["dimension"]], dtype=p["dtype"]).reshape(shape), p["shape"])


def _divided(p: Mapping[str, Any], x: Array, y: Array) -> Array:
    if np.issubdtype(x.dtype, np.integer):
        # JAX divides whole numbers towards zero, numpy's // downwards.
        return np.asarray(np.trunc(x / y).astype(x.dtype))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(x / y)


def _simple(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, *inputs: function(*inputs)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": _simple(np.add), "sub": _simple(np.subtract), "mul": _simple(np.multiply), "div": _divided, "rem": _simple(np.fmod),
    "max": _simple(np.maximum), "min": _simple(np.minimum), "neg": _simple(np.negative), "abs": _simple(np.abs),
    "exp": _simple(np.exp), "log": _simple(np.log), "tanh": _simple(np.tanh), "sqrt": _simple(np.sqrt),
    "square": _simple(np.square), "sign": _simple(np.sign), "floor": _simple(np.floor),
    "rsqrt": _simple(lambda x: (1 / np.sqrt(x)).astype(x.dtype)), "logistic": _simple(lambda x: 1 / (1 + np.exp(-x))),
    "lt": _simple(np.less), "le": _simple(np.less_equal), "gt": _simple(np.greater), "ge": _simple(np.greater_equal),
    "eq": _simple(np.equal), "ne": _simple(np.not_equal), "and": _simple(np.bitwise_and), "or": _simple(np.bitwise_or),
    "not": _simple(np.invert), "xor": _simple(np.bitwise_xor), "is_finite": _simple(np.isfinite),
    "clamp": _simple(lambda low, x, high: np.clip(x, low, high)), "pow": _simple(np.power),
    "stop_gradient": _simple(lambda x: x), "copy": _simple(lambda x: x), "copy_p": _simple(lambda x: x),
    "integer_pow": lambda p, x: x ** p["y"],
    "broadcast_in_dim": _broadcast, "dot_general": _dot, "dynamic_slice": _cut, "select_n": _select, "slice": _slice, "iota": _iota,
    "reshape": lambda p, x: x.reshape(p["new_sizes"]),
    "squeeze": lambda p, x: np.squeeze(x, tuple(p["dimensions"])),
    "expand_dims": lambda p, x: np.expand_dims(x, tuple(p["dimensions"])),
    "transpose": lambda p, x: x.transpose(p["permutation"]),
    "concatenate": lambda p, *xs: np.concatenate(xs, p["dimension"]),
    "convert_element_type": lambda p, x: x.astype(p["new_dtype"]),
    "reduce_max": lambda p, x: x.max(tuple(p["axes"])), "reduce_min": lambda p, x: x.min(tuple(p["axes"])),
    "reduce_sum": lambda p, x: x.sum(tuple(p["axes"])), "reduce_or": lambda p, x: x.any(tuple(p["axes"])),
    "reduce_and": lambda p, x: x.all(tuple(p["axes"])),
    "argmax": lambda p, x: np.argmax(x, p["axes"][0]).astype(p["index_dtype"]),
    "argmin": lambda p, x: np.argmin(x, p["axes"][0]).astype(p["index_dtype"]),
}  # fmt: skip


def _machine(task: Task) -> dict[str, Any]:
    machine = task.machine
    return {
        "initial": machine.initial, "success": list(machine.success), "failure": list(machine.failure),
        "numeric": {name: list(subtasks) for name, subtasks in machine.numeric},
        "transitions": [str(t) for t in machine.transitions], "vanishing": list(task.vanishing),
        **write_rules(machine.counted, machine.rules),
    }  # fmt: skip


def _spaces(task: Task) -> dict[str, Any]:
    """What must be known of the environment's spaces to see and to act."""
    import gymnasium as gym

    env = task.world.env()
    seen, done = env.observation_space, env.action_space
    env.close()
    if getattr(task.world, "numbers", None) is not None:
        raise TaskError("the states of this world are numbered by a function of yours; keep the run folder instead")
    if isinstance(seen, gym.spaces.Discrete):
        observation: dict[str, Any] = {"start": int(seen.start)}
    elif isinstance(seen, gym.spaces.Box):
        observation = {"scale": 1 / 255 if seen.dtype == np.uint8 else 1.0}
    elif isinstance(seen, gym.spaces.Dict) and "cell" in seen.spaces and task.layout is not None:
        observation = {"cells": task.layout.cells, "lockstep": task.lockstep}
    else:
        raise TaskError(f"observations are {type(seen).__name__}, and policy files know Box and Discrete; keep the run folder")
    if isinstance(done, gym.spaces.Discrete):
        action: dict[str, Any] = {"start": int(done.start)}
    elif isinstance(done, gym.spaces.Box) and done.is_bounded():
        action = {"low": done.low.tolist(), "high": done.high.tolist(), "dtype": done.dtype.str}
    else:
        raise TaskError(f"actions are {type(done).__name__}, and policy files know Discrete and bounded Box; keep the run folder")
    return {"observation": observation, "action": action}
