"""The catalogue: tasks by name (figure-1, delivery-4, office-6, ...), each kept as a task file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from errands.errors import SpecError, UnknownName
from errands.tasks.task import Task
from errands.worlds.imports import allow

MAPS = Path(__file__).with_name("maps")
COLOURS = ("red", "green", "blue", "yellow", "cyan", "magenta")


@dataclass(frozen=True)
class Family:
    """One family of tasks: its name, the numbers it takes, what it is about, and its file in parts."""

    name: str
    low: int
    high: int
    about: str
    world: str
    """The [world] table, with {n} for the number and {seed} for that of the map; or the name of a file of `maps`."""
    machine: Callable[[int], str]
    """The phrase for a number, or the whole [machine] table."""
    suffix: str = ""
    """What follows the number."""
    dash: str = "-"
    """What comes before it."""

    @property
    def shown(self) -> str:
        """The name as it is listed: with N where a number goes."""
        return self.named("N")

    def named(self, number: int | str) -> str:
        """The name of one task of the family."""
        return f"{self.name}{self.dash}{number}{self.suffix}" if self.high else self.name

    def number(self, name: str) -> int | None:
        """The number in a task's name; None where the name is of another family."""
        digits = name.removeprefix(f"{self.name}{self.dash}").removesuffix(self.suffix)
        plain = len(digits) <= 4 and digits.isascii() and digits.isdigit()
        return int(digits) if self.high and plain and name == self.named(digits) else None

    def write(self, number: int, seed: int) -> str:
        """The task file of one task."""
        world = self.world if "=" in self.world else (MAPS / f"{self.world}.toml").read_text(encoding="utf-8").rstrip()
        world = world.replace("{n}", str(number)).replace("{seed}", str(seed))
        machine = self.machine(number)
        machine = machine if "\n" in machine else f'phrase = "{machine}"\n'
        return f'name = "{self.named(number)}"\n\n[world]\n{world}\n\n[machine]\n{machine}'


def _names(letter: str, count: int) -> str:
    return ", ".join(f"{letter}{i}" for i in range(1, count + 1))


def _pairs(count: int, option: str = "") -> str:
    return f"any_order({', '.join(f'sequence(p{i}, d{i})' for i in range(1, count + 1))}{option})"


def _one_by_one(count: int) -> str:
    return _pairs(count, ", one_at_a_time=true")


def _balls(count: int) -> str:
    phrase = f"any_order({', '.join(COLOURS[:count])})"
    return f"avoid({', '.join(COLOURS[count:])}, {phrase})" if count < len(COLOURS) else phrase


_FIGURE_1 = """initial = "u0"
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
BOXES = """kind = "grid"
rows = ["1s.", "..A", "...", "2.."]
legend = { 1 = "b1", 2 = "b2", s = "s" }
removed = ["b1", "b2"]"""
_CORRIDOR = """kind = "grid"
rows = ["c1....A.c.....2"]
legend = { c = "coffee", 1 = "o1", 2 = "o2" }"""
_OFFICE = 'kind = "office"\noffices = {n}'
_PICKUP = 'kind = "pickup"\npairs = {n}\nmap_seed = {seed}'


_MAIL_AND_COFFEE = "any_order(mail, coffee)"
_QRMAX = ("coffee, o", "mail, o", f"{_MAIL_AND_COFFEE}, o", "a, b, c, d", f"a, b, c, d, {_MAIL_AND_COFFEE}, o",
          f"a, b, c, d, e, {_MAIL_AND_COFFEE}, o")  # fmt: skip
"""Experiments 1 to 6 on the maps of QR-MAX."""
_GOOD_COFFEE = """initial = "u0"
success = ["u3"]
failure = ["failed"]
transitions = [
  "u0 -> u0 : ~good_coffee & ~coffee & ~plant ; 0",
  "u0 -> u1 : good_coffee & ~plant ; 0",
  "u0 -> u2 : coffee & ~good_coffee & ~plant ; 0",
  "u0 -> failed : plant ; 0",
  "u1 -> u1 : ~o & ~plant ; 0",
  "u1 -> u3 : o & ~plant ; 1000",
  "u1 -> failed : plant ; 0",
  "u2 -> u2 : ~o & ~plant ; 0",
  "u2 -> u3 : o & ~plant ; 1",
  "u2 -> failed : plant ; 0",
]
"""


def _cheetah(places: str, about: str) -> Family:
    machine = f"""initial = "u0"
