"""Worlds of a user's own JAX functions: against pencil and paper, as tables, batched, on the host, by name, and refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import errands  # noqa: E402
from errands import Task  # noqa: E402
from errands.cli import main  # noqa: E402
from errands.errors import SpecError  # noqa: E402
from errands.tasks.check import check  # noqa: E402
from errands.worlds import imports  # noqa: E402
from errands.worlds.base import make_world  # noqa: E402

KITCHEN = """
import jax
import jax.numpy as jnp

MOVES = jnp.array([[0, -1], [0, 1], [-1, 0], [1, 0]])


def reset(key):
    return jnp.array([0, 2])


@jax.jit
def step(state, action):
    new = jnp.clip(state + MOVES[action], 0, jnp.array([4, 2]))
    return jnp.where((new[0] == 2) & (new[1] > 0), state, new)


def features(state):
    return {"stove": (state == jnp.array([4, 2])).all(), "table": (state == jnp.array([0, 0])).all()}


def seen(state):
    return state / 2 - 1
"""
# . is open, # a wall; A the start, s the stove, t the table:   t . . . .    To the stove one goes up and round the wall,
# 2 + 4 + 2 = 8 steps. By way of the table it is 2 + 4 + 2      . . # . .    as well, so any_order takes 8 steps; the
# stove first takes 8 + 6 = 14.                                 A . # . s
FILE = """name = "kitchen"
[world]
kind = "jax"
reset = "kitchen:reset"
step = "kitchen:step"
features = "kitchen:features"
actions = 4
limit = 60
OBSERVE
[machine]
phrase = "PHRASE"
"""
SMALL = [
    "envs=16", "rollout=10", "minibatches=2", "width=32", "alpha=0.005", "average=0.05", "epsilon_high=1", "gamma=0.9",
    "eval_every=8000", "cut=40",
]  # fmt: skip


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    sys.modules.pop("kitchen", None)
    (tmp_path / "kitchen.py").write_text(KITCHEN)
    (tmp_path / "kitchen.toml").write_text(FILE.replace("OBSERVE", "").replace("PHRASE", "any_order(stove, table)"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("kitchen", None)
    imports._allowed.discard("kitchen")


def functions() -> Any:
    errands.allow("kitchen")
    return sys.modules["kitchen"]


def made(phrase: str = "any_order(stove, table)", **more: Any) -> Task:
    code = functions()
    return Task.from_jax(code.reset, code.step, code.features, phrase, actions=4, **{"limit": 60, "name": "kitchen", **more})


def test_tables_are_what_pencil_and_paper_say(kitchen: Path) -> None:
    task = made()
    walls = {(2, 1), (2, 2)}
    cells = {(x, y) for x in range(5) for y in range(3)} - walls
    finite = task.finite
    assert finite is not None
    assert finite.states == len(cells) == 13
    numbers = {tuple(np.frombuffer(state, np.int32).tolist()): i for state, i in task.world.counted[1].items()}  # type: ignore[attr-defined]
    assert set(numbers) == cells
    for (x, y), number in numbers.items():
        for action, (dx, dy) in enumerate([(0, -1), (0, 1), (-1, 0), (1, 0)]):
            there = (min(4, max(0, x + dx)), min(2, max(0, y + dy)))
            there = (x, y) if there in walls else there
            assert finite.table.next[number, action, 0] == numbers[there]
            true = {(4, 2): {"stove"}, (0, 0): {"table"}}.get(there, set())
            assert finite.labels[finite.table.label[number, action, 0]] == true
    assert (errands.optimum(task).length, task.certain) == (8, True)
    assert [errands.optimum(made(p)).length for p in ("stove", "sequence(stove, table)")] == [8, 14]
    assert errands.train(task, "scout", steps=5_000).certificate.summary == "8 steps, 0 more than the optimum"
    assert errands.train(task, "crm", steps=20_000).certificate.gap == 0


def test_the_environment_walks_as_the_tables_say(kitchen: Path) -> None:
    for task in (made(), made(observe=functions().seen)):
        assert check(task.world.env, steps=300).findings == ()
    finite, env, rng = made().finite, made().world.env(), np.random.default_rng(0)
    assert finite is not None
    state, info = env.reset(seed=0)
    assert info["features"] == finite.labels[finite.table.start_label[0]]
    for _ in range(50):
        action = int(rng.integers(4))
        after, *_, info = env.step(action)
        assert after == finite.table.next[state, action, 0]
        assert info["features"] == finite.labels[finite.table.label[state, action, 0]]
        state = after
    saved, ahead = env.save(), env.step(1)[0]  # type: ignore[attr-defined]
    other = made().world.env()
    other.reset(seed=9)
    other.restore(saved)  # type: ignore[attr-defined]
    assert other.step(1)[0] == ahead
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(60)] == [False] * 59 + [True]  # the limit


def test_pqn_learns_in_it_and_resumes_to_the_byte(kitchen: Path) -> None:
    task = made(observe=functions().seen)
    assert (task.finite, task.untabled) == (None, "is seen through observe")
    whole = errands.train(task, "pqn", steps=64_000, settings=SMALL, name="whole")
    assert (whole.evaluations[-1].success, whole.evaluations[-1].episode_length) == (1, 8)
    errands.train(task, "pqn", steps=24_000, settings=SMALL, name="torn")
    torn = errands.resume("torn", steps=64_000)
    assert not isinstance(torn, list)
    assert whole.export("whole.safetensors").read_bytes() == torn.export("torn.safetensors").read_bytes()
    agent, env = errands.read_policy("whole.safetensors"), task.world.env()
    observation, info = env.reset(seed=0)
    agent.reset(observation, info)
    for _ in range(8):
        observation, _, _, _, info = env.step(agent.act(observation))
        agent.see(observation, info)
    assert (agent.success, agent.order) == (True, ("table", "stove"))
    assert errands.open("whole").evaluate(episodes=5).success.mean == 1


def test_a_file_names_its_functions_and_runs_them_only_when_told_to(kitchen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "kitchen.toml", "pqn", "--steps", "64000", "--name", "mine", "--quiet"]
    assert main(words) == 2
    assert "names code, which a task file cannot run by itself" in capsys.readouterr().err
    settings = [word for setting in SMALL for word in ("--set", setting)]
    assert main([*words, *settings, "--import", "kitchen"]) == 0
    assert "8 steps, 0 more than the optimum" in capsys.readouterr().out
    imports._allowed.discard("kitchen")
    assert main(["evaluate", "mine"]) == 2
    assert "add --import kitchen" in capsys.readouterr().err
    assert main(["evaluate", "mine", "--import", "kitchen"]) == 0
    task = errands.load("kitchen.toml")
    assert task == made()
    assert Task.from_toml(made().to_toml()) == task
    nameless = made(observe=lambda state: state / 2)
    with pytest.raises(SpecError, match="observe is a Python object without a name"):
        nameless.to_toml()
    assert 'observe = "<python>:<lambda>"' in nameless.stored_text()


def test_chance_comes_from_the_key_alone() -> None:
    """One step in four slips: from 0 to 3 on a line there are 3 / (3/4) = 4 steps in expectation."""
    task = Task.from_jax(
        lambda key: 0, lambda s, a, key: s + a * (jax.random.uniform(key) < 0.75), {"end": lambda s: s == 3}, "end",
        actions=2, limit=100,
    )  # fmt: skip
    assert (task.certain, task.finite, task.untabled) == (False, None, "is left to chance: reset or step uses its key")
    env = task.world.env()
    seeds = []
    for seed in [*range(300), 0]:
        env.reset(seed=seed)
        seeds.append(next(t for t in range(1, 101) if "end" in env.step(1)[4]["features"]))
    assert np.mean(seeds) == pytest.approx(4, abs=4 * (3 * 0.25 / 0.75**2 / 300) ** 0.5)
    assert seeds[0] == seeds[-1]


def test_signals_and_features_of_a_step() -> None:
    """A move to the right costs 2, one to the left 1; `turn` is a step across 0, which no state tells."""
    task = Task.from_jax(
        lambda: {"x": -1}, lambda s, a: {"x": jnp.minimum(s["x"] + 2 * a - 1 * (s["x"] > -3), 3)},
        {"turn": lambda s, a, t: (s["x"] < 0) & (t["x"] >= 0), "home": lambda s: s["x"] == -3},
        errands.NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~turn ; -cost", "u0 -> u1 : turn ; 10"]),
        actions=2, signals=lambda s, a, t: {"cost": 1 + a}, limit=30,
    )  # fmt: skip
    env = task.world.env()
    env.reset(seed=0)
    infos = [env.step(a)[4] for a in (0, 0, 1, 1, 1)]
    assert [info["features"] for info in infos] == [set(), {"home"}, set(), {"turn"}, set()]
    assert [info["signals"]["cost"] for info in infos] == [1, 1, 2, 2, 2]


def test_a_world_too_large_to_be_counted_has_no_tables() -> None:
    for step in (lambda s, a: s + a, lambda s, a: 2 * s + a):  # one new state with each step; twice as many
        task = Task.from_jax(lambda: 1.0, step, {"far": lambda s: s > 1e6}, "far", actions=2)
        assert (task.finite, task.untabled) == (None, "has too many states to be counted")


GOOD: dict[str, Any] = {"reset": lambda: 0, "step": lambda s, a: s + a, "features": {"far": lambda s: s > 3}, "actions": 2}
SHARED = [0]


def changing(state: Any, action: Any) -> Any:
    SHARED[0] += 1
    return state + SHARED[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reset": lambda: "kitchen"}, "reset of the world raised TypeError: .*; it must be a pure function that JAX can trace"),
        ({"reset": lambda: ()}, r"reset gives \(\); a state is an array"),
        ({"reset": lambda key, size: 0}, r"reset takes 2 arguments; it is called with \(key\)"),
        ({"reset": 3}, "reset is 3; it must be a function"),
        ({"reset": jax.random.key, "step": lambda s, a: s}, "reset of the world raised"),
        ({"reset": lambda: jax.random.key(0), "step": lambda s, a: s}, "the state holds a random key; leave it out"),
        ({"step": lambda s, a: s / 2}, r"like that of reset: int32\[\] after reset, float32\[\] after a step"),
        ({"step": lambda s, a: jnp.array([s, a])}, r"int32\[\] after reset, int32\[2\] after a step"),
        ({"step": lambda s, a: (s, a)}, r"step must give a state like that of reset: PyTreeDef\(\*\) after reset"),
        ({"step": lambda s: s}, r"step takes 1 arguments; it is called with \(state, action\) or \(state, action, key\)"),
        ({"step": lambda s, a: s + 1 if a else s}, "step of the world raised TracerBoolConversionError"),
        ({"step": lambda s, a: s + int(np.random.default_rng().integers(10**6))}, "step does something else when it is asked"),
        ({"step": changing}, "step does something else when it is asked again; it must be pure"),
        ({"features": {"far": lambda s: s}}, r"features gives int32\[\] for 'far'; it must be one bool"),
        ({"features": {"far": lambda s: jnp.arange(3) > s}}, r"features gives bool\[3\] for 'far'; it must be one bool"),
        ({"features": lambda s: s > 3}, "features gives ShapeDtypeStruct.*; it must give a dictionary of names and values"),
        ({"features": {}}, "features tells nothing"),
        ({"features": {"near": lambda s: s < 3}}, "the world cannot report the feature 'far'; it reports near"),
        ({"signals": {"pay": lambda s: jnp.ones(2)}}, r"signals gives float32\[2\] for 'pay'; it must be one number"),
        ({"observe": lambda s: {"x": s}}, "observe gives .*; it must give an array of numbers"),
        ({"actions": 0}, "actions is 0, and must be at least 1"),
        ({"actions": 2.5}, "actions is 2.5, and must be a whole number"),
        ({"limit": 0}, "limit is 0, and must be at least 1"),
    ],
)  # fmt: skip
def test_what_is_no_world_is_told_in_one_sentence(change: dict[str, Any], said: str) -> None:
    given = {**GOOD, **change}
    code = [given.pop(name) for name in ("reset", "step", "features")]
    with pytest.raises(SpecError, match=said):
        Task.from_jax(*code, "far", **given)


def test_without_jax_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "errands.worlds.jax_world", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(SpecError, match=r"the world 'jax' needs jax; run: pip install 'errands\[deep\]'"):
        make_world("jax", GOOD)


def test_an_environment_of_gymnax_is_a_world() -> None:
    gymnax: Any = pytest.importorskip("gymnax", reason="gymnax is not installed")
    env, params = gymnax.make("MountainCar-v0")
    task = Task.from_jax(
        lambda key: env.reset_env(key, params)[1], lambda state, action, key: env.step_env(key, state, action, params)[1],
        {"left": lambda s: s.position < -0.9, "top": lambda s: s.position >= 0.5}, "sequence(left, top)",
        actions=3, observe=lambda s: jnp.array([s.position, 10 * s.velocity]), limit=200,
    )  # fmt: skip
    run = errands.train(task, "pqn", steps=1_000)
    assert run.steps == 1_000
    assert (task.finite, task.certain) == (None, False)
