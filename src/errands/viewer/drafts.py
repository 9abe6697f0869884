"""Tasks typed into the page: checked within limits, errors placed on their lines, machines drawn, traces tried."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from errands import worlds
from errands.errors import ErrandsError, SpecError
from errands.oracle.episode import EpisodeStep
from errands.tables import RUNNING
from errands.tasks.lint import lint_machine
from errands.tasks.spec import GymnasiumSpec, TaskSpec, read_spec
from errands.tasks.task import Task
from errands.viewer.replay import Moment, Places, Recording, shown_episode
from errands.viewer.scene import scene
from errands.worlds.imports import allowed

MAX_TEXT = 50_000
MAX_CELLS = 2_500
MAX_SUBTASKS = 16
MAX_TRANSITIONS = 200
MAX_TRACE = 200
KINDS = tuple(kind for kind in worlds.KINDS if kind not in ("gymnasium", "jax"))
"""Worlds that a typed task may always have. Gymnasium ids name code: only that of modules which the server was told to import."""


def read_draft(text: str) -> tuple[TaskSpec, Task]:
    """The task of a typed text, when it is small enough to be drawn and trained at once."""
    if len(text) > MAX_TEXT:
        raise SpecError(f"the text has {len(text):,} characters and the editor takes {MAX_TEXT:,}; use errands train")
    spec = read_spec(text)
    # The limits are looked at before the task is built: building a huge one is the work that they are to prevent.
    problems = list(_too_large(spec))
    if problems:
        raise SpecError("; ".join(problems), problems)
    task = Task.from_toml(text)
    if len(task.machine.subtasks) > MAX_SUBTASKS:
        count = len(task.machine.subtasks)
        raise SpecError(f"machine: {count} subtasks are more than the editor's {MAX_SUBTASKS}; use errands train")
    return spec, task


def _too_large(spec: TaskSpec) -> list[str]:
    world, problems = spec.world, []
    if isinstance(world, GymnasiumSpec):
        problems += _untold(world)
    sizes = world.model_dump()
    if sum(map(len, sizes.get("rows", ()))) > MAX_CELLS:
        problems.append(f"world.rows: the editor takes at most {MAX_CELLS:,} cells; use errands train")
    for name in ("boxes", "places", "pairs", "passengers"):
        if sizes.get(name, 0) > MAX_SUBTASKS:
            problems.append(f"world.{name}: the editor takes at most {MAX_SUBTASKS}; use errands train")
    if (sizes.get("size") or 0) ** 2 > MAX_CELLS:
        problems.append(f"world.size: the editor takes at most {MAX_CELLS:,} cells; use errands train")
    if len(spec.machine.transitions) > MAX_TRANSITIONS or len(spec.machine.phrase or "") > 2_000:
        problems.append(f"machine.transitions: the editor takes at most {MAX_TRANSITIONS}; use errands train")
    return problems


def _untold(world: GymnasiumSpec) -> list[str]:
    """A sentence for each reference to code of a module that the server was not started with."""
    signals = world.signals.values() if isinstance(world.signals, dict) else ()
    named = [("features", world.features), ("state", world.state), *(("signals", value) for value in signals)]
    code = [("id", world.id), *((key, value) for key, value in named if isinstance(value, str) and ":" in value)]
    problems = []
    for key, value in code:
        module, colon, _ = value.partition(":")
        if not colon or module not in allowed():
            shown = module[:60] if colon else "MODULE"
            problems.append(
                f"world.{key}: '{value[:80]}' is no code of a module that this page may run; start it with 'errands view "
                f"--import {shown}' and write {shown}:NAME here, or use one of the kinds {', '.join(KINDS)}"
            )
    return problems


def check(text: str) -> dict[str, Any]:
    """What the editor shows of a text: problems on their lines, or the task with its machines and map."""
    try:
        spec, task = read_draft(text)
        report = lint_machine(task.machine)
        places = Places(task, [])
    except SpecError as fault:
        return {"problems": [{"line": line_of(p, text), "message": p} for p in fault.problems]}
    except ErrandsError as fault:
        return {"problems": [{"line": 1, "message": str(fault)}]}
    sizes = asdict(report.sizes) if report.sizes else {}
    grid, start = spec.world.model_dump(), places.quotient.stepper.start
    return {
        "problems": [],
        "warnings": list(report.warnings),
        "reading": list(report.reading),
        "task": task.name,
        "features": list(task.machine.features),
        "subtasks": list(task.machine.subtasks),
        "machines": places.diagrams,
        "sizes": {**sizes, "numeric": len(task.machine.states)},
        "scene": scene(task),
        "rows": grid.get("rows"),
        "legend": grid.get("legend"),
        "untrainable": "" if task.finite is not None else f"the world {task.untabled}; train it with errands train",
        "stands": [places.stand(start, (start[0], ()))],
    }


def try_trace(text: str, trace: Sequence[Sequence[str]]) -> dict[str, Any]:
    """A trace of feature sets tried step by step: where the machines stand and what each step pays."""
    if len(trace) > MAX_TRACE:
        raise SpecError(f"a trace tried in the page has at most {MAX_TRACE} steps; use machine.run for longer ones")
    _, task = read_draft(text)
    places = Places(task, [])
    stepper = places.quotient.stepper
    known = set(task.world.features)
    state, moments = stepper.start, [Moment(0, None, EpisodeStep(0, stepper.start, RUNNING))]
    for names in trace:
        if wrong := sorted(set(names) - known):
            raise SpecError(f"the world has no feature '{wrong[0]}'; it has {', '.join(sorted(known))}")
        if stepper.status[state[0]] != RUNNING:
            break
        step = stepper.step(state, set(names))
        reward = step.transition.reward.paid(dict.fromkeys(task.world.signals, 1.0)) if step.transition else 0.0
        done = tuple(stepper.completed(state, step))
        state = step.state
        moved = EpisodeStep(0, state, stepper.status[state[0]], 0, frozenset(names), done, reward, step)
        moments.append(Moment(0, "step", moved))
    shown = shown_episode("trace", None, task, Recording(tuple(moments), False), places, {}, {})
    return {"frames": shown.frames, "stands": places.stands.items, "moves": places.moves.items}


def line_of(problem: str, text: str) -> int:
    """The line of a task file that a problem speaks of: named in it, quoted in it, or where its key stands."""
    lines = text.splitlines() or [""]
    if named := re.search(r"at line (\d+)", problem):
        return min(int(named[1]), len(lines))
    if "end of document" in problem:
        return len(lines)
    for quoted in sorted(re.findall(r"'([^']{1,200})'", problem), key=len, reverse=True):
        places = [i for i, line in enumerate(lines, 1) if quoted in line]
        if places and len(quoted) > 1:
            return places[-1] if " -> " in quoted or len(places) == 1 else places[0]
    path = re.match(r"([\w.]+):", problem)
    return _key_line(path[1].split("."), lines) if path else 1


def _key_line(path: list[str], lines: list[str]) -> int:
    """The line of a key, or of the table that it is missing from."""
    table, best = "", 1
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[\s*([\w.]+)\s*\]", line):
            table = header[1]
            best = number if table == path[0] and len(path) >= 1 else best
        elif key := re.match(r"\s*[\"']?(\w+)[\"']?\s*=", line):
            where = [*table.split("."), key[1]] if table else [key[1]]
            if where == path[: len(where)]:
                return number
    return best
