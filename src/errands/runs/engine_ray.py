"""The cluster engine: seeds trained by Ray's workers, again when a worker dies, and stored by this process alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from errands.errors import ConfigError, ErrandsError, install
from errands.runs.documents import MAX_DOCUMENT
from errands.runs.engine_local import record
from errands.runs.files import read_file, write_file
from errands.runs.folder import HEAD, TASK, RunFolder, open_run
from errands.runs.progress import Progress
from errands.runs.train import Job, jobs_of, train_job
from errands.tasks.spec import MAX_BYTES
from errands.worlds.imports import allow, allowed

RETRIES = 8
AHEAD = 2
"""Seeds handed to the cluster for each of its cores."""
RESULT = "result.json"


def train_on_ray(jobs: Iterable[Job], address: str | None, told: Progress) -> None:
    """Train seeds on a cluster ('auto' or host:port), or on a Ray of this machine when there is no address."""
    ray = _connected(address)
    train = ray.remote(num_cpus=1, max_retries=RETRIES)(train_away)
    waiting, under_way = iter(jobs), dict[Any, Job]()
    # A bounded number is handed over: jobs are made lazily, and a sweep's folders come into being one by one.
    room = max(2, AHEAD * int(ray.cluster_resources().get("CPU", 1)))
    while True:
        while len(under_way) < room and (job := next(waiting, None)) is not None:
            head, text = read_file(job.path / HEAD, MAX_DOCUMENT), read_file(job.path / TASK, MAX_BYTES)
            under_way[train.remote(head, text, job.seeds, allowed())] = job
        if not under_way:
            return
        for done in ray.wait(list(under_way), num_returns=1)[0]:
            job = under_way.pop(done)
            run = open_run(job.path)
            try:
                files, error = ray.get(done)
            except ray.exceptions.RayError as fault:
                files, error = {}, f"{type(fault).__name__}: {str(fault).splitlines()[0]}"
            _store(run, job, files, error)
            told.end(job, [result for place in map(run.seed, job.seeds) if (result := place.result()) is not None])


def _store(run: RunFolder, job: Job, files: dict[str, bytes], error: str) -> None:
    """Write what a worker brought back, the result of each seed last: it says that the seed has ended."""
    for place in map(run.seed, job.seeds):
        with place.locked():
            # Only the last part of a worker's names is used, so that nothing lands outside the seed's folder.
            mine = {Path(name).name: data for name, data in files.items() if Path(name).parent.name == place.path.name}
            for name in sorted(mine, key=lambda name: (name == RESULT, name)):
                write_file(place.path / name, mine[name])
    if error:
        record(run, job, ErrandsError(error))


def train_away(head: bytes, text: bytes, seeds: Sequence[int], imports: Sequence[str] = ()) -> tuple[dict[str, bytes], str]:
    """What a worker does: train a job in a folder of its own and bring back the files, or say what went wrong.

    `head` and `text` are the very bytes of run.json and task.toml: files of seeds repeat the checksum of their run.json.
    """
    with tempfile.TemporaryDirectory(prefix="errands-") as folder:
        try:
            allow(imports)
            write_file(Path(folder) / TASK, text)
            write_file(Path(folder) / HEAD, head)
            run = open_run(Path(folder))
            (job,) = jobs_of(run, seeds)
            train_job(run, job, lambda beat: None)
        except Exception as fault:  # noqa: BLE001 (whatever a learner runs into is recorded by the driver)
            return {}, f"{type(fault).__name__}: {fault}"
        places = [run.seed(seed).path for seed in seeds]
        return {
            f"{place.name}/{path.name}": path.read_bytes()
            for place in places for path in place.iterdir() if path.is_file()
        }, ""  # fmt: skip


def _connected(address: str | None) -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError(f"the engine 'ray' is not installed; type: {install('ray')}") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
        except (ConnectionError, ValueError, RuntimeError) as fault:
            said = str(fault).splitlines()[0][:200]
            hint = "start one with 'ray start --head'"
            raise ConfigError(f"no Ray cluster answers at '{address}' ({said}); {hint}") from None
    return ray
