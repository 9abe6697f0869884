"""Training: one trainer for a seed or a team side by side, with a run folder (newest checkpoint to result) or without one."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import compress, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from errands.errors import ErrandsError, RunFailed, StoreError, TaskError, words_of
from errands.learners import form_of, make_learner
from errands.learners.base import Learner, Saved, Stopwatch, memory
from errands.machines import NumericRM
from errands.oracle.certificate import AS_SEEN
from errands.oracle.optimum import Optimum
from errands.runs import checkpoint as checkpoints
from errands.runs.best import Best, read_best
from errands.runs.checkpoint import Checkpoint, OtherRun
from errands.runs.documents import BoundsDocument, CheckpointDocument, ClaimDocument, ResultDocument
from errands.runs.files import WriteError, digest, write_file
from errands.runs.folder import LOCK_SECONDS, RunFolder, SeedFolder, Table, create
from errands.runs.interrupts import PATIENCE_SECONDS, Postponed, postponed, told_at_once
from errands.runs.request import Request
from errands.runs.run import Run, best_length, judge
from errands.runs.video import FOLDER as FILMS
from errands.runs.video import mp4, pictures_of
from errands.runs.watch import RunSoFar, Watcher, named, stop_of
from errands.tables import Evaluation
from errands.tasks.task import Task
from errands.worlds.base import Observed
from errands.worlds.imports import NAMELESS

if TYPE_CHECKING:
    from errands.learners.engines.deep.learner import DeepTeam

TRACEBACK = "traceback.txt"


@dataclass(frozen=True)
class Job:
    """Seeds of one run folder that are trained together, and what they are called."""

    path: Path
    seeds: tuple[int, ...]
    task: str
    learner: str
    until: float = math.inf
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
class Timing:
    """Seconds for which training keeps others waiting, or waits for them."""

    report: float = 0.2
    """Between two reports of progress."""
    lock: float = LOCK_SECONDS
    """Until another process that trains the same seed has ended."""
    patience: float = PATIENCE_SECONDS
    """From an interrupt to the next safe place."""


TIMING = Timing()


@dataclass(frozen=True)
class ProgressUpdate:
    """Where a seed or a team stands."""

    step: int
    steps: int
    last: Evaluation | None
    rate: float
    """Training steps per second since it was begun or resumed."""
    best: float | None
    note: str = ""


Report = Callable[[ProgressUpdate], None]


def silent(update: ProgressUpdate) -> None:
    """A report that nobody hears."""


def jobs_of(run: RunFolder, seeds: Sequence[int] | None = None) -> list[Job]:
    """The jobs of a run, each a seed or a team; with `seeds` only those that have one of them."""
    known = run.document
    # Teams are cut from all seeds of the run, not from the wanted ones: a seed's bytes depend on who trains beside it.
    wanted = set(known.seeds if seeds is None else seeds)
    return [Job(run.path, group, known.task, known.method) for group in known.groups if not wanted.isdisjoint(group)]


def training_time(run: RunFolder) -> float:
    """Seconds in which the seeds that ended well were trained; those of a team trained at the same time."""
    spent = {r.seed: r.training_seconds for r in run.results() if r.error is None and r.training_seconds is not None}
    return sum(max(spent.get(seed, 0.0) for seed in job.seeds) for job in jobs_of(run))


_OPTIMA: dict[tuple[str, NumericRM], Optimum] = {}


def known_optimum(task: Task) -> Optimum:
    """The optimum of a task, computed once in a process."""
    text = task.stored_text()
    if NAMELESS in text:
        return best_length(task)  # two tasks may differ in what the text only marks
    # By what it says: the same task, opened from two folders, is two objects.
    key = text, task.machine
    if key not in _OPTIMA:
        if len(_OPTIMA) > 64:
            _OPTIMA.clear()
        _OPTIMA[key] = best_length(task)
    return _OPTIMA[key]


@lru_cache(maxsize=64)
def warm(learner: str, machine: str | None) -> None:
    """Have the kernels of a tabular learner compiled before any clock runs, on the smallest task that uses them all."""
    from errands.tasks.catalogue import load

    small = make_learner(load("figure-1"), learner, 0, machine)
    small.advance(1)
    small.measure()


class SingleSeed:
    """One learner, asked as a team is."""

    def __init__(self, learner: Learner) -> None:
        self.members: tuple[Learner, ...] = (learner,)

    @property
    def stopwatch(self) -> Stopwatch:
        """How long its steps took."""
        return self.members[0].stopwatch

    def train(self, steps: int) -> Iterator[list[Evaluation] | None]:
        """Its evaluations, and None where it can be saved between two."""
        for evaluation in self.members[0].stages(steps):
            yield None if evaluation is None else [evaluation]

    def save(self) -> list[Saved]:
        """Its arrays, to be written down at once."""
        return [self.members[0].save(copy=False)]

    def restore(self, parts: Sequence[Saved]) -> None:
        """Continue from its arrays."""
        self.members[0].restore(parts[0])


Together: TypeAlias = "SingleSeed | DeepTeam"


def learners_of(request: Request, seeds: Sequence[int], learner: Learner | None = None) -> Together:
    """The untrained learners of seeds that train together: a team, or one alone (`learner`, where it was built already)."""
    if request.team < 2:
        return SingleSeed(learner or request.new_learner(seeds[0]))
    from errands.learners.engines.deep.config import EngineConfig
    from errands.learners.engines.deep.learner import DeepTeam

    if not isinstance(request.config, EngineConfig):
        raise StoreError(f"run.json asks for a team of '{request.learner}', and only deep learners train in teams")
    return DeepTeam(
        request.task, request.config, seeds, request.learner, "boolean" if request.machine == "boolean" else "agenda"
    )


def leave_out_odd(rows: list[Evaluation], learner: Learner) -> None:
    """Take the evaluation away that only the end of a shorter run has made: a longer one has none at that step."""
    if rows and rows[-1].step == learner.step and learner.step % learner.config.eval_every:
        learner.evaluation_steps -= rows.pop().steps_taken


class NullStore:
    """Where seeds are kept while they train: here nowhere, since a run without a name is one of this process alone."""

    checkpoint_seconds = math.inf
    folder: Path | None = None

    def restore(self, learners: Together) -> Restored:
        """Put the learners where their seeds were left."""
        return Restored([[] for _ in learners.members])

    def open(self, rows: Sequence[list[Evaluation]]) -> AbstractContextManager[None]:
        """Take evaluations from now on; the seeds have these already."""
        return nullcontext()

    def add(self, index: int, evaluation: Evaluation, learner: Learner) -> None:
        """A new evaluation of one of the seeds."""

    def show(self) -> None:
        """Let others see what was added."""

    def save(self, trainer: Trainer) -> None:
        """Store what the seeds go on from after an interruption."""

    def end(self, trainer: Trainer, runs: Sequence[Run]) -> None:
        """Store what came out."""

    def explain(self, trainer: Trainer, fault: Exception) -> None:
        """Raise what says more than a fault in training does, where there is more to say."""


@dataclass(frozen=True)
class Restored:
    """Where seeds go on: their evaluations so far, and the time that was spent on them."""

    rows: list[list[Evaluation]]
    seconds: float = 0.0
    training_seconds: float = 0.0
    notes: Sequence[str] = ()
    bests: Sequence[Best | None] = ()


class Trainer:
    """Trains seeds together, a team or one alone, from where their store has them; the only loop that trains runs."""

    def __init__(
        self,
        request: Request,
        seeds: Sequence[int],
        store: NullStore | None = None,
        report: Report = silent,
        learner: Learner | None = None,
        watchers: Sequence[Watcher] = (),
        keeping: bool = True,
    ) -> None:
        self.request, self.report, self.store = request, report, store or NullStore()
        self.watchers = [*map(stop_of, request.stop_when), *watchers]
        self.keeping = keeping
        """Whether the best policy is kept beside the newest."""
        self.stopped: str | None = None
        """Who ended the training before its last step."""
        form = form_of(request.task, request.learner)
        if request.task.finite is not None and not (form.team or form.networks):
            warm(request.learner, request.machine)
        # Progress is measured by the optimum of a table. In Water its search takes seconds, and waits until a run has ended.
        self.target = self.best.length if request.task.finite is not None else None
        self.began = time.perf_counter()
        self.learners = learners_of(request, seeds, learner)
        self.restored = self.store.restore(self.learners)
        self.rows = self.restored.rows
        self.bests = [Best.of(rows, best) for rows, best in zip_longest(self.rows, self.restored.bests)]
        self.first = self.lead.step
        if (most := self.lead.predicted(request.steps)) != request.steps:
            self.tell(f"seed {self.lead.seed} takes {most:,} of {request.steps:,} steps at most")
        for note in self.restored.notes:
            self.tell(f"{note}; going on from step {self.first:,} instead")

    @cached_property
    def best(self) -> Optimum:
        """The optimum, from when it is first asked for."""
        return known_optimum(self.request.task)

    def tell(self, note: str) -> None:
        """Something that the user should know."""
        self.report(ProgressUpdate(self.lead.step, self.request.steps, None, 0.0, self.target, note))

    @property
    def lead(self) -> Learner:
        """The first learner: what holds for all is read from it."""
        return self.learners.members[0]

    @property
    def seconds(self) -> float:
        """The time spent on these seeds, interruptions left out."""
        return self.restored.seconds + time.perf_counter() - self.began

    @property
    def training_seconds(self) -> float:
        """The time of training steps alone, evaluations and compiling left out; of a team, of all its seeds together."""
        return self.restored.training_seconds + self.learners.stopwatch.estimate(self.lead.step - self.first)

    def stages(self) -> Generator[list[Evaluation] | None]:
        """Train to the end: the evaluations of all seeds each time that there are any, None wherever else they can be saved."""
        with self.store.open(self.rows):
            for evaluations in self.learners.train(self.request.steps):
                for index, evaluation in enumerate(evaluations or ()):
                    self.rows[index].append(evaluation)
                    if self.keeping:
                        self.bests[index].note(evaluation, self.learners.members[index])
                    self.store.add(index, evaluation, self.learners.members[index])
                yield evaluations
            self.store.save(self)

    def _asked_to_stop(self, evaluations: Sequence[Evaluation]) -> str | None:
        """Who says that all of these seeds have had enough; every watcher hears of every evaluation."""
        enough = []
        for evaluation, learner, rows, best in zip(evaluations, self.learners.members, self.rows, self.bests, strict=False):
            optimum, folder = (lambda: self.best.length), self.store.folder
            run = RunSoFar(self.request, learner.seed, rows, best.value, best.since, folder, learner, optimum)
            # None, which a watcher without a return gives, means to go on.
            enough.append([named(w) if w(evaluation, run) is False else "" for w in self.watchers])
        return next(filter(None, enough[0])) if enough and all(map(any, enough)) else None

    def finish(self, interrupt: Postponed, until: float, report_seconds: float) -> bool:
        """Train to the end; False where time or patience ran out before, and a checkpoint was stored instead."""
        shown = saved = self.began
        with closing(self.stages()) as stages:
            for evaluations in stages:
                now = time.perf_counter()
                ended = self._asked_to_stop(evaluations or ()) if self.watchers else None
                if now - shown >= report_seconds:
                    shown = now
                    self._show(evaluations)
                if ended is not None:
                    self.stopped = ended if self.lead.step < self.request.steps else None
                    self.store.save(self)
                    break
                # Who has taken the last step is not late: a result is worth more than another sitting.
                under_way = self.lead.step < self.request.steps
                if under_way and (time.time() >= until or interrupt.asked):
                    interrupt.arrive()
                    self.store.save(self)
                    return False
                if under_way and now - saved >= self.store.checkpoint_seconds:
                    self.store.save(self)
                    saved = time.perf_counter()
        return True

    def runs(self) -> list[Run]:
        """What came out, judged."""
        rows, seconds = zip(self.learners.members, self.rows, self.bests, strict=True), self.seconds
        return [judge(learner, self.request, tuple(row), seconds, self.best, best) for learner, row, best in rows]

    def _show(self, evaluations: list[Evaluation] | None) -> None:
        self.store.show()
        step, rate = self.lead.step, (self.lead.step - self.first) / (time.perf_counter() - self.began)
        middle = sorted(evaluations or (), key=lambda e: e.rank)
        last = middle[(len(middle) - 1) // 2] if middle else None
        self.report(ProgressUpdate(last.step if last else step, self.request.steps, last, rate, self.target))


def train(
    request: Request,
    seeds: Sequence[int],
    store: NullStore | None = None,
    report: Report = silent,
    learner: Learner | None = None,
    watchers: Sequence[Watcher] = (),
    until: float = math.inf,
    timing: Timing = TIMING,
) -> list[Run]:
    """Train seeds together, one or a team, to their end and judge them; none where their time ran out before (`until`).

    `learner` is the learner of the one seed, where it was built already. Watchers are called with every evaluation; False
    (of a team, for every seed) ends the training, and that is the run's end.
    """
    store = store or NullStore()
    with postponed(timing.patience) as interrupt:
        trainer = Trainer(request, seeds, store, report, learner, watchers)
        interrupt.obey()
        try:
            with nullcontext() if report is silent else told_at_once(partial(trainer.tell, STOPPING)):
                runs = trainer.runs() if trainer.finish(interrupt, until, timing.report) else []
        except Exception as fault:
            store.explain(trainer, fault)
            raise
        if runs:
            store.end(trainer, runs)
        return runs


STOPPING = "stopping after this chunk of training, with a checkpoint; Ctrl-C again stops at once"
"""What a first Ctrl-C is answered by: the end of a chunk may be a while away where networks learn."""


class FolderStore(NullStore):
    """The seed folders of a job, under their locks: whatever is written survives a kill at any moment."""

    def __init__(self, run: RunFolder, places: Sequence[SeedFolder], ended: Sequence[ResultDocument | None]) -> None:
        self.run, self.places, self.folder = run, places, run.path
        self.results = list(ended)
        """By seed, None while it has not ended; of one that had ended before nothing is written again."""
        self.checkpoint_seconds = run.document.checkpoint_seconds
        self.stored: list[CheckpointDocument | None] = [None] * len(places)
        self.state: object = None
        """The step and the numbers of evaluations of what is stored."""
        self.tables: list[Table | None] = [None] * len(places)

    def restore(self, learners: Together) -> Restored:
        """The newest checkpoints, of a team those of the newest step that all have; the learners take their arrays."""
        if self.run.task.finite is not None:
            check_memory(learners.members[0])
        found, notes = newest_common(self.places)
        if not found:
            return Restored([[] for _ in self.places], notes=notes)
        put_back(learners, [checkpoint.arrays for checkpoint in found], self.places[0].path)
        self.stored = [checkpoint.document for checkpoint in found]
        rows, bests = [list(checkpoint.evaluations) for checkpoint in found], list[Best | None]()
        self.state = found[0].document.step, [*map(len, rows)]
        for place, learner, mine in zip(self.places, learners.members, rows, strict=True):
            try:
                bests.append(read_best(place.path, place.seed, place.run))
            except StoreError as fault:
                bests.append(None)
                notes.append(str(fault))
            if learner.step not in [end for end, _ in self.run.parts(place.seed)]:
                leave_out_odd(mine, learner)
        first = found[0].document
        return Restored(rows, first.seconds, first.training_seconds, notes, bests)

    @contextmanager
    def open(self, rows: Sequence[list[Evaluation]]) -> Iterator[None]:
        """The tables of the seeds that have not ended, cut back to these rows and open to be continued."""
        with ExitStack() as tables:
            for index, place in enumerate(self.places):
                if self.results[index] is None:
                    place.reopen()
                    self.tables[index] = tables.enter_context(place.table_from(rows[index]))
            yield

    def add(self, index: int, evaluation: Evaluation, learner: Learner) -> None:
        """A row of a seed's table; at rows 1, 2, 4, 8, ... also a moment, most of them early; and a film, where one is due."""
        table = self.tables[index]
        if table is None:
            return
        table.add(evaluation)
        count, place = len(table.evaluations), self.places[index].path
        if count & (count - 1) == 0:
            checkpoints.write_moment(place, learner.step, learner.acting())
        before = table.evaluations[-2].step if count > 1 else 0
        if (every := self.run.document.video_every) and evaluation.step // every > before // every:
            (place / FILMS).mkdir(exist_ok=True)
            film = mp4(*pictures_of(self.run.task, learner.policy, learner.seed))
            write_file(place / FILMS / f"step-{evaluation.step}.mp4", film)

    def show(self) -> None:
        """Hand the rows to the operating system, so that others can read them."""
        for table in self.tables:
            if table is not None:
                table.show()

    def save(self, trainer: Trainer) -> None:
        """Checkpoints of all seeds at this step; each keeps the one before, so that a crash leaves a common one."""
        rows, step = trainer.rows, trainer.lead.step
        if self.state == (state := (step, [*map(len, rows)])):  # as when a seed had only lost its result
            return
        self.state = state
        for index, arrays in enumerate(trainer.learners.save()):
            table, place = self.tables[index], self.places[index]
            if table is None:
                continue
            # The rows must be on disk before the checkpoint, whose document vouches for them with a checksum. So must the
            # best policy: who goes on from here makes no better one of those steps again.
            table.sync()
            trainer.bests[index].write(place.path, place.seed, place.run)
            self.stored[index] = checkpoints.write_checkpoint(
                place.path, place.seed, step, arrays, rows[index],
                trainer.seconds, self.stored[index], trainer.training_seconds, place.run,
            )  # fmt: skip

    def end(self, trainer: Trainer, runs: Sequence[Run]) -> None:
        """Store the results: each says that its seed has ended, so it comes after everything that it vouches for is on disk."""
        for index, run in enumerate(runs):
            if self.results[index] is None:
                # Whoever ended before the planned steps had nothing left to learn, or was stopped by who watched.
                final = trainer.lead.finished or (trainer.stopped is None and run.steps < trainer.request.steps)
                result = result_of(run, trainer.best.length, self.stored[index], trainer.training_seconds, final)
                result = result.model_copy(update={"stopped": trainer.stopped, "planned": trainer.request.steps})
                self.results[index] = self.places[index].end(result)

    def explain(self, trainer: Trainer, fault: Exception) -> None:
        """Raise where it happened and what to do; the traceback lies in the folder, beside the last checkpoint."""
        if isinstance(fault, MemoryError) or (isinstance(fault, ErrandsError) and not isinstance(fault, TaskError)):
            return
        where = f"seed {self.places[0].seed} stopped at step {trainer.lead.step:,}"
        if isinstance(fault, TaskError):
            said = f"{fault}. {where[:1].upper()}{where[1:]}"
        else:
            foreign = Observed.of(self.run.task.world) is not None and _outside(fault)
            whose = f" in the environment of '{self.run.task.name}'" if foreign else ""
            said = f"{where}{whose}: {words_of(fault)}"
        raise RunFailed(f"{said}; {self._kept(fault)}") from fault

    def _kept(self, fault: Exception) -> str:
        """Write the traceback down, and say what is left of the seed and what to do."""
        stored = self.stored[0]
        checkpoint = f"its checkpoint of step {stored.step:,} is kept" if stored else "it had no checkpoint yet"
        path = self.places[0].path / TRACEBACK
        try:
            write_file(path, "".join(traceback.format_exception(fault))[-1_000_000:].encode(errors="replace"))
        except WriteError:
            return checkpoint
        return f"{checkpoint}, {path} says where it happened: fix that, then run 'errands resume {self.run.name}'"


