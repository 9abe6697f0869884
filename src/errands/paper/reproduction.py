"""The road of `errands reproduce`: panels -> plan -> sweep -> evidence -> claims -> report, every measurement a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from errands.errors import StoreError
from errands.learners.presets import as_document, config_of
from errands.paper.claims import ALL, CLAIMS, UNKNOWN, WITH_OPTIMUM, WITHOUT_OPTIMUM, Judged, judge_all
from errands.paper.evidence import OTHER_WINDOWS, WINDOW, Evidence, Gathered, Origin, exact, gather
from errands.paper.panels import EVERYTHING, Choice, Panel, Profile, Skipped, plan
from errands.paper.report import Report, figures, listed, runtime_rows, summaries
from errands.runs.documents import Cell
from errands.runs.folder import SWEEP, SweepFolder, open_sweep
from errands.runs.plan import Block, expand
from errands.runs.provenance import computer, versions
from errands.runs.sweep import Forecast, begin, extend, extended, planned
from errands.tasks.catalogue import load
from errands.terminal import clock

SHOWN = 12
"""Unfinished cells that a report names."""


@dataclass(frozen=True)
class Reproduction:
    """What a command reproduces, and the sweep folder that holds its runs."""

    parts: tuple[tuple[str, Sequence[Block]], ...]
    """Its panels by letter and name, with the runs of each."""
    profile: Profile
    sweep: SweepFolder
    """The folder with the cells of these panels only; on disk it may hold others."""
    skipped: tuple[Skipped, ...]
    panels: tuple[Panel, ...] = ()


def prepare(
    panels: Sequence[Panel],
    profile: Profile,
    output: Path,
    large: bool = False,
    skipped: Sequence[Skipped] = (),
    dry: bool = False,
    choice: Choice = EVERYTHING,
) -> Reproduction:
    """The sweep folder of some panels: a new one, or an old one with the cells that it lacks; `dry` writes nothing."""
    blocks, left = plan(panels, profile, large, choice)
    parts = [(f"{p.letter or '-':2} {p.name:20}", plan([p], profile, large, choice)[0]) for p in panels]
    return Reproduction(tuple(parts), profile, folder_of(blocks, output, dry), (*skipped, *left), tuple(panels))


def folder_of(blocks: Sequence[Block], output: Path, dry: bool) -> SweepFolder:
    """The sweep folder with the cells of these blocks only; on disk it may hold others."""
    sweep = _sweep(blocks, output, dry)
    wanted = set(expand(blocks))
    # The folder may hold cells of other panels from before; they are neither trained nor judged now.
    cells = [cell for cell in sweep.document.cells if cell.unplaced in wanted]
    for cell in cells:
        _check_settings(sweep, cell)
    return SweepFolder(sweep.path, sweep.document.model_copy(update={"cells": cells}))


def _sweep(blocks: Sequence[Block], output: Path, dry: bool) -> SweepFolder:
    if (output / SWEEP).exists():
        known = open_sweep(output)
        return extended(known, blocks) if dry else extend(known, blocks)
    return SweepFolder(output, planned(blocks)) if dry else begin(blocks, output)


def _check_settings(sweep: SweepFolder, cell: Cell) -> None:
    """Refuse a folder whose runs were made with other settings than the presets have now."""
    head = sweep.head(cell)
    if head is None or cell.task in sweep.document.files:
        return
    now = as_document(config_of(cell.learner, cell.preset, load(cell.task, cell.map_seed), cell.settings))
    if other := [name for name, value in now.items() if head.config.get(name) != value]:
        raise StoreError(
            f"{sweep.cell(cell)} was trained with another {', '.join(other[:5])} than preset '{cell.preset}' has now; "
            "give --output another folder, or remove that one"
        )


def prices(reproduction: Reproduction, expected: Forecast) -> list[str]:
    """How long each part takes on this machine; runs that parts share are counted with the first."""
    lines, left = [], {cell.unplaced: (cell, seeds) for cell, seeds in expected.waiting}
    for name, blocks in reproduction.parts:
        mine = [left.pop(cell) for cell in expand(blocks) if cell in left]
        runs, measured = sum(len(seeds) for _, seeds in mine), sum(expected.costs[cell.folder].measured for cell, _ in mine)
        long = f"{runs:,} runs, about {clock(expected.seconds_of(mine))} ({measured} of {len(mine)} cells measured)"
        lines.append(f"{name} {long if mine else 'nothing is left to run'}")
    return lines


def report(reproduction: Reproduction, command: str) -> Report:
    """Judge, draw and tell what the sweep folder holds so far."""
    gathered = gather(reproduction.sweep)
    deep, tabular = _kinds(reproduction.panels)
    return report_of(
        replace(gathered.evidence, exact=exact()),
        reproduction.panels,
        reproduction.profile.name,
        command,
        [*_amounts(reproduction.profile, tabular, deep), *how_made(gathered)],
        reproduction.skipped,
        gathered.errors,
        gathered.origins[0][0] if gathered.origins else None,
    )


def how_made(gathered: Gathered) -> Iterator[str]:
    """How long runs took, which are not at their end, and which were made elsewhere."""
    yield f"Training took {gathered.seconds / 60:.1f} minutes in all, evaluations and compilation left out."
    if gathered.unfinished:
        shown, more = gathered.unfinished[:SHOWN], len(gathered.unfinished) - SHOWN
        rest = f", and {more} more" if more > 0 else ""
        yield f"Not at the end yet; the same command continues: {', '.join(shown)}{rest}."
    for origin, count in gathered.origins[1:]:
        kinds = f"{listed(origin.versions)}; {listed(origin.computer)}"
        yield f"{count} of {sum(n for _, n in gathered.origins)} runs were made elsewhere: {kinds}."


def report_of(
    evidence: Evidence,
    panels: Sequence[Panel],
    name: str,
    command: str,
    notes: Sequence[str],
    skipped: Sequence[Skipped] = (),
    errors: Sequence[str] = (),
    origin: Origin | None = None,
) -> Report:
    """The report of some evidence; `origin` says where it was measured, if not here."""
    deep, tabular = _kinds(panels)
    origin = origin or Origin(versions("cheetah" if deep else "", deep=deep), computer())
    claims = [claim for claim in CLAIMS if (deep if claim.deep else tabular)]
    # Claims are judged by the steadied curves; the figures below show what was measured.
    judged = judge_all(evidence.steadied(), claims)
    # Who runs one figure of many looks for what it says, not for what all the others would.
    judged.sort(key=lambda claim: claim.verdict == UNKNOWN)
    rules = (ALL, *([WITH_OPTIMUM] if tabular else []), *([WITHOUT_OPTIMUM] if deep else []))
    return Report(
        name=name,
        command=command,
        versions=origin.versions,
        computer={**origin.computer, **(_device() if deep and origin.computer == computer() else {})},
        notes=(*notes, *(_doubts(evidence, judged) if deep else ())),
        figures=figures(panels, evidence, skipped),
        tables=(summaries(evidence), runtime_rows(evidence)),
        claims=tuple(judged),
        rules=rules,
        skipped=tuple(skipped),
        errors=tuple(errors),
    )


def _kinds(panels: Sequence[Panel]) -> tuple[bool, bool]:
    """Whether panels with networks are among these, and whether such with tables are."""
    kinds = {panel.deep for panel in panels}
    return True in kinds, False in kinds


def _doubts(evidence: Evidence, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Which verdicts hang on how many evaluations a value is the median of."""
    claims = [claim for claim in CLAIMS if claim.deep]
    before = {claim.name: claim for claim in judged}
    said = []
    for window in OTHER_WINDOWS:
        other = [f"'{b.text}'{f' ({b.reading})' if b.reading else ''} would be {b.verdict} instead of {before[b.name].verdict}"
                 for b in judge_all(evidence.steadied(window), claims) if b.verdict != before[b.name].verdict]  # fmt: skip
        values = "single evaluations" if window == 1 else f"medians of {window} evaluations"
        said.append(f"With {values} instead of medians of {WINDOW}, {'; '.join(other) or 'all verdicts are the same'}.")
    return tuple(said)


def _amounts(profile: Profile, tabular: bool, deep: bool) -> list[str]:
    """How much was run, and what that can show."""
    notes = []
    if tabular:
        much = f"{profile.seeds} seeds of {profile.steps:,} steps"
        scout = f"scout stops with a proof and is given {profile.scout_steps:,}"
        notes.append(f"Profile {profile.name}, tabular domains: {much} ({scout}).")
    if deep:
        much = f"{profile.water_steps:,} steps on Water (a fifth on other maps) and {profile.cheetah_steps:,} on HalfCheetah"
        width = (
            "hidden layers as in the presets" if profile.width is None else f"hidden layers of {profile.width} units"
        )
        notes.append(f"Profile {profile.name}, continuous domains: {profile.deep_seeds} seeds, {much}, {width}.")
        if profile.name == "quick":
            notes.append(
                "The quick profile shows that every method runs and begins to learn on Water, and how runtimes grow; it cannot "
                "show who converges, nor anything that is learnt on HalfCheetah: that takes 100,000 steps and more."
            )
    return notes


def _device() -> dict[str, str]:
    """What networks were trained on."""
    import jax

    return {"device": str(jax.devices()[0].device_kind)}
