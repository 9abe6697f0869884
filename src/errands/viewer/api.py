"""What the page asks for: runs, replays, curves, sizes, drafts, training; JSON of the same computed values."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from errands.errors import ConfigError, ErrandsError, StoreError, UnknownName
from errands.learners import LEARNERS
from errands.machines.counting import size
from errands.runs.documents import RunDocument, read_document
from errands.runs.folder import HEAD, SWEEP, RunFolder, SeedFolder, folders, open_run
from errands.tasks.catalogue import load
from errands.tasks.phrases import any_order, avoid
from errands.viewer.drafts import check, try_trace
from errands.viewer.sources import curves_of, name_of, progress_of, replay_stored
from errands.viewer.training import Trainer, asked

MOST_RUNS = 300
MOST_KEPT = 24
MOST_COMPARED = 8
LISTING_SECONDS = 0.5
SIZES = range(1, 31)
TASKS = ("figure-1", "corridor", "delivery-2", "delivery-4", "office-2", "office-3", "visit-4", "water-3", "cheetah-bcd")
"""Tasks of the catalogue that the editor offers to begin with."""
STARTER = """\
name = "two boxes"

[world]
kind = "grid"
rows = ["1s.", "..A", "...", "2.."]
legend = { 1 = "b1", 2 = "b2", s = "s" }
removed = ["b1", "b2"]

[machine]
phrase = "any_order(b1, b2, after=s)"
"""
"""What the editor begins with: a drawn grid and a phrase."""


class Api:
    """Answers questions about one folder of runs; a name is looked up in a listing, never joined to a path."""

    def __init__(self, runs: Path, chosen: str | None = None) -> None:
        self.root, self.chosen = runs, chosen
        self.trainer = Trainer(runs)
        self.answers: OrderedDict[tuple[object, ...], Future[Any]] = OrderedDict()
        self.lock = threading.Lock()
        self.listed: tuple[float, dict[str, Path]] = (-math.inf, {})
        """When the folder was last looked through, and what was in it."""

    def listing(self, fresh: bool = False) -> dict[str, Path]:
        """The runs of the folder and of its sweeps by name, the newest first; links are left out.

        Fifty pages that watch ask many times a second: what was seen half a second ago is taken to hold.
        """
        when, runs = self.listed
        if fresh or time.monotonic() - when > LISTING_SECONDS:
            runs = self._look_through()
            # One assignment: other threads see the old pair or the new one, never half of each.
            self.listed = (time.monotonic(), runs)
        return runs

    def _look_through(self) -> dict[str, Path]:
        runs: dict[str, Path] = {}
        for path in reversed(folders(self.root)):
            if path.is_symlink() or len(runs) >= MOST_RUNS:
                continue
            if (path / HEAD).is_file():
                runs[path.name] = path
            elif (path / SWEEP).is_file():
                inner = sorted(p for p in path.iterdir() if (p / HEAD).is_file() and not p.is_symlink())
                runs |= {f"{path.name}/{p.name}": p for p in inner[: MOST_RUNS - len(runs)]}
        return runs

    def run(self, name: str) -> RunFolder:
        """A run by its name in the listing; one that was just created, or is gone, by a new listing."""
        path = self.listing().get(name)
        if path is None or not path.is_dir():
            path = (runs := self.listing(fresh=True)).get(name)
            if path is None:
                raise UnknownName("run", name[:200], runs or ["none yet"])
        return open_run(path)

    def runs(self) -> dict[str, Any]:
        """All runs with what they are about."""
        rows = []
        for name, path in self.listing().items():
            try:
                known = read_document(path / HEAD, RunDocument)
                ended = all(SeedFolder(path / f"seed-{seed}", seed).finish.is_file() for seed in known.seeds)
                rows.append({
                    "name": name, "task": known.task, "learner": name_of(known), "steps": known.steps,
                    "seeds": known.seeds, "created": known.created, "finished": ended,
                })  # fmt: skip
            except ErrandsError as fault:
                rows.append({"name": name, "error": str(fault)})
        learners = {name: entry.about for name, entry in LEARNERS.items() if entry.tabular}
        return {"runs": rows, "chosen": self.chosen, "learners": learners, "preferred": "scout"}

    def replay(self, name: str, seed: int | None) -> dict[str, Any]:
        """The replay of a seed."""
        run = self.run(name)
        # Where every seed stands is part of the key, so a new checkpoint makes a new answer.
        marks = [(s["seed"], s["checkpoint"], s["ended"]) for s in progress_of(run)["seeds"]]
        found: dict[str, Any] = self._once(("replay", name, seed, *marks), lambda: replay_stored(run, seed).as_json())
        return found

    def curves(self, names: list[str]) -> dict[str, Any]:
        """The learning curves of some runs on one task."""
        if not 1 <= len(names) <= MOST_COMPARED:
            raise ConfigError(f"{len(names)} runs were asked for; compare 1 to {MOST_COMPARED}")
        runs = [self.run(name) for name in names]
        if len({run.document.task for run in runs}) > 1:
            raise ConfigError("these runs are on different tasks; compare runs on one task")
        found = curves_of(runs)
        if found is None:
            raise StoreError("nothing was evaluated yet; wait a few seconds")
        return found

    def progress(self, name: str) -> dict[str, Any]:
        """How far a run has come."""
        found = progress_of(self.run(name))
        return {**found, "state": "done" if found["finished"] else self.trainer.state(name)}

    def sizes(self, family: str) -> dict[str, Any]:
        """The sizes of the four machines against the number of subtasks; exact numbers as text."""
        if family not in FAMILIES:
            raise UnknownName("family", family[:100], FAMILIES)
        rows = []
        for n in SIZES:
            machine = FAMILIES[family](n)
            counted = size(machine)
            names = ("boolean", "agenda", "coupled", "policies")
            rows.append({"n": n, "numeric": str(len(machine.states)), **{k: str(getattr(counted, k)) for k in names}})
        return {"family": family, "families": list(FAMILIES), "rows": rows}

    def tasks(self) -> dict[str, str]:
        """Task files to begin with."""
        return {"two boxes": STARTER, **{name: load(name).to_toml() for name in TASKS}}

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
        return {"run": self.trainer.start(*asked(body))}

    def cancel(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Stop training a run."""
        return {"state": self.trainer.cancel(str(body.get("run")))}

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """The same answer while nothing has changed; whoever asks first computes it, the others wait for that."""
        with self.lock:
            first = key not in self.answers
            answer = self.answers.setdefault(key, Future())
            self.answers.move_to_end(key)
            while len(self.answers) > MOST_KEPT:
                self.answers.popitem(last=False)
        # Outside the lock, which guards the table of answers only: a slow replay must not hold up other questions.
        if first:
            try:
                answer.set_result(make())
            except BaseException as fault:  # noqa: BLE001 (those who wait must not wait for ever)
                with self.lock:
                    self.answers.pop(key, None)
                # Taken out of the table before: those who wait now get the fault, whoever asks next tries again.
                answer.set_exception(fault)
        return answer.result()


def _text(body: Mapping[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise ConfigError("the request has no text")
    return text


def _letters(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(1, n + 1)]


FAMILIES: Mapping[str, Callable[[int], Any]] = {
    "delivery": lambda n: any_order(*_letters("b", n), after="s"),
    "office": lambda n: avoid("decoration", any_order(*_letters("o", n), before="coffee")),
    "visit": lambda n: any_order(*_letters("v", n)),
}
