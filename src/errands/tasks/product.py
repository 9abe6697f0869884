"""The cross product of an environment and a machine (Section 3), as a Gymnasium environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import gymnasium as gym

from errands.errors import TaskError, UnknownName
from errands.machines import Machine, couple, unfold_agenda, unfold_boolean
from errands.tasks.crossing import Crossing, Observation
from errands.tasks.task import Task
from errands.tasks.walker import Position, Walker
from errands.worlds.grid_world import GridEnv
from errands.worlds.picture import grid_drawing, grid_text, pixels
from errands.worlds.saving import Restorable, Saved

Info = dict[str, Any]
Features = Callable[[Any, Any, Any, Info], Set[str]]
"""features(observation, action, next_observation, info); observation and action are None for the initial state."""

MACHINES: Mapping[str, Callable[[Task], Machine]] = {
    "numeric": lambda task: task.machine,
    "boolean": lambda task: unfold_boolean(task.machine),
    "agenda": lambda task: unfold_agenda(task.machine),
    "coupled": lambda task: couple(unfold_agenda(task.machine)),
}


class ProductEnv(gym.Env[Any, Any]):
    """World and machine side by side: the agent observes both, and is paid and stopped by the machine."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        machine: Machine,
        features: Features | None = None,
        *,
        observation: Observation = "auto",
        removed: Iterable[str] = (),
    ) -> None:
        if isinstance(env, gym.vector.VectorEnv):
            raise TaskError(
                f"{type(env).__name__} is {env.num_envs} environments at once, and a product is made of one: make the "
                "product first, then many of it: gymnasium.vector.SyncVectorEnv([lambda: product(env(), machine)] * 8)"
            )
        self.env = env
        self.walker = Walker(machine)
        self.crossing = Crossing(env.observation_space, self.walker.count, self.walker.width, observation)
        self.features = features
        self.removed = frozenset(removed)
        self.observation_space = self.crossing.space
        self.action_space = env.action_space
        self.metadata = dict(env.metadata)
        self.render_mode = env.render_mode
        self.position: Position = self.walker.start
        self.over = True
        self._world: Any = None

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """A new episode; the features of the initial state are reported, the machine does not consume them."""
        super().reset(seed=seed)
        self._world, info = self.env.reset(seed=seed, options=options)
        self.position, self.over = self.walker.start, False
        true = read_features(self.features, None, None, self._world, info)
        return self._joined(), self._report(info, true, _signals(info, 0.0), False)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """One step of the world and one of the machine; the world's own end ends the episode too."""
        if self.over:
            raise gym.error.ResetNeeded("the episode has not begun or has ended; call reset() before step()")
        before, (self._world, base, ended, truncated, info) = self._world, self.env.step(action)
        true = self._present(read_features(self.features, before, action, self._world, info))
        signals = _signals(info, float(base))
        was = self.walker.index(self.position)
        self.position, reward, terminal, success = self.walker.step(self.position, true, signals)
        self.over = bool(terminal or ended)
        info = self._report(info, true, signals, success) | {
            "machine_state_before": was,
            "world_terminated": bool(ended),
        }
        return self._joined(), float(reward), self.over, bool(truncated), info

    def _present(self, true: set[str]) -> set[str]:
        """The features less those of removed subtasks that the machine has completed."""
        return true - self._gone() if self.removed else true

    def _gone(self) -> frozenset[str]:
        return self.removed - set(self.walker.remaining(self.position))

    def _joined(self) -> Any:
        return self.crossing.join(self._world, self.walker.index(self.position), self.walker.code(self.position))

    def _report(self, info: Info, true: set[str], signals: Mapping[str, float], success: bool) -> Info:
        return {
            **info,
            "features": true,
            "signals": dict(signals),
            "machine_state": self.walker.index(self.position),
            "label": self.walker.label(self.position),
            "remaining": self.walker.remaining(self.position),
            "success": success,
        }

    def render(self) -> Any:
        """The world's own picture; on grids without what the machine has completed and the task removes."""
        inner = self.env.unwrapped
        if self.removed and isinstance(inner, GridEnv):
            gone = inner.hidden() | self._gone()
            if self.render_mode == "ansi":
                return grid_text(inner.layout, inner.cell, gone)
            if self.render_mode == "rgb_array":
                return pixels(grid_drawing(inner.layout, inner.cell, hidden=gone))
        return self.env.render()

    def close(self) -> None:
        """Close the world."""
        self.env.close()

    def save(self) -> Saved:
        """The full state of world and machine as plain data, where the world can save its own."""
        index = self.walker.index(self.position)
        return {"world": _restorable(self.env).save(), "machine": index, "observation": self._world, "over": self.over}

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state."""
        _restorable(self.env).restore(saved["world"])
        self.position = self.walker.position(saved["machine"])
        self._world, self.over = saved["observation"], saved["over"]


def product(
    env: gym.Env[Any, Any],
    machine: Machine,
    features: Features | None = None,
    *,
    observation: Observation = "auto",
    removed: Iterable[str] = (),
) -> ProductEnv:
    """Any Gymnasium environment crossed with a machine; without a function the world's own info["features"] is read.

    Parameters:
        env: one environment, not a vector of them.
        machine: any of the four machines.
        features: a function (observation, action, next_observation, info) that returns a set of names.
        observation: how world and machine are joined: a number, a vector or a dictionary; `auto` takes what fits.
        removed: subtasks whose feature is gone once they are completed.

    >>> import errands, gymnasium
    >>> def features(observation, action, next_observation, info):
    ...     return {"goal"} if next_observation == 15 else set()
    >>> env = product(gymnasium.make("FrozenLake-v1", is_slippery=False), errands.sequence("goal"), features)
    >>> env.reset(seed=0)[1]["label"]
    '0{}goal'
    """
    return ProductEnv(env, machine, features, observation=observation, removed=removed)


def task_env(task: Task, machine: str = "agenda", render_mode: str | None = None) -> ProductEnv:
    """The product environment of a task, its machine numeric, boolean, agenda or coupled."""
    if machine not in MACHINES:
        raise UnknownName("machine", machine, MACHINES)
    return ProductEnv(task.world.env(render_mode), MACHINES[machine](task), removed=task.removed)


def registered_task(
    task: str, machine: str = "agenda", map_seed: int = 0, render_mode: str | None = None
) -> gym.Env[Any, Any]:
    """The entry point of ids such as `errands/office-6`: the product of a catalogue task."""
    from errands.tasks.catalogue import load

    return load(task, map_seed).env(machine, render_mode)


def read_features(features: Features | None, observation: Any, action: Any, following: Any, info: Info) -> set[str]:
    """The features of a step, from the function or from the world; an error where they are no set of names."""
    if features is None:
        if "features" not in info:
            raise TaskError('the environment reports no info["features"]; pass features=function to the product')
        true, origin = info["features"], 'info["features"]'
    else:
        true, origin = features(observation, action, following, info), "the features function's result"
    if not isinstance(true, Set) or not all(isinstance(name, str) for name in true):
        raise TaskError(
            f"{origin} is {str(true)[:60]!r} ({type(true).__name__}); it must be a set of names, such as {{'goal'}}"
        )
    return set(true)


def _signals(info: Info, reward: float) -> dict[str, float]:
    return {"reward": reward, **info.get("signals", {})}


def _restorable(env: gym.Env[Any, Any]) -> Restorable:
    for layer in (env, env.unwrapped):
        if isinstance(layer, Restorable):
            return layer
    raise TaskError(f"{env} cannot save its state; give it save() and restore(saved), as errands' own worlds have")
