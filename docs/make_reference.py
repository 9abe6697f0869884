"""Writes docs/reference.md from the code itself: names, verbs and settings, each with its own sentence."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import errands
from errands.cli.verbs import GROUPS, VERBS, Option, options_of, sentences
from errands.learners import LEARNERS
from errands.learners.method import loaded

REFERENCE = Path(__file__).parent / "reference.md"


def reference() -> str:
    """The whole page."""
    head = [
        "# Reference",
        "",
        "Written by `python docs/make_reference.py` from docstrings; a test compares it with the code. Do not edit it.",
        "",
        "[Names](#names) · [Commands](#commands) · [Learners and their settings](#learners-and-their-settings)",
    ]
    return "\n".join([*head, *_names(), *_verbs(), *_learners()]) + "\n"


def _names() -> Iterator[str]:
    yield from ("", "## Names", "", "Everything that `import errands` offers.")
    for name in errands.__all__:
        value = getattr(errands, name)
        kind = "class" if inspect.isclass(value) else "def"
        yield from (
            "",
            f"### errands.{name}",
            "",
            "```text",
            f"{kind} {name}{_signature(value)}",
            "```",
            "",
            *_documented(value),
        )
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield from _members(value)


def _members(kind: type) -> Iterator[str]:
    """The fields, properties and methods of a class that it defines itself, one line each."""
    said = sentences(kind) if dataclasses.is_dataclass(kind) else {}
    rows = []
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if inspect.isfunction(value):
            rows.append(f"- `{name}{_signature(value)}`: {_sentence(value)}")
        elif hasattr(value, "__doc__") and type(value).__name__ in ("property", "cached_property"):
            rows.append(f"- `{name}`: {_sentence(value)}")
    fields = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    listed = [f"- `{name}`" + (f": {said[name]}" if name in said else "") for name in fields]
    members = [f"- `{member}`" for member in kind.__members__] if issubclass(kind, errands.Change) else []
    if listed or rows or members:
        yield from ("", *members, *listed, *rows)


def _signature(value: Any) -> str:
    """The signature without the homes of types; none where it is Python's own and changes with its version."""
    if inspect.isclass(value) and issubclass(value, Exception | Enum):
        return ""
    # A function has an address for a name, which differs from run to run.
    text = re.sub(r"<function .*? at 0x\w+>", "...", str(inspect.signature(value))).removesuffix(" -> None")
    text = re.sub(r"\b(?:[a-z_]+\.)+([A-Z]\w*)", r"\1", text)
    return text.replace("'", "")


def _sentence(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def _documented(value: Any) -> Iterator[str]:
    """A docstring as Markdown: paragraphs, a list of parameters, examples as they are typed."""
    lines, example = (inspect.getdoc(value) or "").splitlines(), False
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(">>> ") and not example:
            example = True
            yield "```pycon"
        if example and not line:
            example = False
            yield from ("```", "")
        elif example:
            yield line
        elif line == "Parameters:":
            yield from (*_joined(paragraph), "Parameters:", "")
            paragraph = []
        elif parameter := re.match(r"    (\w+): (.*)", line):
            yield f"- `{parameter[1]}`: {parameter[2]}"
        elif not line:
            yield from (*_joined(paragraph), "")
            paragraph = []
        else:
            paragraph.append(line)


def _joined(lines: list[str]) -> list[str]:
    return [" ".join(lines), ""] if lines else []


def _verbs() -> Iterator[str]:
    common = (
        "Every command also takes `--json` (one document on standard output), `--debug` (a traceback) and "
        "`--import MODULE` (the code of a module is let in that a task file names)."
    )
    yield from ("", "## Commands", "", common)
    for group, title in GROUPS.items():
        for name, verb in VERBS.items():
            if verb.group != group:
                continue
            kind = importlib.import_module(f"errands.cli.{name}").Arguments
            about = f"{verb.about[0].upper()}{verb.about[1:]}."
            yield from ("", f"### errands {name}", "", f"*{title}.* {about}", "", "```sh", verb.example, "```")
            said = sentences(kind)
            rows = [f"| `{o.flag}` | {_default(o)} | {_cell(said.get(o.name, ''))} |" for o in options_of(kind)]
            if rows:
                yield from ("", "| argument | default | what it is |", "|---|---|---|", *rows)


def _default(field: dataclasses.Field[Any] | Option) -> str:
    if field.default is dataclasses.MISSING:
        return "" if getattr(field, "default_factory", dataclasses.MISSING) is not dataclasses.MISSING else "needed"
    value = field.default
    return "" if value is None or value == () else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _learners() -> Iterator[str]:
    told = "Defaults of the classes; `errands learners NAME` shows what presets make of them."
    yield from ("", "## Learners and their settings", "", told, "")
    yield from ("| learner | machines | worlds | what it is |", "|---|---|---|---|")
    for name, entry in LEARNERS.items():
        worlds = [world for world, home in (("finite", entry.tabular), ("continuous", entry.deep)) if home]
        yield f"| `{name}` | {', '.join(entry.machines) or 'its own'} | {', '.join(worlds)} | {entry.about} |"
    for where, forms in (("finite", "tabular"), ("continuous", "deep")):
        learners: dict[type, list[str]] = {}
        for name, method in LEARNERS.items():
            if (form := getattr(method, forms)) is not None:
                learners.setdefault(loaded(form.config), []).append(f"`{name}`")
        for kind, names in learners.items():
            yield from _config(kind, f"{', '.join(names)} on {where} worlds.")


def _config(kind: type, where: str) -> Iterator[str]:
    yield from ("", f"### {kind.__name__}", "", f"{where} {_sentence(kind)}", "")
    yield from ("| setting | default | what it is |", "|---|---|---|")
    said = sentences(kind)
    for field in dataclasses.fields(kind):
        yield f"| `{field.name}` | {_default(field)} | {_cell(said.get(field.name, ''))} |"


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
    print(f"wrote {REFERENCE}")
