"""Ctrl-C at any moment of compiled training: the process lives, and what was saved goes on to the same bytes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import random, signal, sys, threading
from errands.learners import make_learner
from errands.tasks import load

# A shell's background job inherits that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
STEPS, INTERRUPTS = 6_000, 80
task, name = load("delivery-3"), sys.argv[1]

def learner():
    return make_learner(task, name, 3, settings={"eval_every": 20})

whole = learner()
list(whole.train(STEPS))
dice, rest = random.Random(1), threading.Event()
main, taken = threading.main_thread().ident, 0
kept = learner().save()
while taken < INTERRUPTS:
    ours = learner()
    ours.restore(kept)
    timer = threading.Timer(dice.random() * 0.01, lambda: signal.pthread_kill(main, signal.SIGINT))
    try:
        timer.start()
        for _ in ours.train(STEPS):
            kept = ours.save()
        timer.cancel()
        kept = learner().save()
    except KeyboardInterrupt:
        taken += 1
    timer.join()
ours = learner()
ours.restore(kept)
list(ours.train(STEPS))
theirs = whole.save()
assert all(x.tobytes() == theirs[key].tobytes() for key, x in ours.save().items()), "other bytes"
print("taken", taken)
"""


@pytest.mark.parametrize("learner", ["crm", "qcorm"])
def test_interrupts_are_taken_between_two_calls_of_a_kernel(learner: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, learner], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "taken 80\n"), done.stderr[-2000:]
