"""`errands plot`: one figure from runs or a task, with its data and command beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.analysis.compare import compared
from errands.cli.options import Count, OnMap, Quiet
from errands.cli.verbs import Answer, Positional, typed
from errands.errors import ConfigError, StoreError, UnknownName
from errands.learners import make_learner
from errands.runs.folder import find, open_run
from errands.runs.train import stored_learner
from errands.tasks.catalogue import CATALOGUE, load
from errands.terminal import counting, table

if TYPE_CHECKING:
    from errands.plots.figures import Trained


@dataclass(frozen=True)
class Arguments(OnMap, Quiet):
    """Draw a figure."""

    kind: Positional[str | None] = None
    """Which figure; without one they are listed."""
    subjects: Positional[tuple[str, ...]] = ()
    """Runs or sweeps (names, paths, 'latest'), or for sizes, route and policy the name of a task."""
    output: Path = Path("figure.svg")
    """The file: .svg, .pdf or .png."""
    learner: str | None = None
    """For figures of one run, given a task: train this learner first."""
    steps: Count = 100_000
    """For how many steps."""
    seed: int | None = None
    """Which seed; default: the first one of a run, 0 of a task."""


_EXAMPLES = {"runs": "latest", "run": "latest", "family": "delivery-12"}


def run(arguments: Arguments) -> Answer:
    """Compute what is to be seen, draw it, and keep both."""
    from errands.plots.figures import FIGURES
    from errands.plots.style import format_of, save

    if arguments.kind is None:
        listed = table("Figures", ("name",), (), "what it shows")
        for f in FIGURES.values():
            listed.add_row(f.name, f"{f.about}: errands plot {f.name} {_EXAMPLES[f.of]}")
        return Answer({"figures": [{"name": f.name, "about": f.about, "of": f.of} for f in FIGURES.values()]}, listed)
    if (figure := FIGURES.get(arguments.kind)) is None:
        raise UnknownName("figure", arguments.kind, FIGURES)
    # A wrong ending of the file's name is told before the work, not after it.
    format_of(arguments.output)
    if arguments.steps < 1:
        raise ConfigError(f"--steps is {arguments.steps}; train for at least 1 step")
    if not arguments.subjects:
        example = f"{figure.name} {_EXAMPLES[figure.of]}"
        raise ConfigError(f"nothing to draw was named; run for example: errands plot {example}")
    of = {"family": _family, "run": _trained, "runs": _compared}[figure.of]
    value = figure.value(*of(arguments))
    data = value.as_json()
    beside = save(figure.draw(value), arguments.output, data, typed("plot", arguments))
    document = {"file": str(arguments.output), "data_file": str(beside), "data": data}
    return Answer(document, f"wrote {arguments.output} and its data, {beside}")


def _compared(arguments: Arguments) -> tuple[Any, ...]:

    return (compared(arguments.subjects),)


def _family(arguments: Arguments) -> tuple[Any, ...]:

    subject = arguments.subjects[0]
    entry = next((e for e in CATALOGUE if e.number(subject) is not None), None)
    if len(arguments.subjects) > 1 or entry is None:
        raise ConfigError("sizes are drawn for one family of tasks up to a size; run for example: errands plot sizes delivery-12")
    load(subject)
    numbers = range(max(entry.low, 1), (entry.number(subject) or 0) + 1)
    return f"Machines of {entry.shown}", [load(entry.named(n), arguments.map_seed).machine for n in numbers]


def _trained(arguments: Arguments) -> tuple[Trained]:
    """The task and the trained learner of a run, or of a task with --learner; no learner for a task alone."""
    from errands.plots.figures import Trained

    name = arguments.subjects[0]
    try:
        path = find(name)
    except StoreError as no_run:
        try:
            task = load(name, arguments.map_seed)
        except UnknownName:
            raise no_run from None
        if arguments.learner is None:
            return (Trained(task, None, ""),)
        learner = make_learner(task, arguments.learner, arguments.seed or 0)
        with counting(f"{task.name}, {arguments.learner}", arguments.steps, arguments.quiet) as report:
            for evaluation in learner.train(arguments.steps):
                report(evaluation.step)
        return (Trained(task, learner, arguments.learner),)
    folder = open_run(path)
    seed = folder.known_seed(arguments.seed)
    return (Trained(folder.task, stored_learner(folder, seed)[0], f"{folder.document.learner}, seed {seed}"),)
