"""Play a world by hand: its picture, and beside it the machine state, what remains and what was paid."""

from __future__ import annotations

import enum
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TextIO

import gymnasium as gym

from errands.cli.summary import Answer
from errands.cli.verbs import Positional
from errands.errors import SpecError, TaskError
from errands.tasks import Task
from errands.tasks.product import task_env
from errands.terminal import printable
from errands.worlds.base import Observed

ARROWS = {"\x1b[A": "up", "\x1b[C": "right", "\x1b[B": "down", "\x1b[D": "left"}
ARROWS |= {code.replace("[", "O"): name for code, name in ARROWS.items()} | {"w": "up", "d": "right", "s": "down", "a": "left"}
LETTERS = {"u": "up", "r": "right", "d": "down", "l": "left"}
TOY_TEXT: Mapping[str, tuple[str, ...]] = {
    "FrozenLake": ("left", "down", "right", "up"),
    "FrozenLake8x8": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("down", "up", "right", "left", "pick up", "drop off"),
}
"""What Gymnasium's own finite worlds call their actions, by the name of the environment."""
MAX_NAMES = 8
COLOURS = re.compile(r"\x1b\[([0-9;]*)m")
_CLEAR, _HIDE, _SHOW = "\x1b[H\x1b[2J", "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def play(task: Task, stdin: TextIO | None = None, stdout: TextIO | None = None) -> int:
    """Play until quit: with keys at a terminal, else with letters or digits on standard input; 1 after a failure."""
    game = Game(task)
    source, out = stdin or sys.stdin, stdout or sys.stdout
    if source.isatty():
        _with_keys(game, source, out)
    else:
        _with_letters(game, source, out)
    return 1 if game.ended and not game.success else 0


class Game:
    """One task being played: its environment, its actions by key, and the numbers of the episode so far."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.env = task_env(task, "numeric", "ansi" if _drawn_as_text(task) else None)
        space = self.env.action_space
        if task.layout is None and (Observed.of(task.world) is None or not isinstance(space, gym.spaces.Discrete)):
            kind = f"{task.world.kind}, actions {space}"
            playable = "only grids and Gymnasium worlds with Discrete actions"
            raise TaskError(f"'{task.name}' ({kind}) cannot be played: {playable}; try 'office-3'")
        self.actions = task.world.action_names if task.layout is not None else _action_names(self.env)
        """What each action is called, by its number."""
        self.seed: int | None = 0
        self.reset()

    @property
    def letters(self) -> dict[str, int]:
        """Actions by the letters that standard input may hold: directions where there are any, else digits."""
        return self._by(LETTERS)

    @property
    def keys(self) -> dict[str, int]:
        """Actions by the keys of a terminal."""
        return self._by(ARROWS)

    def _by(self, names: Mapping[str, str]) -> dict[str, int]:
        named = {key: self.actions.index(name) for key, name in names.items() if name in self.actions}
        return named | {str(n): n for n in range(min(10, len(self.actions)))}

    @property
    def help(self) -> str:
        """The keys, in words."""
        moves = "arrows or wasd move, " if "up" in self.actions else ""
        others = [f"{n} {name}" for n, name in enumerate(self.actions[:10]) if name not in ARROWS.values()]
        return f"{moves}{''.join(f'{other}, ' for other in others)}r starts again, q quits"

    def reset(self) -> None:
        """Start a new episode."""
        self.observation, self.info = self.env.reset(seed=self.seed)
        # The first episode is the same in every game; those after it go on from the same random numbers.
        self.seed = None
        self.steps, self.reward, self.total = 0, 0.0, 0.0
        self.terminated, self.truncated = False, False
        self.last = "start"

    def move(self, action: int) -> None:
        """One step; nothing happens once the episode has ended."""
        if self.ended:
            return
        self.observation, self.reward, self.terminated, self.truncated, self.info = self.env.step(action)
        self.steps += 1
        self.total += self.reward
        self.last = self.actions[action]

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
        state = walker.numeric.states[walker.agenda_state(self.env.position)[0]]
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
        rows = self._picture().splitlines()
        width = max(map(len, rows), default=0)
        pairs = zip_longest(rows, self.panel(), fillvalue="")
        return "\n".join(f"{row:<{width}}   {text}".rstrip() for row, text in pairs) + "\n"

    def _picture(self) -> str:
        """The world's own text, without the codes that colour it; where it has none, what is observed of it."""
        if self.env.render_mode != "ansi":
            own = getattr(self.env.env.unwrapped, "pprint_grid", None)  # MiniGrid's text, which is no way of rendering there
            return printable(str(own() if callable(own) else self.env.crossing.world_of(self.observation)))
        drawn = self.env.render()
        return printable(COLOURS.sub(_mark, drawn if isinstance(drawn, str) else str(drawn)))