def train_seed(run: RunFolder, seed: int, report: Report = silent, timing: Timing = TIMING) -> ResultDocument:
    """Train one seed to its end, with its team if it has one; an ended seed is only checked."""
    (job,) = jobs_of(run, [seed])
    results = train_job(run, job, report, timing=timing)
    return next(result for result in results if result.seed == seed)


def train_job(
    run: RunFolder,
    job: Job,
    report: Report = silent,
    learner: Learner | None = None,
    watchers: Sequence[Watcher] = (),
    timing: Timing = TIMING,
) -> list[ResultDocument]:
    """Train the seeds of a job from where they were left; the results of all, or of none when its time has run out."""
    places = [run.seed(seed) for seed in job.seeds]
    with ExitStack() as locks:
        for place in places:
            locks.enter_context(place.locked(timing.lock))
        # Asked under the locks: another process may have ended these seeds while we waited for it.
        store = FolderStore(run, places, [ended_well(place) for place in places])
        if None in store.results:
            train(run.request, job.seeds, store, report, learner, watchers, job.until, timing)
        return [result for result in store.results if result is not None] if None not in store.results else []


def ended_well(place: SeedFolder) -> ResultDocument | None:
    """The result of a seed that needs no more work: it ended without an error and its files are good."""
    try:
        result = place.result()
        place.evaluations()
    except OtherRun:
        raise
    except StoreError:
        return None
    planned = place.head.steps if place.head else 0
    return result if result is not None and result.done(planned) else None


