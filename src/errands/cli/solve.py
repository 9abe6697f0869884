"""`errands solve`: the exact optimum of a task."""

from __future__ import annotations

from dataclasses import dataclass, fields

from errands.cli.options import OnMap
from errands.cli.verbs import Answer, Positional
from errands.errors import TaskError
from errands.learners.scout.tabular import known_bounds
from errands.oracle.certificate import Bounds
from errands.oracle.one_policy import one_policy_per_subtask
from errands.oracle.optimum import optimum
from errands.tasks.catalogue import load
from errands.worlds.picture import grid_text
from errands.worlds.water import ACTIONS


@dataclass(frozen=True)
class Arguments(OnMap):
    """Compute the exact optimum."""

    task: Positional[str]
    """A catalogue name or the path of a task file."""
    one_policy_per_subtask: bool = False
    """Also the best length that one policy per subtask can reach: the paper's class of policies."""
    gamma: float = 0.99
    """Discount factor of the discounted return."""


def run(arguments: Arguments) -> Answer:
    """Solve it."""
    task = load(arguments.task, arguments.map_seed)
    try:
        best = optimum(task, arguments.gamma)
    except TaskError as refusal:
        if (bounds := known_bounds(task)) is None or not bounds.says_something:
            raise
        return _between(task.name, bounds, str(refusal))
    known: dict[str, object] = {"lower": best.length, "upper": best.length, "proved": True, "delta": None}
    known |= {"under": task.tried} if task.tried else {}
    found = {field.name: getattr(best, field.name) for field in fields(best) if field.name != "policy"}
    document = {"task": task.name, **found, "bounds": None if best.length is None else known}
    lines = [f"{task.name}: {_length(best.length, best.reason)}"]
    if best.order:
        others = "the only optimal order" if best.orders == 1 else f"one of {best.orders or 0:,} optimal orders"
        lines.append(f"order: {' '.join(best.order)}{f'   ({others})' if best.orders else ''}")
    if best.actions and not best.path:  # no cells to be drawn
        lines.append(f"actions: {' '.join(ACTIONS[action] for action in best.actions)}")
    lines += [f"method: {best.method}"] if best.method else []
    if arguments.one_policy_per_subtask:
        single = one_policy_per_subtask(task)
        document["one_policy_per_subtask"] = single.length
        lines.append(f"with one policy per subtask: {_length(single.length, 'no such policy succeeds')}")
    if task.layout is not None and best.path and task.layout.cells > max(best.path):
        lines += ["", grid_text(task.layout, best.path[0]).rstrip()]
    return Answer(document, "\n".join(lines), int(best.length is None))


def _between(name: str, bounds: Bounds, refusal: str) -> Answer:
    """Bounds in place of an optimum that takes too much memory or too many subtasks."""
    known = bounds.as_json()
    document = {"task": name, "length": known["upper"] if bounds.proved else None, "bounds": known, "reason": bounds.reason}
    if bounds.proved:
        lines = [f"{name}: {_length(known['upper'], bounds.reason)}", f"method: {bounds.reason}"]
        return Answer(document, "\n".join(lines), int(known["upper"] is None))
    upper = f"and {bounds.upper:g}" if known["upper"] is not None else "and an unknown number of"
    lines = [f"{name}: between {bounds.lower:g} {upper} steps ({bounds.reason})", f"no exact optimum: {refusal}"]
    return Answer(document, "\n".join(lines))


def _length(length: float | None, reason: str) -> str:
    if length is None:
        return reason
    return f"{length:g} steps" if float(length).is_integer() else f"{length:.4f} expected steps"
