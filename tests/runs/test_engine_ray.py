"""A real Ray of two nodes: one is killed in the middle, and every result is the local engine's, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from errands.runs import sweep as sweeping
from errands.runs.engine_ray import train_away
from errands.runs.folder import SweepFolder
from errands.runs.plan import make_block
from errands.runs.progress import Progress
from errands.runs.train import Job
from errands.runs.verify import faults

PLAN = {"task": "figure-1,delivery-2", "learner": "qcorm,crm", "seeds": 6, "steps": 20_000, "eval_every": 500}


@pytest.fixture
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    started.add_node(num_cpus=1)
    ray.init(address=started.address, log_to_driver=False)
    started.wait_for_nodes()
    yield started
    ray.shutdown()
    started.shutdown()


def test_a_node_that_dies_changes_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Callable[[SweepFolder], dict[str, object]]
) -> None:
    away = sweeping.begin([make_block(PLAN)], tmp_path / "away")
    here = sweeping.begin([make_block(PLAN)], tmp_path / "here")
    node = next(iter(cluster.worker_nodes))
    ended: list[Job] = []

    def end(self: Progress, job: Job, result: Any) -> None:
        ended.append(job)
        if len(ended) == 6:
            cluster.remove_node(node, allow_graceful=False)

    monkeypatch.setattr(Progress, "end", end)
    sweeping.train_sweep(away, 2, quiet=True, engine="ray")
    assert len(ended) == 24
    monkeypatch.undo()
    sweeping.train_sweep(here, 1, quiet=True)
    assert len(kept(here)) == 24
    assert kept(away) == kept(here)
    assert not list(faults(away.path))


def test_what_goes_wrong_far_away_is_brought_back_as_words(tmp_path: Path) -> None:
    sweep: SweepFolder = sweeping.begin([make_block(PLAN)], tmp_path / "sweep")
    run = sweeping.opened(sweep, sweep.document.cells[0])
    head, text = ((run.path / name).read_bytes() for name in ("run.json", "task.toml"))
    files, error = train_away(head, text + b"# other", [0])
    assert files == {}
    assert error.startswith("StoreError: ")
    assert "task.toml is damaged" in error
