"""Training what a run folder asks for: one seed, or a team side by side, from the newest checkpoint to the result."""

from __future__ import annotations

import math
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from errands.errors import ErrandsError, RunFailed, StoreError, TaskError, words_of
from errands.learners import make_learner
from errands.learners.base import Learner, Saved, memory
from errands.learners.presets import stored_config
from errands.machines import NumericRM
from errands.oracle.optimum import Optimum
from errands.runs.checkpoint import (
    Checkpoint,
    OtherRun,
    drop,
    lost,
    read_checkpoint,
    render,
    steps,
    write_checkpoint,
    write_moment,
)
from errands.runs.documents import BoundsDocument, CheckpointDocument, ResultDocument, RunDocument
from errands.runs.files import WriteError, digest, write_file
from errands.runs.folder import RunFolder, SeedFolder, Table
from errands.runs.interrupts import Postponed, postponed, told_at_once
from errands.runs.run import Run, best_length, judge
from errands.tables import Evaluation
from errands.tasks.task import Task
from errands.worlds.imports import NAMELESS

if TYPE_CHECKING:
    from errands.learners.deep.learner import DeepTeam

BEAT = 0.2
"""Seconds between two reports of progress."""
TRACEBACK = "traceback.txt"
_FOREVER = math.inf


@dataclass(frozen=True)
class Job:
    """Seeds of one run folder that are trained together, and what they are called."""

    path: Path
    seeds: tuple[int, ...]
    task: str
    learner: str
    until: float = _FOREVER
    """When to stop and leave the rest to a later sitting, on the clock of `time.time`."""

    @property
    def name(self) -> str:
        """Task, learner and seeds in words."""
        return f"{self.task} {self.learner} seed{'s' if len(self.seeds) > 1 else ''} {self.numbers}"

    @property
    def numbers(self) -> str:
        """The seeds: 3, or 0..9."""
        return f"{self.seeds[0]}" if len(self.seeds) == 1 else f"{self.seeds[0]}..{self.seeds[-1]}"


@dataclass(frozen=True)
class Beat:
    """Where a seed or a team stands."""

    step: int
    steps: int
    last: Evaluation | None
    """The evaluation that was just made, if any; of a team, its middle one."""
    rate: float
    """Training steps per second since it was begun or resumed."""
    best: float | None
    """The optimum, where it is known."""
    note: str = ""
    """Something that the user should know."""


Report = Callable[[Beat], None]
Watch = Callable[[int, Evaluation], bool | None]
"""Called with the seed and each of its evaluations; False stops the training there, and that is the run's end."""


def jobs_of(run: RunFolder, seeds: Sequence[int] | None = None) -> list[Job]:
    """The jobs of a run, each a seed or a team; with `seeds` only those that have one of them."""
    known = run.document
    # Teams are cut from all seeds of the run, not from the wanted ones: a seed's bytes depend on who trains beside it.
    groups = [tuple(known.seeds[i : i + (known.team or 1)]) for i in range(0, len(known.seeds), known.team or 1)]
    wanted = known.seeds if seeds is None else seeds
    return [Job(run.path, group, known.task, known.method) for group in groups if not set(wanted).isdisjoint(group)]


def training_time(run: RunFolder) -> float:
    """Seconds in which the seeds that ended well were trained; those of a team trained at the same time."""
    spent = {r.seed: r.training_seconds for r in run.results() if r.error is None and r.training_seconds is not None}
    return sum(max(spent.get(seed, 0.0) for seed in job.seeds) for job in jobs_of(run))


def learner_of(document: RunDocument, task: Task, seed: int) -> Learner:
    """The learner of a stored run, untrained."""
    config = stored_config(document.learner, task, document.config)
    return make_learner(task, document.learner, seed, document.machine, config)


_OPTIMA: OrderedDict[tuple[str, NumericRM], Optimum] = OrderedDict()


