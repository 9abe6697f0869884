"""The public contract of design.md, name by name, as others build against it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import errands

FIGURE_1 = """name = "figure-1"

[world]
kind = "grid"
rows = ["1s.", "..A", "...", "2.."]
legend = { 1 = "b1", 2 = "b2", s = "s" }
removed = ["b1", "b2"]

[machine]
initial = "u0"
success = ["u2"]
failure = []
numeric = { b = ["b1", "b2"] }
transitions = [
  "u0 -> u0 : b! ; 0",
  "u0 -> u1 : b↓ | b⤓ ; 0",
  "u1 -> u1 : ~s ; 0",
  "u1 -> u2 : s & b⤓ ; 1",
  "u1 -> u0 : s & b! ; 0",
]
"""


def test_every_public_name_can_be_had() -> None:
    for name in errands.__all__:
        assert getattr(errands, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = errands.nothing_here  # type: ignore[attr-defined]


def test_the_python_of_the_front_door_runs_as_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FIGURE_1, encoding="utf-8")
    task = errands.load(str(path))
    assert task == errands.Task.from_toml(FIGURE_1) == errands.load("figure-1")
    numeric = task.machine
    assert errands.size(numeric) == errands.Sizes(boolean=9, agenda=7, coupled=8, policies=3)
    boolean, agenda = errands.unfold_boolean(numeric), errands.unfold_agenda(numeric)
    coupled = errands.couple(agenda)
    assert (len(numeric), len(boolean), len(agenda), len(coupled)) == (3, 9, 7, 8)
    assert str(coupled.labels[0]) == "0{b1,b2}b1"
    assert coupled.labels[0].depth == 0
    assert coupled.labels[0].remaining == ("b1", "b2")
    trace = [{"b2"}, {"s"}, {"b1"}, {"s"}]
    for machine in (numeric, boolean, agenda, coupled):
        outcome = machine.run(trace)
        assert (outcome.rewards, outcome.terminal, outcome.success) == ((0.0, 0.0, 0.0, 1.0), True, True)
    best = errands.optimum(task)
    assert (best.length, best.order) == (10, ("b2", "s", "b1", "s"))
    run = errands.train(task, "qcorm", steps=50_000, seed=0, machine=None, config=None)
    last = run.evaluations[-1]
    assert (last.step, last.episode_length, last.total_reward, last.success) == (50_000, 10, 1.0, True)
    assert run.order == ("b2", "s", "b1", "s")
    assert run.steps_to_go["4{}"] == 0.0
    assert run.certificate is not None
    assert run.certificate.gap == 0
    assert run.policy is not None


def test_a_product_with_any_environment_and_a_labelling_function() -> None:
    def label(observation: object, action: object, following: object, info: object) -> set[str]:
        return {"goal"} if following == 15 else {"hole"} if following in (5, 7, 11, 12) else set()

    env = errands.product(
        gym.make("FrozenLake-v1", is_slippery=False), errands.avoid("hole", errands.sequence("goal")), features=label
    )
    assert isinstance(env, gym.Env)
    _, info = env.reset(seed=0)
    assert info["features"] == set()
    for action in (2, 2, 1, 1, 1, 2):
        _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_importing_the_worlds_registers_the_environments() -> None:
    import errands.worlds

    for name in ("Delivery", "Office", "Visit", "Water", "HalfCheetah"):
        assert f"errands/{name}-v0" in gym.registry
    assert errands.worlds


def test_type_checkers_see_the_names_that_the_front_door_offers() -> None:
    tree = ast.parse(Path(errands.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen = [(alias.name, alias.asname) for node in lines for alias in node.names]
    assert seen == [(name, name) for name, _ in seen]
    assert errands.__all__ == sorted(name for name, _ in seen)


def test_importing_errands_loads_nothing_heavy() -> None:
    heavy = ("numpy", "numba", "jax", "gymnasium", "matplotlib", "pydantic", "rich")
    script = f"import errands, errands.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_verb_of_the_contract_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    from errands.cli import main
    from errands.cli.verbs import VERBS

    assert main(["--help"]) == 0
    help_text = capsys.readouterr().out
    assert len(help_text.splitlines()) <= 50
    for verb in VERBS:
        assert f"  {verb} " in help_text
        with pytest.raises(SystemExit) as stop:
            main([verb, "--help"])
        assert stop.value.code == 0
        assert "Example: errands" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "words",
    [
        "tasks", "learners", "learners qcorm", "show figure-1 --as coupled", "show office-2 --as agenda --format svg",
        "lint figure-1", "lint --schema", "size delivery-12", "solve office-3 --one-policy-per-subtask", "doctor",
        "check figure-1",
    ],
)  # fmt: skip
def test_json_is_one_document_on_standard_output(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from errands.cli import main

    assert main([*words.split(), "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("trian figure-1", "did you mean 'train'?"),
        ("train figur-1", "did you mean 'figure-1'?"),
        ("train figure-1 qcrom", "did you mean 'qcorm'?"),
        ("train figure-1 --stesp 3", "did you mean '--steps'?"),
        ("show figure-1 --as cupled", "cupled"),
        ("show", "missing"),
        ("solve delivery-0", "takes a number from 1 to"),
        ("lint /nowhere/to/be/found.toml", "there is no file"),
        ("solve office-9", "from 1 to 6"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    from errands.cli import main

    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert "Traceback" not in captured.err


def test_debug_gives_the_traceback() -> None:
    from errands.cli import main

    with pytest.raises(errands.UnknownName):
        main(["size", "nothing", "--debug"])


def test_the_demo_shows_the_paper_and_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from errands.cli.demo import Arguments, run

    monkeypatch.chdir(tmp_path)
    document = run(Arguments(quiet=True)).document
    assert document["machines"] == {"numeric": 3, "boolean": 9, "agenda": 7, "coupled": 8}
    assert (document["length"], document["optimum"]) == (10, 10)
    assert document["order"] == ["b2", "s", "b1", "s"]
    assert "proved optimal" in document["scout"]
    for value in document["steps_to_go"].values():
        assert value["learnt"] == pytest.approx(value["exact"], rel=0.05)
    assert (tmp_path / "errands-demo.html").stat().st_size > 10_000


