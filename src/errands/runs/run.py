"""One run as a value: a task, a learner and a seed, trained and judged; trained in Python, or opened from its folder."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from errands.errors import ConfigError, StoreError, TaskError, UnknownName
from errands.learners import make_learner
from errands.learners.base import Learner, LearnerConfig
from errands.learners.presets import Settings
from errands.oracle.certificate import Bounds, Certificate
from errands.oracle.episode import Policy
from errands.oracle.optimum import Optimum, optimum
from errands.runs.request import Request
from errands.tables import ENDS, Evaluation
from errands.tasks.catalogue import load
from errands.tasks.task import Task, card
from errands.worlds.imports import NAMELESS, allow

if TYPE_CHECKING:
    from errands.machines.numeric import NumericRM
    from errands.oracle.episode import Sample
    from errands.policies.agent import TaskAgent
    from errands.runs.best import Best
    from errands.runs.documents import DiagnosisDocument
    from errands.runs.folder import RunFolder
    from errands.runs.watch import OnEvaluation, Watcher
    from errands.worlds.gymnasium.world import Source

OPTIMUM_BYTES = 150_000_000
"""How large an exact search may grow when a run is judged: some seconds; `errands solve` goes further."""


@dataclass(frozen=True, repr=False)
class Run:
    """What a run found: its evaluations, its policy and how far that is from the optimum.

    >>> import errands
    >>> run = errands.train("figure-1", "scout", steps=500)
    >>> run.order, run.evaluations[-1].episode_length
    (('b2', 's', 'b1', 's'), 10)
    >>> print(run.evaluate().length)
    10
    """

    task: Task = field(repr=False)
    learner: str
    machine: str | None
    preset: str
    config: LearnerConfig
    seed: int
    steps: int
    evaluations: tuple[Evaluation, ...] = field(repr=False)
    order: tuple[str, ...]
    """The objectives in the order in which the greedy policy completes them."""
    steps_to_go: Mapping[str, float] = field(repr=False)
    """The learnt steps to go, by label."""
    policy: Policy = field(repr=False)
    certificate: Certificate
    """How far the policy is from the optimum; what is not known of it is None."""
    evaluation_steps: int
    """Steps taken in evaluations, not counted among the training steps."""
    wall_seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)
    """How `steps` divides by what they were for, where the method tells kinds apart (DiRL: training and rollouts)."""
    trained: Learner | None = field(default=None, repr=False, compare=False)
    """The learner itself, as training left it."""
    kept: Best | None = field(default=None, repr=False, compare=False)
    """What was kept of the best evaluation."""
    folder: Path | None = None
    """Where it is stored, if it is."""
    start: str = ""
    """What it knew before its first step, where that came from another run (`on`, or `train` with `start`)."""
    unknown: str = ""
    """What of its task that other run had not learnt."""

    def on(self, phrase: NumericRM | Task | str) -> Run:
        """The same knowledge at work on another phrase in the same world; nothing is trained.

        `start` of the result says what it goes by, and `unknown` what of the phrase was not learnt.

        Parameters:
            phrase: a phrase (`errands.any_order("b1", "b2")`), its text, or a machine; for `skills` also a task on another map.

        >>> import errands
        >>> run = errands.train("office-4", "scout").on("avoid(decoration, any_order(o2, o4, before=coffee))")
        >>> run.certificate.gap, run.certificate.claim.proved, run.steps
        (0.0, True, 0)
        """
        from errands.runs.further import carried, task_on

        return carried(self, task_on(self.task, phrase), self.seed)[1]

    def learn(self, steps: int, settings: Settings = (), on_evaluation: OnEvaluation | None = None) -> Run:
        """The run trained for so many more steps; a stored one in its folder, with its other seeds, as `errands.resume` does.

        >>> import errands
        >>> run = errands.train("figure-1", "qcorm", steps=5_000)
        >>> run.learn(5_000).evaluations == errands.train("figure-1", "qcorm", steps=10_000).evaluations
        True
        """
        from errands.runs.further import go_on
        from errands.runs.watch import watchers_of

        if not isinstance(steps, Integral) or steps < 1:
            raise ConfigError(f"steps is {steps!r}; give a whole number of at least 1")
        if self.folder is None:
            return go_on(self, self.steps + steps, settings, watchers_of(on_evaluation))
        further = resume(self.folder, self.task, on_evaluation, steps=self.steps + steps, settings=settings)
        return next(run for run in (further if isinstance(further, list) else [further]) if run.seed == self.seed)

    def row(self, best: float | None) -> dict[str, Any]:
        """The row of `errands train --json`."""
        return {
            "seed": self.seed,
            "steps": self.steps,
            **final(self.evaluations, best),
            "first_optimal_step": first_optimal_step(self.evaluations, best),
            "best": self.kept.document.model_dump() if self.kept and self.kept.document else None,
            "order": list(self.order),
            "diagnosis": found.model_dump() if (found := self.diagnosis) else None,
            "wall_seconds": round(self.wall_seconds, 3),
            "evaluation_steps": self.evaluation_steps,
            **self.counts,
            "certificate": self.certificate.summary,
        }

    @property
    def best(self) -> Run:
        """The run as it was at its best evaluation: success first, then length; itself where that is the last, or none succeeded.

        A mean of few episodes counts only once a larger sample has confirmed it, which is then the last evaluation here.
        """
        kept = self.kept
        if kept is None or kept.evaluation is None or kept.value is None or kept.evaluation.step == self.steps:
            return self
        if kept.arrays is None:
            raise StoreError(
                f"the best policy, of step {kept.evaluation.step:,}, was not kept (it takes more than 256 MB, or its file is gone)"
            )
        from errands.runs.train import known_optimum

        learner = make_learner(self.task, self.learner, self.seed, self.machine, self.config)
        learner.act_by(kept.arrays)
        learner.step = kept.evaluation.step
        rows = (*(e for e in self.evaluations if e.step < learner.step), kept.value)
        return replace(judge(learner, self, rows, self.wall_seconds, known_optimum(self.task), kept), folder=self.folder)

    @property
    def diagnosis(self) -> DiagnosisDocument | None:
        """Where no evaluation succeeded half of the time, what is known of why (`.says`), and what to try (`.advice`)."""
        from errands.runs.diagnosis import diagnosis

        return diagnosis(self)

    def agent(self, env: Any = None) -> TaskAgent:
        """Someone who acts by the learnt policy in an environment of yours, and keeps the machine's state meanwhile."""
        from errands.policies.agent import TaskAgent

        return TaskAgent(self.task, self.policy, env)

    def evaluate(self, episodes: int = 100, seed: int = 0, report: Callable[[int], None] = lambda done: None) -> Sample:
        """Success and length of the learnt policy over some episodes, each with its mean and a 95 % interval (.low, .high).

        Where starts and moves are certain one episode says everything: `episodes` of the sample is 1, and there is no interval.
        An environment of yours is stepped itself, whatever a table of it says (`state=`): an episode that gets into a state
        which the table lacks has failed. `report` is told how many have been played; `errands evaluate` does the same.
        """
        from errands.oracle.episode import evaluated

        for name, given, least in (("episodes", episodes, 1), ("seed", seed, 0)):
            if not isinstance(given, Integral) or given < least:
                raise ConfigError(f"{name} is {given!r}; give a whole number of at least {least}")
        return evaluated(self.policy, self.task, episodes, seed, report)

    def save(self, path: str | Path) -> Path:
        """Store the run as a folder that `errands.open` and every command read; an existing folder is never overwritten."""
        from errands.runs.folder import copy_run
        from errands.runs.train import store_run

        if self.folder is not None:
            return copy_run(self.folder, Path(path))
        return _nameable(store_run(self, Path(path))).path

    def export(self, path: str | Path) -> Path:
        """The policy as one safetensors file for numpy alone; `errands.read_policy` reads it."""
        from errands.policies.export import policy_bytes
        from errands.runs.files import write_file

        target = Path(path)
        if not target.parent.is_dir():
            raise StoreError(f"{target} cannot be written: there is no folder {target.parent}; make it, or name another file")
        write_file(target, policy_bytes(self.task, self.policy))
        return target

    def __repr__(self) -> str:
        machine = f" ({self.machine})" if self.machine else ""
        return f"<Run {self.task.name}, {self.learner}{machine}, seed {self.seed}, {self.steps:,} steps: {self.summary}>"

    @property
    def summary(self) -> str:
        """What came out, in a few words: the certificate's."""
        return self.certificate.summary

    def _repr_html_(self) -> str:
        rows = {
            "task": self.task.name, "learner": self.learner, "machine": self.machine or "its own", "preset": self.preset,
            "seed": self.seed, "steps": f"{self.steps:,}", "result": self.summary, "order": " ".join(self.order) or "none",
        }  # fmt: skip
        return card("Run", rows)


