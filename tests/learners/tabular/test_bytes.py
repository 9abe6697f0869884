"""Everything comes from one seed: in pieces or at once, resumed or not, compiled or not, the bytes are the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from errands.learners import make_learner
from errands.learners.base import Learner
from errands.tasks import Task, load

CASES = [
    ("qrm", "agenda"), ("qrm", "boolean"), ("crm", "agenda"), ("crm", "boolean"),
    ("hrm", "agenda"), ("hrm", "boolean"), ("qcorm", None), ("qcorm-0", None),
]  # fmt: skip


def digest(learner: Learner) -> str:
    """A hash of everything that a learner would save."""
    found = hashlib.sha256()
    for name, array in sorted(learner.save().items()):
        found.update(name.encode() + str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def slippery() -> Task:
    return Task.from_toml(load("figure-1").to_toml().replace("[world]", "[world]\nslip = 0.2"))


@pytest.mark.parametrize(("name", "machine"), CASES)
def test_the_same_seed_gives_the_same_bytes_however_it_is_cut(name: str, machine: str | None) -> None:
    whole, cut, other = (make_learner(slippery(), name, seed, machine) for seed in (3, 3, 4))
    whole.advance(3_000)
    for piece in (1, 7, 992, 2_000):
        cut.advance(piece)
    other.advance(3_000)
    assert digest(whole) == digest(cut)
    assert digest(whole) != digest(other)


@pytest.mark.parametrize(("name", "machine"), CASES)
def test_a_resumed_run_equals_one_that_was_never_interrupted(name: str, machine: str | None) -> None:
    whole, first = (make_learner(slippery(), name, 5, machine) for _ in range(2))
    expected = list(whole.train(4_000))
    seen = []
    for evaluation in first.train(4_000):
        seen.append(evaluation)
        if evaluation.step == 2_000:
            break
    second = make_learner(slippery(), name, 5, machine)
    second.restore(first.save())
    seen += second.train(4_000)
    assert seen == expected
    assert digest(second) == digest(whole)
    assert second.order == whole.order


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm", "qcorm-0"])
def test_evaluations_do_not_touch_training(name: str) -> None:
    judged, plain = (make_learner(slippery(), name, 0) for _ in range(2))
    for _ in range(10):
        judged.advance(100)
        judged.evaluate()
    plain.advance(1_000)
    assert digest(judged) == digest(plain)


def test_compiled_and_plain_python_give_the_same_bytes() -> None:
    """The same script with NUMBA_DISABLE_JIT off and on."""
    script = (
        "import hashlib, numpy as np\n"
        "from errands.learners import make_learner\n"
        "from errands.tasks import Task, load\n"
        "task = Task.from_toml(load('figure-1').to_toml().replace('[world]', '[world]\\nslip = 0.2'))\n"
        "for name, machine in [('qrm', 'boolean'), ('crm', 'agenda'), ('hrm', 'agenda'), ('qcorm', None), ('qcorm-0', None)]:\n"
        "    learner = make_learner(task, name, 2, machine)\n"
        "    found = hashlib.sha256()\n"
        "    found.update(repr(list(learner.train(2000))).encode())\n"
        "    for key, array in sorted(learner.save().items()):\n"
        "        found.update(key.encode() + np.ascontiguousarray(array).tobytes())\n"
        "    print(name, found.hexdigest())\n"
    )
    said = []
    for disable in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": disable},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout)
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 5
