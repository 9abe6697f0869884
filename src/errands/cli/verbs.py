"""The verbs of the command, what each takes, and the help; each verb lives in a module with `Arguments` and `run`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from errands.errors import ErrandsError, UnknownName

T = TypeVar("T")
COMMON = """  --json    print exactly one JSON document          --quiet   no progress
  --debug   a traceback instead of one sentence      --help    of a verb: its options and an example
  --import MODULE   let the code of a module in that a task file names, such as --import minigrid"""


@dataclass(frozen=True)
class Verb:
    """Where a verb lives (a module with `Arguments` and `run`), what it does, and an example."""

    module: str
    group: str
    about: str
    example: str


VERBS: Mapping[str, Verb] = {
    "demo": Verb("demo", "look", "the paper's first example, end to end", "errands demo"),
    "tasks": Verb("tasks", "look", "list the catalogue of tasks", "errands tasks"),
    "show": Verb("show", "look", "draw a task's machine", "errands show figure-1 --as coupled"),
    "size": Verb("size", "look", "count the states of a task's four machines", "errands size delivery-12"),
    "lint": Verb("lint", "look", "check a task file and read it back in English", "errands lint mine.toml"),
    "play": Verb("play", "look", "walk a world with the arrow keys", "errands play office-3"),
    "check": Verb("check", "look", "check your own environment", "errands check pkg.envs:MyEnv --features pkg.envs:label"),
    "solve": Verb("solve", "solve", "the exact optimum of a task", "errands solve office-6 --one-policy-per-subtask"),
    "learners": Verb("learners", "learn", "list the learners and their settings", "errands learners qcorm"),
    "train": Verb("train", "learn", "train a learner and judge it", "errands train delivery-4 qcorm --steps 200000 --seeds 5"),
    "sweep": Verb(
        "sweep", "many", "train many tasks, learners and seeds",
        "errands sweep --task delivery-2..4 --learner qcorm,crm --seeds 10 --steps 100000",
    ),
    "compare": Verb("compare", "many", "several runs in one table, and what differs", "errands compare one two --plot both.svg"),
    "reproduce": Verb(
        "reproduce", "many", "the paper's figures and claims, measured again", "errands reproduce office-3 --profile quick"
    ),
    "plot": Verb("plot", "see", "curves, bars, runtimes, sizes, routes, policies", "errands plot route latest --output route.svg"),
    "doctor": Verb("doctor", "house", "versions, cores, GPU, rendering, cache, known faults", "errands doctor"),
    "completion": Verb("completion", "house", "complete verbs, tasks and options in your shell", "errands completion bash"),
    "bench": Verb("bench", "house", "how fast this machine trains", "errands bench --sizes 2 8"),
    "verify": Verb("verify", "many", "repeat a part of a run and compare every byte", "errands verify latest"),
    "resume": Verb("resume", "learn", "go on with a run or sweep that was stopped", "errands resume latest"),
    "view": Verb("view", "see", "a local page: watch runs learn, replay them, write tasks", "errands view latest"),
    "export": Verb("export", "see", "a run as a page, or its policy as a file", "errands export latest --html run.html"),
}

COMPILING = frozenset({"demo", "tasks", "solve", "train", "resume", "sweep", "verify", "plot", "export", "reproduce"})
"""The verbs that run compiled loops."""

GROUPS: Mapping[str, str] = {
    "look": "Look at tasks",
    "solve": "Know the truth",
    "learn": "Learn",
    "many": "Many runs",
    "see": "See what was learnt",
    "house": "This machine",
}


def parse(kind: type[T], name: str, verb: Verb, words: list[str]) -> T:
    """The arguments of a verb; a mistake is told in one sentence."""
    if {"-h", "--help"} & set(words):
        print(verb_help(kind, name, verb))
        raise SystemExit(0)
    import tyro

    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    options = {flag_of(f) for f in fields if not positional(f)}
    # Every verb may be asked to be quiet, those that never say anything included.
    if "--quiet" not in options:
        words = [word for word in words if word != "--quiet"]
    _check_options(name, words, options)
    wanted = [f.name for f in fields if positional(f) and f.default is dataclasses.MISSING]
    missing = f"missing {wanted[0].upper()} after 'errands {name}'; for example: {verb.example}" if wanted else ""
    if wanted and all(word.startswith("-") for word in words):
        raise ErrandsError(missing)
    heard = io.StringIO()
    try:
        # The parser prints a box and exits; the box is caught and told as one sentence.
        with contextlib.redirect_stderr(heard):
            return tyro.cli(kind, prog=f"errands {name}", args=words)
    except SystemExit:
        said = _sentence(heard.getvalue(), {flag_of(f): f for f in fields})
        if "issing from errands" in said and wanted:
            raise ErrandsError(missing) from None
        raise ErrandsError(f"{said}; type 'errands {name} --help' to see what it takes") from None


def positional(field: dataclasses.Field[Any]) -> bool:
    """Whether an argument is given by its place."""
    return "Positional" in str(field.type)


def flag_of(field: dataclasses.Field[Any]) -> str:
    """The option of an argument; a name that Python reserves has an underscore at its end."""
    return f"--{field.name.strip('_').replace('_', '-')}"


def _check_options(name: str, words: list[str], options: set[str]) -> None:
    """Refuse what is no option of a verb."""
    known = options | {f"--no-{option[2:]}" for option in options} | {"--help"}
    for word in words:
        option = word.split("=")[0].replace("_", "-")
        if option.startswith("--") and option not in known and not option[2:3].isdigit():
            raise UnknownName(f"option of 'errands {name}'", option, {*options, "--help"})


def _sentence(text: str, fields: Mapping[str, dataclasses.Field[Any]]) -> str:
    """What a parser's error box says, on one line and in our words where it speaks of a value."""
    lines = [line.strip("│|─ \t") for line in text.splitlines() if not line.startswith(("╭", "╰", "+"))]
    said = " ".join(line for line in lines if line.strip("-─")).split("For full helptext")[0].strip()
    if choice := re.search(r"nvalid choice '(.*?)' for argument '(.*?)'\. Expected one of \((.*?)\)", said):
        choices = [word for word in re.findall(r"'(.*?)'", choice[3]) if word != "None"]
        return str(UnknownName(f"value of {choice[2]}", choice[1], choices))
    if (value := re.search(r"rror parsing (--[\w-]+): .*?'(.*?)'", said)) and value[1] in fields:
        return f"{value[1]} was given '{value[2][:60]}'; write it as {_shown(fields[value[1]])}"
    if (empty := re.search(r"issing value for argument '(--[\w-]+)'", said)) and empty[1] in fields:
        return f"{empty[1]} has no value; write it as {_shown(fields[empty[1]])}"
    return f"{said[:1].lower()}{said[1:300]}".strip().rstrip(".;") or "the arguments could not be read"


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
    fields = dataclasses.fields(kind)
    given = [_shown(field) for field in fields if positional(field)]
    options = [field for field in fields if not positional(field)]
    lines = [" ".join([f"usage: errands {name}", *given, *(["[OPTIONS]"] if options else [])]), ""]
    lines += [f"{verb.about[0].upper()}{verb.about[1:]}.", f"Example: {verb.example}"]
    for title, part in (("", [f for f in fields if positional(f)]), ("Options", options)):
        lines += ["", *([title] if title else [])] if part else []
        for field in part:
            default = field.default
            plain = default is False or default in (None, (), dataclasses.MISSING)
            written = " ".join(map(str, default)) if isinstance(default, tuple) else "yes" if default is True else default
            told = "" if plain or "unless said otherwise" in said[field.name] else f" (default {written})"
            rows = textwrap.wrap(said[field.name] + told, width - _COLUMN, break_on_hyphens=False)
            if len(shown := f"  {_shown(field)}") >= _COLUMN:
                lines.append(shown)
                shown = ""
            lines += [f"{shown:{_COLUMN}}{rows[0]}", *(" " * _COLUMN + row for row in rows[1:])]
    return "\n".join([*lines, "", "Every verb", COMMON])