def final(evaluations: Sequence[Evaluation], best: float | None) -> dict[str, Any]:
    """What the last evaluation says, in the words of a result."""
    if not evaluations:
        return {"final_length": None, "final_success": False}
    last = evaluations[-1]
    return {
        "final_length": last.episode_length,
        "final_success": last.success,
        "final_episodes": last.episodes,
        **{f"final_{end}": value for end in ENDS if (value := getattr(last, end)) is not None},
        "final_gap": None if (gap := last.gap(best)) is None else float(gap),
    }


def first_optimal_step(evaluations: Sequence[Evaluation], best: float | None) -> int | None:
    """The step of the first evaluation that surely succeeds in the optimal number of steps."""
    return next((e.step for e in evaluations if e.optimal(best)), None)


@overload
def train(
    task: Task | Source, learner: str | None = None, steps: int | None = None, seed: int = 0, machine: str | None = None,
    config: LearnerConfig | None = None, preset: str = "tuned", settings: Settings = (), *, seeds: None = None,
    name: str | None = None, on_evaluation: OnEvaluation | None = None, start: Run | None = None, **of: Any,
) -> Run: ...  # fmt: skip


@overload
def train(
    task: Task | Source, learner: str | None = None, steps: int | None = None, seed: int = 0, machine: str | None = None,
    config: LearnerConfig | None = None, preset: str = "tuned", settings: Settings = (), *, seeds: int | Sequence[int],
    name: str | None = None, on_evaluation: OnEvaluation | None = None, start: Run | None = None, **of: Any,
) -> list[Run]: ...  # fmt: skip


