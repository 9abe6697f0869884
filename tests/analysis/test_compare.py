import gymnasium
import pytest

import errands
from errands.analysis.compare import compared
from errands.errors import StoreError
from errands.runs.folder import create
from errands.runs.request import Request
from errands.runs.sweep import train_run


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A function that trains figure-1 into runs/<name>/."""
    monkeypatch.chdir(tmp_path)
    task = errands.load("figure-1")

    def make(name, learner="qcorm-0", seeds=(0,), settings=("eval_every=500",), machine=None, steps=2_000):
        request = Request.of(task, learner, machine=machine, settings=settings, steps=steps, seeds=list(seeds))
        train_run(create(tmp_path / "runs" / name, request, git={}), 1, quiet=True)
        return name

    return make


def test_folders_that_differ_in_their_seeds_only_are_one_method(stored):
    (found,) = compared([stored("a", seeds=(0, 1)), stored("b", seeds=(1, 2))])
    assert found.curve.name == "qcorm-0"
    assert found.curve.seeds == 3
    assert found.curve.optimum == 10
    assert found.subtasks == 2
    assert len(found.seconds) == 3


def test_methods_of_the_same_name_are_told_apart_by_what_differs(stored):
    names = [c.curve.name for c in compared([stored("a"), stored("b", settings=("eval_every=500", "epsilon=0.2"))])]
    assert names == ["qcorm-0 (epsilon=0.1)", "qcorm-0 (epsilon=0.2)"]


def test_machines_belong_to_the_name_of_a_method(stored):
    found = compared([stored("a", "crm"), stored("b", "crm", machine="boolean")])
    assert [c.curve.name for c in found] == ["crm agenda", "crm boolean"]
    assert found[0].settings["machine"] == "agenda"


def test_curves_are_those_that_training_gave(stored):
    (found,) = compared([stored("a")])
    config = type(errands.train(errands.load("figure-1"), "qcorm-0", steps=1).config)(
        joint=False, alpha=1.0, q_init=1.0, eval_every=500
    )
    run = errands.train(errands.load("figure-1"), "qcorm-0", steps=2_000, config=config)
    lengths = [e.episode_length if e.success else float("inf") for e in run.evaluations]
    assert found.curve.lengths.tolist() == [lengths]


def test_a_name_that_is_no_run_is_refused(stored):
    stored("alpha")
    with pytest.raises(StoreError, match="did you mean 'alpha'"):
        compared(["alpa"])


def test_budgets_of_dirl_are_points_of_one_curve_at_their_whole_budgets(stored):
    names = [stored(f"dirl-{steps}", "dirl", seeds=(0, 1), settings=(), steps=steps) for steps in (8_000, 2_000, 4_000)]
    (found,) = compared(names)
    assert found.curve.evaluated_at_end
    assert found.curve.steps.tolist() == [2_000, 4_000, 8_000]
    last = errands.train(errands.load("figure-1"), "dirl", steps=8_000, seed=1).evaluations[-1]
    assert found.curve.lengths[1, -1] == (last.episode_length if last.success else float("inf"))


def test_runs_of_python_objects_are_compared_without_their_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = errands.Task.from_env(
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=False), lambda *step: {"goal"} if step[2] == 15 else set(), "goal"
    )
    with pytest.warns(UserWarning, match="move them as functions into a module"):
        errands.train(lake, "scout", steps=500, name="lake")
    (found,) = compared(["lake"])
    assert (found.curve.final.tolist(), found.curve.optimum, found.subtasks) == ([6.0], 6.0, 0)
