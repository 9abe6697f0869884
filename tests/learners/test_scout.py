"""Scout on the catalogue: the certified optimum in about as many steps as there are pairs; seeds, saving, the two modes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from errands import train
from errands.errors import ConfigError
from errands.learners.base import LearnerConfig
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.phrases import any_order
from errands.worlds.base import FiniteWorld, one_start


def helper() -> ModuleType:
    path = Path(__file__).with_name("scout_tasks.py")
    spec = importlib.util.spec_from_file_location("scout_tasks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scout_tasks"] = module
    spec.loader.exec_module(module)
    return module


tasks = helper()


def trained(task: Task, steps: int = 2_000, seed: int = 0, **settings: object) -> Scout:
    scout = Scout(task, ScoutConfig(**settings), seed)  # type: ignore[arg-type]
    for _ in scout.train(steps):
        pass
    return scout


OPTIMA = {
    "figure-1": 10,
    "corridor": 20,
    **{f"office-{k}": length for k, length in zip(range(1, 7), (11, 20, 26, 38, 44, 60), strict=True)},
}


@pytest.mark.parametrize("name", OPTIMA)
def test_scout_proves_the_optima_that_are_known_on_paper(name: str) -> None:
    scout = trained(load(name), 1_000)
    assert scout.claim.proved
    assert scout.claim.lower == scout.claim.upper == OPTIMA[name]
    last = scout.evaluate()
    assert last.success
    assert last.episode_length == OPTIMA[name]
    assert last.total_reward == 1


@pytest.mark.parametrize("name", ["delivery-2", "delivery-5", "delivery-8", "visit-4", "visit-8", "visit-12"])
@pytest.mark.parametrize("map_seed", [0, 7])
def test_scout_ends_at_what_the_oracle_and_a_plain_search_find(name: str, map_seed: int) -> None:
    task = load(name, map_seed)
    scout = trained(task, 500)
    best = optimum(task)
    assert scout.claim.proved
    assert scout.claim.upper == best.length == scout.evaluate().episode_length
    if name != "visit-12":
        assert best.length == tasks.shortest(task)
    assert sorted(name for name in scout.order if name != "s") == sorted(task.machine.subtasks)


@pytest.mark.parametrize(("name", "most"), [("delivery-8", 450), ("office-6", 700), ("visit-8", 480), ("delivery-2", 480)])
def test_the_certificate_comes_after_about_one_try_of_every_pair(name: str, most: int) -> None:
    for map_seed in range(1 if name == "office-6" else 5):
        assert trained(load(name, map_seed), 1_000).claim.step <= most


def test_before_the_certificate_the_claim_brackets_the_optimum() -> None:
    scout = Scout(load("office-3"), ScoutConfig(), 0)
    claims = []
    for _ in scout.train(700):
        claims.append(scout.claim)
    assert all(claim.lower <= 26 <= claim.upper for claim in claims)
    assert [c.lower for c in claims] == sorted(c.lower for c in claims)
    assert not claims[0].proved
    assert claims[-1].proved


def test_steps_to_go_along_the_plan_are_those_of_the_paper() -> None:
    togo = trained(load("figure-1"), 100).steps_to_go
    assert togo == {"0{b1,b2}{b1,b2}": 10, "1{b1}s": 6, "2{b1}b1": 2, "3{}s": 1}


def test_a_promise_of_single_cells_saves_steps() -> None:
    sooner = trained(load("visit-4"), 1_000, unique=True, replan_every=1).claim
    later = trained(load("visit-4"), 1_000, replan_every=1).claim
    assert sooner.proved
    assert sooner.upper == later.upper
    assert sooner.step < later.step


def test_evaluations_come_at_the_steps_asked_for_and_the_last_one_at_the_certificate() -> None:
    scout = Scout(load("figure-1"), ScoutConfig(eval_every=30), 0)
    steps = [e.step for e in scout.train(100)]
    assert steps == [30, scout.claim.step]
    assert 30 < scout.step == scout.claim.step < 60
    assert list(scout.train(200)) == []


def test_a_run_counts_the_steps_that_it_took_and_evaluates_no_more_after_its_proof() -> None:
    run = train(load("figure-1"), "scout", steps=20_000)
    assert run.certificate is not None
    assert run.certificate.claim is not None
    assert run.steps == run.certificate.claim.step == 55
    assert [e.step for e in run.evaluations] == [50, 55]
    assert run.evaluation_steps == 2 * 10


def test_the_world_is_stepped_as_often_as_is_counted() -> None:
    scout = trained(load("figure-1"), 20_000)
    assert scout.known.tried.sum() == scout.step == 55


def test_a_task_without_any_way_is_proved_to_have_none() -> None:
    text = 'name = "x"\n[world]\nkind = "grid"\nrows = ["A.f", "..a"]\nlegend = {a = "a", f = "f"}\n'
    task = Task.from_toml(text + '[machine]\nphrase = "avoid(f, sequence(a, f))"\n')
    claim = trained(task, 200).claim
    assert claim.proved
    assert claim.lower == float("inf")
    assert claim.reason == "no run succeeds"


def test_features_that_are_events_are_found_out_and_void_the_certificate() -> None:
    """Three cells in a row; the middle one shows a only to who comes from the right: right, right (b), left (a)."""
    reached = np.array([[0, 1], [0, 2], [1, 2]], np.int32)[:, :, None]
    label = np.array([[0, 0], [0, 2], [1, 2]], np.int32)[:, :, None]
    labels = (frozenset[str](), frozenset({"a"}), frozenset({"b"}))
    world = FiniteWorld(one_start(0, reached, label, 0, np.ones((3, 2, 1))), labels)
    scout = trained(Task("row", tasks.Maze(world, ("a", "b")), any_order("a", "b")), 500, eval_every=500)
    assert not scout.claim.proved
    assert "events" in scout.claim.reason
    assert scout.evaluate().episode_length == scout.claim.upper == 3


def test_rewards_other_than_one_are_reported_and_not_looked_at() -> None:
    text = 'name = "x"\n[world]\nkind = "grid"\nrows = ["A.a"]\nlegend = {a = "a"}\n[machine]\ninitial = "u"\n'
    task = Task.from_toml(text + 'success = ["v"]\ntransitions = ["u -> v : a ; 5", "u -> u : ~a ; -1"]\n')
    last = trained(task, 50).evaluate()
    assert (last.episode_length, last.total_reward, last.success) == (2, 4.0, True)


@pytest.mark.parametrize("name", ["office-3", "slippery", "wild", "visit-20"])
def test_a_run_continued_from_its_arrays_ends_in_the_same_bytes(name: str) -> None:
    text = 'name = "x"\n[world]\nkind = "visit"\nplaces = 3\nsize = 5\nslip = 0.1\n[machine]\nphrase = "any_order(v1, v2, v3)"\n'
    text = text.replace("0.1", "0.6") if name == "wild" else text
    task = Task.from_toml(text) if name in ("slippery", "wild") else load(name)
    whole = trained(task, 900, seed=3, eval_every=130)
    first = trained(task, 333, seed=3, eval_every=130)
    second = Scout(task, ScoutConfig(eval_every=130), 99)
    second.restore(first.save())
    list(second.train(900))
    assert digest(whole) == digest(second)
    assert whole.claim == second.claim
    assert whole.policy.act(0, (0, 1), None) == second.policy.act(0, (0, 1), None)


def digest(scout: Scout) -> dict[str, bytes]:
    saved = {name: part.tobytes() for name, part in scout.save().items() if name not in ("counters", "agent.at")}
    clock = scout.agent.at[:-1].tobytes()
    return saved | {"at": clock, "steps": bytes(str((scout.step, scout.frozen_step)), "ascii")}


SCRIPT = """
import hashlib
from errands.learners.scout.tabular import Scout
from errands.learners.scout.settings import ScoutConfig
from errands.tasks import Task, load
from errands.tasks.phrases import any_order
from errands.worlds.base import FiniteWorld, one_start
world = 'name = "x"\\n[world]\\nkind = "visit"\\nplaces = 2\\nsize = 4\\nslip = 0.1\\n'
slippery = Task.from_toml(world + '[machine]\\nphrase = "any_order(v1, v2)"\\n')
places = world.replace("slip = 0.1", "").replace("= 2", "= 5")
many = Task.from_toml(places + '[machine]\\nphrase = "any_order(v1, v2, v3, v4, v5)"\\n')
for task, steps, few in ((load("figure-1"), 80, 2000), (slippery, 300, 2000), (many, 90, 1)):
    Scout.most_states = few
    scout = Scout(task, ScoutConfig(eval_every=150, kicks=20), 5)
    seen = [repr(e) for e in scout.train(steps)] + [repr(scout.claim)]
    print(hashlib.sha256("".join(seen).encode() + b"".join(v.tobytes() for v in scout.save().values())).hexdigest())
"""


def test_compiled_and_plain_loops_give_the_same_bytes() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True
        ).stdout
        for off in ("0", "1")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0].split()) == 3


def test_another_seed_is_another_run_where_moves_are_random() -> None:
    text = 'name = "x"\n[world]\nkind = "visit"\nplaces = 3\nsize = 5\nslip = 0.2\n[machine]\nphrase = "any_order(v1, v2, v3)"\n'
    one, same, other = (trained(Task.from_toml(text), 300, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.known.hits, same.known.hits)
    assert not np.array_equal(one.known.hits, other.known.hits)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="replan_every is 0"):
        ScoutConfig(replan_every=0)
    with pytest.raises(ConfigError, match="give it a ScoutConfig"):
        Scout(load("figure-1"), LearnerConfig(), 0)
