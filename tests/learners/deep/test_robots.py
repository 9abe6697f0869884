import numpy as np

from errands.learners.deep.machine import listed
from errands.learners.deep.outside import Outside
from errands.learners.deep.robots import Robots
from errands.tasks import load


def test_robots_side_by_side_do_what_the_environment_does():
    machine = listed(load("cheetah-bcde"))
    alone, together = Outside(machine, (0, 1)), Robots(machine, (0, 1))
    assert (alone.reset() == together.reset()).all()
    rng, steady = np.random.default_rng(0), np.random.default_rng(1).uniform(-1, 1, (2, 6))
    for _ in range(1_010):  # past the end of an episode
        actions = np.clip(steady + rng.normal(size=(2, 6)) / 2, -1, 1).astype(np.float32)
        one, other = alone.step(actions), together.step(actions)
        for name in one._fields:
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-7)
    assert together.time.tolist() == [10, 10]