def known_optimum(task: Task) -> Optimum:
    """The optimum of a task, computed once in a process."""
    text = task.stored_text()
    if NAMELESS in text:
        return best_length(task)  # two tasks may differ in what the text only marks
    # By what it says: the same task, opened from two folders, is two objects.
    key = text, task.machine
    if key not in _OPTIMA:
        _OPTIMA[key] = best_length(task)
        while len(_OPTIMA) > 64:
            _OPTIMA.popitem(last=False)
    return _OPTIMA[key]


@lru_cache(maxsize=64)
def warm(learner: str, machine: str | None) -> None:
    """Have the kernels of a tabular learner compiled before any clock runs, on the smallest task that uses them all."""
    from errands.tasks.catalogue import load

    student = make_learner(load("figure-1"), learner, 0, machine)
    student.advance(1)
    student.measure()


def train_seed(run: RunFolder, seed: int, report: Report) -> ResultDocument:
    """Train one seed to its end, with its team if it has one; an ended seed is only checked."""
    (job,) = jobs_of(run, [seed])
    return next(result for result in train_job(run, job, report) if result.seed == seed)


def train_job(
    run: RunFolder, job: Job, report: Report, student: Learner | None = None, watch: Watch | None = None
) -> list[ResultDocument]:
    """Train the seeds of a job from where they were left; the results of all, or of none when its time has run out.

    `student` is the learner of the job's one seed, where it was built already.
    """
    places = [run.seed(seed) for seed in job.seeds]
    with ExitStack() as locks:
        for place in places:
            locks.enter_context(place.locked())
        # Asked under the locks: another process may have ended these seeds while we waited for it.
        ended = [ended_well(place) for place in places]
        if all(result is not None for result in ended):
            return [result for result in ended if result is not None]
        with postponed() as interrupt:
            if run.task.finite is not None:
                warm(run.document.learner, run.document.machine)
            training = _Training(run, places, ended, report, student, watch)
            interrupt.obey()
            try:
                with told_at_once(training.stopping):
                    return training.finish(job.until, interrupt)
            except TaskError as fault:
                raise training.stopped(fault) from fault
            except (ErrandsError, KeyboardInterrupt, MemoryError):
                raise
            except Exception as fault:
                raise training.broken(fault) from fault


def ended_well(place: SeedFolder) -> ResultDocument | None:
    """The result of a seed that needs no more work: it ended without an error and its files are good."""
    try:
        result = place.result()
        place.evaluations()
    except OtherRun:
        raise
    except StoreError:
        return None
    return None if result is None or result.error is not None else result


class _Alone:
    """One learner, asked as a team is."""

    def __init__(self, learner: Learner) -> None:
        self.members: tuple[Learner, ...] = (learner,)
        self.stopwatch = learner.stopwatch

    def train(self, steps: int) -> Iterator[list[Evaluation] | None]:
        """Its evaluations, and None where it can be saved between two."""
        for evaluation in self.members[0].stages(steps):
            yield None if evaluation is None else [evaluation]

    def save(self) -> list[Saved]:
        """Its arrays, to be written down at once."""
        return [self.members[0].written()]

    def restore(self, parts: Sequence[Saved]) -> None:
        """Continue from its arrays."""
        self.members[0].restore(parts[0])


def team_of(document: RunDocument, task: Task, seeds: Sequence[int]) -> DeepTeam:
    """The untrained team of a stored run's seeds."""
    from errands.learners.deep.config import DeepConfig
    from errands.learners.deep.learner import DeepTeam

    config = stored_config(document.learner, task, document.config)
    if not isinstance(config, DeepConfig):
        raise StoreError(f"run.json asks for a team of '{document.learner}', and only deep learners train in teams")
    return DeepTeam(
        task, config, seeds, document.learner, "boolean" if document.machine == "boolean" else "agenda"
    )


def students_of(run: RunFolder, seeds: Sequence[int], student: Learner | None = None) -> _Alone | DeepTeam:
    """The untrained learners of a job's seeds: a team, or one alone (`student`, where it was built already)."""
    if run.document.team > 1:
        return team_of(run.document, run.task, seeds)
    learner = student or learner_of(run.document, run.task, seeds[0])
    if run.task.finite is not None:
        check_memory(learner)
    return _Alone(learner)


