"""`errands lint`: every problem of a task file, or what it means in English."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from errands.cli.answer import Answer
from errands.errors import ConfigError, SpecError


@dataclass(frozen=True)
class Arguments:
    """Check a task file."""

    file: tyro.conf.Positional[str | None] = None
    """The path of a task file (.toml), of a machine in the 2022 text format (.txt), or a catalogue name."""
    schema: bool = False
    """Print the JSON Schema of task files, for editors, and stop."""


def run(arguments: Arguments) -> Answer:
    """Check the file, and read it back."""
    if arguments.schema:
        import json

        from errands.tasks.spec import json_schema

        return Answer(json_schema(), json.dumps(json_schema(), indent=1))
    if arguments.file is None:
        raise ConfigError("errands lint needs the path of a task file, or --schema")
    try:
        return _report(arguments.file)
    except SpecError as fault:
        if len(fault.problems) < 2:
            raise
        shown = "\n".join([f"{len(fault.problems)} problems:", *(f"  - {p}" for p in fault.problems)])
        return Answer({"file": arguments.file, "ok": False, "problems": list(fault.problems)}, shown, 2)


def _report(name: str) -> Answer:
    from errands.cli.loading import read_text
    from errands.tasks.catalogue import task_text
    from errands.tasks.lint import lint, lint_machine

    if name.endswith(".txt"):
        from errands.machines.text2022 import parse_text2022

        report = lint_machine(parse_text2022(read_text(Path(name))))
    else:
        is_file = name.endswith(".toml") or "/" in name
        report = lint(read_text(Path(name)) if is_file else task_text(name))
    sizes = asdict(report.sizes) if report.sizes else {}
    lines = [*report.reading, "", "States: " + ", ".join(f"{kind} {count:,}" for kind, count in sizes.items())]
    lines += ["", *(f"warning: {w}" for w in report.warnings)] if report.warnings else ["No warnings."]
    document = {
        "file": name,
        "ok": True,
        "reading": list(report.reading),
        "sizes": sizes,
        "warnings": list(report.warnings),
    }
    return Answer(document, "\n".join(lines))
