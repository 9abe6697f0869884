"""HalfCheetahs of many seeds side by side: the same steps as the environment takes, without its Python per seed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count

import mujoco
import numpy as np
from numpy.typing import NDArray

from errands.learners.deep.machine import Listed
from errands.learners.deep.outside import Heard, Outside
from errands.learners.deep.spaces import finite
from errands.worlds.cheetah import BACKWARD, CONTROL_COST, FORWARD
from errands.worlds.cheetah_env import HalfCheetahEnv


class Robots(Outside):
    """MuJoCo's own step runs outside of Python's lock, so a few threads share the robots."""

    def __init__(self, machine: Listed, seeds: tuple[int, ...]) -> None:
        super().__init__(machine, seeds)
        self.robots = [env for env in self.envs if isinstance(env, HalfCheetahEnv)]
        bounds = dict(BACKWARD) | dict(FORWARD)
        names = machine.task.machine.features
        self.bounds = np.array([bounds[name] for name in names])
        self.signs = np.array([-1.0 if name in dict(BACKWARD) else 1.0 for name in names])
        # More than a few make the robots no faster, and slow down the thread that talks to the GPU.
        self.threads = max(1, min(len(seeds) // 2, (cpu_count() or 1) - 1, 3))
        self.pool = ThreadPoolExecutor(self.threads)
        self.under_way: list[Future[None]] = []
        self.parts = [(robot.data.qpos, robot.data.qvel) for robot in self.robots]
        self.controls = [robot.data.ctrl for robot in self.robots]

    def send(self, actions: NDArray[np.float32]) -> None:
        """Push every robot; the threads run on while the caller does something else."""
        self.sent = np.asarray(self.senses.do(actions), np.float32)
        going = [robot for robot, rests in zip(self.robots, self.resting, strict=True) if not rests]
        for robot, control, push in zip(self.robots, self.controls, self.sent, strict=True):
            control[:] = push
            robot.steps += 1
        self.under_way = [self.pool.submit(_push, going[i :: self.threads]) for i in range(self.threads)]

    def answers(self) -> Heard:
        """Where the robots are after that."""
        for share in self.under_way:
            share.result()
        rows = np.array([np.concatenate(parts) for parts in self.parts])
        rows[:, 0] -= [r.origin for r in self.robots]
        # A label is the bit pattern of the features, in the order in which the machine names them.
        holds = self.signs * (rows[:, :1] - self.bounds) > 0
        label = (holds << np.arange(len(self.bounds))).sum(axis=1).astype(np.int32)
        signals = CONTROL_COST * np.square(self.sent).sum(axis=1, keepdims=True)
        late = np.array([robot.steps >= self.limit for robot in self.robots])
        return Heard(finite(rows), label, np.zeros(len(late), np.bool_), late, signals)


def _push(robots: list[HalfCheetahEnv]) -> None:
    for robot in robots:
        mujoco.mj_step(robot.model, robot.data, nstep=robot.frame_skip)
