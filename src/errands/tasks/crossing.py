"""Product observations: how an observation of the world and a number (a machine state, an objective) become one."""

from __future__ import annotations

from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np

from errands.errors import TaskError, UnknownName
from errands.tasks.walker import Code

Observation = Literal["auto", "flat", "dict", "index"]


class Crossing:
    """Joins observations of a space with one of `count` numbers, or with codes of `width` where count is None."""

    def __init__(self, world: gym.Space[Any], count: int | None, width: int, observation: Observation = "auto") -> None:
        if observation not in get_args(Observation):
            raise UnknownName("kind of product observation", str(observation), get_args(Observation))
        self.world = world
        self.count = count
        self.kind = _kind(world, count) if observation == "auto" else observation
        self.space: gym.Space[Any]
        if self.kind == "index":
            if not isinstance(world, gym.spaces.Discrete) or count is None:
                came = f"the world's is {world}" if count else "the machine's states are too many to be numbered"
                raise TaskError(f"observation='index' joins two numbers, but {came}; use observation='dict' or 'flat'")
            self.space = gym.spaces.Discrete(int(world.n) * count)
        elif self.kind == "dict":
            machine = gym.spaces.MultiBinary(width) if count is None else gym.spaces.Discrete(count)
            self.space = gym.spaces.Dict(world=world, machine=machine)
        else:
            self.space = _flat_space(world, width)

    def join(self, observation: Any, index: int, code: Code) -> Any:
        """The product observation."""
        if self.kind == "index":
            return (int(observation) - int(self.world.start)) * int(self.count or 0) + index  # type: ignore[attr-defined]
        if self.kind == "dict":
            return {"world": observation, "machine": code if self.count is None else index}
        flat = np.asarray(gym.spaces.flatten(self.world, observation))
        return np.concatenate([flat, code]).astype(self.space.dtype)

    def world_of(self, joined: Any) -> Any:
        """The world's part of a product observation."""
        if self.kind == "index":
            return int(joined) // int(self.count or 1) + int(self.world.start)  # type: ignore[attr-defined]
        if self.kind == "dict":
            return joined["world"]
        return gym.spaces.unflatten(self.world, joined[: gym.spaces.flatdim(self.world)])


def _kind(world: gym.Space[Any], count: int | None) -> Observation:
    """Flat for vectors, one number for numbers; images and everything else keep their shape in a Dict."""
    if isinstance(world, gym.spaces.Box) and len(world.shape) <= 1:
        return "flat"
    return "index" if isinstance(world, gym.spaces.Discrete) and count is not None else "dict"


def _flat_space(world: gym.Space[Any], width: int) -> gym.spaces.Box:
    flat = gym.spaces.flatten_space(world)
    if not isinstance(flat, gym.spaces.Box):
        raise TaskError(f"observation='flat' cannot flatten {world}, whose size varies; use observation='dict'")
    dtype = np.float64 if flat.dtype == np.float64 else np.float32
    low = np.concatenate([flat.low.astype(dtype), np.zeros(width, dtype)])
    high = np.concatenate([flat.high.astype(dtype), np.ones(width, dtype)])
    return gym.spaces.Box(low, high, dtype=dtype)
