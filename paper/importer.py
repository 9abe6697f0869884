"""Rows of what was measured on GPUs: files with one JSON object per line, as run folders of networks are too large to store.

python paper/importer.py SOURCE...    prints run folders (`errands reproduce`) and lines of benchmarks/dirl_deep.py as such rows

An evaluation has lengths and `success`. `code: first` is said of runs of the first code: its HRM taught the controller
at every step.
A row with `us_per_step` is a pace; `all` are its repeats.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from errands.analysis.compare import seeds_of
from errands.analysis.curve import Curve, curve_of
from errands.errors import StoreError
from errands.learners import method_of
from errands.learners.presets import as_document, config_of
from errands.paper.evidence import Evidence
from errands.paper.panels import DEEP, VARIANTS, Key, PanelMethod, task_and_map, task_name
from errands.runs.folder import open_run, open_sweep
from errands.runs.run import best_length
from errands.tables import Evaluation
from errands.tasks.catalogue import load

HERE = Path(__file__).resolve().parent / "rows"
Row = Mapping[str, Any]
Steps = dict[int, list[Evaluation]]
MACHINES = {method.learner: method.machine for method in DEEP}


def judged_files() -> list[Path]:
    """The files that claims about Water and HalfCheetah are judged by; where a method was run anew, the longest run counts."""
    return [*sorted(HERE.glob("learn-*.jsonl")), *sorted(HERE.glob("readings/*.jsonl")), *sorted(HERE.glob("gpu/*.jsonl")),
            HERE / "speed.jsonl"]  # fmt: skip


def read_rows(path: Path) -> list[Row]:
    """The rows of a file."""
    rows = list[Row]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append({**row, "task": str(row["task"]), "run": str(row["run"])})
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"line {number} of {path} is not a row with a task and a run; remove it") from None
    return rows


def evidence_of(*files: Iterable[Row]) -> Evidence:
    """Curves and paces of any number of runs; of the first code's beside a later one's only where they went further."""
    runs: dict[tuple[Key, bool], list[Steps]] = {}
    paces: dict[Key, tuple[float, ...]] = {}
    for rows in files:
        steps: dict[tuple[Key, bool], Steps] = {}
        for row in rows:
            if "us_per_step" in row:
                learner, _, network = row["run"].partition("/")
                # us_per_step is the least of the repeats in `all`: where they are listed, it must not count twice.
                repeats = row.get("all") or [row["us_per_step"]]
                paces[row["task"], _name(learner, ()), network or "heads"] = tuple(map(float, repeats))
            else:
                steps.setdefault((_key(row), "code" not in row), {})[row["step"]] = _evaluations(row)
        for key, some in steps.items():
            earlier = runs.setdefault(key, [])
            # A file that begins behind the last step continues that run; otherwise it is a run of its own. Evaluations of
            # two runs must not be mixed: on a GPU the same seeds go other ways.
            if earlier and min(some) > max(earlier[-1]):
                earlier[-1] |= some
            else:
                earlier.append(some)
    # The longest run counts, the later one of two that are equally long.
    curves = {key: max(reversed(some), key=max) for key, some in runs.items()}
    # A run of the first code that went further than a later one's stays beside it, under a name that says so.
    named = {key: steps for (key, new), steps in curves.items() if new or (key, True) not in curves}
    for (key, new), steps in curves.items():
        if not new and (key, True) in curves and max(steps) > max(curves[key, True]):
            named[key[0], f"{key[1]} (first code)", key[2]] = steps
    return Evidence({key: _curve(key, steps) for key, steps in named.items()}, paces)


def _key(row: Row) -> Key:
    """Task with its map, method with the settings that today's preset does not have, and preset."""
    learner, settings = settings_of(row)
    known = as_document(config_of(learner, row["preset"], load(row["task"], row.get("map_seed") or 0)))
    # Settings that rows have and learners no longer do: the unit of xi's schedule is in its text, the rate is always the same.
    known |= {"xi_per": "step" if str(known.get("xi", "")).endswith("steps") else "choice", "alpha_share": 0.002}
    printed = {"delta": "printed", "shortest": "ratchet"}.items() <= settings.items()
    words = [f"{name}={value}" for name, value in settings.items()
             if known.get(name) != value or (printed and name in VARIANTS)]  # fmt: skip
    return task_name(row["task"], row.get("map_seed") or 0), _name(learner, words), row["preset"]


