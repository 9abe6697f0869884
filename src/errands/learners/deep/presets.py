"""Presets of the deep learners: `paper` has the printed numbers (Section 5, Parameters), `tuned` those that learn."""

from __future__ import annotations

from typing import Any

from errands.errors import UnknownName
from errands.learners import continuous_actions
from errands.learners.deep.config import DeepConfig, DeepQCoRMConfig
from errands.learners.deep.methods import CONFIGS
from errands.tasks.task import Task

PRESETS = ("tuned", "paper")
PLUS_GRID = {"leg": 3.0, "visited": 0.5}
"""QCoRM+ in grids: a move of the machine takes about three steps where there are many places."""
PLUS_WATER = {"leg": 8.0, "late": 1}
"""QCoRM+ in Water, where a ball is about eight steps away."""
TD3_CONTEXTS = 4
"""Agendas drawn per update for TD3, which sends every row through both critics once for each of them."""
FULL = 10.0
"""What the largest constant reward of the machine is scaled to for TD3."""
COST = 0.6
"""The largest control cost of a step of HalfCheetah: 0.1 times six squared actions of size 1."""


def deep_preset(learner: str, preset: str, task: Task) -> DeepConfig:
    """The settings of a deep learner under a preset, for DDQN or, where actions are continuous, for TD3."""
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    if learner not in CONFIGS:
        raise UnknownName("deep learner", learner, CONFIGS)
    values = _td3(learner, preset, task) if continuous_actions(task) else _ddqn(learner, preset, task)
    if learner == "qcorm-0":
        values["joint"] = False
    return CONFIGS[learner](**values)


def _ddqn(learner: str, preset: str, task: Task) -> dict[str, Any]:
    if preset == "paper":
        values: dict[str, Any] = {"alpha": 1e-5, "polyak": 0.1, "epsilon_step": 0.01, "epsilon_per": "episode"}
        if CONFIGS[learner] is DeepQCoRMConfig:
            values |= {"alpha_eta": 0.005, "relabel": False, "ground_replay": "once"}
        return values
    values = {"width": 128, "alpha": 3e-4, "epsilon_step": 1e-4} if task.finite is not None else {}
    if learner == "qcorm-plus":
        values |= PLUS_GRID if task.finite is not None else PLUS_WATER if task.world.kind == "water" else {}
    if learner == "qcorm-0":
        values["dedicated"] = False
    return values


def _td3(learner: str, preset: str, task: Task) -> dict[str, Any]:
    values: dict[str, Any] = {"gamma": 0.99, "alpha": 3e-4, "polyak": 0.005, "batch": 256, "capacity": 1_000_000}
    robot = task.world.kind == "cheetah"
    rewards = [t.reward for t in task.machine.transitions]
    largest = max((abs(reward.value) for reward in rewards if reward.signal is None), default=0.0) or 1.0
    full = largest
    if preset == "tuned":
        values |= {"reward_scale": FULL / largest, "warmup": 10_000 if robot else 1_000}
        full = FULL
    if learner in ("qcorm", "qcorm-0", "hrm"):
        values["full_reward"] = full
    if learner in ("qcorm", "qcorm-0"):
        values["ground_batch"] = 32
        if robot:
            values["min_step_reward"] = -COST * full / largest
        if preset == "paper":
            values |= {"alpha_eta": 0.005, "relabel": False, "ground_replay": "once"}
    if learner == "qcorm" and preset == "tuned":
        values["floor"] = 0.0
    if learner == "qcorm-0" and preset == "tuned":
        values["dedicated"] = False
    if learner == "qcorm-plus":
        values["contexts"] = TD3_CONTEXTS
    return values
