"""States of environments as rows of bytes: recorded, put back, and refused where there is none."""

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners.base import stacked
from errands.learners.dirl.edges import check_restorable, put, recorded
from errands.tasks import load
from errands.tasks.phrases import any_order


def test_an_environment_goes_on_from_where_it_was_taken(corridor):
    env = corridor(any_order("left", "right")).world.env()
    seen, _ = env.reset(seed=3)
    for _ in range(2):
        seen, *_ = env.step(1)
    row = recorded(env, seen)
    ahead = [env.step(a)[0].tolist() for a in (0, 1, 1)]
    env.reset(seed=9)
    assert put(env, row).tolist() == seen.tolist()
    assert [env.step(a)[0].tolist() for a in (0, 1, 1)] == ahead


def test_rows_are_text(corridor):
    env = corridor(any_order("left", "right")).world.env()
    seen, _ = env.reset(seed=0)
    row = recorded(env, seen)
    assert row.dtype == np.uint8
    assert bytes(row).decode().startswith("{")


def test_rows_of_several_lengths_are_one_array():
    rows = stacked([np.frombuffer(b"ab", np.uint8)[None], np.frombuffer(b"c", np.uint8)[None]])
    assert [bytes(row) for row in rows] == [b"ab", b"c "]
    assert stacked([]).shape[0] == 0


def test_arrays_and_numpy_numbers_come_back_as_they_were():
    class Box:
        def save(self):
            return {"x": np.arange(4, dtype=np.int16).reshape(2, 2), "n": np.float64(0.5)}

        def restore(self, saved):
            self.saved = saved

    box = Box()
    put(box, recorded(box, np.zeros(1, np.float32)))
    assert box.saved["x"].dtype == np.int16
    assert box.saved["x"].tolist() == [[0, 1], [2, 3]]
    assert box.saved["n"] == 0.5


def test_what_cannot_be_put_into_a_state_is_refused(corridor):
    check_restorable(corridor(any_order("left", "right")))
    check_restorable(load("water-2"))
    check_restorable(corridor(any_order("left", "right"), shut=True))  # by its seed and actions
    bare = corridor(any_order("left", "right"))
    object.__setattr__(bare, "world", Bare())
    with pytest.raises(TaskError, match="the environment of 'corridor' cannot be put into a state"):
        check_restorable(bare)


class Bare:
    """A world whose environment has neither save nor restore."""

    def env(self):
        return gym.Env()
