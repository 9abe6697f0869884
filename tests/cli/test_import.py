"""`--import`: code that a task file names runs only when the user says so, on every verb and in every process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import types
from pathlib import Path

import gymnasium as gym
import pytest

from errands import allow, train
from errands.cli import _imports, main
from errands.errors import ErrandsError
from errands.runs.documents import RunDocument, read_document, write_document
from errands.tasks import Task

KITCHEN = '''
import gymnasium as gym

class Kitchen(gym.Env):
    """Five cells in a row: milk at one end, the table at the other."""
    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)
    def __init__(self, render_mode=None):
        self.render_mode = render_mode
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 2
        return self.cell, {}
    def step(self, action):
        self.cell = min(4, max(0, self.cell + (1 if action else -1)))
        return self.cell, 0.0, False, False, {}

def features(observation, action, next_observation, info):
    return {0: {"milk"}, 4: {"table"}}.get(next_observation, set())

def state(observation):
    return observation

gym.register("Kitchen-v0", entry_point=Kitchen, max_episode_steps=100)
open("imported.txt", "a").close()
'''
TASK = '''name = "breakfast"
[world]
kind = "gymnasium"
id = "kitchen:Kitchen-v0"
features = "kitchen:features"
state = "kitchen:state"
[machine]
phrase = "sequence(milk, table)"
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "kitchen.py").write_text(KITCHEN)
    (tmp_path / "breakfast.toml").write_text(TASK)
    return tmp_path


def errands(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.remove('') if '' in sys.path else None; from errands.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-P", "-c", code, *words], cwd=here, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", [["train"], ["lint"], ["solve"], ["size"], ["show"], ["check"]])
def test_a_file_imports_nothing_by_itself(
    here: Path, verb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here)
    assert main([*verb, "breakfast.toml"]) in (1, 2)
    assert "--import kitchen" in "".join(capsys.readouterr())
    assert not (here / "imported.txt").exists()


def test_with_the_option_it_is_trained_by_processes_and_resumed(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--import", "kitchen", "--quiet", "--json"]
    done = errands(here, "train", "breakfast.toml", "crm", "--steps", "3000", "--seeds", "2", "--jobs", "2", "--name", "a", *words)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [run["final_length"] for run in runs] == [6, 6]  # two cells to the milk, four to the table
    assert json.loads((here / "runs" / "a" / "run.json").read_text())["imports"] == ["kitchen"]
    monkeypatch.chdir(here)
    for verb in ("resume", "verify"):
        assert main([verb, "a"]) in (1, 2)
        assert "--import kitchen" in "".join(capsys.readouterr())
    assert main(["compare", "a"]) == 0  # curves need no world, so none of its code is run
    assert "kitchen" not in sys.modules
    assert errands(here, "resume", "a", "--import=kitchen").returncode == 0


def test_an_installed_package_that_registers_itself_is_imported_by_its_name(here: Path) -> None:
    pytest.importorskip("minigrid")
    file = here / "door.toml"
    file.write_text(TASK.replace("kitchen:Kitchen-v0", "MiniGrid-Empty-5x5-v0").replace("kitchen:", "ways:"))
    (here / "ways.py").write_text(
        "def features(observation, action, next_observation, info):\n    return set()\n"
        "def state(env):\n    return (*env.unwrapped.agent_pos, env.unwrapped.agent_dir)\n"
    )
    done = errands(here, "size", "door.toml", "--import", "minigrid,ways")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--import"], "names no module"),
        (["--import", "no-name"], "cannot be imported"),
        (["--import", "nosuch"], "there is no module 'nosuch'"),
    ],
)
def test_a_module_that_is_not_there_is_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", "figure-1", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_the_option_may_stand_anywhere_and_be_repeated() -> None:
    assert _imports(["a", "--import", "x", "--steps", "3", "--import=y,z"]) == (["a", "--steps", "3"], ["x", "y", "z"])


BENIGN = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
features = { goal = [15] }
[machine]
phrase = "goal"
"""
ATTACKS = {
    "yaml": 'id = "yaml:unsafe_load"\nkwargs = {{ stream = "!!python/object/apply:os.system [touch {ran}]" }}',
    "llvmlite.binding": 'id = "llvmlite.binding:load_library_permanently"\nkwargs = {{ filename = "{ran}" }}',
    "click": 'id = "click:edit"\nkwargs = {{ text = "x", editor = "touch {ran};" }}',
    "__mp_main__": 'id = "__mp_main__:f"\nkwargs = {{ path = "{ran}" }}',
    "subprocess": 'id = "subprocess:getoutput"\nkwargs = {{ cmd = "touch {ran}" }}',
}
"""Modules that are loaded in a process of errands or near it, and what a stranger's file would have them do."""


