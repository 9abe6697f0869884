"""Presets: `tuned` works, `paper` has the numbers that the paper prints (Section 5, Parameters)."""

from __future__ import annotations

from errands.errors import UnknownName
from errands.learners import home_of, is_finite
from errands.learners.base import LearnerConfig
from errands.tasks.task import Task

PRESETS = ("tuned", "paper")


def config_of(learner: str, preset: str, task: Task) -> LearnerConfig:
    """The settings of a learner under a preset; `tuned` knows the worlds of the catalogue."""
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    home_of(task, learner)
    if learner == "dirl" and not is_finite(task):
        from errands.learners.dirl.deep_config import deep_dirl_preset

        return deep_dirl_preset(preset, task)
    if not is_finite(task):
        from errands.learners.deep.presets import deep_preset

        return deep_preset(learner, preset, task)
    if learner == "scout":
        from errands.learners.scout import ScoutConfig

        return ScoutConfig()
    if learner == "qcorm-plus":
        from errands.learners.tabular.qcorm_plus import QCoRMPlusConfig

        return QCoRMPlusConfig()
    if learner == "dirl":
        from errands.learners.dirl import DiRLConfig

        if preset == "paper":
            return DiRLConfig(alpha=1e-5, q_init=0.0, rollouts=300, training_share=0.38)
        return DiRLConfig(alpha=1.0 if _certain(task) else 0.1)
    return _paper(learner) if preset == "paper" else _tuned(learner, task)


def _paper(learner: str) -> LearnerConfig:
    from errands.learners.tabular.hrm import HRMConfig
    from errands.learners.tabular.qcorm import QCoRMConfig
    from errands.learners.tabular.qrm import QRMConfig

    if learner in ("qcorm", "qcorm-0"):
        return QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005, joint=learner == "qcorm")
    if learner == "hrm":
        return HRMConfig(alpha=1e-5, alpha_controller=1e-5)
    return QRMConfig(alpha=1e-5)


def _tuned(learner: str, task: Task) -> LearnerConfig:
    from errands.learners.tabular.hrm import HRMConfig
    from errands.learners.tabular.qcorm import QCoRMConfig
    from errands.learners.tabular.qrm import QRMConfig

    office = task.world.kind == "office"
    alpha = 1.0 if _certain(task) else 0.1
    if learner == "qcorm":
        return QCoRMConfig(epsilon=0.3 if office else 0.1)
    if learner == "qcorm-0":
        return QCoRMConfig(joint=False, alpha=alpha, q_init=1.0, alpha_eta=0.2 if office else 0.05)
    if learner == "hrm":
        return HRMConfig(alpha=alpha / 2, alpha_controller=alpha / 2)
    if learner == "qrm" and task.world.kind == "visit":
        return QRMConfig(alpha=alpha, epsilon=0.3)
    return QRMConfig(alpha=alpha, q_init=1.0)


def _certain(task: Task) -> bool:
    return task.finite is None or task.finite.certain