def _drawn_as_text(task: Task) -> bool:
    """Whether a world draws itself as text."""
    if task.layout is not None:
        return True
    env = task.world.env()
    modes = env.metadata.get("render_modes") or ()
    env.close()
    return "ansi" in modes


def _action_names(env: Any) -> tuple[str, ...]:
    """What an environment calls its actions: its own enumeration, Gymnasium's custom, or numbers."""
    own = getattr(env.unwrapped.env.unwrapped, "actions", None)
    count = int(env.action_space.n)
    if isinstance(own, type) and issubclass(own, enum.Enum) and len(own) == count:
        return tuple(str(each.name).replace("_", " ") for each in own)
    spec = env.unwrapped.env.spec
    named = TOY_TEXT.get(spec.name, ()) if spec is not None else ()
    return named if len(named) == count else tuple(f"action {n}" for n in range(count))


def _mark(code: re.Match[str]) -> str:
    """Colours say where the agent is: a bracket where one begins, a bracket where it ends."""
    return "]" if code[1] in ("", "0") else "["


def _listed(names: Any) -> str:
    shown = ", ".join(names[:MAX_NAMES]) or "-"
    return shown if len(names) <= MAX_NAMES else f"{shown} and {len(names) - MAX_NAMES} more"


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _with_letters(game: Game, source: TextIO, out: TextIO) -> None:
    letters, known = "".join(source.read().split()).lower(), game.letters
    if wrong := set(letters) - set(known):
        words = ", ".join(f"{letter} for {game.actions[action]}" for letter, action in known.items())
        if game.task.layout is not None:
            words = "u, r, d and l for up, right, down and left"
        raise SpecError(f"'{min(wrong)}' is no move; write {words}")
    out.write(game.screen())
    for letter in letters:
        if game.ended:
            break
        game.move(known[letter])
        out.write(f"{game.steps:>4} {game.last:<5} {_short(game.info['label'])} reward {game.reward:g}\n")
    out.write(game.screen())


def _with_keys(game: Game, source: TextIO, out: TextIO) -> None:
    known = game.keys
    with _raw(source, out):
        for key in _keys(source.fileno(), game, out):
            if key == "r":
                game.reset()
            elif key in known:
                game.move(known[key])
    out.write(game.screen())


def _keys(descriptor: int, game: Game, out: TextIO) -> Iterator[str]:
    """Draw, then wait for keys, until q or the end of input; keys typed ahead arrive together."""
    while True:
        out.write(f"{_CLEAR}{game.screen()}\n{game.help}\n")
        out.flush()
        typed = os.read(descriptor, 64).decode(errors="ignore")
        if not typed:
            return
        while typed:
            # An arrow key is three characters, and several keys may have come at once.
            size = 3 if typed[:3] in ARROWS else 1
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
    """Play a world."""

    task: Positional[str]
    """A catalogue name or the path of a task file, on a grid or a Gymnasium world with Discrete actions."""
    map_seed: int = 0
    """The seed of random maps."""


def run(arguments: Arguments) -> Answer:
    """Play until q; the exit code is 1 after a failed episode."""
    from errands.tasks.catalogue import load

    code = play(load(arguments.task, arguments.map_seed))
    return Answer({"task": arguments.task, "failed": bool(code)}, "", code)
