"""Scout's claims under chance: how often they are wrong, and how wide they are.

    python benchmarks/claims.py coverage [WORLDS [SEEDS [FIRST]]]   is the optimum inside, and the policy's value not below?
    python benchmarks/claims.py width                               Visit 4 and 8 with slip 0.1, one law and none

Coverage: random worlds of three kinds (grids of one law, random tables, grids that break the law), each trained with
several seeds and looked at after every 1,000 steps to 8,000; a run counts as wrong if any look was. 1,000 runs unless said
otherwise; FIRST is the first world, so that halves run side by side. The judge iterates
the product of world and machine in arrays, and knows nothing of Scout.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from errands.kernels.search import DONE
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.product import product
from errands.tasks import Task
from errands.tasks.catalogue import task_text
from errands.tasks.phrases import any_order, avoid, sequence
from errands.worlds.base import Described, FiniteWorld, one_start
from errands.worlds.grid import GridLayout, Noise, grid_table

GAMMA, DELTA, EVERY, STEPS = 0.99, 0.05, 1_000, 8_000


@dataclass(frozen=True)
class Tables(Described):
    """A world of tables made by hand."""

    table: FiniteWorld
    features: tuple[str, ...]
    limit: int = 300
    kind: str = "grid"

    @property
    def signals(self) -> tuple[str, ...]:
        return ()

    def finite(self) -> FiniteWorld:
        return self.table

    def env(self, render_mode: str | None = None) -> None:
        raise NotImplementedError


class Judge:
    """Exact values of a task: its optimum, and those of policies."""

    def __init__(self, task: Task) -> None:
        self.crossed = product(task)
        table = self.crossed.world.table
        self.there = table.next
        self.after = self.crossed.following[:, table.label]
        self.goes = (self.after >= 0) & ~table.ends
        self.best = self.iterate(None)

    def iterate(self, actions: np.ndarray | None) -> float:
        v = np.zeros((len(self.crossed.u), self.crossed.world.states))
        m, s = np.arange(len(v))[:, None], np.arange(v.shape[1])
        for _ in range(5_000):
            then = np.where(self.after == DONE, 1.0, np.where(self.goes, v[np.maximum(self.after, 0), self.there], 0.0))
            q = GAMMA * (self.crossed.chance * then).sum(axis=3)
            new = q.max(axis=2) if actions is None else q[m, s, actions]
            change, v = np.abs(new - v).max(), new
            if change < 1e-12:
                break
        # Values are those of the first step's end; returns do not discount it.
        return float(sum(p * v.ravel()[x] for x, p in self.crossed.starts)) / GAMMA

    def value(self, scout: Scout) -> float:
        count = self.crossed.world.states
        actions = [[scout.policy.act(s, self.crossed.state(m), None)[0] for s in range(count)] for m in range(len(self.crossed.u))]
        return self.iterate(np.array(actions))


def lawful(seed: int) -> Task:
    """A grid of 5 x 5 to 7 x 7 with walls and two or three places, whose moves slip to their sides."""
    rng = np.random.default_rng(seed)
    side = int(rng.integers(5, 8))
    start, *cells = rng.permutation(side * side)[: int(rng.integers(4, 6))].tolist()
    walls = frozenset((c, c + 1) for c in rng.permutation(side * side)[:side].tolist() if (c + 1) % side)
    names = [f"p{i}" for i in range(len(cells) - 1)] + ["pit"]
    noise = Noise(float(rng.uniform(0.02, 0.2)), blocked=("slip", "wait")[seed % 2])
    layout = GridLayout(side, side, start, tuple(zip(names, cells, strict=True)), walls=walls, slip=noise)
    return Task("lawful", Tables(grid_table(layout), tuple(names)), avoid("pit", any_order(*names[:-1])))


def table(seed: int) -> Task:
    """10 states, 2 or 3 actions, 1 to 4 outcomes of random odds."""
    rng = np.random.default_rng(seed)
    states, actions, most = 10, int(rng.integers(2, 4)), int(rng.integers(2, 5))
    reached = rng.integers(0, states, (states, actions, most)).astype(np.int32)
    cumulative = np.cumsum(rng.dirichlet(np.ones(most), (states, actions)), axis=2)
    cumulative[..., -1] = 1.0
    labels = (frozenset(), frozenset({"a"}), frozenset({"b"}))
    of = np.zeros(states, np.int32)
    of[1], of[2] = 1, 2
    world = FiniteWorld(one_start(0, reached, of[reached], 0, np.minimum(cumulative, 1.0)), labels)
    return Task("table", Tables(world, ("a", "b")), sequence("a", "b"))


def lawless(seed: int) -> Task:
    """A lawful grid in which some cells, one action, or one side slips otherwise."""
    task = lawful(seed)
    assert task.finite is not None
    world, rng = task.finite, np.random.default_rng(seed + 1)
    cumulative = world.table.cumulative.copy()
    shares = np.array([1.0 - 0.5, 1.0 - 0.25, 1.0])
    if seed % 3 == 0:
        cumulative[rng.permutation(world.states)[: max(2, world.states // 8)]] = shares
    elif seed % 3 == 1:
        cumulative[:, int(rng.integers(4))] = shares
    else:
        cumulative[..., 1] = 1.0
    broken = FiniteWorld(world.table._replace(cumulative=cumulative), world.labels)
    return Task("lawless", Tables(broken, task.world.features), task.machine)


KINDS = {"one law": lawful, "random tables": table, "law broken": lawless}


def coverage(worlds: int = 100, seeds: int = 10, first: int = 0) -> None:
    """Runs in which a look found the optimum outside, or the policy's value below."""
    began, wrong, runs, tells = time.process_time(), Counter[str](), Counter[str](), Counter[str]()
    width: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(first, first + worlds):
        kind = list(KINDS)[number % 3]
        task = KINDS[kind](number // 3)
        judge = Judge(task)
        for seed in range(seeds):
            scout, missed = Scout(task, ScoutConfig(gamma=GAMMA, delta=DELTA), seed), False
            while scout.step < STEPS:
                scout.advance(EVERY)
                claim = scout.claim
                inside = claim.lower - 1e-9 <= judge.best <= claim.upper + 1e-9 and judge.value(scout) >= claim.lower - 1e-9
                if not inside and not missed:
                    ends = f"{claim.lower:.4f} {judge.best:.4f} {claim.upper:.4f}"
                    print(f"  outside: world {number} ({kind}) seed {seed} step {scout.step}: {ends}, {claim.conditional_on}")
                missed = missed or not inside
            runs[kind] += 1
            wrong[kind] += missed
            said = "a law" if "slip to" in claim.conditional_on else "rejected" if "rejected:" in claim.conditional_on else "no law"
            tells[f"{kind}: {said}"] += 1
            width[kind].append(claim.epsilon / max(judge.best, 1e-12))
        if time.process_time() - began > 1_500:
            print(f"stopped after world {number}: 1,500 seconds")
            break
    for kind in KINDS:
        if runs[kind]:
            chance = float(binom.sf(wrong[kind] - 1, runs[kind], DELTA))
            print(f"{kind:14} {runs[kind]} runs, {wrong[kind]} wrong ({wrong[kind] / runs[kind]:.1%}; as many or more by chance at "
                  f"{DELTA:.0%}: {chance:.3f}); epsilon / V* at the end, median {np.median(width[kind]):.3f}")  # fmt: skip
    print("at the end:", ", ".join(f"{name} {count}" for name, count in sorted(tells.items())))
    print(f"{time.process_time() - began:.0f} CPU s")


def width() -> None:
    """Epsilon over the value, at several steps."""
    for name, looks, law in (("visit-4", (4_000, 16_000, 64_000), "test"), ("visit-8", (4_000, 16_000, 64_000), "test"),
                             ("visit-4", (4_000, 64_000, 1_000_000), "none")):  # fmt: skip
        found: dict[int, list[float]] = {steps: [] for steps in looks}
        for seed in range(5):
            task = slippery(name, seed)
            scout = Scout(task, ScoutConfig(law=law), seed)
            best = Judge(task).best
            for steps in looks:
                scout.advance(steps - scout.step)
                found[steps].append(scout.claim.epsilon / best)
        print(f"{name}, law={law}:", ", ".join(f"{s:,} steps {np.median(e):.4f} (worst {max(e):.4f})" for s, e in found.items()))


def slippery(name: str, seed: int) -> Task:
    """A task of the catalogue in which moves slip."""
    return Task.from_toml(task_text(name, seed).replace("[world]\n", "[world]\nslip = 0.1\n"))


def main(arguments: list[str]) -> None:
    part, *numbers = arguments or ["width"]
    {"coverage": coverage, "width": width}[part](*map(int, numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