def check_memory(learner: Learner) -> None:
    """Refuse tables that fit into memory while their checkpoints do not: a run would die of its first one."""
    # A checkpoint is put together as bytes, which are there twice for a moment, beside the tables.
    needed = 3 * sum(array.nbytes for array in learner.save(copy=False).values())
    if needed > 0.8 * memory():
        raise TaskError(
            f"a stored run would take {needed / 1e9:,.1f} GB, two thirds of it while a checkpoint is written, and this "
            f"machine has {memory() / 1e9:,.1f} GB; train in Python without a name, or use learner 'qcorm' or 'scout'"
        )


def _outside(fault: Exception) -> bool:
    """Whether a fault was raised by code that is not of this package, as a user's environment is."""
    here = str(Path(__file__).parent.parent)
    frames = traceback.extract_tb(fault.__traceback__)
    return bool(frames) and not frames[-1].filename.startswith(here)


def newest_common(places: Sequence[SeedFolder]) -> tuple[list[Checkpoint], list[str]]:
    """The good checkpoints of the newest step that all seeds have, newer ones being removed; and what is damaged."""
    # A kill between the checkpoints of two members of a team leaves one of them ahead. Each keeps the one before, so
    # there is a step that all have, and the team goes on from there.
    common = set.intersection(*(set(checkpoints.steps(place.path)) for place in places))
    damage, going_on = list[str](), [ended_well(place) is None for place in places]
    for step in sorted(common, reverse=True):
        try:
            found = [checkpoints.read_checkpoint(place.path, place.seed, step, place.run) for place in places]
        except OtherRun:
            raise
        except StoreError as fault:
            damage.append(str(fault))
            continue
        for place, checkpoint in compress(zip(places, found, strict=True), going_on):
            place.go_on_from(checkpoint.document)
        return found, damage
    if damage:
        raise StoreError(f"{damage[0]}; no other checkpoint is good: remove {places[0].path} to train it from the start")
    for place in compress(places, going_on):
        checkpoints.drop(place.path, lambda other: True)
    return [], []


