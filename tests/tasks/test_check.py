"""Twelve and more seeded faults are found, each with what to change; the shipped worlds are found in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from errands.errors import ErrandsError, SpecError, UnknownName
from errands.tasks import Task, load
from errands.tasks.check import CheckReport, check, import_attribute, run_check

LENGTH = 8
RESETS = count()


class Line(gym.Env[Any, Any]):
    """Cells 0..7 in a row, a random start in the middle; left and right; a and b at the two ends. All in order."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0.0, LENGTH - 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.cell = 0
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        self.cell = int(self.np_random.integers(2, LENGTH - 2))
        return self.observe(), {"features": self.label()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.cell = min(max(self.cell + (1 if action else -1), 0), LENGTH - 1)
        self.steps += 1
        return self.observe(), self.pay(), self.ends(), self.steps >= 40, {"features": self.label()}

    def observe(self) -> Any:
        return np.array([self.cell], np.float32)

    def label(self) -> Any:
        return {0: {"a"}, LENGTH - 1: {"b"}}.get(self.cell, set())

    def pay(self) -> float:
        return 0.0

    def ends(self) -> bool:
        return False


class AlwaysTrue(Line):
    def label(self) -> Any:
        return super().label() | {"floor"}


class Misspelt(Line):
    def label(self) -> Any:
        return {name.upper() for name in super().label()}


class NotASet(Line):
    def label(self) -> Any:
        return list(super().label())


class NotNames(Line):
    def label(self) -> Any:
        return {self.cell}


class Together(Line):
    def label(self) -> Any:
        return {"a", "b"} if self.cell == 0 else set()


class Paying(Line):
    def pay(self) -> float:
        return -0.1


class Ending(Line):
    def ends(self) -> bool:
        return self.cell == 4 and self.steps > 1


class NotANumber(Line):
    def observe(self) -> Any:
        return np.array([self.cell if self.steps < 5 else np.nan], np.float32)


class Outside(Line):
    def observe(self) -> Any:
        return np.array([self.cell + self.steps], np.float32)


class Unseeded(Line):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = next(RESETS) % LENGTH  # another one each time, whatever the seed
        return self.observe(), {"features": self.label()}


class Chancy(Line):
    """Features that are drawn, not computed; the world can be saved, so the same transition can be asked for twice."""

    def label(self) -> Any:
        return {name for name in ("a", "b") if np.random.default_rng().random() < 0.5}

    def save(self) -> dict[str, Any]:
        return {"cell": self.cell, "steps": self.steps}

    def restore(self, saved: dict[str, Any]) -> None:
        self.cell, self.steps = saved["cell"], saved["steps"]


class Leaking(Line):
    """Remembers over resets that it has been at the left end."""

    been = False

    def label(self) -> Any:
        self.been = self.been or self.cell == 0
        return super().label() | ({"b"} if self.been else set())


class Unlabelled(Line):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, _ = super().reset(seed=seed)
        return observation, {}


class OldGym(Line):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class Crashing(Line):
    def step(self, action: Any) -> Any:
        if self.steps == 30:
            raise KeyError("drawer")
        return super().step(action)


def a_and_b(observation: Any, action: Any, following: Any, info: dict[str, Any]) -> set[str]:
    return {0: {"a"}, LENGTH - 1: {"b"}}.get(int(following[0]), set())


class FirstTimeOnly:
    """A features function with a memory: it reports a cell once."""

    def __init__(self) -> None:
        self.told: set[int] = set()

    def __call__(self, observation: Any, action: Any, following: Any, info: dict[str, Any]) -> set[str]:
        cell = int(following[0])
        known = cell in self.told
        self.told.add(cell)
        return set() if known else a_and_b(observation, action, following, info)


def throwing(observation: Any, action: Any, following: Any, info: dict[str, Any]) -> set[str]:
    return {"a"} if observation[0] == 0 else {"b"}


TASK = Task.from_toml(
    """name = "ends"
[world]
kind = "grid"
rows = ["1..A...2"]
legend = { 1 = "a", 2 = "b" }
[machine]
phrase = "any_order(a, b)"
"""
)
COSTLY = Task.from_toml(
    """name = "costly"
[world]
kind = "cheetah"
[machine]
initial = "u0"
success = ["u1"]
transitions = ["u0 -> u0 : ~B ; -control_cost", "u0 -> u1 : B ; 1"]
"""
)


def codes(report: CheckReport) -> set[str]:
    return {finding.code for finding in report.findings}


def test_an_environment_in_order_is_found_in_order() -> None:
    report = check(Line, task=TASK)
    assert report.findings == ()
    assert (report.steps, report.ok) == (1000, True)
    assert report.episodes >= 5
    assert set(report.seen) == {"a", "b"}
    assert check(Line, a_and_b, TASK).findings == ()


@pytest.mark.parametrize(
    ("faulty", "features", "code", "sentence"),
    [
        (AlwaysTrue, None, "always-true", "'floor' was true in all 1,000 steps"),
        (AlwaysTrue, None, "not-in-task", "the task never looks at the features 'floor'"),
        (Misspelt, None, "never-true", "'a' .* the features report 'A'"),
        (NotASet, None, "features", "must be a set of names"),
        (NotNames, None, "features", "must be a set of names"),
        (Together, None, "two-subtasks", "a and b became true in one step"),
        (Paying, None, "reward-ignored", "the signal 'reward'"),
        (Ending, None, "termination-ignored", "give the machine a failure transition"),
        (NotANumber, None, "nan", "contains NaN"),
        (Outside, None, "outside", "widen the space"),
        (Unseeded, None, "seed-ignored", "self.np_random only"),
        (Chancy, None, "not-deterministic", "without chance or memory"),
        (Leaking, None, "leak", r"set every attribute in reset\(\)"),
        (Unlabelled, None, "features", "pass features=function"),
        (OldGym, None, "gymnasium", "Gymnasium's own checker refuses"),
        (Crashing, None, "crash", "KeyError: 'drawer'"),
        (Line, FirstTimeOnly(), "not-deterministic", "without chance or memory"),
        (Line, throwing, "crash", "TypeError"),
    ],
)
def test_a_seeded_fault_is_found_and_told(faulty: Callable[[], Line], features: Any, code: str, sentence: str) -> None:
    report = check(faulty, features, TASK)
    told = [finding.sentence for finding in report.findings if finding.code == code]
    assert any(re.search(sentence, text) for text in told), report.findings


@pytest.mark.parametrize("faulty", [AlwaysTrue, Together, Paying, Ending, Leaking])
def test_a_fault_raises_no_alarm_of_another_kind(faulty: Callable[[], Line]) -> None:
    allowed = {
        AlwaysTrue: {"always-true", "not-in-task"},
        Together: {"two-subtasks"},
        Paying: {"reward-ignored"},
        Ending: {"termination-ignored"},
        Leaking: {"leak", "two-subtasks"},
    }
    assert codes(check(faulty, task=TASK)) <= allowed[faulty]  # type: ignore[index]


def test_a_signal_that_the_task_pays_must_be_reported() -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    report = check(Line, task=COSTLY)
    assert any(f.code == "signals" and "control_cost" in f.sentence for f in report.findings)
    assert not report.ok


@pytest.mark.parametrize(
    "name",
    ["figure-1", "corridor", "delivery-1", "delivery-6", "office-1", "office-6", "visit-12"]
    + [f"water-{n}" for n in range(1, 7)]
    + ["cheetah-bcd", "cheetah-bcde"],
)
def test_no_false_alarm_on_the_shipped_worlds_with_their_tasks(name: str) -> None:
    if "cheetah" in name:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    assert run_check(name).findings == ()


def test_a_gymnasium_id_is_checked_with_a_features_function_of_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lake_features_for_check.py").write_text(
        "def goal(observation, action, following, info):\n    return {'goal'} if following == 15 else set()\n"
    )
    task = tmp_path / "lake.toml"
    task.write_text(
        'name = "lake"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nfeatures = { goal = [15] }\n'
        '[machine]\nphrase = "sequence(goal)"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    report = run_check("FrozenLake-v1", "lake_features_for_check:goal", task)
    assert codes(report) == {"termination-ignored"}
    assert codes(run_check(str(task))) == {"termination-ignored"}


def test_what_is_checked_must_exist_and_make_environments() -> None:
    with pytest.raises(SpecError, match="no MODULE:ENV, no Gymnasium id"):
        run_check("ofice-3")
    with pytest.raises(SpecError, match="cannot be imported"):
        run_check("no_such_module:Env")
    with pytest.raises(ErrandsError, match="did you mean 'Env'"):
        run_check("gymnasium:Enw")
    with pytest.raises(SpecError, match="made a OrderedDict"):
        run_check("collections:OrderedDict")
    with pytest.raises(SpecError, match="MODULE:NAME"):
        import_attribute("os:system('ls')")
    with pytest.raises(SpecError, match="from 1 to 1,000,000"):
        run_check("figure-1", steps=0)


def test_a_feature_that_the_world_cannot_reach_is_never_true() -> None:
    walled = load("figure-1").to_toml().replace('"1s."', '"1#s"').replace('"..A"', '"A##"').replace('"..."', '".##"')
    report = check(Task.from_toml(walled).world.env, task=Task.from_toml(walled))
    assert [(f.code, "'s'" in f.sentence) for f in report.findings] == [("never-true", True)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that Python looks for modules in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_modules_of_the_current_folder_are_found_and_names_inside_names(here: Path) -> None:
    (here / "mine_one.py").write_text("class Outer:\n    class Inner:\n        value = 3\n")
    assert import_attribute("mine_one:Outer.Inner.value") == 3
    assert import_attribute("math:pi") == pytest.approx(3.14159265)


@pytest.mark.parametrize("path", ["math", "math:", ":pi", "math:pi()", "1math:pi", "math:pi:e", "math pi:e"])
def test_what_is_not_module_and_name_is_refused(path: str) -> None:
    with pytest.raises(SpecError, match="is not of the form MODULE:NAME"):
        import_attribute(path)


def test_a_misspelt_attribute_brings_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no attribute of 'math' is called 'sqrtt'; did you mean 'sqrt'"):
        import_attribute("math:sqrtt")


def test_a_module_that_breaks_is_told_with_its_fault(here: Path) -> None:
    (here / "mine_two.py").write_text("1 / 0\n")
    with pytest.raises(SpecError, match="'mine_two' cannot be imported: ZeroDivisionError: division by zero"):
        import_attribute("mine_two:Env")


def test_a_maker_must_make_fresh_environments(here: Path) -> None:
    (here / "mine_three.py").write_text(
        "import gymnasium as gym\nnumber = 3\none = gym.Env()\ndef made(): return 5\ndef needs(x): return x\nlabel = 'text'\n"
    )
    for name, said in {
        "number": "is a int; name a class or a function that makes an environment",
        "one": "is one environment; name its class or a function",
        "made": "made a int, not a gymnasium.Env",
        "needs": "cannot be made without arguments: TypeError",
    }.items():
        with pytest.raises(SpecError, match=said):
            run_check(f"mine_three:{name}")
    with pytest.raises(SpecError, match="'mine_three:label' is a str, not a function of"):
        run_check("figure-1", "mine_three:label")


def test_an_unknown_word_is_told_to_be_none_of_the_three() -> None:
    with pytest.raises(
        SpecError, match="'figure-l' is no MODULE:ENV, no Gymnasium id, and no task is called 'figure-l'"
    ):
        run_check("figure-l")


def test_a_task_is_checked_against_itself() -> None:
    assert run_check("figure-1", steps=300).findings == ()
    with pytest.raises(SpecError, match="steps is 0"):
        run_check("figure-1", steps=0)
