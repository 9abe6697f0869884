"""Acting by a policy file, with numpy alone: no JAX, no numba, no Gymnasium. export.py writes such files."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError, words_of
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State, Stepper
from errands.policies.agent import Follower, Info, check_observation, encode, info_of
from errands.policies.program import Program
from errands.policies.tables import MachinePolicy, MachineStates, NearestPolicy, ObjectivePolicy, OptionPolicy
from errands.worlds.gymnasium.rules import Between, InBox, InDisc, InStates, Rule
from errands.worlds.saving import from_json
from errands.worlds.spaces import MAX_CHOICES, Form, row_of

Array = NDArray[Any]
About = Mapping[str, Any]
KIND = "errands policy 4"
NO_CHECKSUM = "0" * 64
"""What stands in place of its checksum in the file that the checksum is taken of."""
MAX_BYTES = 1 << 32
MAX_HEADER = 1 << 28
MAX_NUMBERS = 1 << 24
"""Numbers in an observation or an action."""
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Numpy's words for those of the file."""
_WHOLE, _REAL = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"), ("<f2", "<f4", "<f8")


def read_policy(
    path: str | Path, features: Callable[..., Any] | None = None, state: Callable[[Any], Hashable] | None = None
) -> FileAgent:
    """The agent of a policy file.

    Parameters:
        path: the file.
        features: the task's function (observation, action, next_observation, info) -> set of names. Regions and states of a
            task file are in the policy file; without either `info["features"]` must tell what is true.
        state: the task's `state` function of an observation, where it has one; without it `act` is given the state itself.

    Example:
        >>> import errands, pathlib, tempfile
        >>> run = errands.train("figure-1", "scout", steps=2_000)
        >>> agent = errands.read_policy(run.export(pathlib.Path(tempfile.mkdtemp()) / "figure-1.safetensors"))
        >>> agent.about["task"]
        'figure-1'
    """
    data = _read(Path(path))
    try:
        # A safetensors file: the header's length in 8 bytes, a header in JSON, then all arrays. It is read by hand here
        # so that a policy needs numpy and nothing else.
        (length,) = struct.unpack("<Q", data[:8])
        _require(length <= min(MAX_HEADER, len(data) - 8), "its header is too long")
        header = json.loads(data[8 : 8 + length])
        about = json.loads(header.pop("__metadata__")["errands"])
        _require(about["kind"] == KIND, f"it is of kind {str(about['kind'])[:40]!r} and not {KIND!r}")
        head, body = data[: 8 + length], memoryview(data)[8 + length :]
        whole = hashlib.sha256(head.replace(about["sha256"].encode(), NO_CHECKSUM.encode(), 1))
        whole.update(body)
        if whole.hexdigest() != about["sha256"]:
            raise StoreError(f"{path} is damaged: its checksum does not fit; restore it from a copy or export it again")
        return FileAgent(about, {name: _array(entry, body) for name, entry in header.items()}, features, state)
    except StoreError:
        raise
    except Exception as fault:  # noqa: BLE001 (a stranger's file can be wrong in as many ways as there are lines below)
        raise StoreError(f"{path} is no policy file of errands ({words_of(fault, 100)}); write one with 'errands export'") from None


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            return path.read_bytes()
    except OSError as fault:
        raise StoreError(f"{path} cannot be read ({(fault.strerror or 'error').lower()})") from None
    what = f"larger than {MAX_BYTES:,} bytes" if path.is_file() else "no plain file"
    raise StoreError(f"{path} is {what}; give a file that 'errands export --as policy' wrote")


def _array(entry: About, body: memoryview) -> Array:
    """An array of the file, not copied: its shape is that of the bytes that are there."""
    dtype, shape, (begin, end) = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    sizes = [_int(n, "a shape", 0) for n in shape]
    _require(len(sizes) <= 8 and 0 <= begin <= end <= len(body), "an array lies outside of the file")
    _require(math.prod(sizes) * dtype.itemsize == end - begin, "an array's shape and bytes differ")
    return np.frombuffer(body[begin:end], dtype).reshape(sizes)