def put_back(learners: Together, arrays: Sequence[Saved], path: Path) -> None:
    """Give the arrays of checkpoints to their learners; a StoreError where they are of other settings."""
    try:
        learners.restore(arrays)
    except (StoreError, KeyError, ValueError, IndexError, TypeError, OverflowError) as fault:
        said = str(fault) if isinstance(fault, StoreError) else f"{type(fault).__name__}: {fault}"
        raise StoreError(
            f"the checkpoint in {path} does not fit the settings ({said[:300]}); "
            "remove that folder to train the seed from the start"
        ) from None


def result_of(
    run: Run, best: float | None, stored: CheckpointDocument | None, training_seconds: float, final: bool = False
) -> ResultDocument:
    """What is stored of a judged run."""
    table, claim = checkpoints.render(run.evaluations), run.certificate.claim
    return ResultDocument(
        **run.row(best),
        optimum=best if best is not None and math.isfinite(best) else None,
        bounds=BoundsDocument(**claim.as_json()) if claim and claim.says_something else None,
        claim=ClaimDocument(**told) if claim and (told := claim.as_claim) else None,
        under=run.task.tried or (AS_SEEN if run.task.finite is None and claim and not claim.gamma and claim.lower > 0 else None),
        proved=bool(claim and claim.proved),
        proved_step=claim.step if claim and claim.proved else None,
        training_seconds=round(training_seconds, 6),
        final=final,
        evaluations_bytes=len(table),
        evaluations_sha256=digest(table),
        checkpoint_sha256=stored.arrays_sha256 if stored else None,
    )