def train(
    task: Task | Source,
    learner: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    machine: str | None = None,
    config: LearnerConfig | None = None,
    preset: str = "tuned",
    settings: Settings = (),
    *,
    seeds: int | Sequence[int] | None = None,
    name: str | None = None,
    on_evaluation: OnEvaluation | None = None,
    start: Run | None = None,
    **of: Any,
) -> Run | list[Run]:
    """Train, and judge the result by the exact optimum where there is one.

    Parameters:
        task: a task, a catalogue name or the path of a task file; or an environment (its id, a function that makes it, or itself)
            with `features` and `phrase`.
        learner: a name from `errands learners`; by default scout or crm on finite worlds, pqn, skills or qcorm-plus elsewhere.
        steps: training steps of each seed; 1,000,000 by default; for scout at most 20,000, or two for each pair of a larger world.
        seed: of everything random; the same seed gives the same run.
        machine: "agenda" or "boolean" for qrm, crm and hrm; the others have their own.
        config: all settings at once; it replaces the preset, and the run is labelled `custom`.
        preset: "tuned" or "paper".
        settings: some settings, such as {"epsilon": 0.1}, on top of the preset.
        seeds: how many seeds (0 to K-1), or a list of them; then a list of runs comes back. Deep learners train them side by side.
        name: store the run in runs/NAME, as `errands train --name` does, so that it can be resumed, viewed and compared.
        on_evaluation: called with every evaluation, and with the run so far where it takes a second argument; False ends the
            training there, of seeds side by side when it was given for all. Several are a list: [errands.StopOnPlateau(5), draw].
        start: a run in the same world, whose knowledge the new one begins with (`Run.on` says what fits); its learner is then used.
        of: with an environment what `Task.from_env` takes: `features`, `phrase` (its machine), and `state`, `limit`, `kwargs`, ...

    >>> import errands
    >>> run = errands.train("figure-1", "qcorm", steps=50_000, seed=0)
    >>> run.certificate.summary
    '10 steps, 0 more than the optimum'
    >>> lake = dict(features={"goal": [15]}, phrase="goal", kwargs={"is_slippery": False})
    >>> errands.train("FrozenLake-v1", "qcorm", steps=20_000, **lake).certificate.summary
    '6 steps, 0 more than the optimum'
    """
    from errands.runs.folder import create_named
    from errands.runs.further import as_before, begun_with
    from errands.runs.train import train as train_group
    from errands.runs.watch import watchers_of

    if not isinstance(seeds, int | Iterable | None):
        raise ConfigError(f"seeds is {seeds!r}; give how many, or a list of them")
    wanted = [seed] if seeds is None else range(seeds) if isinstance(seeds, int) else list(seeds)
    if start is not None:
        learner, machine = as_before(start, learner, machine, name)
        config = config or (None if settings or preset != "tuned" else start.config)
    request = Request.of(_task(task, of), learner, machine, preset, settings, steps, wanted, config)
    watchers = watchers_of(on_evaluation)
    if start is not None:
        runs = [begun_with(start, replace(request, seeds=(one,), team=0), watchers) for one in request.seeds]
    elif name is None:
        runs = [run for group in request.groups for run in train_group(request, group, watchers=watchers)]
    else:
        # A single learner is built before its folder: what it refuses leaves no folder behind.
        first = request.new_learner(request.seeds[0]) if len(request.seeds) == 1 else None
        runs = _finished(_nameable(create_named(request, name)), watchers, first)
    return runs if seeds is not None else runs[0]


