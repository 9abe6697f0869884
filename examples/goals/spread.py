"""simple_spread of mpe2 as one environment: two agents, and two landmarks that lie elsewhere in every episode."""

import numpy as np
from mpe2 import simple_spread_v3

import errands


def make():
    """Both agents, whose actions are taken at once."""
    return errands.joint(simple_spread_v3.parallel_env(N=2, max_cycles=100))()


def features(before, action, after, info):
    """The landmarks that an agent is within 0.2 of; entries 4 to 7 are the ways to them."""
    ways = [seen[4:8].reshape(2, 2) for seen in after.values()]
    return {f"landmark_{k + 1}" for k in range(2) if any(np.hypot(*way[k]) < 0.2 for way in ways)}