def poisoned(folder: Path, text: str) -> None:
    """A run folder whose task file is a stranger's, with a right checksum."""
    (folder / "task.toml").write_text(text)
    head = read_document(folder / "run.json", RunDocument)
    write_document(folder / "run.json", head.model_copy(update={"task_sha256": hashlib.sha256(text.encode()).hexdigest()}))


@pytest.mark.parametrize("module", ATTACKS)
def test_no_verb_runs_a_strangers_code_whatever_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    ran = tmp_path / "ran"
    if module == "__mp_main__":
        mine = types.ModuleType(module)
        mine.f = lambda path: Path(path).touch()  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module, mine)
    else:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    text = BENIGN.replace('id = "FrozenLake-v1"', ATTACKS[module].format(ran=ran))
    (tmp_path / "evil.toml").write_text(text)
    (tmp_path / "lake.toml").write_text(BENIGN)
    assert main(["train", "lake.toml", "qrm", "--steps", "200", "--name", "lake", "--quiet"]) in (0, 1)
    poisoned(tmp_path / "runs" / "lake", text)
    (tmp_path / "plan.toml").write_text('tasks = ["evil.toml"]\nlearners = ["qrm"]\nseeds = 1\nsteps = 100\n')
    for words in (
        ["show", "evil.toml"], ["size", "evil.toml"], ["lint", "evil.toml"], ["solve", "evil.toml"], ["train", "evil.toml"],
        ["sweep", "--task", "evil.toml", "--learner", "qrm"], ["sweep", "plan.toml"],
        ["resume", "lake"], ["verify", "lake"], ["plot", "curve", "lake"], ["plot", "route", "lake"], ["plot", "policy", "lake"],
        ["export", "lake", "--html", "x.html"], ["export", "lake", "--as", "policy", "--output", "x.safetensors"],
    ):  # fmt: skip
        capsys.readouterr()
        code = main([*words, "--quiet"])
        said = "".join(capsys.readouterr())
        assert not ran.exists(), words
        # A learning curve is drawn of numbers: it needs no world, and asks for none.
        assert code in (1, 2) or words[:2] == ["plot", "curve"], (words, said)
        if words[0] not in ("sweep", "plot"):
            assert "names code" in said or "holds no task" in said, (words, said)


@pytest.mark.parametrize("module", ATTACKS)
def test_the_page_runs_no_strangers_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    api = pytest.importorskip("errands.viewer.api")
    ran = tmp_path / "ran"
    if module == "__mp_main__":
        monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(f=lambda path: Path(path).touch()))  # type: ignore[arg-type]
    else:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    text = BENIGN.replace('id = "FrozenLake-v1"', ATTACKS[module].format(ran=ran))
    train(Task.from_toml(BENIGN), "qrm", steps=200, name="lake")
    poisoned(tmp_path / "runs" / "lake", text)
    page = api.Api(tmp_path / "runs", "lake")
    page.runs()
    for asked in (page.progress, lambda name: page.replay(name, 0).answer(), lambda name: page.curves([name]).answer()):
        with pytest.raises(ErrandsError, match="names code"):
            asked("lake")
    assert "no code of a module that this page may run" in page.check({"text": text})["problems"][0]["message"]
    with pytest.raises(ErrandsError, match="no code of a module"):
        page.train({"text": text, "learner": "qrm", "steps": 10, "seed": 0})
    assert not ran.exists()


def test_the_page_lets_no_file_register_an_environment_of_its_own(tmp_path: Path) -> None:
    api = pytest.importorskip("errands.viewer.api")
    pytest.importorskip("minigrid")
    allow("minigrid")
    page = api.Api(tmp_path)
    register = 'id = "minigrid:register"\nkwargs = { id = "Own-v0", entry_point = "subprocess:getoutput" }'
    made = f'id = "minigrid:Own-v0"\nkwargs = {{ cmd = "touch {tmp_path / "ran"}" }}'
    for keys in (register, made):
        text = BENIGN.replace('id = "FrozenLake-v1"', keys)
        assert page.check({"text": text})["problems"]
    assert "Own-v0" not in gym.registry
    assert not (tmp_path / "ran").exists()
