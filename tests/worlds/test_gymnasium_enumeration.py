"""Tables found by trying: what is looked at, and that nothing is ever said of them without saying so."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands import Task
from errands.cli.summary import seed_summary
from errands.learners import make_learner
from errands.oracle.certificate import AS_SEEN, certificate
from errands.oracle.episode import strayed
from errands.runs.train import result_of

CLAUSE = r"as far as [\d,]+ tries, [\d,]+ starts and [\d,]+ walks showed"


class Liar(gym.Env[Any, Any]):
    """A random graph, of which the observation tells the node; what else there is, is not told.

    `hidden`: a bit that one move sets and that bends another one. `chance`: one move goes elsewhere now and then. `clock`: one
    move changes after so many steps. `start`: some episodes begin elsewhere.
    """

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.nodes, self.actions = int(rng.integers(4, 20)), int(rng.integers(2, 4))
        self.observation_space = gym.spaces.Box(0, self.nodes, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(self.actions)
        self.moves = rng.integers(self.nodes, size=(self.nodes, self.actions))
        self.moves[:, 0] = (np.arange(self.nodes) + 1) % self.nodes  # so that every node can be reached
        self.kind, self.odds, self.clock = kind, float(10 ** rng.uniform(-4, -0.3)), int(rng.integers(5, 60))
        self.sets, self.bends = (tuple(rng.integers((self.nodes, self.actions))) for _ in range(2))
        self.elsewhere = int((self.moves[self.bends] + 1) % self.nodes)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.bit, self.time = False, 0
        self.node = int(self.kind == "start" and self.np_random.random() < self.odds)
        return np.array([self.node], np.float32), {}

    def step(self, action: Any) -> Any:
        pair = (self.node, int(action))
        bent = {"hidden": self.bit, "chance": self.np_random.random() < self.odds, "clock": self.time > self.clock}
        self.node = self.elsewhere if pair == self.bends and bent.get(self.kind, False) else int(self.moves[pair])
        self.bit, self.time = self.bit or pair == self.sets, self.time + 1
        return np.array([self.node], np.float32), 0.0, False, False, {}


def lying(kind: str, seed: int) -> Task:
    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {"a"} if after[0] == 2 else {"b"} if after[0] == 3 else set()

    return Task.from_env(
        lambda: Liar(kind, seed), features, "any_order(a, b)", state=lambda seen: int(seen[0]), limit=200, name="liar"
    )


def test_nothing_is_said_without_its_clause_of_300_worlds_that_are_not_what_their_state_says() -> None:
    found = Counter[str]()
    for seed in range(300):
        kind = ("hidden", "chance", "clock", "start")[seed % 4]
        task = lying(kind, seed)
        best = errands.optimum(task, orders=False)
        scout = make_learner(task, "scout", 0, settings={"eval_every": 100})
        list(scout.train(100))
        claim = scout.claim  # type: ignore[attr-defined]
        if task.finite is None:
            found[f"{kind} seen"] += 1
            assert (best.length, task.certain) == (None, False)
            assert "no table of them" in best.reason
            assert claim.lower == 0.0 or claim.conditional_on or claim.reason.endswith(AS_SEEN)
            continue
        found[f"{kind} believed"] += 1
        clause = task.finite.tried
        assert clause in (best.method if best.length is not None else best.reason)
        assert clause in certificate(scout.policy, task, best=best).summary
        assert claim.lower == 0.0 or clause in claim.reason
    # Most are seen through; what is left has rare chance, rare starts, or differs where no walk came.
    assert sum(n for name, n in found.items() if name.endswith("believed")) < 100, found


class Corridor(gym.Env[Any, Any]):
    """Cells 0 to 38 with the goal at the far end, and what its state function (the cell) does not know."""

    throws = 0.0

    def __init__(self, twist: str = "") -> None:
        self.observation_space = gym.spaces.Box(0, 38, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.twist = twist

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell, self.key = 15 if self.twist == "key" else 0, False
        if self.twist == "start" and self.np_random.random() < 0.1:
            self.cell = 1
        return np.array([self.cell], np.float32), {}

    def step(self, action: Any) -> Any:
        there = min(38, max(0, self.cell + (1 if action else -1)))
        chance = self.np_random.random()
        self.key = self.key or there == 0
        if self.twist == "slip" and (self.cell, there) == (30, 31) and chance < 0.9:
            there = 29
        if self.twist == "key" and (self.cell, there) == (30, 31) and not self.key:
            there = 30
        if chance < (0.0005 if self.twist == "throw" else self.throws):
            there = 0
        self.cell = there
        return np.array([self.cell], np.float32), 0.0, False, False, {}


def corridor(twist: str = "", world: type[Corridor] = Corridor) -> Task:
    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {"goal"} if after[0] == 38 else set()

    return Task.from_env(lambda: world(twist), features, "goal", state=lambda seen: int(seen[0]), limit=500, name="corridor")


@pytest.mark.parametrize("twist", ["key", "slip", "throw", "start"])
def test_a_corridor_that_keeps_a_secret_is_seen_through(twist: str) -> None:
    """A forgotten key, a slip back with 0.9 at one far cell, one throw in 2,000 steps, one start in ten."""
    task = corridor(twist)
    assert task.finite is None
    assert "depend on more than the state function tells" in task.untabled or "start in different states" in task.untabled
    best = errands.optimum(task)
    assert (best.length, best.success) == (None, None)


def test_an_honest_corridor_is_believed_with_its_clause() -> None:
    task = corridor()
    run = errands.train(task, "scout", steps=500)
    best = errands.optimum(task)
    assert best.length == run.certificate.length == 38
    for said in (best.method, run.certificate.summary, run.certificate.claim.reason):  # type: ignore[union-attr]
        assert re.search(CLAUSE, said)
    assert strayed(run.policy, task) == ""
    stored = result_of(run, 38.0, None, 0.0)
    assert re.fullmatch(f"38.* steps, proved optimal after .* steps, {CLAUSE}", seed_summary(stored))
    assert stored.known_bounds == {"lower": 38, "upper": 38, "proved": True, "delta": None, "under": task.tried}
    impossible = Task.from_env(Corridor, lambda *step: set(), "goal", state=lambda seen: int(seen[0]), limit=500)
    assert re.search(f"the world never reports goal, {CLAUSE}", errands.optimum(impossible).reason)


def test_tables_that_are_known_need_no_clause() -> None:
    drawn, published = errands.load("figure-1"), Task.from_env("FrozenLake-v1", {"goal": [15]}, "goal")
    for task in (drawn, published):
        assert task.tried == ""
        assert "as far as" not in errands.optimum(task).method


def test_a_table_that_is_false_after_all_shows_wherever_the_environment_is_stepped() -> None:
    class Changing(Corridor):
        """Honest until its table is made; then every fiftieth step leads back to the start."""

    task = corridor(world=Changing)
    run = errands.train(task, "scout", steps=500)
    assert run.certificate.length == 38
    Changing.throws = 0.02
    try:
        told = run.evaluate(episodes=200)
        # By hand: from cell k the expected steps are e(k) = 1 + 0.98 e(k + 1) + 0.02 e(0), with e(38) = 0 after a safe last step.
        through = 0.98**38
        assert told.length.low < (1 - through) / (0.02 * through) < told.length.high
        assert errands.optimum(task).length is None
        assert "walk 1 of this policy left it in step" in errands.optimum(task).reason
        judged = certificate(run.policy, task, claim=run.certificate.claim)
        assert (judged.optimum, judged.gap, judged.claim.proved) == (None, None, False)  # type: ignore[union-attr]
        assert judged.length == pytest.approx((1 - through) / (0.02 * through), rel=0.2)
    finally:
        Changing.throws = 0.0


@pytest.mark.parametrize("answer", ["None", "self", "raise SystemExit"])
def test_an_environment_whose_copies_are_none_of_it_has_no_table(answer: str) -> None:
    class Copied(Corridor):
        def __deepcopy__(self, memo: Any) -> Any:
            if answer == "self":
                return self
            if answer == "None":
                return None
            raise SystemExit(0)

    task = corridor(world=Copied)
    assert task.finite is None
    assert re.match("has numbered states, but no table of them: it (cannot be copied|has moves that depend)", task.untabled)
