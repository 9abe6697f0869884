"""`errands reproduce`: the paper's panels, measured, drawn and judged in one command."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from errands.cli.tell import Answer

if TYPE_CHECKING:
    from errands.paper.continuous import Extent, TeamCell
    from errands.paper.paper import Cell, Panel, Profile, Skipped
    from errands.paper.reproduced import Part


@dataclass(frozen=True)
class Arguments:
    """Reproduce the paper's results."""

    figures: tyro.conf.Positional[tuple[str, ...]] = ()
    """Panels (delivery-8, office-runtime, water-3, cheetah-bcd, ...) or groups: delivery and office (default), water, cheetah."""
    profile: Literal["quick", "full"] = "quick"
    """quick: 3 seeds of 100,000 steps (with networks: 2 short runs); full: 10 seeds of 1,000,000 steps, as in the paper."""
    boolean_large: bool = False
    """Also run CRM and HRM on Boolean machines of seven and eight boxes, which takes hours."""
    seeds: int | None = None
    """Another number of seeds."""
    steps: int | None = None
    """Another number of steps."""
    width: int | None = None
    """Other hidden layers on Water and HalfCheetah: so many units each."""
    seconds: float | None = None
    """Stop Water and HalfCheetah after so many seconds, shared equally by what is left; the same command continues."""
    output: Path | None = None
    """The folder of the report; reproduction-PROFILE unless said otherwise. What it holds is not measured again."""
    jobs: int | None = None
    """How many tabular runs at the same time; all cores unless said otherwise."""
    dry_run: bool = False
    """Only say what would be run, and how long it would take."""
    quiet: bool = False
    """No progress on standard error."""


def run(arguments: Arguments) -> Answer:
    """Forecast, measure, judge, draw and write the report."""
    from errands.paper.continuous import team_cells
    from errands.paper.panels import chosen
    from errands.paper.paper import cells

    profile, extent = _amounts(arguments)
    tabular, continuous, left = chosen(arguments.figures, arguments.profile == "quick")
    wanted, skipped = cells(tabular, profile, arguments.boolean_large)
    teams = team_cells(continuous, extent)
    left += skipped
    output = arguments.output or Path(f"reproduction-{profile.name}")
    for each in left:
        _say(arguments, f"not run: {each.method} on {each.task}: {each.reason}")
    predicted = _forecast(arguments, wanted, output / "cells") + _forecast_teams(arguments, teams, output / "teams")
    document: dict[str, Any] = {"profile": profile.name, "cells": len(wanted) + len(teams)}
    document["forecast_seconds"] = round(predicted, 1)
    if arguments.dry_run:
        return Answer(document, f"{document['cells']} cells, about {predicted / 60:.1f} minutes")
    parts = [_tabular(arguments, tabular, wanted, output)] if tabular else []
    parts += [_continuous(arguments, continuous, teams, output)] if continuous else []
    notes = _notes(arguments, profile, extent, bool(tabular), bool(continuous))
    return _answer(arguments, document, parts, left, notes, output)


def _amounts(arguments: Arguments) -> tuple[Profile, Extent]:
    from errands.errors import ConfigError
    from errands.paper.continuous import EXTENTS
    from errands.paper.paper import PROFILES

    given: dict[str, Any] = {k: v for k in ("seeds", "steps") if (v := getattr(arguments, k)) is not None}
    if any(value < 1 for value in (*given.values(), arguments.width or 1, arguments.jobs or 1)):
        raise ConfigError("--seeds, --steps, --width and --jobs must be at least 1")
    if arguments.seconds is not None and not arguments.seconds > 0:
        raise ConfigError(f"--seconds is {arguments.seconds:g}; give a time above 0, or leave it out to run to the end")
    extent = EXTENTS[arguments.profile]
    more: dict[str, Any] = {
        "cheetah_steps": arguments.steps or extent.cheetah_steps,
        "width": arguments.width or extent.width,
    }
    return dataclasses.replace(PROFILES[arguments.profile], **given), dataclasses.replace(extent, **given, **more)


