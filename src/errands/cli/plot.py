"""`errands plot`: one figure from runs or a task, with its data and command beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from errands.cli.options import Count
from errands.cli.tell import Answer
from errands.cli.verbs import typed
from errands.errors import ConfigError, StoreError, UnknownName
from errands.terminal import counting

if TYPE_CHECKING:
    from errands.learners.base import Learner
    from errands.tasks.task import Task

Drawn = tuple[Any, dict[str, Any]]


@dataclass(frozen=True)
class Arguments:
    """Draw a figure."""

    kind: tyro.conf.Positional[Literal["curves", "bars", "runtimes", "sizes", "route", "policy"]]
    """curves, bars, runtimes: of runs; sizes: of a family of tasks; route, policy: of one run, or of a task."""
    subjects: tyro.conf.Positional[tuple[str, ...]]
    """Runs or sweeps (names, paths, 'latest'), or for sizes, route and policy the name of a task."""
    output: Path = Path("figure.svg")
    """The file: .svg, .pdf or .png."""
    learner: str | None = None
    """For route and policy of a task: train this learner first."""
    steps: Count = 100_000
    """For how many steps."""
    seed: int | None = None
    """Which seed: of the run the first one unless said otherwise, of a task 0."""
    map_seed: int = 0
    """The seed of random maps."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Compute what is to be seen, draw it, and keep both."""
    from errands.plots.style import format_of, save

    # A wrong ending of the file's name is told before the work, not after it.
    format_of(arguments.output)
    if arguments.steps < 1:
        raise ConfigError(f"--steps is {arguments.steps}; train for at least 1 step")
    if not arguments.subjects:
        raise ConfigError(f"nothing to draw was named; type for example: errands plot {_EXAMPLES[arguments.kind]}")
    figure, value = _KINDS[arguments.kind](arguments)
    beside = save(figure, arguments.output, value, typed("plot", arguments))
    document = {"file": str(arguments.output), "data_file": str(beside), "data": value}
    return Answer(document, f"wrote {arguments.output} and its data, {beside}")


_EXAMPLES = {
    "curves": "curves latest", "bars": "bars latest", "runtimes": "runtimes my-sweep", "sizes": "sizes delivery-12",
    "route": "route latest", "policy": "policy latest",
}  # fmt: skip


def _curves(arguments: Arguments) -> Drawn:
    from errands.analysis.compare import compared
    from errands.plots.curves import draw_curves, learning_curves

    value = learning_curves(_of_one_task([c.curve for c in compared(arguments.subjects)]))
    return draw_curves(value), value.as_json()


def _bars(arguments: Arguments) -> Drawn:
    from errands.analysis.compare import compared, summarise_all
    from errands.plots.charts import bars, draw_bars

    value = bars(summarise_all(_of_one_task([c.curve for c in compared(arguments.subjects)])))
    return draw_bars(value), value.as_json()


def _of_one_task(curves: list[Any]) -> list[Any]:
    tasks = sorted({c.task for c in curves})
    if len(tasks) > 1:
        raise ConfigError(f"this figure shows one task; these runs are on {', '.join(tasks)}: name runs of one of them")
    return curves


def _runtimes(arguments: Arguments) -> Drawn:
    from errands.analysis.compare import compared
    from errands.plots.charts import draw_runtimes, runtimes

    runs = compared(arguments.subjects)
    title = ", ".join(dict.fromkeys(c.curve.task.rsplit("-", 1)[0] for c in runs))
    value = runtimes(title, [(c.curve.name, c.subtasks, s) for c in runs for s in c.seconds])
    return draw_runtimes(value), value.as_json()


def _sizes(arguments: Arguments) -> Drawn:
    from errands.plots.charts import draw_sizes, machine_sizes
    from errands.tasks.catalogue import CATALOGUE, load

    subject = arguments.subjects[0]
    entry = next((e for e in CATALOGUE if e.number(subject) is not None), None)
    if len(arguments.subjects) > 1 or entry is None:
        raise ConfigError("sizes are drawn for one family of tasks up to a size; type for example: errands plot sizes delivery-12")
    load(subject)
    numbers = range(max(entry.low, 1), (entry.number(subject) or 0) + 1)
    machines = [load(entry.named(n), arguments.map_seed).machine for n in numbers]
    value = machine_sizes(f"Machines of {entry.shown}", machines)
    return draw_sizes(value), value.as_json()


def _route(arguments: Arguments) -> Drawn:
    from errands.plots.maps import draw_routes, routes

    task, learner, name = _learnt(arguments)
    from errands.runs.run import best_length

    value = routes(task, best_length(task), learner.policy if learner else None, name)
    return draw_routes(value, task), value.as_json()


def _policy(arguments: Arguments) -> Drawn:
    from errands.plots.maps import draw_policies, policy_maps

    task, learner, _ = _learnt(arguments)
    if learner is None:
        raise ConfigError(f"'{task.name}' is a task and has no policy; add --learner qcorm, or name a run")
    value = policy_maps(task, learner.policy, learner)
    return draw_policies(value, task), value.as_json()


def _learnt(arguments: Arguments) -> tuple[Task, Learner | None, str]:
    """The task and the trained learner of a run, or of a task with --learner; no learner for a task alone."""
    from errands.learners import make_learner
    from errands.runs.folder import find, open_run
    from errands.runs.train import stored_learner
    from errands.tasks.catalogue import load

    name = arguments.subjects[0]
    try:
        path = find(name)
    except StoreError as no_run:
        try:
            task = load(name, arguments.map_seed)
        except UnknownName:
            raise no_run from None
        if arguments.learner is None:
            return task, None, ""
        student = make_learner(task, arguments.learner, arguments.seed or 0)
        with counting(f"{task.name}, {arguments.learner}", arguments.steps, arguments.quiet) as report:
            for evaluation in student.train(arguments.steps):
                report(evaluation.step)
        return task, student, arguments.learner
    folder = open_run(path)
    seed = folder.known_seed(arguments.seed)
    return folder.task, stored_learner(folder, seed)[0], f"{folder.document.learner}, seed {seed}"


_KINDS: dict[str, Callable[[Arguments], Drawn]] = {
    "curves": _curves,
    "bars": _bars,
    "runtimes": _runtimes,
    "sizes": _sizes,
    "route": _route,
    "policy": _policy,
}
