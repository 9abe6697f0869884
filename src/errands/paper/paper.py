"""The paper's tabular experiments (Section 5): which panels, methods and presets there are, and what a profile runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from errands.machines.counting import size
from errands.tasks.catalogue import load


@dataclass(frozen=True)
class Method:
    """A learner on a machine, by the name that figures and tables use."""

    learner: str
    machine: str | None = None
    ours: bool = False
    """Whether it is not in the paper; then it has no preset of the paper."""

    @property
    def name(self) -> str:
        """Learner and machine in one word or two."""
        return f"{self.learner} {self.machine}" if self.machine else self.learner


METHODS: tuple[Method, ...] = (
    Method("qcorm"),
    Method("qcorm-0"),
    Method("crm", "agenda"),
    Method("crm", "boolean"),
    Method("hrm", "agenda"),
    Method("hrm", "boolean"),
    Method("qrm", "agenda"),
    Method("qrm", "boolean"),
    Method("dirl"),
    Method("qcorm-plus", ours=True),
    Method("scout", ours=True),
)


@dataclass(frozen=True)
class Panel:
    """One panel of the paper's figure of tabular results."""

    name: str
    title: str
    tasks: tuple[str, ...]
    runtime: bool = False


PANELS: Mapping[str, Panel] = {
    panel.name: panel
    for panel in (
        Panel("delivery-2", "Delivery, 2 boxes", ("delivery-2",)),
        Panel("delivery-8", "Delivery, 8 boxes", ("delivery-8",)),
        Panel("delivery-runtime", "Delivery, runtime", tuple(f"delivery-{n}" for n in range(2, 9)), True),
        Panel("office-3", "Office, 3 offices", ("office-3",)),
        Panel("office-6", "Office, 6 offices", ("office-6",)),
        Panel("office-runtime", "Office, runtime", tuple(f"office-{n}" for n in range(2, 7)), True),
    )
}


@dataclass(frozen=True)
class Profile:
    """How much is run."""

    name: str
    seeds: int
    steps: int
    scout_steps: int = 20_000
    """Scout stops by itself with a proof; more steps would only be counted."""


PROFILES: Mapping[str, Profile] = {
    "quick": Profile("quick", 3, 100_000),
    "full": Profile("full", 10, 1_000_000),
}
LARGE = 10_000
"""Boolean machines with more states than this are run by CRM and HRM only when asked for: hours, not seconds."""


@dataclass(frozen=True)
class Cell:
    """All seeds of one method on one task under one preset."""

    task: str
    method: Method
    preset: str
    steps: int
    seeds: int

    @property
    def name(self) -> str:
        """A name for files and progress."""
        return f"{self.task} {self.method.name} {self.preset}"


@dataclass(frozen=True)
class Skipped:
    """What is not run, and why."""

    task: str
    method: str
    reason: str


def cells(panels: Sequence[Panel], profile: Profile, large: bool = False) -> tuple[list[Cell], list[Skipped]]:
    """What is to be run for some panels, and what is left out."""
    tasks = dict.fromkeys(task for panel in panels for task in panel.tasks)
    run, left = list[Cell](), list[Skipped]()
    for task in tasks:
        for method in METHODS:
            if not large and (states := _hours(task, method)):
                said = f"its Boolean machine has {states:,} states, which takes hours; ask for it with --boolean-large"
                left.append(Skipped(task, method.name, said))
                continue
            steps = profile.scout_steps if method.learner == "scout" else profile.steps
            presets = ("tuned",) if method.ours else ("tuned", "paper")
            run += [Cell(task, method, preset, steps, profile.seeds) for preset in presets]
    return run, left


def _hours(task: str, method: Method) -> int:
    """The states of a Boolean machine that takes hours to train on; 0 for everything else."""
    if method.machine != "boolean" or method.learner == "qrm":
        return 0
    states = size(load(task).machine).boolean
    return states if states > LARGE else 0