def _forecast(arguments: Arguments, wanted: list[Cell], folder: Path) -> float:
    """The seconds of one core for what the folder does not hold yet, told before anything is measured."""
    if not wanted:
        return 0.0
    from errands.paper.measured import forecast, stored, warm

    rest = [cell for cell in wanted if stored(folder, cell) is None]
    _say(arguments, f"{len(wanted)} cells, {len(wanted) - len(rest)} of them already in {folder}; compiling")
    warm(rest)
    predicted, workers = sum(forecast(cell) for cell in rest), _workers(arguments)
    _say(arguments, f"forecast: {predicted / 60:.1f} minutes of one core, {predicted / 60 / workers:.1f} on {workers}")
    return predicted


def _forecast_teams(arguments: Arguments, cells: list[TeamCell], folder: Path) -> float:
    """The seconds for teams that are not at their end, told before anything is measured."""
    if not cells:
        return 0.0
    from errands.paper import team_store
    from errands.paper.pace import forecast

    kept = [team_store.read(folder, cell) for cell in cells]
    done = sum(k.ended for k in kept)
    _say(arguments, f"{len(cells)} cells with networks, {done} of them already in {folder}; warming up")
    predicted = forecast(kept)
    _say(arguments, f"forecast: {predicted.words}")
    return predicted.seconds


def _tabular(arguments: Arguments, panels: tuple[Panel, ...], wanted: list[Cell], output: Path) -> Part:
    from errands.paper.measured import measure_all
    from errands.paper.reproduced import tabular_part

    measured = measure_all(wanted, output / "cells", _workers(arguments), lambda line: _say(arguments, line))
    return tabular_part(panels, measured)


def _continuous(arguments: Arguments, panels: tuple[Panel, ...], wanted: list[TeamCell], output: Path) -> Part:
    from errands.paper.reproduced_teams import teams_part
    from errands.paper.teams import FOREVER, measure_teams

    seconds = FOREVER if arguments.seconds is None else arguments.seconds
    return teams_part(panels, measure_teams(wanted, output / "teams", lambda line: _say(arguments, line), seconds))


def _notes(arguments: Arguments, profile: Profile, extent: Extent, tabular: bool, continuous: bool) -> tuple[str, ...]:
    """How much was run, and what that can show."""
    notes = []
    if tabular:
        much = f"{profile.seeds} seeds of {profile.steps:,} steps"
        scout = f"scout stops with a proof and is given {profile.scout_steps:,}"
        notes.append(f"Profile {profile.name}, tabular domains: {much} ({scout}).")
    if continuous:
        much = f"{extent.seeds} seeds side by side, {extent.steps:,} steps on Water and {extent.cheetah_steps:,} on HalfCheetah"
        width = "hidden layers as in the presets" if extent.width is None else f"hidden layers of {extent.width} units"
        notes.append(f"Profile {extent.name}, continuous domains: {much}, {width}.")
        if arguments.profile == "quick":
            notes.append(
                "The quick profile shows that every method runs and begins to learn on Water, and how runtimes grow; it cannot "
                "show who converges, nor anything that is learnt on HalfCheetah: that takes 100,000 steps and more."
            )
    return tuple(notes)


def _answer(
    arguments: Arguments,
    document: dict[str, Any],
    parts: list[Part],
    left: list[Skipped],
    notes: tuple[str, ...],
    output: Path,
) -> Answer:
    from errands.cli.verbs import typed
    from errands.paper.reproduced import joined, write

    again = dataclasses.replace(arguments, output=None, jobs=None, quiet=False, seconds=None)
    report = joined(document["profile"], typed("reproduce", again), parts, left, notes)
    page = write(report, output)
    document |= {"report": str(page), "claims": {claim.name: claim.verdict for claim in report.claims}}
    document["not_run"] = [dataclasses.asdict(each) for each in left]
    lines = [f"{claim.verdict:15} {claim.where:15} {claim.text}" for claim in report.claims]
    unfinished = [note for note in report.notes if note.startswith("Not at the end")]
    return Answer(document, "\n".join([*lines, *unfinished, f"wrote {page}"]), int(bool(report.errors)))


def _workers(arguments: Arguments) -> int:
    from errands.learners.base import cores

    return arguments.jobs or cores()


def _say(arguments: Arguments, line: str) -> None:
    if not arguments.quiet:
        print(line, file=sys.stderr, flush=True)
