"""`errands demo`: the paper's Figure 1 task end to end, in the terminal and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from errands.cli.options import Quiet
from errands.cli.verbs import Answer
from errands.learners.qcorm.settings import QCoRMConfig
from errands.machines import size
from errands.oracle.episode import walk
from errands.oracle.optimum import steps_to_go
from errands.runs.request import Request
from errands.runs.run import Run, train
from errands.runs.train import Trainer
from errands.tasks.catalogue import load
from errands.tasks.task import Task
from errands.terminal import counting, table
from errands.worlds.picture import grid_text

if TYPE_CHECKING:
    from errands.viewer.sources import Shown

STEPS = 120_000
EVERY = 50
"""Steps between two evaluations: the first of them still fail."""
ARROWS = "↑→↓←"
NEXT = """Try next:
  errands train office-6                             a proved optimum
  errands solve office-6 --one-policy-per-subtask    60 against 61
  errands show figure-1 --as coupled                 the machine"""


@dataclass(frozen=True)
class Arguments(Quiet):
    """Show the paper's running example."""

    output: Path = Path("errands-demo.html")
    """The page that is written."""


def run(arguments: Arguments) -> Answer:
    """Unfold, train, judge, draw."""
    from errands.viewer.export import export_html
    from errands.viewer.sources import replay_run

    task = load("figure-1")
    trained, moments = _train(task, arguments.quiet)
    claim = train(task, "scout", steps=200).certificate.claim
    proved = f"{claim.upper:g} steps, proved optimal after {claim.step} steps" if claim and claim.proved else "not proved"
    learnt, exact, sizes = trained.steps_to_go, steps_to_go(task), size(task.machine)
    machines = {"numeric": len(task.machine), "boolean": sizes.boolean, "agenda": sizes.agenda, "coupled": sizes.coupled}
    page = export_html(replay_run(trained, moments), arguments.output, begin="first")
    document = {
        "task": task.name,
        "machines": machines,
        "learner": "qcorm",
        "length": trained.evaluations[-1].episode_length,
        "optimum": trained.certificate.optimum,
        "order": list(trained.order),
        "steps_to_go": {label: {"learnt": learnt.get(label), "exact": value} for label, value in exact.items()},
        "scout": proved,
        "page": str(page),
    }
    lines = [
        "Two boxes to a station, one at a time, in any order (the paper's Figure 1).",
        f"A machine of {' → '.join(f'{count} {kind}' for kind, count in machines.items())} states.",
        "",
        f"QCoRM, {trained.steps:,} steps: {trained.summary}; order {' '.join(trained.order)}.",
        f"Scout: {proved}.",
        "",
        *_route(task, trained),
    ]
    distances = table("steps to go", ("coupled state",), ("learnt", "exact"))
    for label, value in sorted(exact.items()):
        distances.add_row(label, f"{learnt[label]:.1f}" if label in learnt else "", f"{value:g}")
    after = f"\nThe same to play with: {page}\n\n{NEXT}"
    return Answer(document, Group(Text("\n".join(lines)), "", distances, Text(after)))


def _train(task: Task, quiet: bool) -> tuple[Run, list[Shown]]:
    """The trained run, and looks at the learner before it began and at evaluations 1, 2, 4, 8, ..."""
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


def _route(task: Task, trained: Run) -> list[str]:
    """The map, and the learnt route leg by leg."""
    walked = walk(trained.policy, task)
    drawn = [] if task.layout is None else grid_text(task.layout, task.layout.start).rstrip().splitlines()
    ends = [0, *walked.completed_at]
    legs = ["".join(ARROWS[a] for a in walked.actions[begun:end]) for begun, end in pairwise(ends)]
    told = ["", *(f"{moves} {name}" for moves, name in zip(legs, walked.order, strict=True))]
    return [f"{row}   {leg}" for row, leg in zip_longest(drawn, told[: len(drawn)], fillvalue="")]
