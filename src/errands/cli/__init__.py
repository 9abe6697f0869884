"""The command `errands`: one verb, one module; errors are one sentence and exit code 2."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

from errands.cli.verbs import GROUPS, VERBS, Verb
from errands.errors import ErrandsError, UnknownName

T = TypeVar("T")
COMMON = """  --json    print exactly one JSON document          --quiet   no progress
  --debug   a traceback instead of one sentence      --help    of a verb: its options and an example"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    as_json = "--json" in words
    words = [w for w in words if w not in ("--debug", "--json")]
    if not words or words[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0
    if words[0] in ("--version", "version"):
        from errands import __version__

        print(f"errands {__version__}")
        return 0
    try:
        return _verb(words[0], words[1:], as_json)
    except ErrandsError as fault:
        if debug:
            raise
        if as_json:
            _print_json({"error": str(fault)})
        print(f"errands: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("errands: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _verb(name: str, words: list[str], as_json: bool) -> int:
    if name not in VERBS:
        raise UnknownName("verb", name, VERBS)
    from importlib import import_module

    verb = VERBS[name]
    module = import_module(f"errands.cli.{verb.module}")
    given = parse(module.Arguments, name, verb, words)
    answer = module.run(given)
    if as_json:
        _print_json(answer.document)
    elif isinstance(answer.shown, str):
        print(answer.shown)
    else:
        from rich.console import Console

        Console().print(answer.shown)
    return int(answer.code)


def _print_json(document: Any) -> None:
    import json

    print(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))


def parse(kind: type[T], name: str, verb: Verb, words: list[str]) -> T:
    """The arguments of a verb; a mistake is told in one sentence."""
    import tyro

    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    options = {f"--{f.name.replace('_', '-').strip('-')}" for f in fields if not _positional(f)}
    if "--quiet" not in options:
        words = [word for word in words if word != "--quiet"]
    _check_options(name, words, options)
    wanted = [f.name for f in fields if _positional(f) and f.default is dataclasses.MISSING]
    if wanted and all(word.startswith("-") for word in words) and not {"-h", "--help"} & set(words):
        raise ErrandsError(f"missing {wanted[0].upper()} after 'errands {name}'; for example: {verb.example}")
    heard = io.StringIO()
    try:
        with contextlib.redirect_stderr(heard):
            return tyro.cli(
                kind,
                prog=f"errands {name}",
                description=f"{verb.about[0].upper()}{verb.about[1:]}.\n\nExample: {verb.example}",
                args=words,
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise ErrandsError(
            f"{_sentence(heard.getvalue())}; type 'errands {name} --help' to see what it takes"
        ) from None


def _positional(field: dataclasses.Field[Any]) -> bool:
    return "Positional" in str(field.type)


def _check_options(name: str, words: list[str], options: set[str]) -> None:
    """Refuse what is no option of a verb."""
    known = options | {f"--no-{option[2:]}" for option in options} | {"--help"}
    for word in words:
        option = word.split("=")[0].replace("_", "-")
        if option.startswith("--") and option not in known and not option[2:3].isdigit():
            raise UnknownName(f"option of 'errands {name}'", option, {*options, "--help"})


def _sentence(text: str) -> str:
    """What a parser's error box says, on one line."""
    lines = [line.strip("│|─ \t") for line in text.splitlines() if not line.startswith(("╭", "╰", "+"))]
    said = " ".join(line for line in lines if line.strip("-─")).split("For full helptext")[0].strip()
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