success = ["u1"]
numeric = {{ p = [{', '.join(f'"{place}"' for place in places.upper())}] }}
transitions = [
  "u0 -> u0 : p! ; -control_cost",
  "u0 -> u0 : p↓ ; 1000",
  "u0 -> u1 : p⤓ ; 1000",
]
"""
    return Family(f"cheetah-{places}", 0, 0, about, 'kind = "cheetah"\nstart = "fixed"', lambda _: machine)


CATALOGUE = (
    Family("figure-1", 0, 0, "two boxes to a station on a 3 x 4 grid, the paper's running example",
           BOXES, lambda _: _FIGURE_1),
    Family("corridor", 0, 0, "15 cells, two coffees, two offices: the smallest case where one policy per subtask falls short",
           _CORRIDOR, lambda _: "any_order(o1, o2, before=coffee)"),
    Family("delivery", 1, 500, "N boxes to one station, one at a time, on a random grid",
           'kind = "delivery"\nboxes = {n}\nmap_seed = {seed}', lambda n: f"any_order({_names('b', n)}, after=s)"),
    Family("office", 1, 6, "a fresh coffee to each of N offices past fatal decorations",
           _OFFICE, lambda n: f"avoid(decoration, any_order({_names('o', n)}, before=coffee))"),
    Family("office", 1, 6, "one coffee for all of N offices past fatal decorations",
           _OFFICE, lambda n: f"avoid(decoration, sequence(coffee, any_order({_names('o', n)})))", "-one-coffee"),
    Family("office-map0-exp0", 0, 0, "QR-MAX's OfficeWorld, map 0: mail, then a coffee, to the office", "office-map0",
           lambda _: "sequence(mail, coffee, o)"),
    *(Family(f"office-map{m}-exp", 1, 6, f"QR-MAX's OfficeWorld, map {m}, experiment N: thin walls, fatal plants, moves that slip",
             f"office-map{m}", lambda n: f"avoid(plant, sequence({_QRMAX[n - 1]}))", dash="") for m in (1, 2, 3)),
    Family("office-map4-exp6", 0, 0, "QR-MAX's OfficeWorld, map 4: a good coffee far away pays 1,000, one nearby 1", "office-map4",
           lambda _: _GOOD_COFFEE),
    Family("visit", 1, 1000, "N random cells in any order: a travelling salesman's path",
           'kind = "visit"\nplaces = {n}\nmap_seed = {seed}', lambda n: f"any_order({_names('v', n)})"),
    Family("pickup", 1, 30, "N things, each from its place to its aim, any number in hand at once", _PICKUP, _pairs),
    Family("pickup", 1, 30, "the same with one thing in hand at a time", _PICKUP, _one_by_one, "-one-at-a-time"),
    Family("taxi", 1, 12, "N passengers in the streets of Gymnasium's Taxi, one in the car at a time",
           'kind = "taxi"\npassengers = {n}\nmap_seed = {seed}', _one_by_one),
    Family("letters", 1, 12, "LetterWorld: N letters in any order, each on two cells of a 7 x 7 torus",
           'kind = "letters"\nmap_seed = {seed}', lambda n: f"any_order({', '.join('abcdefghijkl'[:n])})"),
    Family("water", 1, 6, "touch moving balls of N colours and no others", 'kind = "water"\nmap_seed = {seed}', _balls),
    Family("zones", 1, 100, "a point robot with Water's motion to N still zones in any order",
           'kind = "zones"\nzones = {n}\nmap_seed = {seed}', lambda n: f"any_order({_names('z', n)})"),
    Family("zones", 1, 100, "the same in nine rooms with doors between them",
           'kind = "zones"\nzones = {n}\nmap_seed = {seed}\nwalls = true', lambda n: f"any_order({_names('z', n)})", "-walls"),
    Family("letters", 0, 0, "LetterWorld with all twelve letters in any order: what skills are trained in",
           'kind = "letters"\nmap_seed = {seed}', lambda _: f"any_order({', '.join('abcdefghijkl')})"),
    Family("water", 0, 0, "balls of all six colours in any order: what skills are trained in",
           'kind = "water"\nmap_seed = {seed}', lambda _: _balls(len(COLOURS))),
    Family("zones", 0, 0, "ten zones in any order: what skills are trained in",
           'kind = "zones"\nzones = 10\nmap_seed = {seed}', lambda _: f"any_order({_names('z', 10)})"),
    _cheetah("b", "HalfCheetah runs to B, behind it"),
    _cheetah("bc", "HalfCheetah runs to B (back) and C (ahead) in any order"),
    _cheetah("bcd", "HalfCheetah runs to B (back), C and D (ahead) in any order"),
    _cheetah("bcde", "the same with E, further ahead"),
)  # fmt: skip


def load(name: str | Path, map_seed: int = 0, imports: Iterable[str] = ()) -> Task:
    """The task of a catalogue name, or of a task file's path; random maps are drawn from `map_seed`.

    Parameters:
        name: a catalogue name such as office-3 (`errands tasks` lists them), or the path of a .toml.
        map_seed: the seed of random maps; 0 is the one that documentation and claims use.
        imports: modules whose code it may name, as by `errands.allow`.

    >>> load("office-3").name
    'office-3'
    """
    allow(imports)
    if not isinstance(name, str | Path):
        raise SpecError(f"a {type(name).__name__} names no task; give a catalogue name or the path of a task file")
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
                raise _no_file(path, kind)
            raw = file.read(most + 1)
        if len(raw) > most:
            raise SpecError(f"{path} is larger than {most:,} bytes; {kind} is smaller")
        return raw.decode("utf-8-sig")  # some editors begin a file with a mark of its encoding
    except FileNotFoundError:
        other = " or a name from 'errands tasks'" if kind == "a task file" else ""
        raise SpecError(f"there is no file '{path}'; give the path of {kind}{other}") from None
    except IsADirectoryError:
        raise _no_file(path, kind) from None
    except (OSError, ValueError) as fault:
        raise SpecError(f"'{path}' cannot be read as {kind}: {fault}") from None


def _no_file(path: Path, kind: str) -> SpecError:
    inside = path / "task.toml"  # as in the folder of a run
    wanted = inside if kind == "a task file" and inside.is_file() else f"the path of {kind}"
    return SpecError(f"'{path}' cannot be read as {kind}: it is no plain file; give {wanted}")


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
    if Path(f"{name}.toml").is_file():
        raise SpecError(f"no task of the catalogue is called '{name}'; a file is named with its ending: {name}.toml")
    raise UnknownName("task", name, _examples())


def _examples() -> list[str]:
    return [n for e in CATALOGUE for n in ([e.named(i) for i in range(max(e.low, 1), min(e.high, 12) + 1)] or [e.name])]
