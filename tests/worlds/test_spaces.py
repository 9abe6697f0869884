"""Spaces as learners see and drive them: rows counted on the fingers, actions that the space itself contains."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from errands.errors import TaskError
from errands.worlds.spaces import MAX_CHOICES, action_decoder, observation_encoder

BOX = spaces.Box(-1, 1, (2, 2), np.float32)


def test_numbers_become_a_single_one_each_and_arrays_go_row_by_row():
    assert observation_encoder(spaces.Discrete(4, start=10)).read(12).tolist() == [0, 0, 1, 0]
    several = observation_encoder(spaces.MultiDiscrete([2, 3], start=[0, 5]))
    assert several.read(np.array([1, 7])).tolist() == [0, 1, 0, 0, 1]
    assert observation_encoder(spaces.MultiBinary(3)).read(np.array([1, 0, 1])).tolist() == [1, 0, 1]
    assert observation_encoder(BOX).read([[0.5, 0], [0, -1]]).tolist() == [0.5, 0, 0, -1]


def test_a_dict_and_a_tuple_are_read_part_by_part_in_the_order_of_the_space():
    space = spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple([spaces.MultiBinary(1), BOX])})
    assert list(space.spaces) == ["a", "b"], "gymnasium orders the keys of a plain dict"
    seen = {"b": 1, "a": (np.array([1]), np.full((2, 2), 0.5))}
    sight = observation_encoder(space)
    assert sight.size == 7
    assert sight.read(seen).tolist() == [1, 0.5, 0.5, 0.5, 0.5, 0, 1]


def test_a_picture_knows_its_shape_and_bytes_become_shares():
    sight = observation_encoder(spaces.Box(0, 255, (2, 1, 3), np.uint8))
    assert (sight.size, sight.image) == (6, (2, 1, 3))
    assert sight.read(np.full((2, 1, 3), 255, np.uint8)).tolist() == [1.0] * 6
    assert observation_encoder(BOX).image is None


@pytest.mark.parametrize(
    ("space", "count"),
    [
        (spaces.Discrete(3, start=-1), 3),
        (spaces.MultiDiscrete([2, 3]), 6),
        (spaces.MultiDiscrete([2, 2], start=[4, 5]), 4),
        (spaces.MultiBinary(3), 8),
    ],
)
def test_every_choice_is_another_action_of_the_space(space: gym.Space, count: int):
    drive = action_decoder(space)
    assert (drive.count, drive.continuous) == (count, False)
    made = [drive.make(np.float32(number)) for number in range(count)]
    assert all(space.contains(action) for action in made)
    assert len({str(action) for action in made}) == count


def test_numbers_between_minus_one_and_one_are_stretched_to_a_box_of_any_shape():
    space = spaces.Box(np.array([[0, -4]], np.float32), np.array([[1, 4]], np.float32))
    drive = action_decoder(space)
    assert (drive.count, drive.continuous) == (2, True)
    assert drive.make(np.array([-1.0, 0.5], np.float32)).tolist() == [[0.0, 2.0]]
    several = drive.make(np.array([[-1.0, 0.5], [1.0, 1.0]], np.float32))
    assert several.tolist() == [[[0.0, 2.0]], [[1.0, 4.0]]]


@pytest.mark.parametrize("space", [spaces.Text(5), spaces.Sequence(BOX), spaces.Dict({"a": spaces.Text(2)})])
def test_observations_that_cannot_be_seen_are_told(space: gym.Space):
    with pytest.raises(TaskError, match="a deep learner sees Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple"):
        observation_encoder(space)


def test_actions_that_cannot_be_driven_are_told():
    with pytest.raises(TaskError, match=r"drives Discrete, MultiDiscrete and MultiBinary ones \(DDQN\) or a bounded Box"):
        action_decoder(spaces.Box(-np.inf, np.inf, (2,)))
    with pytest.raises(TaskError, match=f"8,192 combinations; a deep learner drives {MAX_CHOICES:,} at most"):
        action_decoder(spaces.MultiBinary(13))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_observation_that_is_not_a_number_is_told(bad: float):
    with pytest.raises(TaskError, match="entry 1 of an observation is not a finite number"):
        observation_encoder(spaces.Box(-1, 1, (3,))).read([0.0, bad, 1.0])
