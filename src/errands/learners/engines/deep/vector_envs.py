"""Several environments of a seed at once, each in a process of its own, through Gymnasium's vector API."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from numpy.typing import NDArray

from errands.errors import ErrandsError, StoreError, TaskError
from errands.learners.engines.deep.host_envs import UNSAVED, HostEnvs, HostStep, Reader
from errands.worlds.base import Observed
from errands.worlds.imports import isolated
from errands.worlds.saving import Restorable, from_json, to_json

Info = dict[str, Any]


class RowEnv(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """An environment as a learner sees and drives it: rows in, rows out, label and signals in `info`.

    A fault is told in `info` as well: an exception in another process would come with that process's traceback.
    """

    def __init__(self, env: gym.Env[Any, Any], reader: Reader, number: int) -> None:
        self.env, self.reader, self.number = env, reader, number
        self.senses = reader.senses(env)
        spaces = self.senses.spaces
        action = spaces.actions if spaces.continuous else 1
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (spaces.observation,), np.float32)
        self.action_space = gym.spaces.Box(-np.inf, np.inf, (action,), np.float32)
        self.nowhere = np.zeros(spaces.observation, np.float32)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[NDArray[np.float32], Info]:
        """A new episode."""
        try:
            return self.senses.see(self.env.reset(seed=seed)[0]), {"fault": ""}
        except ErrandsError as fault:
            return self.nowhere, {"fault": str(fault)}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        """One step; the reward is the machine's business and stays 0."""
        try:
            row, label, ends, truncated, signals = self.reader.step(self.env, self.senses, action)
        except ErrandsError as fault:
            return self.nowhere, 0.0, True, False, {"fault": str(fault)}
        return row, 0.0, bool(ends), bool(truncated), {"label": label, "signals": signals, "fault": ""}

    def save(self) -> Any:
        """The state of the environment as plain data; None where it has no way to tell."""
        return to_json(self.env.save()) if isinstance(self.env, Restorable) else None

    def restore_own(self, parts: list[Any]) -> str:
        """Continue from this environment's part of what all of them saved; what went wrong, or nothing."""
        # All get all parts, because the vector API calls a method with the same arguments everywhere.
        try:
            self.env.restore(from_json(parts[self.number]))  # type: ignore[attr-defined]
        except Exception as fault:  # noqa: BLE001 (whatever an environment raises when it is handed nonsense)
            return f"{type(fault).__name__}: {str(fault)[:100]}"
        return ""

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


@dataclass(frozen=True)
class Maker:
    """How another process makes one of the environments: it has imported nothing and knows no registered id."""

    make: Callable[[], gym.Env[Any, Any]]
    reader: Reader
    number: int
    specs: Mapping[str, Any]

    def __call__(self) -> RowEnv:
        """The environment."""
        for name, spec in self.specs.items():
            gym.registry.setdefault(name, spec)
        return RowEnv(self.make(), self.reader, self.number)


class VectorEnvs(HostEnvs):
    """Environments behind Gymnasium's vector API, which step by themselves."""

    def _made(self) -> list[gym.Env[Any, Any]]:
        world = self.machine.task.world
        sample = world.env()
        self.senses = self.reader.senses(sample)
        sample.close()
        observed = Observed.of(world)
        name = "" if observed is None else observed.id.rpartition(":")[2]
        specs = {name: gym.registry[name]} if name in gym.registry else {}
        makers = [Maker(world.env, self.reader, number, specs) for number in range(len(self.seeds))]
        # No automatic resets: episodes end with the machine too, of which the environments know nothing, so those that
        # are over are reset here, by a mask. What `step` returns is then always where the step led.
        with isolated():
            self.vector: Any = AsyncVectorEnv(makers, context=_start_method(), autoreset_mode=AutoresetMode.DISABLED)
        # The vector has them; nobody else steps them.
        return []

    def _start(self, seeds: list[int]) -> NDArray[np.float32]:
        return _rows(*self.vector.reset(seed=seeds))

    def _renewed(self, rows: NDArray[np.float32], over: NDArray[np.bool_]) -> NDArray[np.float32]:
        # Those that are not over give the rows that they had.
        return _rows(*self.vector.reset(options={"reset_mask": over})) if over.any() else rows

    def send(self, actions: NDArray[np.float32]) -> None:
        """Hand the actions over; the environments begin to step."""
        self.vector.step_async(actions)

    def answers(self) -> HostStep:
        """What the environments answered."""
        rows, _, ends, truncated, info = self.vector.step_wait()
        rows = _rows(rows, info)
        return HostStep(
            observation=rows,
            label=info["label"],
            ends=ends.copy(),
            truncated=truncated.copy(),
            signals=info["signals"],
            fresh=rows,
        )

    def close(self) -> None:
        """Close the environments and end their processes."""
        self.vector.close()

    def _saved(self) -> list[Any]:
        parts = list(self.vector.call("save"))
        if any(part is None for part in parts):
            raise StoreError(UNSAVED)
        return parts

    def _put(self, parts: list[Any]) -> None:
        for fault in self.vector.call("restore_own", parts):
            if fault:
                raise StoreError(fault)


def _start_method() -> str:
    """How processes begin: never as a fork of this one, because JAX has threads, whose locks would be inherited as they are."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return "spawn"
    # Imported once, by the server of which they are forks.
    multiprocessing.set_forkserver_preload(["__main__", __name__])
    return "forkserver"


def _rows(rows: NDArray[np.float32], info: Info) -> NDArray[np.float32]:
    """The rows; a TaskError where an environment is at fault."""
    for fault in filter(None, info["fault"]):
        raise TaskError(fault)
    return rows
