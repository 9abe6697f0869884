"""The compiled learners equal their plain-Python twins, which were written from the paper and not from the kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from plain import PlainCRM, PlainQCoRM

from errands.learners.qcorm.settings import QCoRMConfig
from errands.learners.qcorm.tabular import QCoRM
from errands.learners.qrm.settings import QRMConfig
from errands.learners.qrm.tabular import CRM
from errands.tasks import load


@pytest.mark.parametrize("name", ["figure-1", "delivery-3"])
@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_crm_equals_its_twin(name: str, alpha: float) -> None:
    task = load(name)
    compiled = CRM(task, QRMConfig(alpha=alpha, epsilon=0.2, q_init=1.0), 7)
    plain = PlainCRM(task, 7, alpha, 0.9, 0.2, 1.0)
    compiled.advance(4_000)
    plain.train(4_000)
    assert np.array_equal(compiled.q.transpose(2, 0, 1)[: len(plain.q)], np.array(plain.q))


@pytest.mark.parametrize("name", ["delivery-3", "visit-4", "office-2", "corridor"])
@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_crm_leaves_out_only_steps_that_change_nothing(name: str, alpha: float) -> None:
    quick, thorough = (CRM(load(name), QRMConfig(alpha=alpha, epsilon=0.3, q_init=1.0), 7) for _ in range(2))
    thorough.settled = thorough.settled._replace(certain=False)
    quick.advance(300_000)
    thorough.advance(300_000)
    assert (quick.settled.at >= 0).any()
    assert np.array_equal(quick.q, thorough.q)
    assert np.array_equal(quick.position, thorough.position)


@pytest.mark.parametrize("name", ["figure-1", "delivery-3", "visit-4"])
@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_qcorm_equals_its_twin(name: str, alpha: float) -> None:
    task = load(name)
    compiled = QCoRM(task, QCoRMConfig(joint=False, alpha=alpha, q_init=1.0), 7)
    plain = PlainQCoRM(task, 7, alpha, 0.9, 0.1, 1.0, 0.05)
    compiled.advance(20_000)
    plain.train(20_000)
    assert compiled.objectives == plain.names
    assert np.array_equal(compiled.values.q.transpose(2, 0, 1), np.array([plain.q[k] for k in plain.names]))
    assert compiled.known() == {(*state, k): eta for (state, k), eta in plain.eta.items()}
