"""Many seeds of one method side by side: what both loops share, and the team that trains wholly on the device."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from errands.errors import ConfigError, StoreError
from errands.learners.base import Saved
from errands.learners.deep import device
from errands.learners.deep.brain import Brain, Mind
from errands.learners.deep.config import DeepConfig
from errands.learners.deep.machine import Kind, Listed, listed
from errands.learners.deep.methods import Spaces, brain_of
from errands.learners.deep.worlds import DeviceWorld, device_world
from errands.tables import Evaluation
from errands.tasks.task import Task


class Team(ABC):
    """Seeds that train in step; each is a run of its own."""

    def __init__(self, brain: Brain, seeds: tuple[int, ...]) -> None:
        self.brain = brain
        self.seeds = seeds
        self.orders: list[tuple[str, ...]] = [()] * len(seeds)
        """The order of completions in the last evaluation of each seed."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """Every array that the rest of the run depends on, as a named tuple with `minds`, `buffer` and `step`."""

    @abstractmethod
    def put(self, state: Any) -> None:
        """Continue from these arrays."""

    @abstractmethod
    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""

    @abstractmethod
    def trials(self) -> device.Trial:
        """One greedy episode of every seed."""

    @property
    def step(self) -> int:
        """Training steps so far."""
        return int(self.state.step)

    @property
    def minds(self) -> Mind:
        """What the seeds have learnt."""
        minds: Mind = self.state.minds
        return minds

    def place(self) -> AbstractContextManager[Any]:
        """Where arrays are made."""
        place: AbstractContextManager[Any] = jax.default_device(chosen_device(self.brain.config.platform))
        return place

    def evaluate(self) -> list[Evaluation]:
        """One greedy episode of every seed, without touching what training depends on."""
        trial = jax.tree.map(np.asarray, self.trials())
        names = self.brain.machine.objectives
        self.orders = [tuple(names[k] for k in row if k >= 0) for row in trial.order]
        parts = zip(trial.length, trial.total, trial.success, strict=True)
        return [Evaluation(self.step, int(n), round(float(total), 6), bool(won)) for n, total, won in parts]

    def train(self, steps: int) -> Iterator[list[Evaluation]]:
        """Train until `steps` steps were taken; evaluations of all seeds every `eval_every` steps and at the last."""
        every = self.brain.config.eval_every
        while self.step < steps:
            self.advance(min((self.step // every + 1) * every, steps) - self.step)
            yield self.evaluate()

    def save(self) -> Saved:
        """The arrays by name; of the buffer only what is filled."""
        saved = {name: np.asarray(leaf) for name, leaf in _named(self.state)}
        saved["buffer"] = saved["buffer"][: self.step]
        return saved

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken."""
        wanted = dict(_named(self.state))
        for name, leaf in wanted.items():
            _check(name, saved.get(name), tuple(leaf.shape))
        rows = np.zeros(wanted["buffer"].shape, np.float32)
        rows[: len(saved["buffer"])] = saved["buffer"]
        leaves = [rows if name == "buffer" else saved[name] for name in wanted]
        with self.place():
            self.put(jax.tree.unflatten(jax.tree.structure(self.state), [jnp.asarray(x) for x in leaves]))

    @property
    def checkpoint_bytes(self) -> int:
        """The most bytes that a checkpoint takes, however long the run."""
        return sum(int(leaf.nbytes) for leaf in jax.tree.leaves(self.state))


def split(saved: Saved) -> list[Saved]:
    """What a team saved, seed by seed: each part is what a team of that seed alone would save."""
    environments: list[Saved] = [{}] * len(saved["keys"])
    if "environments" in saved:
        whole = json.loads(bytes(saved["environments"]))
        parts = ({name: [values[i]] for name, values in whole.items()} for i in range(len(environments)))
        environments = [{"environments": np.frombuffer(json.dumps(part).encode(), np.uint8)} for part in parts]
    names = [name for name in saved if name != "environments"]
    return [{name: _part(name, saved[name], i) for name in names} | rest for i, rest in enumerate(environments)]


