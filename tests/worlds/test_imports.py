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
from errands.errors import ConfigError, SpecError, StoreError
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
    imports.allow("kitchen")
    assert str(kitchen) not in sys.path
    task = errands.load("breakfast.toml")
    assert errands.optimum(task).length == 6
    assert (task.world.limit, imports.allowed()) == (50, ("kitchen",))
    assert Task.from_toml(task.to_toml()) == task


def test_a_task_made_in_python_writes_the_file_that_reads_it_again(kitchen: Path) -> None:
    imports.allow("kitchen")
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
        ("broken", "importing 'broken' raised ZeroDivisionError: division by zero; fix the module"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(kitchen: Path, name: str, sentence: str) -> None:
    (kitchen / "broken.py").write_text("1 / 0\n")
    with pytest.raises(ConfigError, match=sentence):
        imports.allow(name)


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
import errands.worlds.gymnasium.world, errands.worlds.gymnasium.tables
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


def lake(keys: str) -> str:
    given = {"id": '"FrozenLake-v1"', "features": "{ goal = [15] }"}
    given |= dict(line.split(" = ", 1) for line in keys.splitlines())
    table = "\n".join(f"{key} = {value}" for key, value in given.items())
    return f'name = "x"\n[world]\nkind = "gymnasium"\n{table}\n[machine]\nphrase = "goal"\n'


def test_a_module_that_python_has_imported_is_not_let_in_by_that(monkeypatch: pytest.MonkeyPatch) -> None:
    pantry = types.ModuleType("pantry")
    exec("def ends(before, action, after, info): return set()", vars(pantry))  # noqa: S102 (the test's own text)
    monkeypatch.setitem(sys.modules, "pantry", pantry)
    text = lake('features = "pantry:ends"')
    with pytest.raises(SpecError, match=r"'pantry:ends' names code.* errands.allow\('pantry'\) in Python"):
        Task.from_toml(text)
    errands.allow("pantry")
    assert Task.from_toml(text).world.function is pantry.ends  # type: ignore[attr-defined]


BORROWING = """
import functools
import gymnasium as gym
from gymnasium import register
from gymnasium.envs.toy_text import FrozenLakeEnv
from subprocess import getoutput

run = functools.partial(getoutput, "touch ran")
gym.register("Borrowed-v0", entry_point=getoutput)
gym.register("Named-v0", entry_point="subprocess:getoutput")

class Box:
    def __init__(self, **settings):
        open("ran", "w").close()

class Called:
    __module__ = "borrowing"
    def __call__(self, *step):
        return open("ran", "w").close()

called, cached = Called(), functools.lru_cache(getoutput)

def __getattr__(name):
    return getoutput
"""


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('id = "borrowing:getoutput"\nkwargs = { cmd = "touch ran" }', "in 'subprocess', which 'borrowing' only imports"),
        ('features = "borrowing:getoutput"', "is defined in 'subprocess'"),
        ('state = "borrowing:getoutput"', "is defined in 'subprocess'"),
        ('signals = { cost = "borrowing:getoutput" }', "is defined in 'subprocess'"),
        ('id = "borrowing:run"', "and is a partial"),
        ('features = "borrowing:called"', "should be a function of the module 'borrowing', and is a Called"),
        ('features = "borrowing:cached"', "is defined in 'subprocess'"),
        ('id = "borrowing:Box"', "and is a type"),
        ('id = "borrowing:gym"', "and is a module"),
        ('features = "borrowing:anything"', "and is not there"),
        ('id = "borrowing:FrozenLakeEnv"', "is defined in 'gymnasium.envs.toy_text.frozen_lake'"),
        ('id = "borrowing:register"\nkwargs = { id = "Own-v0", entry_point = "os:system" }', "is defined in 'gymnasium"),
        ('id = "borrowing:Borrowed-v0"\nkwargs = { cmd = "touch ran" }', "is registered by code of 'subprocess'"),
        ('id = "Borrowed-v0"\nkwargs = { cmd = "touch ran" }', "is registered by code of 'subprocess'"),
        ('id = "Named-v0"\nkwargs = { cmd = "touch ran" }', "is registered by code of 'subprocess'"),
        ('id = "borrowing:this:Own-v0"', "has two colons"),
        ('id = "errands/Grid-v0"\nkwargs = { kind = "gymnasium", id = "borrowing:Box" }', "cannot make 'errands/Grid-v0'"),
    ],
)
def test_of_an_allowed_module_a_file_can_name_only_what_that_defines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, said: str
) -> None:
    (tmp_path / "borrowing.py").write_text(BORROWING)
    monkeypatch.chdir(tmp_path)
    errands.allow("borrowing")
    try:
        with pytest.raises(SpecError, match=said):
            Task.from_toml(lake(keys))
    finally:
        gym.registry.pop("Borrowed-v0", None)
        gym.registry.pop("Named-v0", None)
    assert not (tmp_path / "ran").exists()
    assert "Own-v0" not in gym.registry


