"""Stable-Baselines3's DQN and PPO, as they come, on the product of a world and its machine: methods `sb3-dqn` and `sb3-ppo`.

PYTHONPATH=benchmarks errands reproduce unordered --import unordered_sb3

Importing this registers them, in workers too. A seed that was interrupted goes on with its weights and an empty replay memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback

from errands.learners import register
from errands.learners.base import MAX_COUNT, Learner, LearnerConfig, Saved, State, checked, kept
from errands.learners.method import Form, Method
from errands.machines.stepping import State as MachineState
from errands.oracle.episode import play
from errands.tables import Evaluation
from errands.tasks.product import ProductEnv
from errands.tasks.task import Task
from errands.worlds.base import numbered


@dataclass(frozen=True)
class SB3Config(LearnerConfig):
    """Settings of Stable-Baselines3's learners; all others are theirs."""

    gamma: float = 0.99
    eval_every: int = 4_096
    width: int = 64
    """Units of each of the two hidden layers."""


@dataclass(frozen=True)
class PPOConfig(SB3Config):
    """The same with PPO's rollouts."""

    @property
    def step_multiple(self) -> int:
        """A rollout."""
        return 2_048


class _Whole(BaseCallback):  # type: ignore[misc]
    """Has exploration fall over all steps of a run, not over those to the next evaluation."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def _on_training_start(self) -> None:
        self.model._total_timesteps = self.steps

    def _on_step(self) -> bool:
        return True


@dataclass(frozen=True)
class SB3Policy:
    """Their greedy policy."""

    predict: Any = field(repr=False)
    product: ProductEnv = field(repr=False)

    def act(self, world_state: Any, machine_state: MachineState, memory: Hashable) -> tuple[int, Hashable]:
        """The action for what the product shows."""
        walker, crossing = self.product.walker, self.product.crossing
        seen = crossing.join(world_state, walker.index(machine_state), walker.code(machine_state))
        return int(self.predict(seen, deterministic=True)[0]), None


class SB3(Learner):
    """One seed of one of their learners."""

    kind: Any = DQN

    def __init__(self, task: Task, config: SB3Config, seed: int) -> None:
        super().__init__(task, config, seed)
        torch.set_num_threads(1)
        self.product = ProductEnv(numbered(task.world), task.machine, observation="flat", removed=task.removed)
        net = {"net_arch": [config.width] * 2}
        self.model = self.kind("MlpPolicy", self.product, gamma=config.gamma, seed=seed, device="cpu", policy_kwargs=net)
        self.budget = 0

    def train(self, steps: int) -> Iterator[Evaluation]:
        """As every learner, and with the whole budget known."""
        self.budget = steps
        yield from super().train(steps)

    def advance(self, count: int) -> None:
        """Take so many steps."""
        self.model.num_timesteps = self.step
        self.model.learn(count, callback=_Whole(max(self.budget, self.step + count)), reset_num_timesteps=False)
        self.step += count

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start."""
        length, paid, success = play(self.policy, self.task, 0)
        return Evaluation(self.step, length, paid, success)

    @property
    def policy(self) -> SB3Policy:
        """The greedy policy as it stands."""
        learnt = self.model.policy
        kept_apart = type(learnt)(**learnt._get_constructor_parameters())
        kept_apart.load_state_dict(learnt.state_dict())
        return SB3Policy(kept_apart.predict, self.product)

    def everything(self) -> State:
        """The step and the weights."""
        weights = self.model.policy.state_dict()
        parts = {name: kept(part.numpy(), "weights of Stable-Baselines3") for name, part in weights.items()}
        return {"step": kept(np.array(self.step), "training steps", 0, MAX_COUNT), **parts}

    def restore(self, saved: Saved) -> None:
        """Go on with these weights."""
        checked(saved, self.form())
        self.step = int(saved["step"])
        self.model.policy.load_state_dict({name: torch.as_tensor(saved[name]) for name in saved if name != "step"})


class SB3PPO(SB3):
    """The same with PPO."""

    kind = PPO


for _name, _learner, _config in (("dqn", SB3, SB3Config), ("ppo", SB3PPO, PPOConfig)):
    _form = Form(_learner, _config, networks=True)
    register(Method(f"sb3-{_name}", f"{_name.upper()} of Stable-Baselines3 on the product", tabular=_form, deep=_form))