class FileAgent(Follower):
    """Acts by a policy file: `reset(observation, info)`, then `act` and `see` in turn until it is `done`."""

    def __init__(
        self,
        about: About,
        arrays: Mapping[str, Array],
        features: Callable[..., Any] | None = None,
        state: Callable[[Any], Hashable] | None = None,
    ) -> None:
        for name, function in (("features", features), ("state", state)):
            _require(function is None or callable(function), f"{name} is a {type(function).__name__} and no function")
        machine, vanishing = _machine(about["machine"])
        _action_count(about["action"])
        self._form: Form = about["observation"]
        size = _observation_size(self._form) if self._form else 0
        self._numbering: About | None = about["numbering"]
        states = _state_count(self._numbering, self._form)
        policy = _KINDS[about["policy"]["kind"]](about["policy"], arrays, machine, _Interface(states, size, about["action"]))
        gauges = {_str(name): self._gauge(name, rule, size) for name, rule in about["gauges"].items()}
        _require(set(gauges) == set(machine.read), "gauges have no numbers")
        super().__init__(machine, vanishing, policy, about["action"], gauges)
        self.about, self.features, self.state = about, features, state
        self.rules = {_str(name): _rule(rule, self._form, size) for name, rule in about["rules"].items()}
        # The number of each state that was met.
        known = (self._numbering or {}).get("states", ())
        self._numbers = {from_json(s): number for number, s in enumerate(known)}

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action; signals are taken from `info["signals"]`."""
        known = info_of(info)
        if self.features is not None:
            true = self.features(self._observation, self._action, observation, known)
        elif "features" in known:
            true = known["features"]
        elif self.rules:
            check_observation(self._form, observation)
            numbers = row_of(self._form, observation, scaled=False)
            shown: Any = np.ravel(observation)[0]
            true = {name for name, rule in self.rules.items() if rule.holds(shown if isinstance(rule, InStates) else numbers)}
        else:
            raise TaskError("info has no 'features'; give read_policy the task's features function")
        self._follow(observation, known, true, known.get("signals", {}))

    def _gauge(self, name: str, rule: Any, size: int) -> Any:
        """Where the number of a gauge comes from: text as it is, or an entry of the observation."""
        if isinstance(rule, str):
            return rule
        _require(set(rule) == {"index"}, f"the gauge '{name}' is not described")
        at = _int(rule["index"], "an index", 0, size - 1)

        def entry(before: Any, action: Any, observation: Any) -> Any:
            check_observation(self._form, observation)
            return row_of(self._form, observation, scaled=False)[at].item()

        return entry

    def _encode(self, observation: Any) -> Any:
        if self._numbering is not None and "states" in self._numbering:
            shown = self.state(observation) if self.state else observation
            try:
                return self._numbers.get(shown)
            except TypeError:
                raise TaskError(f"the state is a {type(shown).__name__}; give read_policy the task's state function") from None
        seen = encode(self._form, self._numbering, observation)
        return row_of(self._form, observation) if self._numbering is None else seen


# What a file says is checked against everything else in it before anybody acts by it.


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _int(value: Any, what: str, low: int, high: int = 1 << 62) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high, f"{what} is {str(value)[:40]}")
    return int(value)


def _str(value: Any) -> str:
    _require(isinstance(value, str), "a name is no text")
    return str(value)


def _names(value: Any) -> tuple[str, ...]:
    _require(isinstance(value, list), "names are no list")
    return tuple(map(_str, value))


def _machine(about: About) -> tuple[NumericRM, tuple[str, ...]]:
    """The machine, and what vanishes once its subtask is done."""
    fields = dict(about)
    vanishing = _names(fields.pop("vanishing"))
    for key in ("choose", "capacity"):
        fields[key] = [(_int(g["number"], key, 0), [_names(part) for part in g["of"]]) for g in fields.get(key, [])]
    pairs = {key: [_names(pair) for pair in fields.get(key, [])] for key in ("before", "apart")}
    names = {key: _names(fields[key]) for key in ("success", "failure", "transitions")}
    tables = {
        key: {_str(name): some if isinstance(some, dict) else _names(some) for name, some in fields[key].items()}
        for key in ("numeric", "completing")
    }
    return NumericRM.of(**{**fields, **pairs, **names, **tables, "initial": _str(fields["initial"])}), vanishing


def _numbers(value: Any, whole: bool) -> Array:
    """A number or nested lists of finite numbers as an array."""
    numbers = np.array(value)
    _require(numbers.dtype.kind in ("i" if whole else "if") and numbers.size <= MAX_NUMBERS, "numbers are none")
    _require(bool(np.isfinite(numbers).all()), "numbers are not finite")
    return numbers


def _action_count(form: Form) -> int:
    """How many actions there are; 0 where they are continuous."""
    if set(form) == {"low", "high", "dtype"}:
        low, high = (np.asarray(_numbers(form[end], whole=False), np.float32) for end in ("low", "high"))
        _require(form["dtype"] in _WHOLE + _REAL and low.shape == high.shape and low.size > 0, "actions have no bounds")
        with np.errstate(over="ignore"):
            _require(bool((low <= high).all() and np.isfinite(high - low).all()), "actions have no finite bounds")
        _require(_fits(np.stack([low, high]), form["dtype"]), "actions do not fit their numbers")
        return 0
    if set(form) == {"counts", "starts", "dtype"}:
        counts, starts = _numbers(form["counts"], whole=True), _numbers(form["starts"], whole=True)
        total = math.prod(int(n) for n in counts.ravel())
        _require(counts.shape == starts.shape and bool((counts > 0).all()) and total <= MAX_CHOICES, "actions cannot be counted")
        _require(form["dtype"] in _WHOLE and bool((abs(starts) < 1 << 60).all()), "actions are no whole numbers")
        _require(_fits(np.stack([starts, starts + counts - 1]), form["dtype"]), "actions do not fit their numbers")
        return total
    _require(set(form) == {"start", "n"}, "actions are not described")
    _int(form["start"], "the first action", -(1 << 60), 1 << 60)
    return _int(form["n"], "the number of actions", 1, 1 << 31)


def _fits(ends: Array, dtype: str) -> bool:
    """Whether the least and the greatest numbers can be said in a type."""
    kind = np.dtype(dtype)
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind in "iu" else (
        float(np.finfo(kind).min), float(np.finfo(kind).max)
    )  # fmt: skip
    return bool((ends >= low).all() and (ends <= high).all())


def _observation_size(form: Form) -> int:
    """How many numbers an observation is read as."""
    if set(form) == {"parts"}:
        total = 0
        for key, part in form["parts"]:
            _require(isinstance(key, str | int), "a part has no name")
            total += _observation_size(part)
        _require(total <= MAX_NUMBERS, "observations are too large")
        return total
    if set(form) == {"counts", "starts"}:
        counts, starts = _numbers(form["counts"], whole=True), _numbers(form["starts"], whole=True)
        total = sum(int(n) for n in counts.ravel())
        _require(counts.shape == starts.shape and counts.ndim == 1 and bool((counts > 0).all()), "observations cannot be counted")
        _require(total <= MAX_NUMBERS and bool((abs(starts) < 1 << 60).all()), "observations are too large")
        return total
    _require(set(form) == {"scale", "size"}, "observations are not described")
    _require(isinstance(form["scale"], float) and 0 < form["scale"] <= 1, "observations have no scale")
    return _int(form["size"], "the size of observations", 1, MAX_NUMBERS)


def _state_count(numbering: About | None, form: Form) -> int:
    """How many numbered states there are; 0 where observations are not numbered."""
    if numbering is not None and set(numbering) == {"states"}:
        _require(isinstance(numbering["states"], list), "states are no list")
        return len(numbering["states"])
    _require(bool(form), "observations are not described")
    if numbering is None:
        return 0
    _require(numbering == {} and set(form) == {"counts", "starts"} and len(form["counts"]) == 1, "states are not numbered")
    return int(form["counts"][0])


def _rule(rule: About, form: Form, size: int) -> Rule:
    if set(rule) == {"states"}:
        _require(len(form.get("counts", ())) == 1, "rules about states need numbered observations")
        return InStates(frozenset(_int(s, "a state", -(1 << 60), 1 << 60) for s in rule["states"]))
    if set(rule) == {"sides"}:
        sides = [(_int(index, "an index", 0, size - 1), _float(above), _float(below)) for index, above, below in rule["sides"]]
        return InBox(tuple(Between(*side) for side in sides))
    _require(set(rule) == {"index", "centre", "radius"} and len(rule["index"]) == len(rule["centre"]), "a rule is not described")
    index = tuple(_int(i, "an index", 0, size - 1) for i in rule["index"])
    return InDisc(index, tuple(map(_float, rule["centre"])), _float(rule["radius"]))


def _float(value: Any) -> float:
    _require(isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value), "a bound is no number")
    return float(value)


class _Interface:
    """What the arrays of a policy have to fit: how many states and numbers are seen, and what actions there are."""

    def __init__(self, states: int, size: int, action: Form) -> None:
        self.states, self.size = states, size
        self.choices = _action_count(action)
        self.no_push = None if self.choices else np.zeros(np.size(action["low"]), np.float32)

    def seen(self) -> Array:
        """What a network is shown: a row of numbers, with a single 1 where states are numbered."""
        return np.zeros(self.states or self.size, np.float32)

    def row(self, seen: Any) -> Array:
        """An observation, or the number of a state, as a network is shown it."""
        return np.asarray(np.arange(self.states) == seen if self.states else seen, np.float32)

    def action(self, answer: Array) -> Any:
        """What a network answered, as an action inside the space."""
        numbers = np.ravel(answer)
        if self.no_push is None and 0 <= numbers[0] < self.choices:
            return int(numbers[0])
        if self.no_push is not None and (abs(numbers) <= 1.0001).all():
            return np.clip(numbers, -1.0, 1.0)
        raise TaskError("the network of the policy file gave an action outside of its space; export the policy again")

    def check(self, outputs: Sequence[Array]) -> None:
        """Whether what a program gives out are an action and, if there is a second one, the number of a head."""
        kinds, size = ("if", 1) if self.no_push is None else ("f", self.no_push.size)
        _require(outputs[0].dtype.kind in kinds and outputs[0].size == size, "a program gives no action")


def _states(about: About, machine: NumericRM, count: int) -> MachineStates:
    """The machine states of a file, each once."""
    ordered, full = about["ordered"], (1 << len(machine.subtasks)) - 1
    _require(isinstance(ordered, bool) and len(about["states"]) == count, "machine states and rows differ")
    index: dict[tuple[int, Any], int] = {}
    numeric = len(Stepper(machine).status)
    for u, x in about["states"]:
        done: Any = tuple(_int(i, "a subtask", 0, full.bit_length() - 1) for i in x) if ordered else _int(x, "a mask", 0, full)
        index[_int(u, "a machine state", 0, numeric - 1), done] = len(index)
    _require(len(index) == count, "a machine state comes twice")
    return MachineStates(index, _int(about["full"], "a mask", 0, full), ordered)


def _table(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...], end: int, low: int = 0) -> Array:
    """An array of whole numbers from `low` to below `end`; a size of -1 may be any."""
    table = arrays[name]
    fits = table.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, table.shape, strict=True))
    _require(fits and table.dtype.kind == "i", f"'{name}' has another shape")
    _require(table.size == 0 or bool(table.min() >= low and table.max() < end), f"'{name}' has numbers out of range")
    return table


def _read_actions(about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> MachinePolicy:
    actions = _table(arrays, "actions", (-1, interface.states), interface.choices)
    return MachinePolicy(actions, _states(about, machine, len(actions)))


def _read_nearest(about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> NearestPolicy:
    policy = _read_actions(about, arrays, machine, interface)
    _require(len(policy.actions) > 0 and not policy.states.ordered, "there is no way")
    completed = tuple(_int(mask, "a mask", 0, (1 << len(machine.subtasks)) - 1) for mask in about["completed"])
    _require(len(completed) == len(policy.actions), "machine states and what is completed in them differ")
    return NearestPolicy(policy.actions, policy.states, completed)


def _read_options(about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> OptionPolicy:
    actions = _table(arrays, "actions", (interface.states, -1), interface.choices)
    controller = _table(arrays, "controller", (interface.states, -1), actions.shape[1])
    first = _table(arrays, "first", (controller.shape[1] + 1,), actions.shape[1] + 1)
    states = _states(about, machine, controller.shape[1])
    return OptionPolicy(states, first, controller, actions, _int(about["option_limit"], "the limit of options", 1))


def _read_objectives(about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> ObjectivePolicy:
    names = _names(about["objectives"])
    actions = _table(arrays, "actions", (interface.states, len(names)), interface.choices)
    stepper = Stepper(machine)
    numeric = _table(arrays, "numeric", (-1,), len(stepper.status))
    objective = _table(arrays, "objective", numeric.shape, len(names))
    steps, mask, words = arrays["steps"], arrays["mask"], -(-len(machine.subtasks) // 64)
    _require(steps.dtype.kind == "f" and steps.shape == numeric.shape and not np.isnan(steps).any(), "steps to go are no numbers")
    _require(mask.dtype.kind == "u" and mask.shape == (len(numeric), words), "'mask' has another shape")
    masks = [sum(word << 64 * k for k, word in enumerate(row)) for row in mask.tolist()]
    keys = zip(numeric.tolist(), masks, (names[k] for k in objective.tolist()), strict=True)
    _require(set(machine.subtasks) <= set(names), "a subtask has no policy")
    return ObjectivePolicy(actions, names, dict(zip(keys, steps.tolist(), strict=True)), stepper)


class NetworkPolicy:
    """A deep policy: the numbered machine state and the head in hand go into the program, action and head come out."""

    def __init__(self, about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> None:
        self.states, self.interface = _states(about, machine, len(about["states"])), interface
        zero = np.int32(0)
        self.program = Program(about["program"], arrays, (interface.seen(), zero, zero, zero))
        interface.check(self.program.example)
        _require(self.program.example[1].dtype.kind == "i" and self.program.example[1].size == 1, "a program gives no head")

    def act(self, seen: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action, and what to remember: as learners.deep.learner.DeepPolicy does."""
        previous, order, current_head, head_steps = memory if isinstance(memory, tuple) else (None, None, 0, 0)
        row, order = self.states.locate(machine_state, order)
        if previous is not None and previous != machine_state:
            head_steps = 0
        inputs = np.array([row or 0, current_head, head_steps]).astype(np.int32)
        action, answer = self.program(self.interface.row(seen), *inputs)
        head = int(np.ravel(answer)[0])
        # Steps with this head in hand and this machine state; a change of either begins anew.
        head_steps = (head_steps if head == current_head else 0) + 1
        return self.interface.action(action), (machine_state, order, head, head_steps)


class EdgePolicy:
    """Deep DiRL: a network for each machine state on its way, and no push anywhere else."""

    def __init__(self, about: About, arrays: Mapping[str, Array], machine: NumericRM, interface: _Interface) -> None:
        self.states, self.interface = _states(about, machine, len(about["states"])), interface
        self.programs: list[Program] = []
        for edge, program in enumerate(about["programs"]):
            own = {name.removeprefix(f"{edge}."): a for name, a in arrays.items() if name.startswith(f"{edge}.")}
            self.programs.append(Program(program, own, (interface.seen(),)))
            interface.check(self.programs[-1].example)
        _require(len(self.programs) == len(self.states.index), "machine states and programs differ")

    def act(self, seen: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action of the machine state's network; nothing is remembered."""
        row, _ = self.states.locate(machine_state, None)
        if row is None:
            return (0 if self.interface.no_push is None else self.interface.no_push), None
        return self.interface.action(self.programs[row](self.interface.row(seen))[0]), None


_KINDS: Mapping[str, Callable[..., Any]] = {
    "actions": _read_actions, "nearest": _read_nearest, "options": _read_options, "objectives": _read_objectives,
    "network": NetworkPolicy, "edges": EdgePolicy,
}  # fmt: skip
