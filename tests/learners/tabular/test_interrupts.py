"""Ctrl-C at any moment of compiled training: the process lives, and what was saved goes on to the same bytes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import random, signal, sys, threading, time
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
dice, taken, main = random.Random(1), 0, threading.main_thread().ident
kept = learner().save()

def interrupt(seconds):
    time.sleep(seconds)
    signal.pthread_kill(main, signal.SIGINT)

while taken < INTERRUPTS:
    ours, ended = learner(), False
    ours.restore(kept)
    sender = threading.Thread(target=interrupt, args=[dice.random() * 0.01])
    try:
        sender.start()
        for _ in ours.train(STEPS):
            kept = ours.save()
        ended = True
        sender.join()  # its signal is still on its way: it must come here, and not after
    except KeyboardInterrupt:
        taken += not ended
    sender.join()
    if ended:
        kept = learner().save()
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
