"""`errands train`: train a learner on a task, store the run, and judge it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from errands.cli.options import Count, OnMap, Quiet, Seconds
from errands.cli.summary import run_summary
from errands.cli.verbs import Answer, Positional, Repeated
from errands.errors import ConfigError
from errands.learners.base import Learner
from errands.runs.folder import RunFolder, create_named
from errands.runs.interrupts import resumable
from errands.runs.progress import logged, writer_of
from errands.runs.request import Request
from errands.runs.sweep import train_run
from errands.runs.video import check_films
from errands.runs.watch import stops_of
from errands.tasks.catalogue import load


@dataclass(frozen=True)
class Arguments(OnMap, Quiet):
    """Train a learner; the run is stored in runs/<name>/ and can be resumed at any time."""

    task: Positional[str]
    """A catalogue name or the path of a task file."""
    learner: Positional[str | None] = None
    """A name from 'errands learners'; by default scout or crm on finite worlds, pqn or skills on batched, else qcorm-plus."""
    steps: Count | None = None
    """Training steps of each seed; default: 1,000,000; for scout at most 20,000, or two for each pair of a larger world."""
    seeds: int | None = None
    """Train the seeds 0 to SEEDS-1."""
    seed: int | None = None
    """Train this seed only; default: 0."""
    machine: Literal["agenda", "boolean"] | None = None
    """The machine of qrm, crm and hrm; default: agenda."""
    preset: str = "tuned"
    """Settings that work (tuned) or those that the paper prints (paper)."""
    set: Repeated[tuple[str, ...]] = ()
    """A setting of the learner, such as --set alpha=0.1; may be repeated."""
    eval_every: Count | None = None
    """Training steps between two evaluations."""
    name: str | None = None
    """The name of the folder under runs/; default: task, learner, date and time."""
    jobs: int | None = None
    """How many seeds are trained at the same time; default: all cores."""
    checkpoint_every: Seconds = 10.0
    """Seconds between two checkpoints."""
    stop_when: Repeated[tuple[str, ...]] = ()
    """End a seed before its steps: optimal, plateau=5 (evaluations without a better one), success=0.99 or epsilon=0.01 (how much of
    the optimum a claim of Scout's may leave open); may be repeated."""
    log: Literal["tensorboard", "wandb"] | None = None
    """Also log evaluations for TensorBoard, into tensorboard/ of the run's folder, or for Weights & Biases."""
    video_every: Count | None = None
    """Film a greedy episode of each seed about every so many steps, at evaluations, into seed-K/videos of the run's folder."""


def run(arguments: Arguments) -> Answer:
    """Create the folder, train, and tell what came out."""
    for option, given in (("seeds", arguments.seeds), ("jobs", arguments.jobs), ("video-every", arguments.video_every)):
        if given is not None and not 1 <= given <= (2**53 if option == "video-every" else 100_000):
            raise ConfigError(f"--{option} is {given}; it must lie between 1 and 100000")
    if arguments.seed is not None and arguments.seeds is not None:
        both = f"--seed {arguments.seed} and --seeds {arguments.seeds}"
        raise ConfigError(f"{both} are both given; --seeds trains 0 to {arguments.seeds - 1}, --seed one: leave one out")
    # A missing library is told before anything is created or trained.
    if arguments.log is not None:
        writer_of(arguments.log)
    task = load(arguments.task, arguments.map_seed)
    settings = list(arguments.set) + ([] if arguments.eval_every is None else [f"eval_every={arguments.eval_every}"])
    seeds = [arguments.seed or 0] if arguments.seeds is None else range(arguments.seeds)
    request = Request.of(task, arguments.learner, arguments.machine, arguments.preset, settings, arguments.steps, seeds)
    stops = tuple(stops_of(arguments.stop_when, task, request.learner))
    request = replace(request, stop_when=stops, video_every=arguments.video_every or 0)
    if arguments.video_every is not None:
        check_films(task)
    learner = request.new_learner(request.seeds[0])  # what cannot be trained is refused before a folder is made
    folder = create_named(request, arguments.name, arguments.checkpoint_every)
    return finish(folder, arguments.jobs, arguments.quiet, learner if len(request.seeds) == 1 else None, arguments.log)


def finish(
    folder: RunFolder, jobs: int | None, quiet: bool, learner: Learner | None = None, log: str | None = None
) -> Answer:
    """Train what is left of a run and tell what came out; when interrupted, say how to go on."""
    with resumable(f"errands resume {folder.name}"), logged(folder, log):
        train_run(folder, jobs, quiet, learner)
    return run_summary(folder)
