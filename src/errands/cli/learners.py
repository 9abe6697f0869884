"""`errands learners`: the methods, and the settings of one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from errands.cli.verbs import Answer, Positional, sentences
from errands.learners import LEARNERS, method_of
from errands.learners.presets import PRESETS, config_of
from errands.tasks.catalogue import load
from errands.terminal import table


@dataclass(frozen=True)
class Arguments:
    """List the learners, or the settings of one."""

    learner: Positional[str | None] = None
    """The learner whose settings are shown."""
    task: str = "delivery-2"
    """The task for which the presets are shown."""


def run(arguments: Arguments) -> Answer:
    """List them."""
    if arguments.learner is None:
        listed = table(None, ("learner", "machines", "worlds"), rest="what it is")
        rows = []
        for name, entry in LEARNERS.items():
            worlds = [w for w, home in (("finite", entry.tabular), ("continuous", entry.deep)) if home]
            rows.append({"learner": name, "machines": list(entry.machines), "worlds": worlds, "about": entry.about})
            listed.add_row(name, ", ".join(entry.machines) or "its own", ", ".join(worlds), entry.about)
        return Answer({"learners": rows}, listed)
    method_of(arguments.learner)
    return _settings(arguments.learner, arguments.task)


def _settings(name: str, task_name: str) -> Answer:

    task = load(task_name)
    configs = {preset: config_of(name, preset, task) for preset in PRESETS}
    kind = type(configs["tuned"])
    said = sentences(kind)
    listed = table(f"{name} on {task_name}", ("setting", *PRESETS), rest="what it is")
    rows: list[dict[str, Any]] = []
    for field in fields(kind):
        values = {preset: getattr(config, field.name) for preset, config in configs.items()}
        rows.append({"setting": field.name, **values, "about": said.get(field.name, "")})
        listed.add_row(field.name, *(str(v) for v in values.values()), said.get(field.name, ""))
    return Answer({"learner": name, "task": task_name, "settings": rows}, listed)