def failed(seed: int, fault: BaseException, seconds: float = 0.0) -> ResultDocument:
    """The record of a seed that could not be trained."""
    said = str(fault) if isinstance(fault, ErrandsError) else words_of(fault, 2000)
    return ResultDocument(seed=seed, steps=0, wall_seconds=seconds, error=said[:2000])


def stored_learner(folder: RunFolder, seed: int) -> tuple[Learner, Checkpoint]:
    """The learner of a seed as its newest checkpoint has it, and that checkpoint; read only, as the seed may be training."""
    place = folder.seed(seed)
    checkpoint = checkpoints.newest(place.path, seed, place.run) if place.begun else None
    if checkpoint is None:
        raise StoreError(f"{place.path} has no checkpoint yet; run 'errands resume {folder.name}' to train it")
    learner = folder.request.new_learner(seed)
    put_back(SingleSeed(learner), [checkpoint.arrays], place.path)
    return learner, checkpoint


def stored_run(folder: RunFolder, seed: int, best: bool = False) -> Run:
    """What the newest checkpoint of a seed holds, as a run; or the run as it was at its best evaluation."""
    place = folder.seed(seed)
    result = place.result()
    learner, checkpoint = stored_learner(folder, seed)
    seconds = result.wall_seconds if result is not None else checkpoint.document.seconds
    kept = Best.of(checkpoint.evaluations, read_best(place.path, seed, place.run))
    run = judge(learner, folder.request, checkpoint.evaluations, seconds, known_optimum(folder.task), kept)
    run = replace(run, folder=folder.path, start=folder.document.start)
    return run.best if best else run


def store_run(run: Run, target: Path) -> RunFolder:
    """A folder for a run that was trained without one, as if it had been trained there."""
    learner = run.trained
    if learner is None:
        raise StoreError("this run has no learner in it and no folder behind it, so nothing can be saved")
    request = Request.of(run.task, run.learner, run.machine, steps=max(run.steps, 1), seeds=(run.seed,), config=run.config)
    start = f"{run.start}; not known: {run.unknown}" if run.unknown else run.start
    folder = create(target, replace(request, preset=run.preset, start=start))
    place, seconds = folder.seed(run.seed), learner.stopwatch.estimate(learner.step)
    with place.locked(), place.table_from(run.evaluations) as table:
        table.sync()
        if run.kept is not None:
            replace(run.kept, fresh=True).write(place.path, run.seed, place.run)
        stored = checkpoints.write_checkpoint(
            place.path, run.seed, learner.step, learner.save(copy=False), run.evaluations, run.wall_seconds, None, seconds,
            place.run,
        )
        place.end(result_of(run, best_length(run.task).length, stored, seconds, final=bool(run.start)))
    return folder