def test_a_cached_function_of_errands_is_a_tool_like_any_other() -> None:
    errands.allow("errands.learners.presets")
    with pytest.raises(SpecError, match="is a tool and no environment"):
        imports.function_of("errands.learners.presets:_readers")


def test_an_id_of_a_package_is_let_in_by_the_packages_name_and_its_tools_are_not(tmp_path: Path) -> None:
    pytest.importorskip("minigrid")
    for name in ("MiniGrid-Empty-5x5-v0", "minigrid:MiniGrid-Empty-5x5-v0"):
        assert Task.from_env("MiniGrid-Empty-5x5-v0", lambda *step: set(), "goal").world.limit == 100  # the user's own word
        imports._allowed.clear()
        text = lake(f'id = "{name}"').replace("goal = [15]", "goal = { index = 0, above = 0.5 }")
        with pytest.raises(SpecError, match=r"add --import minigrid to the command"):
            Task.from_toml(text)
        errands.allow("minigrid")
        with pytest.raises(SpecError, match="observations are Dict; they cannot be flattened"):  # it was made
            Task.from_toml(text)
    register = 'id = "minigrid:register"\nkwargs = { id = "Own-v0", entry_point = "subprocess:getoutput" }'
    with pytest.raises(SpecError, match=r"'minigrid:register' is defined in 'gymnasium.envs.registration'"):
        Task.from_toml(lake(register))
    assert "Own-v0" not in gym.registry


def test_whoever_lets_gymnasium_in_lets_no_file_register_and_make_what_it_likes(tmp_path: Path) -> None:
    errands.allow("gymnasium")
    ran = tmp_path / "ran"
    try:
        for name, kwargs in [
            ("gymnasium:register", '{ id = "Own-v0", entry_point = "subprocess:getoutput" }'),
            ("gymnasium:make", f'{{ id = "Own-v0", cmd = "touch {ran}" }}'),
        ]:
            with pytest.raises(SpecError, match=f"'{name}' is a tool and no environment"):
                Task.from_toml(lake(f'id = "{name}"\nkwargs = {kwargs}'))
        assert "Own-v0" not in gym.registry
    finally:
        gym.registry.pop("Own-v0", None)
    assert not ran.exists()
    assert Task.from_toml(lake('id = "gymnasium:FrozenLake-v1"')).world.limit == 100


@pytest.mark.parametrize("given", ["kitchen", ["kitchen"]])
def test_modules_can_be_named_where_a_task_is_loaded_and_a_run_is_opened(kitchen: Path, given: Any) -> None:
    task = errands.load("breakfast.toml", imports=given)
    errands.train(task, "qrm", steps=200, name="eaten")
    imports._allowed.clear()
    with pytest.raises(StoreError, match="if you trust it, add --import kitchen to the command"):
        errands.open("eaten")
    assert errands.open("eaten", imports=given).steps == 200
    imports._allowed.clear()
    assert errands.resume("eaten", imports=given).steps == 200  # type: ignore[union-attr]


def test_a_task_of_functions_is_trained_and_stored_by_whoever_holds_them(kitchen: Path) -> None:
    imports._load("kitchen")
    module: Any = sys.modules["kitchen"]
    task = Task.from_env(module.Kitchen, module.features, "any_order(stove, table)", state=module.state, limit=40)
    errands.train(task, "qrm", steps=200, name="held")
    assert errands.open("held", task=task).steps == 200
    with pytest.raises(StoreError, match="add --import kitchen"):
        errands.open("held")
