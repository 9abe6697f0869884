"""The shell of grid worlds: side by side with the table, truncation, pictures, save and restore."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from errands.errors import SpecError
from errands.worlds import GridWorld, World

DRAWN = GridWorld(["g..#s", ".##..", "A..ws"], {"g": "goal", "s": "shop", "w": "well"}, slip=0.3, limit=500)


def test_the_table_and_the_shell_agree_over_100_000_slipping_steps(walk: Callable[..., dict[str, int]]) -> None:
    seen = walk(DRAWN.env(), DRAWN.finite(), int, draws=False)
    assert seen["episodes"] == 201
    assert seen["labels"] > 1000


def test_the_initial_state_is_labelled() -> None:
    at_home = GridWorld(["A"], {}).env()
    assert at_home.reset(seed=0)[1] == {"features": set(), "signals": {}}


def test_truncation_at_the_limit_is_not_termination() -> None:
    env = GridWorld(["A."], {}, limit=3).env()
    env.reset(seed=0)
    assert [env.step(1)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_returned_features_belong_to_the_caller() -> None:
    env = GridWorld(["Ag"], {"g": "goal"}).env()
    env.reset(seed=0)
    env.step(1)[4]["features"].clear()
    assert env.step(1)[4]["features"] == {"goal"}


def test_actions_are_up_right_down_left() -> None:
    env = GridWorld(["...", ".A.", "..."], {}).env()
    ends = []
    for action in range(4):
        env.reset(seed=0)
        ends.append(env.step(action)[0])
    assert ends == [1, 5, 7, 3]


def test_pictures_show_the_agent_move() -> None:
    text = GridWorld(["Ag"], {"g": "goal"}).env("ansi")
    text.reset(seed=0)
    assert text.render() == "+---------+\n|@    goal|\n+---------+\n"
    env = GridWorld(["A.."], {}).env("rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(1)
    after = env.render()
    assert isinstance(before, np.ndarray)
    assert (before.shape, before.dtype) == ((60, 140, 3), np.uint8)
    assert tuple(before[30, 30]) == tuple(after[30, 70]) == (192, 57, 43)
    assert tuple(after[30, 30]) == (255, 255, 255)


def test_restoring_reproduces_the_future_also_in_another_environment() -> None:
    env, twin = DRAWN.env(), DRAWN.env()
    env.reset(seed=3)
    actions = np.random.default_rng(0).integers(4, size=700).tolist()
    for action in actions[:300]:
        env.step(action)
    saved = env.save()  # type: ignore[attr-defined]
    future = [env.step(action)[:4] for action in actions[300:]]
    twin.restore(saved)  # type: ignore[attr-defined]
    assert [twin.step(action)[:4] for action in actions[300:]] == future


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_slips(seed: int) -> None:
    runs = []
    for _ in range(2):
        env = DRAWN.env()
        env.reset(seed=seed)
        runs.append([env.step(i % 4)[0] for i in range(200)])
    assert runs[0] == runs[1]


FIGURE_1 = GridWorld(["1s.", "..A", "...", "2.."], {"1": "b1", "2": "b2", "s": "s"})


def test_figure_1_is_read_from_the_top_row() -> None:
    layout = FIGURE_1.layout
    assert (layout.width, layout.height, layout.start) == (3, 4, 5)
    assert dict(layout.places) == {"b1": 0, "b2": 9, "s": 1}
    assert FIGURE_1.features == ("b1", "b2", "s")
    assert isinstance(FIGURE_1, World)
    assert hash(FIGURE_1) == hash(GridWorld(FIGURE_1.rows, FIGURE_1.legend))


def test_two_letters_may_mean_one_feature_and_one_letter_may_stand_twice() -> None:
    world = GridWorld(["xAy", "x.."], {"x": "goal", "y": "goal"})
    assert world.features == ("goal",)
    assert sorted(cell for _, cell in world.layout.places) == [0, 2, 3]


@pytest.mark.parametrize(
    ("rows", "legend", "sentence"),
    [
        (["A..", ".."], {}, "row 2 of the grid, '..', has 2 letters and the first has 3; make all rows equally long"),
        (["..."], {}, "the grid has no start; write one 'A' where the agent begins"),
        (["A.A"], {}, "the grid has 2 starts; write exactly one 'A'"),
        (["A.x"], {}, "the letter 'x' in the rows is not in the legend; add it there or use '.'"),
        (["A.."], {"x": "goal"}, "the legend entry x = 'goal' is never used in the rows; draw it or remove it"),
        (["A.x"], {"x": "goal", "yy": "b"}, "the legend key 'yy' has 2 characters; a key is exactly one"),
        (["A#."], {"#": "goal"}, "the legend key '#' is reserved for a wall; use another letter for 'goal'"),
        (["A#."], {"A": "goal"}, "the legend key 'A' is reserved for the start; use another letter for 'goal'"),
        (["A#."], {".": "goal"}, "the legend key '.' is reserved for a free cell; use another letter for 'goal'"),
        ([], {}, "a grid needs at least one row with at least one letter"),
    ],
)
def test_each_fault_of_a_drawing_is_one_sentence(rows: list[str], legend: dict[str, str], sentence: str) -> None:
    with pytest.raises(SpecError) as caught:
        GridWorld(rows, legend)
    assert caught.value.problems == (sentence,)


def test_all_faults_of_a_drawing_are_reported_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        GridWorld(["A..", ".x"], {"y": "goal"})
    assert len(caught.value.problems) == 3


def test_slip_and_limit_are_checked() -> None:
    with pytest.raises(SpecError, match="slip is 1"):
        GridWorld(["A"], {}, slip=1.0)
    with pytest.raises(SpecError, match="limit is 0"):
        GridWorld(["A"], {}, limit=0)


def test_thin_walls_are_drawn_between_the_letters_or_listed() -> None:
    drawn = GridWorld(["A|.", "-  ", ". x"], {"x": "goal"}, walls="drawn")
    listed = GridWorld(["A.", ".x"], {"x": "goal"}, walls=[[1, 0], [0, 2]])
    assert drawn.layout == listed.layout
    assert [drawn.layout.moves.item(0, action) for action in range(4)] == [0, 0, 0, 0]
    assert drawn.layout.moves.item(1, 2) == 3


def test_the_start_can_stand_on_a_feature() -> None:
    assert GridWorld(["x."], {"x": "goal"}, start=0).layout.features_at(0) == {"goal"}
    with pytest.raises(SpecError, match="the start is cell 0 and is drawn as well"):
        GridWorld(["A."], {}, start=0)


def chances(slip: object, action: int) -> dict[int, float]:
    """Where one action leads from the middle left cell of three by three: 0 1 2 / 3 4 5 / 6 7 8."""
    table = GridWorld(["...", "A..", "..."], {}, slip=slip).finite().table  # type: ignore[arg-type]
    found = dict.fromkeys(table.next[3, action].tolist(), 0.0)
    shares = np.diff(table.cumulative[3, action], prepend=0.0).tolist()
    for there, share in zip(table.next[3, action].tolist(), shares, strict=True):
        found[there] = round(found[there] + share, 12)
    return found


def test_noise_goes_to_the_sides_to_other_ways_or_nowhere() -> None:
    """By hand: a move right from the left edge; back is the border, which means staying."""
    assert chances({"sides": 0.2}, 1) == {4: 0.8, 0: 0.1, 6: 0.1}
    assert chances({"other": 0.3}, 1) == {4: 0.7, 0: 0.1, 6: 0.1, 3: 0.1}
    assert chances({"delay": 0.6, "sides": 0.1}, 1) == {4: 0.36, 0: 0.02, 6: 0.02, 3: 0.6}


def test_a_move_into_a_wall_may_slip_or_surely_waits() -> None:
    assert chances({"sides": 0.2}, 3) == {3: 0.8, 0: 0.1, 6: 0.1}
    assert chances({"sides": 0.2, "blocked": "wait"}, 3) == {3: 1.0}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"slip": {"sides": 0.6, "other": 0.5}}, "together they must be below 1"),
        ({"slip": {"side": 0.2}}, "slip has no 'side'; it has sides, other, delay, blocked"),
        ({"slip": {"blocked": "stop"}}, "blocked is 'stop'; a move into a wall may 'slip' or must 'wait'"),
        ({"slip": {"delay": "long"}}, "slip is 'long' in delay, and must be at least 0 and below 1"),
        ({"walls": [[0, 2]]}, r"the wall \(0, 2\) is not between two neighbouring cells"),
        ({"walls": [[0]]}, r"walls has \[0\]; it is 'drawn', or a list of pairs of cell numbers"),
        ({"walls": "drawn"}, "this one has 1 rows of 4"),
    ],
)
def test_faults_of_walls_and_noise_are_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        GridWorld(["A...", "...."][: 1 + (settings != {"walls": "drawn"})], {}, **settings)  # type: ignore[arg-type]
