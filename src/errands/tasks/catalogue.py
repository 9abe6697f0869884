"""The catalogue: tasks by name (figure-1, delivery-4, office-6, ...), each kept as a task file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from errands.errors import SpecError, UnknownName
from errands.tasks.task import Task

COLOURS = ("red", "green", "blue", "yellow", "cyan", "magenta")


@dataclass(frozen=True)
class Family:
    """One family of tasks: its name, the numbers it takes, what it is about, and how its file is written."""

    name: str
    low: int
    high: int
    about: str
    write: Callable[[int, int], str]
    suffix: str = ""
    """What follows the number."""

    @property
    def shown(self) -> str:
        """The name as it is listed: with N where a number goes."""
        return self.named("N")

    def named(self, number: int | str) -> str:
        """The name of one task of the family."""
        return f"{self.name}-{number}{self.suffix}" if self.high else self.name

    def number(self, name: str) -> int | None:
        """The number in a task's name; None where the name is of another family."""
        digits = name.removeprefix(f"{self.name}-").removesuffix(self.suffix)
        plain = len(digits) <= 4 and digits.isascii() and digits.isdigit()
        return int(digits) if self.high and plain and name == self.named(digits) else None


def _figure_1(number: int, seed: int) -> str:
    return """name = "figure-1"

[world]
kind = "grid"
rows = ["1s.", "..A", "...", "2.."]
legend = { 1 = "b1", 2 = "b2", s = "s" }
removed = ["b1", "b2"]

[machine]
initial = "u0"
success = ["u2"]
failure = []
numeric = { b = ["b1", "b2"] }
transitions = [
  "u0 -> u0 : b! ; 0",
  "u0 -> u1 : b↓ | b⤓ ; 0",
  "u1 -> u1 : ~s ; 0",
  "u1 -> u2 : s & b⤓ ; 1",
  "u1 -> u0 : s & b! ; 0",
]
"""


def _corridor(number: int, seed: int) -> str:
    return _file(
        "corridor",
        'kind = "grid"\nrows = ["c1....A.c.....2"]\nlegend = { c = "coffee", 1 = "o1", 2 = "o2" }',
        "any_order(o1, o2, before=coffee)",
    )


def _delivery(number: int, seed: int) -> str:
    boxes = ", ".join(f"b{i + 1}" for i in range(number))
    return _file(
        f"delivery-{number}", f'kind = "delivery"\nboxes = {number}\nmap_seed = {seed}', f"any_order({boxes}, after=s)"
    )


def _office(number: int, seed: int) -> str:
    offices = ", ".join(f"o{i + 1}" for i in range(number))
    phrase = f"avoid(decoration, any_order({offices}, before=coffee))"
    return _file(f"office-{number}", f'kind = "office"\noffices = {number}', phrase)


def _one_coffee(number: int, seed: int) -> str:
    offices = ", ".join(f"o{i + 1}" for i in range(number))
    phrase = f"avoid(decoration, sequence(coffee, any_order({offices})))"
    return _file(f"office-{number}-one-coffee", f'kind = "office"\noffices = {number}', phrase)


def _visit(number: int, seed: int) -> str:
    places = ", ".join(f"v{i + 1}" for i in range(number))
    return _file(f"visit-{number}", f'kind = "visit"\nplaces = {number}\nmap_seed = {seed}', f"any_order({places})")


def _pairs(number: int, option: str = "") -> str:
    return f"any_order({', '.join(f'sequence(p{i}, d{i})' for i in range(1, number + 1))}{option})"


def _pickup(number: int, seed: int) -> str:
    return _file(f"pickup-{number}", f'kind = "pickup"\npairs = {number}\nmap_seed = {seed}', _pairs(number))


def _one_at_a_time(number: int, seed: int) -> str:
    phrase = _pairs(number, ", one_at_a_time=true")
    return _file(f"pickup-{number}-one-at-a-time", f'kind = "pickup"\npairs = {number}\nmap_seed = {seed}', phrase)


def _taxi(number: int, seed: int) -> str:
    phrase = _pairs(number, ", one_at_a_time=true")
    return _file(f"taxi-{number}", f'kind = "taxi"\npassengers = {number}\nmap_seed = {seed}', phrase)


def _water(number: int, seed: int) -> str:
    named, others = COLOURS[:number], COLOURS[number:]
    phrase = f"any_order({', '.join(named)})"
    phrase = f"avoid({', '.join(others)}, {phrase})" if others else phrase
    return _file(f"water-{number}", f'kind = "water"\nmap_seed = {seed}', phrase)