def _finished(folder: RunFolder, watchers: Sequence[Watcher], learner: Learner | None = None) -> list[Run]:
    """Train in this process what is left of a run, and give back what is stored then."""
    from errands.runs.train import jobs_of, stored_run, train_job

    for job in jobs_of(folder):
        train_job(folder, job, learner=learner, watchers=watchers)
    return [stored_run(folder, seed) for seed in folder.document.seeds]


def _nameable(folder: RunFolder) -> RunFolder:
    """The folder itself; a warning where its task is made of things that no file can name."""
    if marks := list(dict.fromkeys(re.findall(f"{NAMELESS}:([^\"]*)", folder.task.stored_text()))):
        warnings.warn(
            f"no file can name {', '.join(marks)}, so commands cannot open {folder.path}; move them as functions into a module "
            f"that this program imports, or open it in Python with its task: errands.open('{folder.path}', task=task)",
            stacklevel=3,
        )
    return folder


def _task(task: Task | Source, of: Mapping[str, Any] = MappingProxyType({})) -> Task:
    if of:
        given, known = {"machine" if key == "phrase" else key: of[key] for key in of}, signature(Task.from_env).parameters
        if strange := [key for key in of if key not in (*known, "phrase") or key == "env"]:
            raise UnknownName("argument of train", strange[0], ["phrase", *list(known)[1:]])
        if isinstance(task, Task) or not {"features", "machine"} <= set(given):
            came = "a task" if isinstance(task, Task) else "an environment that needs both features and phrase"
            raise ConfigError(f"{', '.join(of)} came with {came}; train takes a task, or an environment with features and phrase")
        return Task.from_env(task, **given)
    if isinstance(task, str | Path):
        return load(task)
    if not isinstance(task, Task):
        raise ConfigError(
            f"the task is a {type(task).__name__}; give a Task, a catalogue name or the path of a task file, or an environment "
            "with features=... and phrase=..."
        )
    return task


def training(
    task: Task | str,
    learner: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    machine: str | None = None,
    config: LearnerConfig | None = None,
    preset: str = "tuned",
    settings: Settings = (),
) -> Iterator[Evaluation]:
    """Train while its evaluations are gone through; nothing is trained beyond the one at which the loop is left.

    Parameters:
        task: a task, a catalogue name or the path of a task file.
        learner: a name from `errands learners`; by default scout or crm on finite worlds, pqn, skills or qcorm-plus elsewhere.
        steps: training steps; 1,000,000 by default; for scout at most 20,000, or two for each pair of a larger world.
        seed: of everything random; the same seed gives the same run.
        machine: "agenda" or "boolean" for qrm, crm and hrm; the others have their own.
        config: all settings at once in place of a preset.
        preset: "tuned" or "paper".
        settings: some settings, such as {"epsilon": 0.1}, on top of the preset.

    >>> import errands
    >>> for evaluation in errands.training("figure-1", "qcorm", steps=50_000):
    ...     if evaluation.success and evaluation.episode_length == 10:
    ...         break
    >>> evaluation.step < 50_000
    True
    """
    from errands.runs.train import Trainer

    request = Request.of(_task(task), learner, machine, preset, settings, steps, [seed], config)
    for evaluations in Trainer(request, request.seeds, keeping=False).stages():
        yield from evaluations or ()


def open(  # noqa: A001 (errands.open)
    path: str | Path, seed: int | None = None, task: Task | None = None, imports: Iterable[str] = (), best: bool = False
) -> Run:
    """A stored run: its newest checkpoint, whether it has ended or not; of several seeds the first, or the one asked for.

    Parameters:
        path: a folder, a name under runs/, or "latest".
        seed: one of the run's seeds.
        task: the task itself, where it is made of Python objects that no file can name: lambdas, inner functions, environments.
        imports: modules whose code it may name, as by `errands.allow`.
        best: the run as it was at its best evaluation, `run.best`.

    >>> import errands, tempfile
    >>> folder = errands.train("figure-1", "qcorm", steps=5_000).save(tempfile.mkdtemp() + "/mine")
    >>> errands.open(folder).order
    ('b2', 's', 'b1', 's')
    """
    from errands.runs.folder import find_run, open_run
    from errands.runs.train import stored_run

    allow(imports)
    folder = open_run(find_run(str(path)), task)
    return stored_run(folder, folder.known_seed(seed), best)