def settings_of(row: Row) -> tuple[str, dict[str, Any]]:
    """The learner of a row and what was set: `qcorm/alpha=1e-4`, or `qcorm{"ground_replay": "once"}`."""
    name, *words = row["run"].split("/")
    match = re.fullmatch(r"([\w-]+)(\{.*\})?", name)
    if match is None:
        raise StoreError(f"'{row['run']}' names no learner with settings, such as crm/batch=128")
    learner, given = match.groups()
    settings: dict[str, Any] = json.loads(given) if given else {}
    for word in words:
        field, _, value = word.partition("=")
        try:
            settings[field] = json.loads(value)
        except json.JSONDecodeError:
            settings[field] = value
    return learner, settings


def _name(learner: str, words: Iterable[str]) -> str:
    return PanelMethod(learner, MACHINES.get(learner), tuple(words)).name


def _evaluations(row: Row) -> list[Evaluation]:
    pairs = zip(row["lengths"], row["success"], strict=True)
    return [Evaluation(row["step"], length, float(success), bool(success)) for length, success in pairs]


def _curve(key: Key, steps: Mapping[int, list[Evaluation]]) -> Curve:
    task, name, _ = key
    ordered = [steps[step] for step in sorted(steps)]
    count = min(map(len, ordered))
    evaluations = [[row[i] for row in ordered] for i in range(count)]
    at_end = method_of(name.split()[0]).evaluated_at_end
    return curve_of(name, task, evaluations, best_of(task), evaluated_at_end=at_end)


@cache
def best_of(task: str) -> float | None:
    """The exact optimum of a task on a map, where it is known."""
    return best_length(load(*task_and_map(task))).length


def rows_of_runs(folder: Path) -> Iterator[Row]:
    """The evaluations of a folder of runs as rows: what was set, and one entry per seed in each step that all of them reached."""
    sweep = open_sweep(folder)
    for cell in sweep.document.cells:
        if sweep.head(cell) is None:
            continue
        seeds = seeds_of([open_run(sweep.cell(cell))])
        # Where and how often it was evaluated, and how large the memory was, are no settings of the method.
        words = [word for word in cell.settings if word.split("=")[0] not in ("eval_every", "capacity")]
        shared = {
            "task": cell.task,
            "run": "/".join((cell.learner, *words)),
            "preset": cell.preset,
            "map_seed": cell.map_seed,
        }
        for evaluations in zip(*(seeds[seed] for seed in sorted(seeds)), strict=False):
            lengths, successes = [e.episode_length for e in evaluations], [bool(e.success) for e in evaluations]
            yield {**shared, "step": evaluations[0].step, "lengths": lengths, "success": successes}


def rows_of_dirl(path: Path) -> Iterator[Row]:
    """The lines of benchmarks/dirl_deep.py whose searches have all ended, as rows at the step of their whole budget.

    Where steps were given for each edge, that is the most that the run could take.
    """
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if all(line["ended"]):
            same = {name: line[name] for name in ("task", "preset", "map_seed", "lengths", "success", "seconds")}
            orders = ["".join(name[0] for name in order) for order in line["orders"]]
            yield {**same, "run": "dirl", "step": line["budget"] or line["predicted"], "orders": orders}


def main() -> None:
    """Print every source as rows."""
    for source in map(Path, sys.argv[1:]):
        for row in rows_of_runs(source) if source.is_dir() else rows_of_dirl(source):
            print(json.dumps(row))


if __name__ == "__main__":
    main()
