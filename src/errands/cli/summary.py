"""What a verb answers, and the summaries of runs and sweeps: the same document, whether they have just ended or long ago."""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Group

from errands.cli.verbs import Answer
from errands.learners import method_of
from errands.runs.documents import ResultDocument, int_if_whole, narrowest
from errands.runs.folder import RunFolder, SweepFolder
from errands.terminal import table


def run_summary(folder: RunFolder) -> Answer:
    """The document and the table of a run; exit code 1 when a seed ended in an error."""
    results = folder.results()
    return Answer(run_document(folder, results), run_table(folder, results), int(any(r.error for r in results)))


def run_document(folder: RunFolder, results: list[ResultDocument]) -> dict[str, Any]:
    """The document of `errands train --json`."""
    known = folder.document
    best = next((r.optimum for r in results if r.optimum is not None), None)
    return {
        "task": known.task,
        "learner": known.learner,
        "machine": known.machine or method_of(known.learner).machine,
        "preset": known.preset,
        "optimum": int_if_whole(best),
        "bounds": narrowest(r.known_bounds for r in results),
        "runs": [result.row() for result in results],
        "folder": str(folder.path),
        "extended": [before.model_dump(include={"steps", "config"}) for before in known.extended],
        "changed_versions": folder.changes,
    }


def between(bounds: dict[str, Any] | None) -> str:
    """What is known of an optimum, in words."""
    if bounds is None or bounds["upper"] is None:
        return "the optimum is not known"
    if bounds["lower"] == bounds["upper"]:
        return f"the optimum is {bounds['upper']:,g}"
    return f"the optimum lies between {bounds['lower']:,g} and {bounds['upper']:,g}"


def run_table(folder: RunFolder, results: list[ResultDocument]) -> Any:
    """A table of seeds, one sentence, and where the run is."""
    known = folder.document
    title = f"{known.task}, {known.method}, {known.preset}"
    length = "mean length" if any(r.final_episodes > 1 for r in results) else "length"
    if any(r.final_episodes == 0 for r in results):
        length = "expected length"
    seeds = table(title, (), ("seed", "steps", length, "success", "first optimal", "seconds"), "order")
    for r in results:
        first = "-" if r.first_optimal_step is None else f"{r.first_optimal_step:,}"
        length = "-" if r.final_length is None else _spread(f"{r.final_length:g}", r.final_length_low, r.final_length_high)
        success = _spread(f"{r.final_success:.4g}", r.final_success_low, r.final_success_high)
        if r.final_episodes == 1:
            success = "yes" if r.final_success else "no"
        order = r.error or " ".join(r.order)
        seeds.add_row(str(r.seed), f"{r.steps:,}", length, success, first, f"{r.wall_seconds:.2f}", order)
    more = [*_before(folder, results), *_diagnoses(results)]
    totals = [f"{total:,}" for total in (*(before.steps for before in known.extended), known.steps)]
    more += [f"trained further: {', then '.join(totals)} steps"] if known.extended else []
    return Group(seeds, sentence(results), *more, f"stored in {folder.path}")


def _before(folder: RunFolder, results: list[ResultDocument]) -> list[str]:
    """Which seeds were better before their end, and what ended those that did not take all steps."""
    lines = [f"seed {r.seed} was stopped after {r.steps:,} of {r.planned:,} steps: {r.stopped}" for r in results if r.stopped]
    for r in results:
        if (best := r.better_before) is not None:
            length = _spread(f"{best.length:.4g}", best.length_low, best.length_high)
            sure = "" if best.success >= 1 else f" {_spread(f'{best.success:.3g}', best.success_low, best.success_high)}"
            means = f", means of {best.episodes} episodes" if best.episodes > 1 else ""
            lines.append(f"seed {r.seed} was better after {best.step:,} steps: {length} steps, success{sure}{means}")
    if any(r.better_before for r in results):
        lines.append(f"the best is kept: errands evaluate {folder.name} --best, errands export {folder.name} --best --as policy")
    return lines


def _diagnoses(results: list[ResultDocument]) -> list[str]:
    """What is known of seeds that seldom succeed, and what to try."""
    lines = []
    for r in results:
        if r.diagnosis is not None:
            lines += [f"seed {r.seed}: {r.diagnosis.says[0]}", *(f"  {said}" for said in r.diagnosis.says[1:])]
            lines += [f"  try: {advice}" for advice in r.diagnosis.advice]
    return [*lines, "see docs/how-to/when-it-does-not-learn.md"] if lines else []


