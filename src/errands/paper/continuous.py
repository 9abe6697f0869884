"""The paper's experiments on Water and HalfCheetah (Section 5.2): panels, methods, how much a profile runs, and cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from errands.paper.paper import Method, Panel
from errands.tasks.catalogue import load, task_text
from errands.tasks.task import Task

if TYPE_CHECKING:
    from errands.learners.deep.config import DeepConfig

NETWORKS = ("heads", "one-hot")
"""One trunk with a head per objective or machine state, and the paper's one-hot input."""
METHODS: tuple[Method, ...] = (
    Method("qcorm"),
    Method("qcorm-0"),
    Method("crm", "agenda"),
    Method("hrm", "agenda"),
    Method("qrm", "agenda"),
    Method("dirl"),
    Method("qcorm-plus", ours=True),
)
TIMED: tuple[str, ...] = ("qcorm", "crm", "hrm", "qrm", "qcorm-plus")
"""Learners of the runtime panels; QCoRM-0 costs what QCoRM costs, DiRL ends by itself."""
PANELS: Mapping[str, Panel] = {
    panel.name: panel
    for panel in (
        *(Panel(f"water-{n}", f"Water, {n} balls", (f"water-{n}",)) for n in range(2, 6)),
        Panel("water-runtime", "Water, runtime", tuple(f"water-{n}" for n in range(2, 6)), True),
        Panel("cheetah-bcd", "HalfCheetah, B, C, D", ("cheetah-bcd",)),
        Panel("cheetah-bcde", "HalfCheetah, B, C, D, E", ("cheetah-bcde",)),
        Panel("cheetah-runtime", "HalfCheetah, runtime", tuple(f"cheetah-{'bcde'[:n]}" for n in range(1, 5)), True),
    )
}


@dataclass(frozen=True)
class Extent:
    """How much is run on the continuous domains."""

    name: str
    seeds: int
    steps: int
    cheetah_steps: int
    width: int | None = None
    """Units of each hidden layer where they are not the preset's."""

    def steps_of(self, task: str) -> int:
        """The training steps of a task."""
        return self.cheetah_steps if task.startswith("cheetah") else self.steps


EXTENTS: Mapping[str, Extent] = {
    "quick": Extent("quick", 2, 10_000, 2_000, 128),
    "full": Extent("full", 10, 1_000_000, 1_000_000),
}
QUICK = ("water-3", "water-5", "water-runtime", "cheetah-bcd")
"""What a group runs under the quick profile: the paper's own panels, as far as a CPU can do them in a quarter of an hour."""
EVALUATIONS = 20
"""At least so many evaluations of every run; a long run has one every 10,000 steps."""
CHUNK = 500
"""Evaluations fall on multiples of this, since the device loop is compiled for so many steps."""


@dataclass(frozen=True)
class TeamCell:
    """All seeds of one method on one task under one preset, trained side by side; or their pace, for a runtime panel."""

    task: str
    method: Method
    preset: str
    seeds: int
    steps: int
    network: str = "heads"
    width: int | None = None
    timed: bool = False
    """Whether only the pace is measured: a few steps after compilation."""

    @property
    def run(self) -> str:
        """Learner and variant, as rows name them."""
        return self.method.learner if self.network == "heads" else f"{self.method.learner}/{self.network}"

    @property
    def name(self) -> str:
        """A name for files and progress."""
        return f"{self.task} {self.method.name} {self.network if self.timed else self.preset}{' pace' * self.timed}"

    @property
    def every(self) -> int:
        """Steps between two evaluations."""
        every = max(1, min(10_000, self.steps // EVALUATIONS))
        return every - every % CHUNK if every >= CHUNK else every

    @property
    def config(self) -> DeepConfig:
        """The preset's settings, with what the cell changes; a buffer is never larger than the run is long."""
        from errands.learners.presets import config_of

        config = config_of(self.method.learner, self.preset, task_of(self.task))
        from errands.learners.deep.config import DeepConfig

        assert isinstance(config, DeepConfig)  # noqa: S101 (its world is continuous)
        if self.network != "heads":
            config = replace(config, network="one-hot")
        if self.width is not None:
            config = replace(config, width=self.width, warmup=min(config.warmup, max(1, self.steps // 10)))
        if self.timed:
            config = replace(config, warmup=1)
        return replace(config, eval_every=self.every, capacity=min(config.capacity, self.steps))


@lru_cache(maxsize=32)
def task_of(name: str) -> Task:
    """A catalogue task, or HalfCheetah with fewer places than the catalogue has (`cheetah-bc`), for the runtime panel."""
    if name in ("cheetah-b", "cheetah-bc"):
        places = ", ".join(f'"{place}"' for place in name.split("-")[1].upper())
        text = re.sub(r"p = \[.*\]", f"p = [{places}]", task_text("cheetah-bcd"))
        return Task.from_toml(text.replace("cheetah-bcd", name))
    return load(name)


def team_cells(panels: Sequence[Panel], extent: Extent) -> list[TeamCell]:
    """What is to be run for some panels: learning first, then paces; no task twice."""
    learnt = dict.fromkeys(task for panel in panels if not panel.runtime for task in panel.tasks)
    timed = dict.fromkeys(task for panel in panels if panel.runtime for task in panel.tasks)
    return [cell for task in learnt for cell in _learnt(task, extent)] + [
        cell for task in timed for cell in _timed(task, extent)
    ]


def _learnt(task: str, extent: Extent) -> list[TeamCell]:
    """Every method under both presets; ours has one preset only."""
    made = (extent.seeds, extent.steps_of(task), "heads", extent.width)
    return [
        TeamCell(task, method, preset, *made)
        for method in METHODS
        for preset in (("tuned",) if method.ours else ("tuned", "paper"))
    ]


def _timed(task: str, extent: Extent) -> list[TeamCell]:
    """The pace of every timed learner with both networks; QCoRM+ has one network only."""
    methods = [method for method in METHODS if method.learner in TIMED]
    made = (extent.seeds, 10_000)
    return [
        TeamCell(task, method, "tuned", *made, network, extent.width, True)
        for method in methods
        for network in (NETWORKS[:1] if method.ours else NETWORKS)
    ]
