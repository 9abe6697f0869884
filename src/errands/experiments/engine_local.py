"""The local engine: seeds of run folders trained in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence

from errands.errors import ErrandsError, StoreError
from errands.experiments.job import failed, train_seed
from errands.experiments.progress import Label, progress
from errands.results.run_folder import RunFolder


def train_runs(runs: Sequence[RunFolder], jobs: int | None = None, quiet: bool = False) -> None:
    """Train every seed of some run folders to its end."""
    labels = {run.name: Label(run.document.task, run.document.learner) for run in runs}
    with progress(labels, sum(len(run.document.seeds) for run in runs), quiet) as told:
        for run in runs:
            for seed in run.document.seeds:
                began = time.perf_counter()
                try:
                    result = train_seed(run, seed, told.beat, run.name)
                except StoreError:
                    raise
                except ErrandsError as fault:
                    result = failed(seed, fault, time.perf_counter() - began)
                    run.seed(seed).end(result)
                told.end(run.name, result)