_COLUMN = 26
_KINDS = {"Count": "COUNT", "Seconds": "SECONDS", "Path": "PATH", "int": "NUMBER", "float": "NUMBER", "str": "TEXT"}


def _shown(field: dataclasses.Field[Any]) -> str:
    """An argument as it is typed: TASK, [LEARNER], --steps COUNT, --as numeric|boolean."""
    text, name = str(field.type), field.name.strip("_").replace("_", "-")
    if positional(field):
        shown = f"{name.upper()} ..." if "tuple" in text else name.upper()
        return shown if field.default is dataclasses.MISSING else f"[{shown}]"
    if isinstance(field.default, bool):
        return f"--[no-]{name}" if field.default else f"--{name}"
    choices = re.findall(r"'(\w+)'", "".join(re.findall(r"Literal\[(.*?)\]", text)))
    value = "|".join(choices) or next(word for kind, word in _KINDS.items() if re.search(rf"\b{kind}\b", text))
    return f"--{name} {value}{' ...' if 'tuple' in text and 'Append' not in text else ''}"


def sentences(kind: type) -> dict[str, str]:
    """The sentence under each field of a class, its parents' included: the one place where it is written."""
    import ast
    import inspect
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
    for field in dataclasses.fields(arguments):
        value = getattr(arguments, field.name)
        if value == field.default or value is None:
            continue
        values = [str(v) for v in value] if isinstance(value, tuple | list) else [str(value)]
        flag = flag_of(field)
        if positional(field):
            words += values
        elif isinstance(value, bool):
            options.append(flag if value else f"--no-{flag[2:]}")
        else:
            options += [flag, *values]
    return shlex.join([*words, *options])
