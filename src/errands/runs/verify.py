"""Verifying a stored run: its files are looked through for damage, a part of it is trained again and compared byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from errands.errors import StoreError
from errands.runs import checkpoint as checkpoints
from errands.runs.best import read_best
from errands.runs.checkpoint import documents, line, packed
from errands.runs.documents import damaged
from errands.runs.files import Arrays, digest
from errands.runs.folder import HEAD, SWEEP, RunFolder, SeedFolder, open_run, open_sweep
from errands.runs.train import Job, Together, jobs_of, learners_of
from errands.tables import Evaluation


@dataclass(frozen=True)
class Verdict:
    """What came of repeating a seed."""

    seed: int
    steps: int
    evaluations: int
    tables: bool
    differences: tuple[str, ...]


def verify_seed(
    run: RunFolder, seed: int, steps: int | None = None, report: Callable[[int], None] = lambda step: None
) -> Verdict:
    """Repeat a seed to its first checkpoint, or for so many steps at most; the stored files must be good to be compared with."""
    if run.document.start:
        before = run.document.start[:200]
        raise StoreError(f"{run.path} began with what another run had learnt ({before}) and cannot be repeated alone; verify that")
    place = run.seed(seed)
    known = documents(place.path)
    stored = place.evaluations()
    if not known or not stored:
        raise StoreError(f"{place.path} has nothing to compare with yet; run 'errands resume {run.name}' first")
    target = min(steps or known[0].first_step, stored[-1].step)
    # Where tables can be compared: at checkpoints still stored, and at the first, whose checksum was handed on.
    marks = {known[0].first_step, *(d.step for d in known)}
    (job,) = jobs_of(run, [seed])
    at = job.seeds.index(seed)
    again: list[Evaluation] = []
    differences: list[str] = []
    tables, step = False, 0
    for learners, evaluations in _trained_again(run, job):
        again.append(evaluations[at])
        step = learners.members[at].step
        report(step)
        kept = line(stored[len(again) - 1]) if len(again) <= len(stored) else b"nothing"
        if (found := line(again[-1])) != kept:
            words = f"stored is '{kept.decode().strip()}', found was '{found.decode().strip()}'"
            differences.append(f"evaluations.csv, line {len(again) + 1}: {words}")
        if step in marks:
            tables = True
            differences += _tables(run, seed, step, learners.save()[at], again)
        # After the first difference everything that follows differs, too.
        if step >= target or differences:
            break
    return Verdict(seed, step, len(again), tables, tuple(differences))


def _trained_again(run: RunFolder, job: Job) -> Iterator[tuple[Together, list[Evaluation]]]:
    """The evaluations of a job from its start, by the settings that held at each step."""
    learners = None
    for end, request in run.parts(job.seeds[0]):
        before, learners = learners, learners_of(request, job.seeds)
        if before is not None:
            learners.restore(before.save())
        for evaluations in learners.train(end):
            if evaluations is not None:
                yield learners, evaluations


def first_step(run: RunFolder, seed: int) -> int:
    """The step of a seed's first checkpoint: how many steps are repeated by default."""
    known = documents(run.seed(seed).path)
    return known[0].first_step if known else run.document.steps


def _tables(run: RunFolder, seed: int, step: int, arrays: Arrays, evaluations: list[Evaluation]) -> Iterator[str]:
    """Where the tables differ from a checkpoint: by name for one that is still stored, as a whole for the first."""
    folder = run.seed(seed).path
    mark = digest(packed(arrays, evaluations))
    for known in documents(folder):
        if known.step == step and known.arrays_sha256 != mark:
            kept = checkpoints.read_checkpoint(folder, seed, step).arrays
            every = sorted(kept.keys() | arrays.keys())
            unlike = [n for n in every if n not in kept or n not in arrays or kept[n].tobytes() != arrays[n].tobytes()]
            yield f"checkpoint-{known.step}.safetensors differs in {', '.join(unlike)}"
            return
    first = documents(folder)[0]
    if first.first_step == step and first.first_sha256 != mark:
        yield f"the tables after {first.first_step:,} steps are not those of the first checkpoint"


def faults(path: Path) -> Iterator[str]:
    """What is wrong with the files of a run or sweep; nothing, when it can be trusted."""
    try:
        if (path / SWEEP).exists():
            sweep = open_sweep(path)
            begun = [path for cell in sweep.document.cells if _begun(path := sweep.cell(cell))]
            for folder in begun:
                yield from faults(folder)
            return
        run = open_run(path)
    except StoreError as fault:
        yield str(fault)
        return
    for place in run.seeds():
        yield from _of_seed(place, run.document.steps)


def _begun(cell: Path) -> bool:
    """Whether a cell of a sweep was trained, and not only left by a kill before its run.json, or refused."""
    return cell.exists() and ((cell / HEAD).exists() or any(cell.glob("seed-*/checkpoint-*")))


def _of_seed(place: SeedFolder, last: int) -> Iterator[str]:
    """What is damaged by name; what is missing only where nothing is damaged, since damage explains it."""
    path = place.path
    if not path.is_symlink() and not path.is_dir():
        return
    looks: list[Callable[[], object]] = [place.evaluations, partial(read_best, path, place.seed, place.run)]
    looks += [partial(checkpoints.read_checkpoint, path, place.seed, step, place.run) for step in checkpoints.steps(path)]
    damage = [fault for look in looks if (fault := _fault(look))]
    yield from damage
    try:
        yield from (str(damaged(moment)) for moment in checkpoints.damaged_moments(path))
    except StoreError as fault:
        yield str(fault)
    if damage:
        return
    result, stored = place.result(), checkpoints.documents(path)
    if result is not None:
        if result.checkpoint_sha256 not in (None, *(d.arrays_sha256 for d in stored)):
            yield f"{place.path} lacks the checkpoint that result.json names; restore it from a copy, or remove the folder"
    elif stored and stored[0].step >= last:
        yield f"{place.finish} is missing, though training has ended; run 'errands resume' to write it again"


def _fault(look: Callable[[], object]) -> str:
    """What is wrong with a file that is looked at; empty where nothing is."""
    try:
        look()
    except StoreError as fault:
        return str(fault)
    return ""
