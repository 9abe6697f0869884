"""`errands demo`: the paper's Figure 1 task end to end, in the terminal and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.cli.summary import Answer
from errands.terminal import counting

if TYPE_CHECKING:
    from errands.runs.run import Run
    from errands.tasks.task import Task
    from errands.viewer.sources import Shown

STEPS = 120_000
EVERY = 50
"""Steps between two evaluations: the first of them still fail."""
ARROWS = "↑→↓←"
NEXT = (
    ("errands train office-6", "a proved optimum"),
    ("errands solve office-6 --one-policy-per-subtask", "60 against 61"),
    ("errands show figure-1 --as coupled", "the machine"),
)


@dataclass(frozen=True)
class Arguments:
    """Show the paper's running example."""

    output: Path = Path("errands-demo.html")
    """The page that is written."""
    quiet: bool = False
    """No progress."""


def run(arguments: Arguments) -> Answer:
    """Unfold, train, judge, draw."""
    from errands.oracle.optimum import steps_to_go
    from errands.tasks.catalogue import load
    from errands.viewer.export import export_html
    from errands.viewer.sources import replay_run

    task = load("figure-1")
    trained, moments = _train(task, arguments.quiet)
    proved = _scout(task)
    exact = steps_to_go(task)
    page = export_html(replay_run(trained, moments), arguments.output, begin="first")
    document = {
        "task": task.name,
        "machines": _sizes(task),
        "learner": "qcorm",
        "length": trained.evaluations[-1].episode_length,
        "optimum": trained.certificate.optimum,
        "order": list(trained.order),
        "steps_to_go": {label: {"learnt": trained.steps_to_go.get(label), "exact": value} for label, value in exact.items()},
        "scout": proved,
        "page": str(page),
    }
    return Answer(document, _shown(task, trained, exact, proved, page))


def _sizes(task: Task) -> dict[str, int]:
    from errands.machines import size

    sizes = size(task.machine)
    return {"numeric": len(task.machine), "boolean": sizes.boolean, "agenda": sizes.agenda, "coupled": sizes.coupled}


def _train(task: Task, quiet: bool) -> tuple[Run, list[Shown]]:
    """The trained run, and looks at the learner before it began and at evaluations 1, 2, 4, 8, ..."""
    from errands.learners.qcorm.settings import QCoRMConfig
    from errands.runs.request import Request
    from errands.runs.train import Trainer
    from errands.viewer.sources import look

    config = QCoRMConfig(eval_every=EVERY, epsilon="0.1..0@50000,70000", xi=f"1..0@0,{STEPS} steps")
    trainer = Trainer(Request.of(task, "qcorm", steps=STEPS, config=config), [0])
    moments = [look(trainer.lead, final=False)]
    with counting("training QCoRM on figure-1", STEPS, quiet) as report:
        for count, _ in enumerate(trainer.stages(), 1):
            if count & (count - 1) == 0:
                moments.append(look(trainer.lead, final=False))
            report(trainer.lead.step)
    return trainer.runs()[0], moments


def _scout(task: Task) -> str:
    from errands.runs.run import train

    run = train(task, "scout", steps=200)
    claim = run.certificate.claim
    if claim is None or not claim.proved:
        return f"{run.evaluations[-1].episode_length} steps, not proved"
    return f"{claim.upper:g} steps, proved optimal after {claim.step} steps"


def _shown(task: Task, trained: Run, exact: dict[str, float], proved: str, page: Path) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sizes = _sizes(task)
    grown = " → ".join(f"{count} {kind}" for kind, count in sizes.items())
    table = Table(title="steps to go", title_justify="left", title_style="")
    for column in ("coupled state", "learnt", "exact"):
        table.add_column(column, justify="left" if column == "coupled state" else "right")
    for label, value in sorted(exact.items()):
        learnt = trained.steps_to_go.get(label)
        table.add_row(label, "" if learnt is None else f"{learnt:.1f}", f"{value:g}")
    lines = [
        "Two boxes to a station, one at a time, in any order (the paper's Figure 1).",
        f"A machine of {grown} states.",
        "",
        f"QCoRM, {trained.steps:,} steps: {trained.summary}; order {' '.join(trained.order)}.",
        f"Scout: {proved}.",
        "",
        *_route(task, trained),
    ]
    after = ["", f"The same to play with: {page}", "", "Try next:"]
    after += [f"  {command:50} {why}" for command, why in NEXT]
    return Group(Text("\n".join(lines)), "", table, Text("\n".join(after)))


def _route(task: Task, trained: Run) -> list[str]:
    """The map, and the learnt route leg by leg."""
    from errands.oracle.certificate import walk
    from errands.worlds.picture import grid_text

    layout = task.layout
    if layout is None:
        return []
    walked = walk(trained.policy, task)
    drawn = grid_text(layout, layout.start).rstrip().splitlines()
    legs, begun = [], 0
    for name, end in zip(walked.order, walked.completed_at, strict=True):
        legs.append(f"{''.join(ARROWS[a] for a in walked.actions[begun:end])} {name}")
        begun = end
    legs += [""] * (len(drawn) - len(legs))
    return [f"{row}   {leg}" for row, leg in zip(drawn, ["", *legs], strict=False)]
