"""`errands solve`: the exact optimum of a task."""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from errands.cli.tell import Answer


@dataclass(frozen=True)
class Arguments:
    """Compute the exact optimum."""

    task: tyro.conf.Positional[str]
    """A catalogue name or the path of a task file."""
    one_policy_per_subtask: bool = False
    """Also the best length that one policy per subtask can reach: the paper's class of policies."""
    map_seed: int = 0
    """The seed of random maps."""
    gamma: float = 0.99
    """Discount factor of the discounted return."""


def run(arguments: Arguments) -> Answer:
    """Solve it."""
    from errands.oracle.optimum import optimum
    from errands.tasks.catalogue import load

    task = load(arguments.task, arguments.map_seed)
    best = optimum(task, arguments.gamma)
    document = {
        "task": task.name,
        "length": best.length,
        "order": list(best.order),
        "orders": best.orders,
        "path": list(best.path),
        "discounted": best.discounted,
        "success": best.success,
        "reason": best.reason,
        "method": best.method,
    }
    lines = [f"{task.name}: {_length(best.length, best.reason)}"]
    if best.order:
        lines.append(f"order: {' '.join(best.order)}{_how_many(best.orders)}")
    lines += [f"method: {best.method}"] if best.method else []
    if arguments.one_policy_per_subtask:
        from errands.oracle.one_policy import one_policy_per_subtask

        single = one_policy_per_subtask(task)
        document["one_policy_per_subtask"] = single.length
        lines.append(f"with one policy per subtask: {_length(single.length, 'no such policy succeeds')}")
    if task.layout is not None and best.path and task.layout.cells > max(best.path):
        from errands.worlds.picture import grid_text

        lines += ["", grid_text(task.layout, best.path[0]).rstrip()]
    return Answer(document, "\n".join(lines), int(best.length is None))


def _how_many(orders: int | None) -> str:
    """Whether another order is as good."""
    return "" if not orders else "   (the only optimal order)" if orders == 1 else f"   (one of {orders:,} optimal orders)"


def _length(length: float | None, reason: str) -> str:
    if length is None:
        return reason
    return f"{length:g} steps" if float(length).is_integer() else f"{length:.4f} expected steps"
