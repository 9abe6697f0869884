"""What the page asks for: runs, replays, curves, sizes, drafts, training; JSON of the same computed values."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from errands.analysis.compare import compared
from errands.errors import ConfigError, ErrandsError, StoreError, UnknownName
from errands.learners import LEARNERS
from errands.machines.counting import size
from errands.plots.figures import FIGURES
from errands.plots.style import as_svg
from errands.runs.folder import HEAD, SWEEP, TASK, RunFolder, SeedFolder, folders, open_run, read_head
from errands.tasks.catalogue import BOXES, CATALOGUE, load
from errands.tasks.phrases import parse_phrase
from errands.viewer.drafts import check, try_trace
from errands.viewer.sources import curves_of, progress_of, replay_stored
from errands.viewer.training import PageTrainer, training_request

MAX_RUNS = 300
MAX_OPEN = 64
"""Runs whose task is kept in memory."""
MAX_COMPARED = 8
SIZES = range(1, 31)
TASKS = ("figure-1", "corridor", "delivery-4", "office-2", "office-3", "visit-4", "letters-3", "water-3", "cheetah-bcd")
"""Tasks of the catalogue that the editor offers to begin with."""
STARTER = f'name = "two boxes"\n\n[world]\n{BOXES}\n\n[machine]\nphrase = "any_order(b1, b2, after=s)"\n'
"""What the editor begins with: a drawn grid and a phrase."""
FAMILIES = {e.name: e.machine for e in CATALOGUE if e.name in ("delivery", "office", "visit") and not e.suffix}
"""The phrases whose machines are counted, by the number of subtasks: also of more than the catalogue has."""


class Question(NamedTuple):
    """A question whose answer must be computed; it is the same as long as the key is."""

    key: Hashable
    answer: Callable[[], Any]
    slow: bool = False
    """Whether it takes so long that others should not wait behind it."""


def signature(*paths: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """What changes when one of these files is written or replaced; None for one that is not there."""
    marks: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            seen = os.lstat(path)
        except OSError:
            marks.append(None)
        else:
            marks.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
    return tuple(marks)


def _signature_of(run: Path) -> Hashable:
    return signature(run / HEAD, run / TASK)


def _row(path: Path) -> dict[str, Any]:
    """What a run is about and whether it has ended."""
    head = read_head(path)
    row = {name: getattr(head, name) for name in ("task", "steps", "seeds", "created")}
    return {**row, "learner": head.method, "finished": all(_done(SeedFolder(path / f"seed-{k}", k, head)) for k in head.seeds)}


def _done(place: SeedFolder) -> bool:
    try:
        return place.done
    except StoreError:
        return False


class Api:
    """Answers questions about one folder of runs; a name is looked up in a listing, never joined to a path."""

    def __init__(self, runs: Path, chosen: str | None = None, trainer: PageTrainer | None = None) -> None:
        self.root, self.chosen = runs, chosen
        self.trainer = trainer or PageTrainer(runs)
        self.opened: OrderedDict[str, tuple[Hashable, RunFolder]] = OrderedDict()
        """Runs that were asked for lately, each with the signature of the files that it was read from."""

    def listing(self) -> dict[str, Path]:
        """The runs of the folder and of its sweeps by name, the newest first; links are left out."""
        runs: dict[str, Path] = {}
        for path in reversed(folders(self.root)):
            if path.is_symlink() or len(runs) >= MAX_RUNS:
                continue
            if (path / HEAD).is_file():
                runs[path.name] = path
            elif (path / SWEEP).is_file():
                inner = sorted(p for p in path.iterdir() if (p / HEAD).is_file() and not p.is_symlink())
                runs |= {f"{path.name}/{p.name}": p for p in inner[: MAX_RUNS - len(runs)]}
        return runs

    def run(self, name: str) -> RunFolder:
        """A run by its name in the listing, which is looked through again only where the run is not known or has changed."""
        known = self.opened.get(name)
        if known is None or known[0] != _signature_of(known[1].path):
            if (path := (runs := self.listing()).get(name)) is None:
                raise UnknownName("run", name[:200], runs or ["none yet"])
            # Two threads may both read a run: each gets a good one, and the later is kept.
            known = self.opened[name] = (_signature_of(path), open_run(path))
            while len(self.opened) > MAX_OPEN:
                self.opened.popitem(last=False)
        return known[1]

    def runs(self) -> dict[str, Any]:
        """All runs with what they are about."""
        rows = []
        for name, path in self.listing().items():
            try:
                rows.append({"name": name, **_row(path)})
            except ErrandsError as fault:
                rows.append({"name": name, "error": str(fault)})
        learners = {name: method.about for name, method in LEARNERS.items() if method.tabular}
        preferred = next(name for name, method in LEARNERS.items() if method.default_for == "tables")
        figures = [{"name": f.name, "about": f.about, "script": f.script} for f in FIGURES.values() if f.of == "runs"]
        return {"runs": rows, "chosen": self.chosen, "learners": learners, "preferred": preferred, "figures": figures}

    def replay(self, name: str, seed: int | None) -> Question:
        """The replay of a seed."""
        run = self.run(name)
        # Where every seed stands is part of the key, so a new checkpoint makes a new answer.
        marks = [(s["seed"], s["checkpoint"], s["ended"]) for s in progress_of(run)["seeds"]]
        key = ("replay", run.document.id, run.document.steps, name, seed, *marks)
        return Question(key, lambda: replay_stored(run, seed), slow=True)

    def curves(self, names: list[str]) -> Question:
        """The learning curves of some runs on one task."""

        def answer(runs: list[RunFolder]) -> dict[str, Any]:
            curves = curves_of(runs)
            if curves is None:
                raise StoreError("nothing was evaluated yet; wait a few seconds")
            return curves

        return self._of_runs("curves", names, answer)

    def figure(self, name: str, names: list[str]) -> Question:
        """A figure of some runs on one task that no module of the page draws: its data, and the SVG."""
        shown = {figure.name: figure for figure in FIGURES.values() if figure.of == "runs" and not figure.script}
        if (figure := shown.get(name)) is None:
            raise UnknownName("figure of runs", name[:100], shown)

        def answer(runs: list[RunFolder]) -> dict[str, Any]:
            value = figure.value(compared(str(run.path) for run in runs))
            return {"data": value.as_json(), "svg": as_svg(figure.draw(value))}

        return self._of_runs(name, names, answer)

    def _of_runs(self, kind: str, names: list[str], answer: Callable[[list[RunFolder]], Any]) -> Question:
        """A question about a few runs on one task; its answer changes when they were evaluated again."""
        if not 1 <= len(names) <= MAX_COMPARED:
            raise ConfigError(f"{len(names)} runs were asked for; compare 1 to {MAX_COMPARED}")
        runs = [self.run(name) for name in names]
        if len({run.document.task for run in runs}) > 1:
            raise ConfigError("these runs are on different tasks; compare runs on one task")
        files = [path for run in runs for place in run.seeds() for path in (place.table, place.finish)]
        key = (kind, *((run.name, run.document.id) for run in runs), signature(*files))
        return Question(key, lambda: answer(runs), slow=kind != "curves")

    def progress(self, name: str) -> dict[str, Any]:
        """How far a run has come."""
        # The state first: of a run that is said to have ended, everything is stored by the time that its files are read.
        run, state = self.run(name), self.trainer.state(name)
        progress = progress_of(run)
        return {**progress, "state": "done" if progress["finished"] else state}

    def sizes(self, family: str) -> Question:
        """The sizes of the four machines against the number of subtasks; exact numbers as text."""
        if family not in FAMILIES:
            raise UnknownName("family", family[:100], FAMILIES)
        return Question(("sizes", family), lambda: self._sizes(family))

    def _sizes(self, family: str) -> dict[str, Any]:
        rows = []
        for n in SIZES:
            machine = parse_phrase(FAMILIES[family](n))
            counted = size(machine)
            names = ("boolean", "agenda", "coupled", "policies")
            rows.append({"n": n, "numeric": str(len(machine.states)), **{k: str(getattr(counted, k)) for k in names}})
        return {"family": family, "families": list(FAMILIES), "rows": rows}

    def tasks(self) -> Question:
        """Task files to begin with."""
        return Question("tasks", lambda: {"two boxes": STARTER, **{name: load(name).to_toml() for name in TASKS}})

    def check(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A typed task, checked and drawn."""
        return check(_text(body))

    def trace(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A trace tried on a typed task."""
        trace = body.get("trace")
        if not isinstance(trace, list) or not all(isinstance(t, list) and all(isinstance(n, str) for n in t) for t in trace):
            raise ConfigError("a trace is a list of lists of feature names")
        return try_trace(_text(body), trace)

    def train(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Start to train a typed task."""
        return {"run": self.trainer.start(*training_request(body))}

    def further(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Train a run further, to so many steps in all."""
        steps = body.get("steps")
        if type(steps) is not int:
            raise ConfigError("a request to train further has a run and a whole number of steps, a total")
        return {"run": self.trainer.further(self.run(str(body.get("run"))), steps)}

    def cancel(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Stop training a run."""
        return {"state": self.trainer.cancel(str(body.get("run")))}


def _text(body: Mapping[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise ConfigError("the request has no text")
    return text
