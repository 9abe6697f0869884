"""Product observations: joined and taken apart again, for every kind of space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import TaskError, UnknownName
from errands.tasks.crossing import Crossing

VECTOR = gym.spaces.Box(-1.0, 2.0, (3,), np.float32)
IMAGE = gym.spaces.Box(0, 255, (4, 4, 3), np.uint8)


def test_two_numbers_become_one_and_every_pair_another() -> None:
    crossing = Crossing(gym.spaces.Discrete(5, start=2), 3, 3)
    assert crossing.space == gym.spaces.Discrete(15)
    seen = {crossing.join(s, u, np.zeros(3, np.int8)): s for s in range(2, 7) for u in range(3)}
    assert sorted(seen) == list(range(15))
    assert all(crossing.world_of(joined) == s for joined, s in seen.items())


def test_a_vector_is_followed_by_the_code() -> None:
    crossing = Crossing(VECTOR, 2, 2)
    joined = crossing.join(np.array([0.5, -1.0, 2.0], np.float32), 1, np.array([0, 1], np.int8))
    assert joined.tolist() == [0.5, -1.0, 2.0, 0.0, 1.0]
    assert joined in crossing.space
    assert crossing.world_of(joined).tolist() == [0.5, -1.0, 2.0]
    assert crossing.space.low.tolist() == [-1, -1, -1, 0, 0]  # type: ignore[attr-defined]
    assert crossing.space.high.tolist() == [2, 2, 2, 1, 1]  # type: ignore[attr-defined]


def test_double_precision_is_kept() -> None:
    assert Crossing(gym.spaces.Box(-1.0, 1.0, (1,), np.float64), 2, 2).space.dtype == np.float64
    assert Crossing(VECTOR, 2, 2).space.dtype == np.float32


@pytest.mark.parametrize(("count", "machine"), [(4, gym.spaces.Discrete(4)), (None, gym.spaces.MultiBinary(7))])
def test_an_image_keeps_its_shape_beside_the_machine(count: int | None, machine: gym.Space[Any]) -> None:
    crossing = Crossing(IMAGE, count, 7)
    assert crossing.space["machine"] == machine  # type: ignore[index]
    picture, code = np.zeros((4, 4, 3), np.uint8), np.ones(7, np.int8)
    joined = crossing.join(picture, 3, code)
    assert joined in crossing.space
    assert crossing.world_of(joined) is picture


def test_a_machine_without_numbers_is_not_joined_to_a_number() -> None:
    assert Crossing(gym.spaces.Discrete(5), None, 7).kind == "dict"
    with pytest.raises(TaskError, match="the machine's states are too many to be numbered; use observation='dict'"):
        Crossing(gym.spaces.Discrete(5), None, 7, "index")
    with pytest.raises(TaskError, match="observation='index' joins two numbers, but the world's is Box"):
        Crossing(VECTOR, 3, 3, "index")


def test_a_number_is_flattened_to_its_one_hot_when_asked() -> None:
    crossing = Crossing(gym.spaces.Discrete(3), 2, 2, "flat")
    joined = crossing.join(1, 0, np.array([1, 0], np.int8))
    assert joined.tolist() == [0, 1, 0, 1, 0]
    assert crossing.world_of(joined) == 1


def test_what_cannot_be_flattened_or_is_no_kind_is_refused() -> None:
    with pytest.raises(TaskError, match="observation='flat' cannot flatten"):
        Crossing(gym.spaces.Sequence(gym.spaces.Discrete(2)), 2, 2, "flat")
    with pytest.raises(UnknownName, match="no kind of product observation is called 'flatt'; did you mean 'flat'"):
        Crossing(VECTOR, 2, 2, "flatt")  # type: ignore[arg-type]
