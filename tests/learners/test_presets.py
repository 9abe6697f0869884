"""Presets of tabular learners: `paper` prints alpha 1e-5 and 0.005, `tuned` knows the worlds."""

from __future__ import annotations

import pytest

from errands.errors import TaskError, UnknownName
from errands.learners import LEARNERS, make_learner
from errands.learners.presets import PRESETS, config_of
from errands.learners.tabular.hrm import HRMConfig
from errands.learners.tabular.qcorm import QCoRMConfig
from errands.learners.tabular.qrm import QRMConfig
from errands.tasks import Task, load

FIGURE = load("figure-1")
SLIP = Task.from_toml(FIGURE.text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.1'))


def test_the_paper_prints_its_rates() -> None:
    for name in ("qrm", "crm"):
        assert config_of(name, "paper", FIGURE) == QRMConfig(alpha=1e-5)
    assert config_of("hrm", "paper", FIGURE) == HRMConfig(alpha=1e-5, alpha_controller=1e-5)
    assert config_of("qcorm", "paper", FIGURE) == QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005)
    assert config_of("qcorm-0", "paper", FIGURE) == QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005, joint=False)


def test_tuned_learns_at_once_where_moves_are_certain_and_slowly_where_they_slip() -> None:
    certain, random = (config_of("crm", "tuned", task) for task in (FIGURE, SLIP))
    assert isinstance(certain, QRMConfig)
    assert isinstance(random, QRMConfig)
    assert (certain.alpha, random.alpha) == (1.0, 0.1)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_can_be_made_with_every_preset(learner: str, preset: str) -> None:
    made = make_learner(FIGURE, learner, 0, preset=preset)
    assert made.config == config_of(learner, preset, FIGURE)


def test_what_is_not_known_or_does_not_fit_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'paper'"):
        config_of("crm", "papers", FIGURE)
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        config_of("qcom", "tuned", FIGURE)
    with pytest.raises(TaskError, match="learner 'scout' cannot be run on the continuous world of 'water-2'"):
        config_of("scout", "tuned", load("water-2"))