def _cheetah(places: str) -> Callable[[int, int], str]:
    names = ", ".join(f'"{p}"' for p in places.upper())

    def write(number: int, seed: int) -> str:
        return f"""name = "cheetah-{places}"

[world]
kind = "cheetah"
start = "fixed"

[machine]
initial = "u0"
success = ["u1"]
numeric = {{ p = [{names}] }}
transitions = [
  "u0 -> u0 : p! ; -control_cost",
  "u0 -> u0 : p↓ ; 1000",
  "u0 -> u1 : p⤓ ; 1000",
]
"""

    return write


def _file(name: str, world: str, phrase: str) -> str:
    return f'name = "{name}"\n\n[world]\n{world}\n\n[machine]\nphrase = "{phrase}"\n'


CATALOGUE = (
    Family("figure-1", 0, 0, "two boxes to a station on a 3 x 4 grid, the paper's running example", _figure_1),
    Family(
        "corridor",
        0,
        0,
        "15 cells, two coffees, two offices: the smallest case where one policy per subtask falls short",
        _corridor,
    ),
    Family("delivery", 1, 500, "N boxes to one station, one at a time, on a random grid", _delivery),
    Family("office", 1, 6, "a fresh coffee to each of N offices past fatal decorations", _office),
    Family("office", 1, 6, "one coffee for all of N offices past fatal decorations", _one_coffee, "-one-coffee"),
    Family("visit", 1, 1000, "N random cells in any order: a travelling salesman's path", _visit),
    Family("pickup", 1, 30, "N things, each from its place to its aim, any number in hand at once", _pickup),
    Family("pickup", 1, 30, "the same with one thing in hand at a time", _one_at_a_time, "-one-at-a-time"),
    Family("taxi", 1, 12, "N passengers in the streets of Gymnasium's Taxi, one in the car at a time", _taxi),
    Family("water", 1, 6, "touch moving balls of N colours and no others", _water),
    Family("cheetah-b", 0, 0, "HalfCheetah runs to B, behind it", _cheetah("b")),
    Family("cheetah-bc", 0, 0, "HalfCheetah runs to B (back) and C (ahead) in any order", _cheetah("bc")),
    Family("cheetah-bcd", 0, 0, "HalfCheetah runs to B (back), C and D (ahead) in any order", _cheetah("bcd")),
    Family("cheetah-bcde", 0, 0, "the same with E, further ahead", _cheetah("bcde")),
)


def load(name: str | Path, map_seed: int = 0) -> Task:
    """The task of a catalogue name, or of a task file's path; random maps are drawn from `map_seed`.

    Parameters:
        name: a catalogue name such as office-3 (`errands tasks` lists them), or the path of a .toml.
        map_seed: the seed of random maps; 0 is the one that documentation and claims use.

    >>> load("office-3").name
    'office-3'
    """
    if isinstance(name, Path) or name.endswith(".toml") or "/" in name or "\\" in name:
        return load_file(Path(name))
    return Task.from_toml(task_text(name, map_seed))


def load_file(path: Path) -> Task:
    """The task of a task file."""
    return Task.from_toml(read_text(path))


def read_text(path: Path, kind: str = "a task file", most: int = 1_000_000) -> str:
    """The text of a file that a user named, when it is a plain one of at most so many bytes."""
    # Not waited for when opened, and read only where it is a plain file: a pipe would block, a device would never end.
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SpecError(f"'{path}' cannot be read as {kind}: it is no plain file")
            raw = file.read(most + 1)
        if len(raw) > most:
            raise SpecError(f"{path} is larger than {most:,} bytes; {kind} is smaller")
        return raw.decode("utf-8-sig")  # some editors begin a file with a mark of its encoding
    except FileNotFoundError:
        other = " or a name from 'errands tasks'" if kind == "a task file" else ""
        raise SpecError(f"there is no file '{path}'; give the path of {kind}{other}") from None
    except IsADirectoryError:
        raise SpecError(f"'{path}' cannot be read as {kind}: it is no plain file") from None
    except (OSError, ValueError) as fault:
        raise SpecError(f"'{path}' cannot be read as {kind}: {fault}") from None


def task_text(name: str, map_seed: int = 0) -> str:
    """The task file of a catalogue name."""
    for entry in CATALOGUE:
        if not entry.high and name == entry.name:
            return entry.write(0, map_seed)
        if (number := entry.number(name)) is not None:
            if not entry.low <= number <= entry.high:
                raise SpecError(f"'{name}': {entry.name} takes a number from {entry.low} to {entry.high}")
            return entry.write(number, map_seed)
    if name in getattr(sys.modules.get("gymnasium"), "registry", ()):
        raise SpecError(
            f"'{name}' is an environment, not a task; say what is to be done in it: errands.Task.from_env('{name}', features, "
            "machine), or a task file with kind = \"gymnasium\""
        )
    raise UnknownName("task", name, _examples())


def _examples() -> list[str]:
    return [n for e in CATALOGUE for n in ([e.named(i) for i in range(max(e.low, 1), min(e.high, 12) + 1)] or [e.name])]
