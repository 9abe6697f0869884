"""Code that task files name: refused, allowed by the user, written and read again; hostile files import nothing."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import errands
from errands.errors import ConfigError, SpecError
from errands.tasks import Task
from errands.worlds import imports

KITCHEN = """
import gymnasium as gym
import numpy as np

print("kitchen was imported")


class Kitchen(gym.Env):
    def __init__(self, render_mode=None):
        self.observation_space, self.action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 2
        return self.at, {}

    def step(self, action):
        self.at = min(4, max(0, self.at + (1 if action else -1)))
        return self.at, 0.0, False, False, {}


gym.register("Kitchen-v0", Kitchen, max_episode_steps=50)


def features(before, action, after, info):
    return {"stove"} if after == 0 else {"table"} if after == 4 else set()


def state(observation):
    return int(observation)
"""
BREAKFAST = """name = "breakfast"

[world]
kind = "gymnasium"
id = "kitchen:Kitchen-v0"
features = "kitchen:features"
state = "kitchen:state"

[machine]
phrase = "any_order(stove, table)"
"""


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    gym.registry.pop("Kitchen-v0", None)
    sys.modules.pop("kitchen", None)
    (tmp_path / "kitchen.py").write_text(KITCHEN)
    (tmp_path / "breakfast.toml").write_text(BREAKFAST)
    monkeypatch.chdir(tmp_path)
    yield tmp_path  # type: ignore[misc]
    sys.modules.pop("kitchen", None)
    imports._allowed.discard("kitchen")
    gym.registry.pop("Kitchen-v0", None)


def test_a_file_that_names_code_is_refused_until_the_user_says_so(kitchen: Path) -> None:
    with pytest.raises(SpecError, match=r"names code, which a task file cannot run by itself; .* add --import kitchen"):
        errands.load("breakfast.toml")
    assert "kitchen" not in sys.modules
    imports.allow(["kitchen"])
    assert str(kitchen) not in sys.path
    task = errands.load("breakfast.toml")
    assert errands.optimum(task).length == 6
    assert (task.world.limit, imports.allowed()) == (50, ("kitchen",))
    assert Task.from_toml(task.to_toml()) == task


def test_a_task_made_in_python_writes_the_file_that_reads_it_again(kitchen: Path) -> None:
    imports.allow(["kitchen"])
    module: Any = sys.modules["kitchen"]
    task = Task.from_env(module.Kitchen, module.features, "any_order(stove, table)", state=module.state, limit=40)
    text = task.to_toml()
    assert 'id = "kitchen:Kitchen"' in text
    assert 'features = "kitchen:features"' in text
    again = Task.from_toml(text)
    assert (again.world, again.machine, again.world.limit) == (task.world, task.machine, 40)
    unnamed = Task.from_env(module.Kitchen, lambda *step: set(), "any_order(stove, table)")
    with pytest.raises(SpecError, match="features is a Python object without a name"):
        unnamed.to_toml()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_module_anywhere", "there is no module 'no_such_module_anywhere' here"),
        ("os; import sys", "'os; import sys' cannot be imported; give the name of a module"),
        ("../evil", "cannot be imported"),
        ("broken", "importing 'broken' raised ZeroDivisionError: division by zero; mend the module"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(kitchen: Path, name: str, sentence: str) -> None:
    (kitchen / "broken.py").write_text("1 / 0\n")
    with pytest.raises(ConfigError, match=sentence):
        imports.allow([name])


HOSTILE = [
    ("id", "evil:Evil-v0"),
    ("id", "evil:make"),
    ("id", "os:system"),
    ("id", "subprocess:Popen"),
    ("id", "antigravity:Fly-v0"),
    ("id", "errands.cli:main"),
    ("id", "evil.sub:Evil-v0"),
    ("id", ":Evil-v0"),
    ("id", "evil:"),
    ("id", "./evil:Evil-v0"),
    ("id", "evil.py:Evil-v0"),
    ("id", "builtins:exec"),
    ("features", "evil:features"),
    ("features", "os:system"),
    ("features", "builtins:eval"),
    ("features", "evil:os.system"),
    ("features", "evil:__import__"),
    ("features", "subprocess:run"),
    ("features", "numpy:load"),
    ("features", "gymnasium:make"),
    ("features", "__main__:features"),
    ("state", "evil:state"),
    ("state", "pickle:loads"),
    ("state", "shutil:rmtree"),
    ("signals", "evil:signal"),
]


def test_twenty_five_hostile_files_import_nothing(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("open('ran', 'w').write('evil')\n")
    for i, (key, value) in enumerate(HOSTILE):
        keys = {"id": '"FrozenLake-v1"', "features": "{ goal = [15] }"}
        keys[key] = f'{{ cost = "{value}" }}' if key == "signals" else f'"{value}"'
        table = "\n".join(f"{name} = {given}" for name, given in keys.items())
        (tmp_path / f"task{i}.toml").write_text(
            f'name = "x"\n[world]\nkind = "gymnasium"\n{table}\n[machine]\nphrase = "goal"\n'
        )
    code = f"""
import sys, errands
from errands.errors import ErrandsError
errands.load("figure-1")
import errands.worlds.gymnasium_world, errands.worlds.enumeration
before = set(sys.modules)
for i in range({len(HOSTILE)}):
    try:
        task = errands.load(f"task{{i}}.toml")
    except ErrandsError as fault:
        assert len(str(fault)) < 500, fault
    else:
        raise SystemExit(f"task{{i}} was loaded")
fresh = [name for name in set(sys.modules) - before if not name.startswith(("gymnasium", "errands", "numpy"))]
print(sorted(name for name in fresh if name.split(".")[0] in ("evil", "antigravity", "subprocess", "pickle", "shutil")))
"""
    seen = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (seen.returncode, seen.stdout.strip()) == (0, "[]"), seen.stderr
    assert not (tmp_path / "ran").exists()


def test_a_module_that_python_has_imported_needs_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    pantry = types.ModuleType("pantry")
    pantry.make = lambda: gym.make("FrozenLake-v1")  # type: ignore[attr-defined]
    pantry.ends = lambda before, action, after, info: {"switch"} if after == 3 else set()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pantry", pantry)
    text = BREAKFAST.replace("kitchen:Kitchen-v0", "pantry:make").replace("kitchen:features", "pantry:ends")
    task = Task.from_toml(text.replace('state = "kitchen:state"\n', "").replace("stove, table", "switch, lamp"))
    assert task.world.id == "pantry:make"  # type: ignore[attr-defined]
