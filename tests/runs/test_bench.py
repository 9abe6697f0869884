"""The speed of this machine: every learner beside its reference, its memory, its compiler."""

from __future__ import annotations

from pathlib import Path

from errands.runs import cost
from errands.runs.cost import REFERENCE, Benched, compile_seconds, speeds


def test_every_learner_is_measured_beside_its_reference():
    rows = {(s.method, s.subtasks): s for s in speeds(0.005, (2,))}
    assert {"qcorm", "qcorm-0", "crm agenda", "crm boolean", "hrm agenda", "qrm agenda"} <= {m for m, _ in rows}
    assert rows["qcorm", 2].reference == REFERENCE["qcorm", 2] == 42
    assert all(s.nanoseconds is not None and s.nanoseconds > 0 for s in rows.values())


def test_memory_is_that_of_the_tables():
    (crm,) = [s for s in speeds(0.005, (2,)) if s.method == "crm agenda"]
    assert crm.megabytes is not None
    # 7 agenda states, 100 cells, 4 actions, 8 bytes each
    assert 7 * 100 * 4 * 8 / 2**20 <= crm.megabytes < 1


def test_machines_too_large_to_build_are_left_out_with_the_reason():
    rows = [s for s in speeds(0.001, (8,)) if s.method == "crm boolean"]
    assert rows[0].nanoseconds is None
    assert "219,201 states; ask for it with --large" in rows[0].reason


def test_compiling_is_measured_in_new_processes_with_an_empty_cache_and_with_a_full_one(monkeypatch):
    child, caches = cost._child, []

    def watched(method, cache):
        before = sorted(Path(cache).rglob("*.bin"))
        seconds = child(method, cache)
        caches.append((before, sorted(Path(cache).rglob("*.bin"))))
        return seconds

    monkeypatch.setattr(cost, "_child", watched)
    assert all(seconds > 0 for seconds in compile_seconds(Benched("qrm", "agenda")))
    (empty, compiled), again = caches
    assert empty == []
    assert again == (compiled, compiled)
    assert compiled
