"""Play a grid world by hand: the map, and beside it the machine state, what remains and what was paid."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TextIO

import tyro

from errands.cli.tell import Answer
from errands.errors import SpecError, TaskError
from errands.tasks import Task
from errands.tasks.product import task_env
from errands.worlds.grid import ACTIONS

KEYS = {"\x1b[A": 0, "\x1b[C": 1, "\x1b[B": 2, "\x1b[D": 3, "\x1bOA": 0, "\x1bOC": 1, "\x1bOB": 2, "\x1bOD": 3}
KEYS |= {"w": 0, "d": 1, "s": 2, "a": 3}
LETTERS = {"u": 0, "r": 1, "d": 2, "l": 3}
MOST_NAMES = 8
_CLEAR, _HIDE, _SHOW = "\x1b[H\x1b[2J", "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def play(task: Task, stdin: TextIO | None = None, stdout: TextIO | None = None) -> int:
    """Play until quit: with keys at a terminal, else with the letters u r d l on standard input; 1 after a failure."""
    game = Game(task)
    source, out = stdin or sys.stdin, stdout or sys.stdout
    if source.isatty():
        _with_keys(game, source, out)
    else:
        _with_letters(game, source, out)
    return 1 if game.ended and not game.success else 0


class Game:
    """One task being played: its environment, and the numbers of the episode so far."""

    def __init__(self, task: Task) -> None:
        if task.layout is None:
            raise TaskError(f"'{task.name}' is no grid world ({task.world.kind}) and cannot be played; try 'office-3'")
        self.task = task
        self.env = task_env(task, "numeric", "ansi")
        self.seed: int | None = 0
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        _, self.info = self.env.reset(seed=self.seed)
        self.seed = None
        self.steps, self.reward, self.total = 0, 0.0, 0.0
        self.terminated, self.truncated = False, False
        self.last = "start"

    def move(self, action: int) -> None:
        """One step; nothing happens once the episode has ended."""
        if self.ended:
            return
        _, self.reward, self.terminated, self.truncated, self.info = self.env.step(action)
        self.steps += 1
        self.total += self.reward
        self.last = ACTIONS[action]

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated

    @property
    def success(self) -> bool:
        """Whether the task was done."""
        return bool(self.info["success"])

    @property
    def outcome(self) -> str:
        """How the episode stands, in a few words."""
        if not self.ended:
            return "going on"
        ending = "done" if self.success else "failed" if self.terminated else "out of time"
        return f"{ending} after {self.steps} steps"

    def panel(self) -> list[str]:
        """What stands beside the map."""
        walker = self.env.walker
        state = walker.numeric.states[walker.plain(self.env.position)[0]]
        return [
            self.task.name,
            "",
            f"step      {self.steps} of {self.task.world.limit}, last: {self.last}",
            f"machine   {state}",
            f"label     {_short(self.info['label'])}",
            f"remaining {_listed(self.info['remaining'])}",
            f"features  {_listed(sorted(self.info['features']))}",
            f"reward    {self.reward:g} (total {self.total:g})",
            f"task      {self.outcome}",
        ]

    def screen(self) -> str:
        """The map with the panel at its right."""
        rows = self.env.render().splitlines()
        width = max(map(len, rows))
        pairs = zip_longest(rows, self.panel(), fillvalue="")
        return "\n".join(f"{row:<{width}}   {text}".rstrip() for row, text in pairs) + "\n"


def _listed(names: Any) -> str:
    shown = ", ".join(names[:MOST_NAMES]) or "-"
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _with_letters(game: Game, source: TextIO, out: TextIO) -> None:
    letters = "".join(source.read().split()).lower()
    if wrong := set(letters) - set(LETTERS):
        raise SpecError(f"'{min(wrong)}' is no move; write u, r, d and l for up, right, down and left")
    out.write(game.screen())
    for letter in letters:
        if game.ended:
            break
        game.move(LETTERS[letter])
        out.write(f"{game.steps:>4} {game.last:<5} {_short(game.info['label'])} reward {game.reward:g}\n")
    out.write(game.screen())


def _with_keys(game: Game, source: TextIO, out: TextIO) -> None:
    with _raw(source, out):
        for key in _keys(source.fileno(), game, out):
            if key == "r":
                game.reset()
            elif key in KEYS:
                game.move(KEYS[key])
    out.write(game.screen())


def _keys(descriptor: int, game: Game, out: TextIO) -> Iterator[str]:
    """Draw, then wait for keys, until q or the end of input; keys typed ahead arrive together."""
    while True:
        out.write(_CLEAR + game.screen() + "\narrows or wasd move, r starts again, q quits\n")
        out.flush()
        typed = os.read(descriptor, 64).decode(errors="ignore")
        if not typed:
            return
        while typed:
            size = 3 if typed[:3] in KEYS else 1
            key, typed = typed[:size], typed[size:]
            if key in ("q", "\x04"):
                return
            yield key


@contextmanager
def _raw(source: TextIO, out: TextIO) -> Iterator[None]:
    """The terminal without line editing and on its second screen; restored whatever happens."""
    try:
        import termios
        import tty
    except ImportError:
        raise TaskError("this terminal cannot be read key by key; pipe the letters u, r, d and l instead") from None
    descriptor = source.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        out.write(_HIDE)
        yield
    except KeyboardInterrupt:
        pass
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        out.write(_SHOW)
        out.flush()


@dataclass(frozen=True)
class Arguments:
    """Play a grid world."""

    task: tyro.conf.Positional[str]
    """A catalogue name or the path of a task file, on a grid world."""
    map_seed: int = 0
    """The seed of random maps."""


def run(arguments: Arguments) -> Answer:
    """Play until q; the exit code is 1 after a failed episode."""
    from errands.tasks.catalogue import load

    code = play(load(arguments.task, arguments.map_seed))
    return Answer({"task": arguments.task, "failed": bool(code)}, "", code)
