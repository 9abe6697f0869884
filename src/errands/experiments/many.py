"""Many seeds on this machine: here when that is quicker, else in as many processes as there are cores."""

from __future__ import annotations

from errands.experiments.engine_local import cores, train_apart, train_here
from errands.experiments.job import ended_well, jobs_of
from errands.experiments.predict import quick
from errands.experiments.progress import progress
from errands.results.run_folder import RunFolder


def train_run(run: RunFolder, jobs: int | None = None, quiet: bool = False) -> None:
    """Train every seed of a run to its end, from where each was left; the first fault is raised."""
    waiting = [job for job in jobs_of(run) if ended_well(run.seed(job.seed)) is None]
    workers = min(jobs or cores(), len(waiting))
    with progress(len(waiting), quiet) as told:
        if workers > 1 and not quick(run.document, run.task, len(waiting)):
            train_apart(waiting, workers, told, strict=True)
        else:
            train_here(waiting, told, strict=True)
