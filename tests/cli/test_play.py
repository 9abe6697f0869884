"""Playing by hand: with letters through a pipe, and with keys at a real (pseudo) terminal."""

from __future__ import annotations

import io
import os
import threading

import pytest

from errands.cli.play import Game, play
from errands.errors import SpecError, TaskError
from errands.tasks import Task, load


def played(name: str, letters: str) -> tuple[int, str]:
    out = io.StringIO()
    return play(load(name), io.StringIO(letters), out), out.getvalue()


def test_the_ten_steps_of_figure_1_are_played_to_success() -> None:
    code, text = played("figure-1", "dd ll uuu r\nlr")
    assert code == 0
    first, last = text.split("   1 down")
    assert "0{b1,b2}{b1,b2}" in first
    assert "task      done after 10 steps" in last
    assert "reward    1 (total 1)" in last
    assert "4{}" in last


def test_a_failure_is_told_and_returned() -> None:
    code, text = played("office-1", "rr")
    assert code == 1
    assert "failed after 2 steps" in text
    assert "features  decoration" in text


def test_an_unfinished_game_is_no_failure() -> None:
    assert played("figure-1", "l")[0] == 0


def test_a_box_that_was_taken_disappears_from_the_map() -> None:
    text = played("figure-1", "ddll")[1]
    maps = [
        [line.split("|")[1] for line in part.splitlines() if line.startswith("|")] for part in text.split("   1 down")
    ]
    assert [row.split() for row in maps[0]] == [["b1", "s", "."], [".", ".", "@"], [".", ".", "."], ["b2", ".", "."]]
    assert [row.split() for row in maps[1]] == [["b1", "s", "."], [".", ".", "."], [".", ".", "."], ["@", ".", "."]]
    assert "remaining b1\n" in text


def test_letters_that_are_no_moves_and_worlds_without_a_map_are_refused() -> None:
    with pytest.raises(SpecError, match="'x' is no move"):
        played("figure-1", "ux")
    with pytest.raises(TaskError, match="only grids and Gymnasium worlds"):
        played("water-2", "u")


def test_moves_after_the_end_change_nothing_and_reset_starts_again() -> None:
    game = Game(load("figure-1"))
    for letter in "2233000131":
        game.move(int(letter))
    assert (game.outcome, game.steps) == ("done after 10 steps", 10)
    game.move(0)
    assert game.steps == 10
    game.reset()
    assert (game.outcome, game.total) == ("going on", 0.0)


def test_many_remaining_subtasks_are_counted() -> None:
    assert any(line.endswith("v8 and 22 more") for line in Game(load("visit-30")).panel())


def test_arrow_keys_move_at_a_terminal_which_is_restored_afterwards() -> None:
    import pty
    import termios

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    shown: list[bytes] = []

    down, left = b"\x1b[B", b"\x1bOD"
    keys = [down + b"s" + left + b"a" + b"r" + down + b"?" + b"q"]

    def at_the_keyboard() -> None:
        while b"last: down" not in b"".join(shown):
            shown.append(os.read(ours, 4096))
            if keys and b"arrows or wasd" in b"".join(shown):
                os.write(ours, keys.pop())

    person = threading.Thread(target=at_the_keyboard, daemon=True)
    person.start()
    with open(theirs, closefd=False) as source, open(os.dup(theirs), "w") as out:
        assert play(load("figure-1"), source, out) == 0
    person.join(120)
    assert termios.tcgetattr(theirs) == before
    text = b"".join(shown).decode()
    assert "arrows or wasd" in text
    assert "step      1 of 1000, last: down" in text
    os.close(ours)
    os.close(theirs)


LAKE = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = false }
features = { goal = [15], hole = [5, 7, 11, 12] }
[machine]
phrase = "avoid(hole, goal)"
"""
TAXI = LAKE.replace("FrozenLake-v1", "Taxi-v4").replace("kwargs = { is_slippery = false }\n", "")
CART = """name = "cart"
[world]
kind = "gymnasium"
id = "CartPole-v1"
features = { right = { index = 0, above = 0.5 } }
[machine]
phrase = "sequence(right)"
"""


def test_frozen_lake_is_walked_by_directions_though_its_actions_are_numbered_otherwise() -> None:
    """By hand on the map of Gymnasium's documentation: right, right, down, down, down, right reaches the goal."""
    out = io.StringIO()
    assert play(Task.from_toml(LAKE), io.StringIO("rrdddr"), out) == 0
    assert "[S]FFF" in out.getvalue()
    assert "HFF[G]" in out.getvalue()
    assert "done after 6 steps" in out.getvalue()
    assert play(Task.from_toml(LAKE), io.StringIO("rd"), io.StringIO()) == 1  # a hole
    assert "\x1b" not in out.getvalue()


def test_actions_without_a_direction_have_digits() -> None:
    game = Game(Task.from_toml(TAXI))
    assert game.letters["4"] == 4
    assert game.help == "arrows or wasd move, 4 pick up, 5 drop off, r starts again, q quits"
    assert game.keys["\x1b[A"] == 1  # Taxi's north


def test_a_world_that_draws_no_text_shows_what_is_observed() -> None:
    out = io.StringIO()
    assert play(Task.from_toml(CART), io.StringIO("1101"), out) == 0
    assert "step      4 of 500, last: action 1" in out.getvalue()
    with pytest.raises(SpecError, match="write 0 for action 0, 1 for action 1"):
        play(Task.from_toml(CART), io.StringIO("5"), out)