def sentence(results: list[ResultDocument]) -> str:
    """What the seeds found, in words."""
    good = [r for r in results if r.error is None]
    if len(good) == 1:
        return seed_summary(good[0])
    best = next((r.optimum for r in good if r.optimum is not None), None)
    succeeded = sum(r.final_success >= 1 for r in good)
    chance = any(r.final_episodes != 1 for r in good)
    if best is None:
        sure = f"{succeeded} of {len(results)} seeds succeed"
        known = between(narrowest(r.known_bounds for r in good))
        return f"{f'{len(results)} seeds: {_succeeding(good, succeeded)}' if chance else sure}; {known}{_under(good)}."
    optimal = sum(r.optimal for r in good)
    steps = f"{best:g} {'expected ' if chance else ''}steps"
    ends = f"{optimal} of {len(results)} seeds end at the optimum of {steps}{_proofs(good)}"
    return f"{ends}; {_succeeding(good, succeeded)}{_under(good)}."


def _proofs(good: list[ResultDocument]) -> str:
    """How many seeds have a proof of their own, and after how many steps; nothing where none has."""
    proved = [r for r in good if r.proved]
    after = sorted({r.proved_step for r in proved if r.proved_step is not None})
    when = f" after {' to '.join(f'{n:,}' for n in sorted({after[0], after[-1]}))} steps" if after else ""
    return f", {len(proved)} with a proof{when}" if proved else ""


def _under(good: list[ResultDocument]) -> str:
    """The clause under which optimum and proofs stand, where there is one."""
    return next((f", {r.under}" for r in good if r.under), "")


def _succeeding(good: list[ResultDocument], sure: int) -> str:
    """How many seeds succeed; where success is a matter of chance, how likely it is at the least."""
    if all(r.final_episodes == 1 for r in good):
        return f"{sure} succeed"
    chances = sorted(float(r.final_success) for r in good if r.final_success < 1)
    between = " to ".join(dict.fromkeys(f"{chance:.3g}" for chance in chances[:1] + chances[-1:]))
    if (episodes := max(r.final_episodes for r in good)) > 1:  # too few episodes to call anything sure
        others = f"the others in {between} of theirs" if sure else f"each succeeds in {between} of {episodes} greedy episodes"
        return ", ".join([f"{sure} succeed in all {episodes} greedy episodes"] * bool(sure) + [others] * bool(chances))
    if not chances:
        return "all succeed surely"
    return f"{sure} succeed surely, the others with probability {between}" if sure else f"each succeeds with probability {between}"


def _spread(number: str, low: float | None, high: float | None) -> str:
    """A number, and the interval around it where it is a mean of episodes."""
    return number if low is None or high is None else f"{number} ({low:.3g}-{high:.3g})"


def seed_summary(result: ResultDocument) -> str:
    """What one seed found; a proof of its own is told first."""
    if result.proved and result.final_success >= 1:
        return f"{result.final_length} steps, proved optimal after {result.proved_step:,} steps{_under([result])}"
    return str(result.certificate)


def sweep_summary(sweep: SweepFolder, rows: list[dict[str, Any]], predicted: dict[str, Any]) -> Answer:
    """The document and the table of a sweep, a line for each cell; exit code 1 when a run failed."""
    faults = sum(row["error"] is not None for row in rows)
    document = {
        "sweep": sweep.path.name,
        "folder": str(sweep.path),
        "finished": len(rows) - faults,
        "failed": faults,
        "predicted": predicted,
        "runs": rows,
    }
    numbers = ("seeds", "optimum", "length", "optimal", "first optimal", "seconds")
    shown, cells = table(sweep.path.name, ("task",), numbers, words=("learner",)), dict[str, list[dict[str, Any]]]()
    for row in rows:
        cells.setdefault(row["folder"], []).append(row)
    for some in cells.values():
        shown.add_row(*_line(some))
    ended = f"{len(rows) - faults:,} runs ended, {faults:,} failed; stored in {sweep.path}"
    medians = "Length, first optimal step and seconds are medians over seeds."
    return Answer(document, Group(shown, medians, ended), int(faults > 0))


def _line(some: list[dict[str, Any]]) -> list[str]:
    """What a cell's seeds found, by their medians."""
    first = some[0]
    good = [row for row in some if row["error"] is None]
    learner = " ".join(filter(None, (first["learner"], first["machine"], first["preset"], *first["settings"])))
    words = [first["task"], learner, str(len(some))]
    if not good:
        return [*words, "-", first["error"][:60], "-", "-", "-"]
    best = good[0]["optimum"]
    length = statistics.median(row["final_length"] if row["final_success"] >= 1 else float("inf") for row in good)
    optimal = sum(row["final_gap"] == 0 for row in good)
    reached = [row["first_optimal_step"] for row in good if row["first_optimal_step"] is not None]
    return [
        *words,
        "-" if best is None else f"{best:g}",
        "fails" if length == float("inf") else f"{length:g}",
        f"{optimal}/{len(some)}",
        f"{statistics.median(reached):,.0f}" if 2 * len(reached) > len(good) else "-",
        f"{statistics.median(row['wall_seconds'] for row in good):.2f}",
    ]