def resume(
    path: str | Path, task: Task | None = None, on_evaluation: OnEvaluation | None = None, imports: Iterable[str] = (),
    steps: int | None = None, settings: Settings = (),
) -> Run | list[Run]:  # fmt: skip
    """Train what is left of a stored run, from its newest checkpoint to its end; of several seeds a list comes back.

    Parameters:
        path: a folder, a name under runs/, or "latest".
        task: the task itself, where it is made of Python objects that no file can name: lambdas, inner functions, environments.
        imports: modules whose code it may name, as by `errands.allow`.
        on_evaluation: as for `train`, called with every evaluation that is new.
        steps: a larger total: the run is trained further, to the bytes of one that was asked for as many at once. What follows a
            schedule, such as epsilon="1..0.05@0,8000", keeps the one that the run was begun with.
        settings: what changes from there on, as for `train`, such as another schedule.

    >>> import errands, tempfile
    >>> folder = errands.train("figure-1", "qcorm", steps=5_000).save(tempfile.mkdtemp() + "/mine")
    >>> errands.resume(folder)  # it had ended, so nothing was left
    <Run figure-1, qcorm, seed 0, 5,000 steps: 10 steps, 0 more than the optimum>
    >>> errands.resume(folder, steps=8_000).steps
    8000
    """
    from errands.runs.folder import find_run, open_run
    from errands.runs.further import extended
    from errands.runs.watch import watchers_of

    allow(imports)
    watchers = watchers_of(on_evaluation)
    folder = extended(open_run(find_run(str(path)), task), steps, settings)
    if folder.changes and not folder.finished:
        changes = "; ".join(folder.changes)
        warnings.warn(f"{folder.name} goes on with other versions than those that began it: {changes}", stacklevel=2)
    runs = _finished(folder, watchers)
    return runs if len(runs) > 1 else runs[0]


def judge(
    learner: Learner,
    request: Request | Run,
    evaluations: tuple[Evaluation, ...],
    seconds: float,
    best: Optimum | None = None,
    kept: Best | None = None,
) -> Run:
    """The run of a trained learner, with its certificate."""
    from errands.oracle.certificate import certificate

    policy, claim = learner.policy, learner.claim
    finite = learner.task.finite is not None
    judged = certificate(policy, learner.task, best=best, claim=claim) if finite else untabled(claim, evaluations, best)
    return Run(
        task=learner.task,
        learner=request.learner,
        machine=request.machine,
        preset=request.preset,
        config=learner.config,
        seed=learner.seed,
        steps=learner.step,
        evaluations=evaluations,
        order=learner.order,
        steps_to_go=dict(learner.steps_to_go),
        policy=policy,
        certificate=judged,
        evaluation_steps=learner.evaluation_steps,
        wall_seconds=seconds,
        counts=dict(learner.counts),
        trained=learner,
        kept=kept,
    )


def untabled(claim: Bounds | None, evaluations: Sequence[Evaluation], optimum: Optimum | None = None) -> Certificate:
    """What is known of a policy in a world without tables: its last evaluation, beside the optimum or the learner's own proof."""
    if not evaluations:
        return Certificate(None, None, None, None, None, "never evaluated", claim)
    last = evaluations[-1]
    known = None if optimum is None else optimum.length
    best = claim.upper if known is None and claim and claim.proved and last.sure else known
    gap = last.gap(best)
    if known is not None and gap is not None:
        summary = f"{last.episode_length:g} steps, {gap:g} more than the optimum"
        return Certificate(float(last.episode_length), float(last.success), None, best, gap, summary, claim)
    if last.episodes == 1:
        found = f"{last.episode_length:g} steps {'' if last.sure else 'without success '}in one greedy episode"
    else:
        length = f"{last.episode_length:g} steps ({last.length_low:.6g} to {last.length_high:.6g})"
        success = f"success {last.success:g} ({last.success_low:.3g} to {last.success_high:.3g})"
        found = f"{length} and {success}, means of {last.episodes} greedy episodes"
    rest = "the world has no tables to evaluate it exactly" if known is None else f"the optimum is {known:g} steps"
    summary = f"{found}; {rest}"
    return Certificate(float(last.episode_length), float(last.success), None, best, gap, summary, claim)


def best_length(task: Task, budget: int = OPTIMUM_BYTES) -> Optimum:
    """The exact optimum where it takes seconds; elsewhere one without a length, and the reason."""
    try:
        return optimum(task, budget=budget, orders=False)
    except TaskError as refusal:
        return Optimum(None, reason=str(refusal))
