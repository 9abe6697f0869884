"""The verbs of the command, what each takes, and the help; each verb lives in a module with `Arguments` and `run`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
import textwrap
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from errands.errors import ErrandsError, UnknownName

T = TypeVar("T")
PLACED, REPEATED = "placed", "repeated"
Positional = Annotated[T, PLACED]
"""An argument that is given by its place."""
Repeated = Annotated[T, REPEATED]
"""An option that may be given again and again."""
COMMON = """  --json    print exactly one JSON document          --quiet   no progress
  --debug   a traceback instead of one sentence      --help    of a verb: its options and an example
  --import MODULE   let the code of a module in that a task file names, such as --import minigrid"""


@dataclass(frozen=True)
class Verb:
    """A verb, which lives in a module of its name (with `Arguments` and `run`): its group, what it does, and an example."""

    group: str
    about: str
    example: str
    compiles: bool = False
    """Whether it runs compiled loops."""


@dataclass(frozen=True)
class Answer:
    """Exactly one document for --json; `shown` (text, or anything that rich renders) for a terminal."""

    document: Any
    shown: Any = ""
    code: int = 0
    """0 done, 1 the task or run failed."""


VERBS: Mapping[str, Verb] = {
    "demo": Verb("look", "the paper's first example, end to end", "errands demo", compiles=True),
    "tasks": Verb("look", "list the catalogue of tasks", "errands tasks"),
    "show": Verb("look", "draw a task's machine", "errands show figure-1 --as coupled"),
    "size": Verb("look", "count the states of a task's four machines", "errands size delivery-12"),
    "lint": Verb("look", "check a task file and read it back in English", "errands lint mine.toml"),
    "check": Verb("look", "check your own environment", "errands check pkg.envs:MyEnv --features pkg.envs:label"),
    "solve": Verb("solve", "the exact optimum of a task", "errands solve office-6 --one-policy-per-subtask", compiles=True),
    "learners": Verb("learn", "list the learners and their settings", "errands learners qcorm"),
    "train": Verb("learn", "train a learner and judge it", "errands train delivery-4 qcorm --steps 200k --seeds 5", compiles=True),
    "sweep": Verb(
        "many", "train many tasks, learners and seeds",
        "errands sweep --task delivery-2..4 --learner qcorm,crm --seeds 10 --steps 100000", compiles=True,
    ),
    "compare": Verb("many", "several runs in one table, and what differs", "errands compare one two"),
    "reproduce": Verb(
        "many", "the paper's figures and claims, measured again", "errands reproduce office-3 --profile quick", compiles=True
    ),
    "plot": Verb("see", "curves, runtimes, sizes, routes, policies", "errands plot route latest", compiles=True),
    "doctor": Verb("house", "versions, cores, GPU, rendering, cache, known faults", "errands doctor"),
    "verify": Verb("many", "repeat a part of a run and compare every byte", "errands verify latest", compiles=True),
    "resume": Verb("learn", "go on with a run or sweep that was stopped", "errands resume latest", compiles=True),
    "evaluate": Verb("many", "a learnt policy over many episodes", "errands evaluate latest --episodes 1000", compiles=True),
    "view": Verb("see", "a local page: watch runs learn, replay them, write tasks", "errands view latest"),
    "export": Verb("see", "a run as a page, or its policy as a file", "errands export latest --html run.html", compiles=True),
}

GROUPS: Mapping[str, str] = {
    "look": "Look at tasks",
    "solve": "Know the truth",
    "learn": "Learn",
    "many": "Many runs",
    "see": "See what was learnt",
    "house": "This machine",
}


@dataclass(frozen=True)
class Option:
    """One argument of a verb, as a field of its `Arguments` declares it."""

    name: str
    default: Any
    read: Callable[[str], Any]
    """From a word to a value; a ValueError where the word is none."""
    value: str
    """What stands for a value in the help: COUNT, a|b."""
    choices: tuple[str, ...] = ()
    placed: bool = False
    many: bool = False
    """Whether it takes all words up to the next option."""
    repeated: bool = False

    @property
    def flag(self) -> str:
        """How it is named on the command line; a name that Python reserves has an underscore at its end."""
        name = self.name.strip("_").replace("_", "-")
        return name.upper() if self.placed else f"--{name}"

    @property
    def switch(self) -> bool:
        """Whether it has no value: it is there, or it is not."""
        return isinstance(self.default, bool)

    @property
    def needed(self) -> bool:
        """Whether it has no default."""
        return self.default is dataclasses.MISSING

    @property
    def shown(self) -> str:
        """As it is typed: TASK, [LEARNER], --steps COUNT, --as numeric|boolean."""
        more = " ..." if self.many else ""
        if self.placed:
            return f"{self.flag}{more}" if self.needed else f"[{self.flag}{more}]"
        if self.switch:
            return f"--[no-]{self.flag[2:]}" if self.default else self.flag
        return f"{self.flag} {self.value}{more}"

    def of(self, word: str) -> Any:
        """The value that a word stands for."""
        if self.choices and word not in self.choices:
            raise _Mistake(str(UnknownName(f"value of {self.flag}", word[:60], self.choices)))
        try:
            return self.read(word)
        except ValueError:
            raise _Mistake(f"{self.flag} was given '{word[:60]}'; write it as {self.shown}") from None


class _Mistake(ErrandsError):
    """A word that is no value of its option; the help says more."""


_VALUES: Mapping[Any, str] = {Path: "PATH", int: "NUMBER", float: "NUMBER", str: "TEXT"}


def options_of(kind: type) -> list[Option]:
    """The arguments of a verb, in the order of their fields; those that it shares with others come last."""
    hints, own = get_type_hints(kind, include_extras=True), inspect.get_annotations(kind)
    fields = sorted(dataclasses.fields(kind), key=lambda field: field.name not in own)
    return [_option(field, hints[field.name]) for field in fields]


def _option(field: dataclasses.Field[Any], hint: Any) -> Option:
    marks, many = list[Any](), False
    while (origin := get_origin(hint)) not in (None, Literal):
        inner = get_args(hint)
        many |= origin is tuple
        marks += inner[1:] if origin is Annotated else ()
        hint = next(part for part in inner if part is not NoneType)
    choices = get_args(hint) if origin is Literal else ()
    reader: Any = next(filter(callable, marks), str if choices else hint)
    value = "|".join(choices) or _VALUES.get(reader, reader.__name__.upper())
    repeated = REPEATED in marks
    return Option(field.name, field.default, reader, value, choices, PLACED in marks, many and not repeated, repeated)


def parse(kind: type[T], name: str, verb: Verb, words: list[str]) -> T:
    """The arguments of a verb; a mistake is told in one sentence."""
    if {"-h", "--help"} & set(words):
        print(verb_help(kind, name, verb))
        raise SystemExit(0)
    options = options_of(kind)
    flags = {option.flag: option for option in options if not option.placed}
    # Every verb may be asked to be quiet, those that never say anything included.
    if "--quiet" not in flags:
        words = [word for word in words if word != "--quiet"]
    known = list(flags)
    flags |= {f"--no-{flag[2:]}": option for flag, option in flags.items() if option.switch}
    given, loose, waiting = dict[str, Any](), list[str](), deque(words)
    try:
        while waiting:
            if not _is_option(word := waiting.popleft()):
                loose.append(word)
                continue
            flag, equals, value = word.partition("=")
            option = flags.get(flag := flag.replace("_", "-"))
            if option is None:
                raise UnknownName(f"option of 'errands {name}'", flag, {*known, "--help"})
            values = [value] if equals else []
            while waiting and not option.switch and not _is_option(waiting[0]) and (option.many or not values):
                values.append(waiting.popleft())
            if option.switch and not equals:
                given[option.name] = flag == option.flag
            elif option.switch or not values:
                wrong = f"takes no value, and was given '{value[:60]}'" if equals else "has no value"
                raise _Mistake(f"{flag} {wrong}; write it as {option.shown}")
            elif option.many or option.repeated:
                before = given.get(option.name, ()) if option.repeated else ()
                given[option.name] = (*before, *map(option.of, values))
            else:
                given[option.name] = option.of(values[0])
        given |= _placed(options, loose, name, verb)
    except _Mistake as fault:
        raise ErrandsError(f"{fault}; run 'errands {name} --help' to see what it takes") from None
    return kind(**given)


def _is_option(word: str) -> bool:
    return word.startswith("-") and not re.match(r"-+(\d|\.|$)", word)


def _placed(options: list[Option], words: list[str], name: str, verb: Verb) -> dict[str, Any]:
    given, rest = dict[str, Any](), list(words)
    for option in options:
        if not option.placed or not (rest or option.needed):
            continue
        if not words or not (rest or option.many):
            raise ErrandsError(f"missing {option.flag} after 'errands {name}'; for example: {verb.example}")
        given[option.name] = tuple(map(option.of, rest)) if option.many else option.of(rest[0])
        rest = [] if option.many else rest[1:]
    if rest:
        taken = " ".join(option.shown for option in options if option.placed) or "no words but options"
        raise ErrandsError(f"'{rest[0][:60]}' is a word too many: 'errands {name}' takes {taken}")
    return given


def help_text() -> str:
    """One screen: the verbs by what a user wants."""
    lines = ["errands: reinforcement learning on long tasks whose parts can be done in any order", ""]
    lines.append("usage: errands VERB [TASK] [OPTIONS]         start with: errands demo")
    for group, title in GROUPS.items():
        verbs = [(name, verb) for name, verb in VERBS.items() if verb.group == group]
        if verbs:
            lines += ["", title] + [f"  {name:10} {verb.about}" for name, verb in verbs]
    return "\n".join([*lines, "", "Every verb", COMMON])


def verb_help(kind: type, name: str, verb: Verb) -> str:
    """What a verb does, an example, and what it takes, in the words under its fields."""
    import shutil  # here, since it loads every kind of archive, and `errands --help` needs none

    said, width = sentences(kind), min(max(shutil.get_terminal_size().columns, 60), 110)
    options = options_of(kind)
    placed, named = ([option for option in options if option.placed is by_place] for by_place in (True, False))
    lines = [" ".join([f"usage: errands {name}", *(o.shown for o in placed), *(["[OPTIONS]"] if named else [])]), ""]
    lines += [f"{verb.about[0].upper()}{verb.about[1:]}.", f"Example: {verb.example}"]
    for title, part in (("", placed), ("Options", named)):
        lines += ["", *([title] if title else [])] if part else []
        for option in part:
            default = option.default
            plain = default is False or default in (None, (), dataclasses.MISSING)
            written = " ".join(map(str, default)) if isinstance(default, tuple) else "yes" if default is True else default
            told = "" if plain or "default:" in said[option.name] else f" (default {written})"
            rows = textwrap.wrap(said[option.name] + told, width - _COLUMN, break_on_hyphens=False)
            if len(shown := f"  {option.shown}") >= _COLUMN:
                lines.append(shown)
                shown = ""
            lines += [f"{shown:{_COLUMN}}{rows[0]}", *(" " * _COLUMN + row for row in rows[1:])]
    return "\n".join([*lines, "", "Every verb", COMMON])


_COLUMN = 26


def sentences(kind: type) -> dict[str, str]:
    """The sentence under each field of a class, its parents' included: the one place where it is written."""
    import ast
    from itertools import pairwise

    by_field: dict[str, str] = {}
    for parent in reversed(kind.__mro__[:-1]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0]
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for line, after in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                said = after.value if isinstance(after, ast.Expr) else None
                if isinstance(said, ast.Constant):
                    by_field[line.target.id] = str(said.value)
    return by_field


def typed(verb: str, arguments: Any) -> str:
    """The command line of a verb's arguments; what has its default value is left out."""
    words, options = ["errands", verb], list[str]()
    for option in options_of(type(arguments)):
        value = getattr(arguments, option.name)
        if value == option.default or value is None:
            continue
        values = [str(v) for v in value] if isinstance(value, tuple | list) else [str(value)]
        if option.placed:
            words += values
        elif option.switch:
            options.append(option.flag if value else f"--no-{option.flag[2:]}")
        else:
            options += [option.flag, *values]
    return shlex.join([*words, *options])
