"""A PettingZoo ParallelEnv as one Gymnasium environment: whoever acts decides for all agents at once."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np

from errands.errors import TaskError

MAX_CHOICES = 4096
"""Joint actions that a network tells apart."""
_WANTED = "joint was given a {}; give a ParallelEnv of PettingZoo, or a function that makes one"


class JointEnv(gym.Env[dict[str, Any], Any]):
    """Observations by agent as a Dict; the actions of all agents as one MultiDiscrete, or one Box.

    The reward is the agents' sum, `info` has their own infos by name. It ends when no agent is left.
    """

    def __init__(self, source: Any) -> None:
        self.source = source() if callable(source) else source
        agents = getattr(self.source, "possible_agents", None)
        if not agents or not hasattr(self.source, "observation_space"):
            raise TaskError(_WANTED.format(type(self.source).__name__))
        self.names: list[str] = list(agents)
        self.observation_space = gym.spaces.Dict({name: self.source.observation_space(name) for name in self.names})
        self.parts = [self.source.action_space(name) for name in self.names]
        self.action_space = _together(self.parts)
        self.metadata = {"render_modes": list(getattr(self.source, "metadata", {}).get("render_modes", []))}
        self.render_mode = getattr(self.source, "render_mode", None)
        self.seen: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode of all agents."""
        super().reset(seed=seed)
        seen, infos = self.source.reset(seed=seed, options=options)
        self.seen = {name: seen[name] for name in self.names}
        return dict(self.seen), {name: dict(info) for name, info in infos.items()}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """One step of all agents that are left; of one that has ended the last observation stays."""
        left, chosen = set(self.source.agents), dict(zip(self.names, self._divided(action), strict=True))
        seen, rewards, ended, _, infos = self.source.step({name: act for name, act in chosen.items() if name in left})
        self.seen |= {name: seen[name] for name in self.names if name in seen}
        over = not self.source.agents
        terminated = over and all(ended.values())
        told = {name: dict(info) for name, info in infos.items()}  # some hand out the same one at every step
        return dict(self.seen), float(sum(rewards.values())), terminated, over and not terminated, told

    def _divided(self, action: Any) -> list[Any]:
        if isinstance(self.action_space, gym.spaces.MultiDiscrete):
            return [int(choice) + int(part.start) for choice, part in zip(np.ravel(action), self.parts, strict=True)]
        ends = np.cumsum([int(np.prod(part.shape)) for part in self.parts])[:-1]
        rows = np.split(np.ravel(action), ends)
        return [row.reshape(part.shape).astype(part.dtype) for row, part in zip(rows, self.parts, strict=True)]

    def render(self) -> Any:
        """The environment's own picture."""
        return self.source.render()

    def close(self) -> None:
        """Close it."""
        self.source.close()


def _together(parts: list[Any]) -> gym.spaces.Space[Any]:
    spaces = gym.spaces
    if all(isinstance(part, spaces.Discrete) for part in parts):
        if np.prod([float(part.n) for part in parts]) > MAX_CHOICES:
            raise TaskError(f"the agents have more than {MAX_CHOICES:,} joint actions; let fewer agents act")
        return spaces.MultiDiscrete([int(part.n) for part in parts])
    if all(isinstance(part, spaces.Box) for part in parts):
        low, high = (np.concatenate([np.ravel(getattr(part, end)) for part in parts]) for end in ("low", "high"))
        return spaces.Box(low.astype(np.float32), high.astype(np.float32))
    raise TaskError("the agents' actions are neither all Discrete nor all Box; wrap the environment so that they are")


def joint(env: Any) -> Callable[[], JointEnv]:
    """A PettingZoo `ParallelEnv` (or a function that makes one) as what `Task.from_env` and `train` take for an environment.

    Observations are a Dict by agent, actions those of all agents at once, rewards are summed up.

    Parameters:
        env: the environment, or a function of no arguments that makes it (needed where several are stepped at once).

    >>> import errands
    >>> make = errands.joint("no environment")
    Traceback (most recent call last):
    errands.errors.TaskError: joint was given a str; give a ParallelEnv of PettingZoo, or a function that makes one
    """
    if not callable(env) and not hasattr(env, "possible_agents"):
        raise TaskError(_WANTED.format(type(env).__name__))

    return lambda: JointEnv(env if callable(env) else deepcopy(env))
