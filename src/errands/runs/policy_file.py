"""Acting by a policy file, with numpy alone: no JAX, no numba, no Gymnasium. policy_export.py writes such files."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError, TaskError, words_of
from errands.machines.numeric import NumericRM
from errands.machines.stepping import State
from errands.runs.agent import Follower, Info
from errands.runs.files import digest
from errands.runs.program import Program
from errands.worlds.observed import Between, InBox, InDisc, InStates, Rule
from errands.worlds.saving import rich
from errands.worlds.spaces import action_of, row_of

Array = NDArray[Any]
KIND = "errands policy 2"
UNCHECKED = "errands policy 1"
"""Files that were written before they had a checksum."""
UNMARKED = "0" * 64
"""What stands in place of its checksum in the file that the checksum is taken of."""
MOST_BYTES = 1 << 32
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Numpy's words for those of the file."""


def read_policy(
    path: str | Path, features: Callable[..., Any] | None = None, state: Callable[[Any], Hashable] | None = None
) -> FileAgent:
    """The agent of a policy file.

    Parameters:
        path: the file.
        features: the task's function (observation, action, next_observation, info) -> set of names. Regions and states of a
            task file are in the policy file; without either `info["features"]` must tell what is true.
        state: the task's `state` function of an observation, where it has one; without it `act` is given the state itself.
    """
    data = _read(Path(path))
    try:
        # A safetensors file: the header's length in 8 bytes, a header in JSON, then all arrays. It is read by hand here
        # so that a policy needs numpy and nothing else.
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        about = json.loads(header.pop("__metadata__")["errands"])
        if about["kind"] not in (KIND, UNCHECKED):
            raise KeyError(about["kind"])
        head, body = data[: 8 + length], memoryview(data)[8 + length :]
        if about["kind"] == KIND and not _marked(head, body, about["sha256"]):
            raise StoreError(f"{path} is damaged: its checksum does not fit; restore it from a copy or export it again")
        arrays = {
            name: np.frombuffer(body[slice(*entry["data_offsets"])], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()
        }
        return FileAgent(about, arrays, features, state)
    except StoreError:
        raise
    except Exception as fault:  # noqa: BLE001 (a stranger's file can be wrong in as many ways as there are lines below)
        raise StoreError(f"{path} is no policy file of errands ({words_of(fault, 100)}); write one with 'errands export'") from None


def _marked(head: bytes, body: memoryview, mark: str) -> bool:
    """Whether the checksum of a file is the one that stands in its head."""
    return len(mark) == len(UNMARKED) and digest(head.replace(mark.encode(), UNMARKED.encode(), 1), body) == mark


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            return path.read_bytes()
    except OSError as fault:
        raise StoreError(f"{path} cannot be read ({(fault.strerror or 'error').lower()})") from None
    what = f"larger than {MOST_BYTES:,} bytes" if path.is_file() else "no plain file"
    raise StoreError(f"{path} is {what}; give a file that 'errands export --as policy' wrote")


class FileAgent(Follower):
    """Acts by a policy file: `reset(observation, info)`, then `act` and `see` in turn until it is `done`."""

    def __init__(
        self,
        about: Mapping[str, Any],
        arrays: Mapping[str, Array],
        features: Callable[..., Any] | None = None,
        state: Callable[[Any], Hashable] | None = None,
    ) -> None:
        if not isinstance(about["action"], dict) or not isinstance(about["observation"], dict):
            raise TypeError("its spaces are not described")
        machine = dict(about["machine"])
        vanishing = tuple(machine.pop("vanishing"))
        rules = {key: [(g["number"], g["of"]) for g in machine.pop(key, [])] for key in ("choose", "capacity")}
        super().__init__(NumericRM.of(**machine, choose=rules["choose"], capacity=rules["capacity"]), vanishing)
        self.about, self.features, self.state = about, features, state
        self.rules = {name: _read_rule(rule) for name, rule in about.get("rules", {}).items()}
        # The number of each state that was met; others share the number after the last.
        self._numbers = {rich(s): number for number, s in enumerate(about["observation"].get("states", ()))}
        self._choose: Any = next(kind for word, kind in _KINDS.items() if word in about)(about, arrays)

    def act(self, observation: Any) -> Any:
        """The action to take in the environment."""
        self._observation = observation
        chosen, self._memory = self._choose(self._seen(observation), self.machine_state, self._memory)
        self._action = action_of(self.about["action"], chosen)
        return self._action

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action; signals are taken from `info["signals"]`."""
        known = dict(info or {})
        if self.features is not None:
            true = set(self.features(self._observation, self._action, observation, known))
        elif "features" in known:
            true = set(known["features"])
        elif self.rules:
            form = self.about["observed"]
            numbers = observation if "start" in form else row_of(form, observation, scaled=False)
            true = {name for name, rule in self.rules.items() if rule.holds(numbers)}
        else:
            raise TaskError("info has no 'features'; give read_policy the task's features function")
        self._follow(observation, known, true, known.get("signals", {}))

    def _seen(self, observation: Any) -> Any:
        space = self.about["observation"]
        # States are numbered as in TaskAgent._state; the rows of the table go by these numbers.
        if "states" in space:
            return self._numbers.get(self.state(observation) if self.state else observation, len(self._numbers))
        if "cells" in space:  # Delivery's boxes and hands
            left = sum(1 << i for i, here in enumerate(observation["boxes"]) if here)
            cell = int(observation["cell"])
            return cell if space["lockstep"] else (2 * left + int(observation["carrying"])) * space["cells"] + cell
        if "start" in space:
            return int(observation) - int(space["start"])
        return row_of(space, observation)


def _read_rule(rule: Mapping[str, Any]) -> Rule:
    if "states" in rule:
        return InStates(frozenset(rule["states"]))
    if "sides" in rule:
        return InBox(tuple(Between(*side) for side in rule["sides"]))
    return InDisc(tuple(rule["index"]), tuple(rule["centre"]), rule["radius"])


class _Places:
    """The row of a machine state: by numeric state and mask, or by numeric state and order where the machine tells orders."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.ordered, self.full = bool(about["ordered"]), int(about["full"])
        self.index = {(u, tuple(x) if self.ordered else x): i for i, (u, x) in enumerate(about["states"])}

    def find(self, state: State, before: State | None, order: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
        """The row, and the order in which subtasks were done, to which what left the mask is appended."""
        if self.ordered:
            gone = (self.full if before is None else before[1]) & ~state[1]
            order = (*order, *(i for i in range(gone.bit_length()) if gone >> i & 1))
        return self.index.get((state[0], order if self.ordered else state[1])), order


class _Situations:
    """All situations (world state, machine state, memory) with the action and the memory that follow."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        # There may be more than 64 subtasks: a mask is stored as words of 64 bits, the lowest first.
        masks = [sum(int(word) << 64 * k for k, word in enumerate(row)) for row in arrays["mask"]]
        keys = zip(arrays["world"].tolist(), arrays["numeric"].tolist(), masks, arrays["memory"].tolist(), strict=True)
        answers = zip(arrays["action"].tolist(), arrays["next"].tolist(), strict=True)
        self.rows = dict(zip(keys, answers, strict=True))

    def __call__(self, world: int, state: State, memory: Hashable) -> tuple[int, Hashable]:
        key = (world, *state, 0 if memory is None else memory)
        if key not in self.rows:
            raise TaskError(
                f"the policy never gets into this situation (world state {world}, machine state {state}): the environment "
                "does something that its tables do not have"
            )
        return self.rows[key]


class _Actions:
    """One action for each machine state and world state; 0 in machine states that were never met."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.places, self.actions = _Places(about), arrays["actions"]

    def __call__(self, world: int, state: State, memory: Hashable) -> tuple[int, Hashable]:
        before, order = memory if isinstance(memory, tuple) else (None, ())
        row, order = self.places.find(state, before, order)
        known = row is not None and world < self.actions.shape[1]
        return (int(self.actions[row, world]) if known else 0), (state, order)


class _Options:
    """A controller over options, as learners.tabular.policies.OptionPolicy has it."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.places, self.limit = _Places(about), int(about["option_limit"])
        self.first, self.controller, self.actions = arrays["first"], arrays["controller"], arrays["actions"]

    def __call__(self, world: int, state: State, memory: Hashable) -> tuple[int, Hashable]:
        option, since, begun, before, order = memory if isinstance(memory, tuple) else (-1, 0, None, None, ())
        row, order = self.places.find(state, before, order)
        if row is None or self.first[row] == self.first[row + 1] or world >= len(self.actions):
            return 0, (-1, 0, None, state, order)
        if option < 0 or begun != row or since >= self.limit:
            option, since = int(self.controller[world, row]), 0
        return int(self.actions[world, option]), (option, since + 1, row, state, order)


class _Network:
    """A deep policy: the numbered machine state and the head in hand go into the program, action and head come out."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.places, self.program = _Places(about), Program(about["program"], arrays)
        self.continuous = "low" in about["action"]

    def __call__(self, seen: Array, state: State, memory: Hashable) -> tuple[Any, Hashable]:
        before, order, held, since = memory if isinstance(memory, tuple) else (None, (), 0, 0)
        row, order = self.places.find(state, before, order)
        if before is not None and before != state:
            since = 0
        action, head = self.program(np.asarray(seen, np.float32), *np.array([row, held, since], np.int32))
        # Steps with this head in hand and this machine state; a change of either begins anew.
        since = (since if int(head) == held else 0) + 1
        return (action if self.continuous else int(np.ravel(action)[0])), (state, order, int(head), since)


class _Way:
    """Deep DiRL: a network for each machine state on its way, and no push anywhere else."""

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.places = _Places(about)
        self.programs = [
            Program(program, {name.removeprefix(f"{edge}."): a for name, a in arrays.items() if name.startswith(f"{edge}.")})
            for edge, program in enumerate(about["way"])
        ]
        self.edges = about["edges"]
        self.still = np.zeros(np.size(about["action"]["low"]), np.float32) if "low" in about["action"] else None

    def __call__(self, seen: Array, state: State, memory: Hashable) -> tuple[Any, Hashable]:
        row, _ = self.places.find(state, None, ())
        if row is None:
            return (0 if self.still is None else self.still), None
        (action,) = self.programs[self.edges[row]](np.asarray(seen, np.float32))
        return (int(np.ravel(action)[0]) if self.still is None else action), None


_KINDS: Mapping[str, Callable[..., Any]] = {
    "situations": _Situations, "program": _Network, "way": _Way, "option_limit": _Options, "states": _Actions,
}  # fmt: skip
"""How a file is acted by, told by a word that only such a file has; looked for in this order."""
