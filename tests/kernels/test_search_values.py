"""Sure success as a set, and the same bits with and without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from errands.kernels.search import surely
from errands.oracle.product import product
from errands.tasks import Task

LAVA = """name = "lava"
[world]
kind = "grid"
rows = ["A.g", "XXX", "..."]
legend = { g = "g", X = "X" }
slip = 0.2
[machine]
phrase = "avoid(X, g)"
"""


def test_success_is_sure_above_the_lava_and_impossible_below():
    crossed = product(Task.from_toml(LAVA))
    safe = surely(crossed.world.table, crossed.chance, crossed.following)
    assert np.flatnonzero(safe[:3]).tolist() == [0, 1, 2]
    assert not safe[6:].any()


PRINT = """
import sys
from errands.oracle.product import product
from errands.oracle.optimum import best_return, least_steps
from errands.tasks import Task
crossed = product(Task.from_toml(sys.stdin.read()))
print(least_steps(crossed)[0].tobytes().hex(), best_return(crossed, 0.9).tobytes().hex())
"""


def test_values_are_bit_identical_without_the_compiler():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PRINT],
            input=LAVA,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
        ).stdout
        for disabled in ("0", "1")
    ]
    assert len(outputs[0]) > 100
    assert outputs[0] == outputs[1]