def check_memory(learner: Learner) -> None:
    """Refuse tables that fit into memory while their checkpoints do not: a run would die of its first one."""
    # A checkpoint is put together as bytes, which are there twice for a moment, beside the tables.
    needed = 3 * sum(array.nbytes for array in learner.written().values())
    if needed > 0.8 * memory():
        raise TaskError(
            f"a stored run would take {needed / 1e9:,.1f} GB, two thirds of it while a checkpoint is written, and this "
            f"machine has {memory() / 1e9:,.1f} GB; train in Python without a name, or use learner 'qcorm' or 'scout'"
        )


@dataclass
class _Member:
    """One seed under way."""

    place: SeedFolder
    learner: Learner
    ended: ResultDocument | None
    """Its result, where it had ended before; then nothing of it is written again."""
    evaluations: list[Evaluation] = field(default_factory=list)
    stored: CheckpointDocument | None = None
    stored_evaluations: int = 0
    table: Table | None = None


class _Training:
    """Seeds under way."""

    def __init__(
        self,
        run: RunFolder,
        places: list[SeedFolder],
        ended: list[ResultDocument | None],
        report: Report,
        student: Learner | None,
        watch: Watch | None,
    ) -> None:
        self.run, self.document, self.report, self.watch = run, run.document, report, watch
        self.best = known_optimum(run.task)
        self.began = time.perf_counter()
        seeds = [place.seed for place in places]
        team = run.document.team > 1
        self.students = students_of(run, seeds, student)
        rows = zip(places, self.students.members, ended, strict=True)
        self.members = [_Member(place, learner, result) for place, learner, result in rows]
        checkpoints, notes = (newest_common(places) if team else _newest(places[0]))
        self.before = self.trained_before = 0.0
        if checkpoints:
            self._restore(checkpoints)
        self.first = self.lead.step
        self._tell(notes)

    def _restore(self, checkpoints: list[Checkpoint]) -> None:
        for member, checkpoint in zip(self.members, checkpoints, strict=True):
            member.evaluations = list(checkpoint.evaluations)
            member.stored, member.stored_evaluations = checkpoint.document, len(member.evaluations)
        self.before = checkpoints[0].document.seconds
        self.trained_before = checkpoints[0].document.training_seconds
        try:
            self.students.restore([checkpoint.arrays for checkpoint in checkpoints])
        except (StoreError, KeyError, ValueError, IndexError, TypeError, OverflowError) as fault:
            said = str(fault) if isinstance(fault, StoreError) else f"{type(fault).__name__}: {fault}"
            raise StoreError(
                f"the checkpoint in {self.members[0].place.path} does not fit the settings ({said[:300]}); "
                "remove that folder to train the seed from the start"
            ) from None

    def _tell(self, notes: Sequence[str]) -> None:
        steps = self.document.steps
        beat = Beat(self.first, steps, None, 0.0, self.best.length)
        if (most := self.lead.predicted(steps)) != steps:
            self.report(replace(beat, note=f"seed {self.lead.seed} takes {most:,} of {steps:,} steps at most"))
        for note in notes:
            self.report(replace(beat, note=f"{note}; going on from step {self.first:,} instead"))

    def stopping(self) -> None:
        """Say what Ctrl-C does; the end of a chunk may be a while away where networks learn."""
        note = "stopping after this chunk of training, with a checkpoint; Ctrl-C again stops at once"
        self.report(Beat(self.lead.step, self.document.steps, None, 0.0, self.best.length, note=note))

    @property
    def lead(self) -> Learner:
        """The first learner: what holds for all is read from it."""
        return self.members[0].learner

    @property
    def seconds(self) -> float:
        """The time spent on these seeds, interruptions left out."""
        return self.before + time.perf_counter() - self.began

    @property
    def training_seconds(self) -> float:
        """The time of training steps alone, evaluations and compiling left out; of a team, of all its seeds together."""
        return self.trained_before + self.students.stopwatch.estimate(self.lead.step - self.first)

    def finish(self, until: float, interrupt: Postponed) -> list[ResultDocument]:
        """Train to the end, judge, and store the results; a checkpoint and no result where time or patience ran out before."""
        steps, shown, saved = self.document.steps, self.began, self.began
        with ExitStack() as tables:
            for member in self.members:
                if member.ended is None:
                    member.table = tables.enter_context(member.place.table_from(member.evaluations))
            for evaluations in self.students.train(steps):
                going = self._note(evaluations)
                now = time.perf_counter()
                if now - shown >= BEAT:
                    shown = now
                    self._show(evaluations)
                if not going:
                    break
                # Who has taken the last step is not late: a result is worth more than another sitting.
                late = (interrupt.asked or time.time() >= until) and self.lead.step < steps
                if late:
                    interrupt.arrive()
                if (late or now - saved >= self.document.checkpoint_seconds) and self.lead.step < steps:
                    self._save()
                    saved = time.perf_counter()
                if late:
                    return []
            # Not where a stored checkpoint is this very state, as when a seed had only lost its result.
            if any(m.stored is None or (m.stored.step, m.stored_evaluations) != (m.learner.step, len(m.evaluations))
                   for m in self.members if m.ended is None):  # fmt: skip
                self._save()
        # result.json says that a seed has ended, so it comes after everything that it vouches for is on disk.
        return [member.ended or self._end(member) for member in self.members]

    def _note(self, evaluations: list[Evaluation] | None) -> bool:
        """Write evaluations down; False when whoever watches wants no more."""
        going = True
        for member, evaluation in zip(self.members, evaluations or (), strict=False):
            if member.table is not None:
                member.table.add(evaluation)
                self._keep_moment(member)
            if self.watch is not None and self.watch(member.place.seed, evaluation) is False:
                going = False
        return going

    def _keep_moment(self, member: _Member) -> None:
        """At evaluations 1, 2, 4, 8, ... of a tabular seed: a dozen moments of a long run, most of them early."""
        count = len(member.evaluations)
        if self.run.task.finite is not None and count & (count - 1) == 0:
            write_moment(member.place.path, member.learner.step, member.learner.written())

    def _show(self, evaluations: list[Evaluation] | None) -> None:
        for member in self.members:
            if member.table is not None:
                member.table.show()
        step, rate = self.lead.step, (self.lead.step - self.first) / (time.perf_counter() - self.began)
        middle = sorted(evaluations or (), key=lambda e: (not e.sure, e.episode_length))
        last = middle[(len(middle) - 1) // 2] if middle else None
        self.report(Beat(last.step if last else step, self.document.steps, last, rate, self.best.length))

    def _save(self) -> None:
        """Checkpoints of all members at this step; each keeps the one before, so that a crash leaves a common one."""
        for member, arrays in zip(self.members, self.students.save(), strict=True):
            if member.table is None:
                continue
            # The rows must be on disk before the checkpoint, whose document vouches for them with a checksum.
            member.table.sync()
            member.stored = write_checkpoint(
                member.place.path, member.place.seed, member.learner.step, arrays, member.evaluations,
                self.seconds, member.stored, self.training_seconds, member.place.run,
            )  # fmt: skip
            member.stored_evaluations = len(member.evaluations)

    def _end(self, member: _Member) -> ResultDocument:
        known, rows = self.document, tuple(member.evaluations)
        run = judge(member.learner, known.learner, known.machine, known.preset, rows, self.seconds, self.best)
        result = _result(run, self.best.length, member.stored, round(self.training_seconds, 6))
        return member.place.end(result)

    def broken(self, fault: Exception) -> RunFailed:
        """What to say of a fault that nobody foresaw; its traceback lies in the folder, beside the last checkpoint."""
        foreign = self.run.task.world.kind == "gymnasium" and _outside(fault)
        whose = f" in the environment of '{self.run.task.name}'" if foreign else ""
        return RunFailed(f"{self._where}{whose}: {words_of(fault)}; {self._left(fault)}")

    def stopped(self, fault: TaskError) -> RunFailed:
        """What to say of a fault of the task, which most often is one of its environment."""
        return RunFailed(f"{fault}. {self._where[:1].upper()}{self._where[1:]}; {self._left(fault)}")

    @property
    def _where(self) -> str:
        return f"seed {self.members[0].place.seed} stopped at step {self.lead.step:,}"

    def _left(self, fault: Exception) -> str:
        """Write the traceback down, and say what is left of the seed and what to do."""
        stored = self.members[0].stored
        checkpoint = f"its checkpoint of step {stored.step:,} is kept" if stored else "it had no checkpoint yet"
        path = self.members[0].place.path / TRACEBACK
        try:
            write_file(path, "".join(traceback.format_exception(fault))[-1_000_000:].encode(errors="replace"))
        except WriteError:
            return checkpoint
        return f"{checkpoint}, {path} says where it happened: mend that, then type 'errands resume {self.run.name}'"


def _outside(fault: Exception) -> bool:
    """Whether a fault was raised by code that is not of this package, as a user's environment is."""
    here = str(Path(__file__).parent.parent)
    frames = traceback.extract_tb(fault.__traceback__)
    return bool(frames) and not frames[-1].filename.startswith(here)


def _newest(place: SeedFolder) -> tuple[list[Checkpoint], Sequence[str]]:
    """The newest good checkpoint of a seed that trains alone, and what was damaged or is gone."""
    gone = lost(place.path)
    notes = () if gone is None else (f"{gone} is missing",)
    checkpoint = place.newest()
    return ([checkpoint], (*notes, *checkpoint.notes)) if checkpoint else ([], notes)


def newest_common(places: Sequence[SeedFolder]) -> tuple[list[Checkpoint], Sequence[str]]:
    """The good checkpoints of the newest step that all members of a team have; newer ones are removed."""
    # A kill between the checkpoints of two members leaves one of them ahead. Each keeps the one before, so
    # there is a step that all have, and the team goes on from there.
    common = set.intersection(*(set(steps(place.path)) for place in places))
    notes = [f"{gone} is missing" for place in places if (gone := lost(place.path)) is not None]
    for step in sorted(common, reverse=True):
        try:
            checkpoints = [read_checkpoint(place.path, place.seed, step, place.run) for place in places]
        except OtherRun:
            raise
        except StoreError as fault:
            notes.append(str(fault))
            continue
        for place, checkpoint in zip(places, checkpoints, strict=True):
            if ended_well(place) is None:
                place.go_on_from(checkpoint.document)
        return checkpoints, notes
    for place in places:
        if ended_well(place) is None:
            drop(place.path, lambda other: True)
    return [], notes


def _result(
    run: Run, length: float | None, stored: CheckpointDocument | None, trained: float
) -> ResultDocument:
    table = render(run.evaluations)
    claim = run.certificate.claim
    return ResultDocument(
        **run.row(length),
        optimum=length if length is not None and math.isfinite(length) else None,
        bounds=BoundsDocument(**claim.as_json()) if claim and claim.says_something else None,
        proved=bool(claim and claim.proved),
        proved_step=claim.step if claim and claim.proved else None,
        training_seconds=trained,
        evaluations_bytes=len(table),
        evaluations_sha256=digest(table),
        checkpoint_sha256=stored.arrays_sha256 if stored else None,
    )


def end_seed(folder: RunFolder, run: Run, student: Learner, best: Optimum) -> ResultDocument:
    """Store a seed that was trained elsewhere as if it had been trained in this folder."""
    place = folder.seed(run.seed)
    trained = student.stopwatch.estimate(student.step)
    with place.locked(), place.table_from(list(run.evaluations)) as table:
        table.sync()
        stored = write_checkpoint(
            place.path, run.seed, student.step, student.written(), run.evaluations, run.wall_seconds, None, trained, place.run
        )
        result = _result(run, best.length, stored, round(trained, 6))
        return place.end(result)


def failed(seed: int, fault: BaseException, seconds: float = 0.0) -> ResultDocument:
    """The record of a seed that could not be trained."""
    said = str(fault) if isinstance(fault, ErrandsError) else words_of(fault, 2000)
    return ResultDocument(seed=seed, steps=0, wall_seconds=seconds, error=said[:2000])
