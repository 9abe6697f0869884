"""`errands lint`: every problem of a task file, or what it means in English."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from errands.cli.options import FOREIGN, allow_digits, count_text, foreign_machine
from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError, SpecError
from errands.runs.run import best_length
from errands.tasks.catalogue import read_text, task_text
from errands.tasks.lint import lint, lint_machine
from errands.tasks.spec import json_schema
from errands.tasks.task import Task

SOON_BYTES = 20_000_000
"""How large a search for the optimum may grow to be held against the limit: less than a second."""


@dataclass(frozen=True)
class Arguments:
    """Check a task file."""

    file: Positional[str | None] = None
    """A catalogue name, or the path of a task file (.toml), or of a machine of the 2022 code (.txt) or multiagent-rl-rm (.yaml)."""
    schema: bool = False
    """Print the JSON Schema of task files, for editors, and stop."""


def run(arguments: Arguments) -> Answer:
    """Check the file, and read it back."""
    if arguments.schema:
        return Answer(json_schema(), json.dumps(json_schema(), indent=1))
    if arguments.file is None:
        raise ConfigError("errands lint needs the path of a task file, or --schema")

    name = arguments.file
    is_file = name.endswith((".toml", *FOREIGN)) or "/" in name
    text = read_text(Path(name)) if is_file else task_text(name)
    try:
        return _report(name, text)
    except SpecError as fault:
        problems = list(fault.problems)
        heading = "1 problem:" if len(problems) == 1 else f"{len(problems)} problems:"
        return Answer({"file": name, "ok": False, "problems": problems}, "\n  - ".join([heading, *problems]), 2)


def _report(name: str, text: str) -> Answer:

    report = lint_machine(foreign_machine(name, text)) if name.endswith(FOREIGN) else lint(text)
    warnings = [*report.warnings, *_late(report.task)]
    sizes = asdict(report.sizes) if report.sizes else {}
    allow_digits()
    lines = [*report.reading, "", "States: " + ", ".join(f"{kind} {count_text(count)}" for kind, count in sizes.items())]
    lines += ["", *(f"warning: {w}" for w in warnings)] if warnings else ["No warnings."]
    document = {"file": name, "ok": True, "reading": list(report.reading), "sizes": sizes, "warnings": warnings}
    return Answer(document, "\n".join(lines))


def _late(task: Task | None) -> Iterator[str]:
    """A limit that is shorter than the optimum, where that is soon computed."""
    best = None if task is None else best_length(task, SOON_BYTES)
    if task is not None and best is not None and (best.unlimited or 0) > task.world.limit:
        raised = f"raise limit = {task.world.limit} under [world]"
        yield f"the task takes {best.unlimited:.6g} steps at least and an episode ends before; {raised}"
