"""What was learnt for one phrase at work on another: lengths are exact optima found by search, or read off a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import errands
from errands.errors import ConfigError, SpecError, StoreError, TaskError
from errands.learners.engines.machines import same_future
from errands.learners.qcorm.tabular import legs, planned
from errands.machines.lower import lower
from errands.machines.stepping import Stepper
from errands.machines.unfolding import unfold_agenda
from errands.runs.run import Run
from errands.tasks import Task, load

TWO = "avoid(decoration, any_order(o2, o4, before=coffee))"


@pytest.fixture(scope="module")
def scout() -> Run:
    return errands.train("office-4", "scout")


def test_scout_proves_another_phrase_by_the_world_that_it_knows(scout: Run) -> None:
    run = scout.on(TWO)
    claim = run.certificate.claim
    assert claim is not None
    assert (claim.proved, claim.lower, run.steps) == (True, errands.optimum(run.task).length, 0)
    assert run.evaluate().length.mean == claim.lower
    assert "108 states" in run.start
    assert run.unknown == ""


def test_where_scout_does_not_know_enough_it_gives_bounds_and_explores_on(scout: Run) -> None:
    """Decorations may be walked over now, and what lies behind them was never tried."""
    run = scout.on("any_order(o2, o4, before=coffee)")
    best = errands.optimum(run.task).length
    claim = run.certificate.claim
    assert claim is not None
    assert best is not None
    assert not claim.proved
    assert claim.lower <= best < claim.upper
    assert "untried pairs" in run.unknown
    warm, cold = errands.train(run.task, start=scout), errands.train(run.task, "scout")
    for proved in (warm, cold):
        assert proved.certificate.claim is not None
        assert (proved.certificate.claim.proved, proved.certificate.claim.lower) == (True, best)
    assert warm.steps < cold.steps / 2


@pytest.mark.parametrize("phrase", ["any_order(b1, b3, after=s)", "sequence(b2, s, b1, s)", "any_order(b1, b2, b3, b4)"])
def test_scout_carries_its_cells_to_other_phrases_in_a_world_whose_boxes_vanish(phrase: str) -> None:
    run = errands.train("delivery-4", "scout").on(phrase)
    assert run.certificate.claim is not None
    assert run.certificate.claim.proved
    assert run.certificate.claim.lower == errands.optimum(run.task).length == run.evaluate().length.mean


def test_a_random_world_is_known_by_its_shares() -> None:
    task = Task.from_toml(load("visit-4").to_toml().replace("places = 4", "places = 4\nslip = 0.1"))
    run = errands.train(task, "scout", steps=4_000)
    again = run.on("sequence(v3, v1)")
    best = errands.optimum(again.task).length
    assert again.certificate.length is not None
    assert best is not None
    assert best * (1 - 1e-9) <= again.certificate.length < 1.1 * best  # the optimum has an error of 1e-10
    assert again.certificate.claim is not None
    assert not again.certificate.claim.proved


@pytest.mark.parametrize(("learner", "steps"), [("qcorm-0", 100_000), ("qcorm-plus", 20_000), ("crm", 200_000), ("hrm", 200_000)])
def test_others_go_by_policies_values_and_machine_states(learner: str, steps: int) -> None:
    trained = errands.train("office-4", learner, steps=steps)
    run = trained.on(TWO)
    assert run.certificate.success == 1
    assert run.certificate.gap is not None
    assert run.certificate.gap <= 2
    warm = errands.train(run.task, start=trained, steps=2_000)
    assert warm.evaluations[0].success
    assert warm.start


def test_what_was_not_learnt_is_said_or_refused_by_name(scout: Run) -> None:
    objectives = errands.train("office-3", "qcorm-0", steps=50_000)
    # One goes to a coffee machine between two offices, never from office to office, and decorations were fatal.
    assert objectives.on("sequence(coffee, o3, o1)").unknown == "the way from o3 to o1"
    states = errands.train("office-2", "crm", steps=2_000)
    with pytest.raises(TaskError, match=r"none of the 8 .* asks for sequence\(o1, o2\)"):
        states.on("sequence(o1, o2)")
    with pytest.raises(TaskError, match="'coffee' was never completed"):
        errands.train("office-2", "qcorm", steps=20).on("sequence(coffee, o1)")
    with pytest.raises(TaskError, match="'coffee' was never seen in 5 steps of Scout"):
        errands.train("office-2", "scout", steps=5).on("sequence(coffee, o2)")
    with pytest.raises(SpecError, match="cannot report the feature 'mail'"):
        scout.on("sequence(coffee, mail)")
    with pytest.raises(TaskError, match="DiRL learns nothing that another phrase could use"):
        errands.train("figure-1", "dirl", steps=2_000).on("b1")


def test_a_start_has_the_same_world_and_learner(scout: Run) -> None:
    with pytest.raises(TaskError, match="another world"):
        errands.train("office-3", start=scout)
    with pytest.raises(ConfigError, match="trained by scout"):
        errands.train("office-4", "crm", start=scout)
    with pytest.raises(ConfigError, match="leave name out"):
        errands.train("office-4", start=scout, name="again")


def test_a_carried_run_is_stored_and_says_where_it_began(scout: Run, tmp_path: Path) -> None:
    run = scout.on(TWO)
    stored = errands.open(run.save(tmp_path / "on"))
    assert stored.start == run.start
    assert stored.summary == run.summary
    policy = errands.read_policy(run.export(tmp_path / "p.safetensors"))
    assert policy is not None
    from errands.runs.folder import open_run
    from errands.runs.verify import verify_seed

    with pytest.raises(StoreError, match="began with what another run had learnt"):
        verify_seed(open_run(tmp_path / "on"), 0)


def test_machine_states_with_the_same_future_are_found() -> None:
    """After one of three the rest is any order of the two; a sequence of them is nothing that was trained."""
    labels = [frozenset[str](), *({name} for name in "abc")]
    three = lower(unfold_agenda(errands.any_order("a", "b", "c")), labels)
    two = same_future(lower(unfold_agenda(errands.any_order("c", "a")), labels), three)
    assert two is not None
    assert unfold_agenda(errands.any_order("a", "b", "c")).remaining((0, 0b101)) == ("a", "c")
    assert same_future(lower(unfold_agenda(errands.sequence("a", "b")), labels), three) is None


def test_orders_are_planned_over_legs() -> None:
    """Four places on a line at 0, 1, 3, 7 and the start at 2: by hand 1, 0, 3, 7 and 0, 1, 3, 7 cost 9; 3, 1, 0, 7 costs 11."""
    places = np.array([0.0, 1.0, 3.0, 7.0])
    machine = errands.any_order("a", "b", "c", "d")
    steps = planned(Stepper(machine), tuple("abcd"), 2.0, lambda at, k: (abs(places[k] - at), float(places[k])))
    first = {name: steps[(0, 0b1111, name)] for name in "abcd"}
    assert first == {"a": 9.0, "b": 9.0, "c": 11.0, "d": 12.0}
    assert legs(errands.sequence("a", "b")) == {("a", "b")}