def _part(name: str, array: Any, place: int) -> Any:
    """One seed's share of an array: seeds are the second axis of the buffer, and the first of all else but the step."""
    if name == "step":
        return array
    return array[:, place : place + 1] if name == "buffer" else array[place : place + 1]


def join(parts: Sequence[Saved]) -> Saved:
    """What a team of several seeds would have saved, from the parts of its seeds."""
    steps = sorted({int(part["step"]) for part in parts})
    if len(steps) > 1:
        raise StoreError(f"seeds of a team stand at the same step; these checkpoints were taken at {', '.join(map(str, steps))}")
    joined = {
        name: first if name == "step" else np.concatenate([part[name] for part in parts], axis=int(name == "buffer"))
        for name, first in parts[0].items()
        if name != "environments"
    }
    if "environments" in parts[0]:
        documents = [json.loads(bytes(part["environments"])) for part in parts]
        whole = {name: [value for document in documents for value in document[name]] for name in documents[0]}
        joined["environments"] = np.frombuffer(json.dumps(whole).encode(), np.uint8)
    return joined


def _check(name: str, found: Any, shape: tuple[int, ...]) -> None:
    """Refuse an array that does not fit; of the buffer only the beginning may be there."""
    if found is not None and name == "buffer" and len(found) <= shape[0]:
        shape = (len(found), *shape[1:])
    if found is None or found.shape != shape:
        came = "missing" if found is None else f"of shape {found.shape}"
        raise StoreError(
            f"the checkpoint is of another network: '{name}' is {came} and {shape} is wanted; "
            "restore it with the task, learner and settings that it was made with"
        )


def _named(state: Any) -> list[tuple[str, Any]]:
    paths, _ = jax.tree_util.tree_flatten_with_path(state)
    return [(".".join(str(getattr(p, "name", p)) for p in path), leaf) for path, leaf in paths]


class DeviceTeam(Team):
    """A team in a world that lives on the device."""

    def __init__(self, brain: Brain, world: DeviceWorld, seeds: tuple[int, ...]) -> None:
        super().__init__(brain, seeds)
        self.world = world
        with self.place():
            self._fleet = device.launch(brain, world, seeds)

    @property
    def state(self) -> device.Fleet:
        """The fleet."""
        return self._fleet

    def put(self, state: Any) -> None:
        """Take a fleet."""
        self._fleet = state

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        step = self.step
        end = step + count
        while step < end:
            stop = min(end, (step // device.CHUNK + 1) * device.CHUNK)
            whole = stop - step == device.CHUNK
            self._fleet = device.advance(self.brain, self.world, self._fleet, None if whole else jnp.int32(stop))
            step = stop

    def trials(self) -> device.Trial:
        """One greedy episode of every seed; chance in it depends on the seed and the step only."""
        keys = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, 2**31 - 2), self._fleet.step))(self._fleet.keys)
        found: device.Trial = device.trials(self.brain, self.world, self._fleet.minds, keys)
        return found


def chosen_device(platform: str) -> jax.Device:
    """The device of a platform; `any` takes the first that JAX offers."""
    if platform == "any":
        return jax.devices()[0]
    try:
        return jax.devices(platform)[0]
    except RuntimeError:
        have = jax.devices()[0].platform
        raise ConfigError(
            f"platform is '{platform}', but JAX sees only {have} here; set platform='any', or install jax[cuda13]"
        ) from None


def team_of(
    task: Task, learner: str, config: DeepConfig, seeds: Sequence[int], machine: Kind = "agenda", host: bool = False
) -> Team:
    """The team of a learner on a task: on the device where the world lives there, else (or with `host`) stepped on the host."""
    found: Listed = listed(task, "agenda" if learner.startswith("qcorm") else machine)
    world = None if host else device_world(found)
    if world is None:
        from errands.learners.deep.host import HostTeam

        return HostTeam(learner, found, config, tuple(seeds))
    spaces = Spaces(world.observation, world.actions, world.continuous, world.signals)
    return DeviceTeam(brain_of(learner, found, config, spaces), world, tuple(seeds))
