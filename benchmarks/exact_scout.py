"""Scout measured: certificates on held-out maps and random tasks, orders against CP-SAT, random moves, speed.

    python benchmarks/exact_scout.py maps random order chance speed      (all parts, or some of them)
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np

from errands.kernels.scout_explore import STAMP
from errands.learners.scout import Scout, ScoutConfig
from errands.oracle.certificate import certificate
from errands.oracle.optimum import optimum
from errands.tasks import Task, load

TESTS = Path(__file__).parents[1] / "tests" / "learners"
MAPS, RANDOM = 200, 2_000


def borrow(name: str) -> ModuleType:
    """A helper module of the tests: the judge and the random tasks stand there once."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


tasks = borrow("scout_tasks")


def run(task: Task, steps: int, seed: int = 0, **settings: object) -> Scout:
    scout = Scout(task, ScoutConfig(eval_every=steps, **settings), seed)  # type: ignore[arg-type]
    list(scout.train(steps))
    return scout


def office_map(seed: int) -> Task:
    """The Office rooms with everything moved to other cells."""
    draw = np.random.default_rng(seed)
    cells = draw.permutation(12 * 9)
    letters = dict(zip(cells.tolist(), "Affddddddwxyz", strict=False))
    rows = ["".join(letters.get(r * 12 + c, ".") for c in range(12)) for r in range(9)]
    legend = '{ f = "coffee", d = "decoration", w = "o1", x = "o2", y = "o3", z = "o4" }'
    phrase = "avoid(decoration, any_order(o1, o2, o3, o4, before=coffee))"
    lines = ", ".join(f'"{row}"' for row in rows)
    return Task.from_toml(
        f'name = "office"\n[world]\nkind = "grid"\nrows = [{lines}]\nlegend = {legend}\n[machine]\nphrase = "{phrase}"\n'
    )


def maps() -> None:
    """Certificates on held-out maps."""
    kinds = {f"delivery-{n}": (lambda seed, n=n: load(f"delivery-{n}", seed)) for n in (2, 4, 6, 8)}
    kinds |= {f"visit-{n}": (lambda seed, n=n: load(f"visit-{n}", seed)) for n in (4, 8, 12)}
    kinds |= {"office, moved": office_map}
    for name, make in kinds.items():
        wrong, steps, ratio = 0, [], 0.0
        for seed in range(100, 100 + MAPS):
            try:
                task = make(seed)
            except ValueError:  # SpecError: an office that walls itself in cannot be reached
                continue
            scout = run(task, 3_000)
            wrong += not scout.claim.proved or scout.claim.upper != optimum(task, orders=False).length
            steps.append(scout.claim.step)
            ratio = max(ratio, scout.claim.step / int(scout.known.facts[2]))
        print(f"{name:14} {len(steps)} maps, wrong or without certificate {wrong}, steps median "
              f"{statistics.median(steps):.0f}, worst {max(steps)}, per pair at most {ratio:.2f}")


def random() -> None:
    """Certificates on random tasks."""
    wrong = missing = impossible = 0
    for seed in range(RANDOM):
        task = tasks.task(seed)
        best = tasks.shortest(task)
        claim = run(task, 50_000).claim
        missing += not claim.proved
        impossible += best == float("inf")
        wrong += claim.proved and not claim.lower == claim.upper == best
    print(f"random tasks   {RANDOM}, wrong {wrong}, without certificate {missing}, {impossible} proved impossible")


def shortest_path(task: Task, seconds: float) -> tuple[float, float]:
    """The length of the best order of a Visit task by CP-SAT, and its bound."""
    from ortools.sat.python import cp_model

    layout = task.layout
    assert layout is not None
    cells = [layout.start, *(cell for _, cell in layout.places)]
    spot = [divmod(cell, layout.width) for cell in cells]
    model = cp_model.CpModel()
    arcs, cost = [], []
    for i, (r, c) in enumerate(spot):
        for j, (y, x) in enumerate(spot):
            if i != j:
                used = model.new_bool_var("")
                arcs.append((i, j, used))
                cost.append(used * (0 if j == 0 else abs(r - y) + abs(c - x)))
    model.add_circuit(arcs)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    solver.solve(model)
    return solver.objective_value, solver.best_objective_bound


def order() -> None:
    """Many places on 20 x 20, against the optimum that CP-SAT proves."""
    for seed in range(3):
        for places in (20, 50, 100):
            world = f'kind = "visit"\nplaces = {places}\nmap_seed = {seed}\nsize = 20'
            phrase = f"any_order({', '.join(f'v{i + 1}' for i in range(places))})"
            task = Task.from_toml(f'name = "visit"\n[world]\n{world}\n[machine]\nphrase = "{phrase}"\n')
            _ = task.finite
            began = time.perf_counter()
            scout = run(task, 2_000)
            took = time.perf_counter() - began
            best, bound = shortest_path(task, 300)
            print(f"visit-{places:<4} map {seed}: {scout.evaluate().episode_length} steps after {scout.claim.step}, bound "
                  f"{scout.claim.lower:.0f}, {took:.2f} s; CP-SAT {best:.0f} (bound {bound:.0f})")


def chance() -> None:
    """Share of the optimal discounted return where moves slip."""
    chances = borrow("test_scout_chance")
    for kind, count in (("delivery", 4), ("visit", 5), ("office", 4)):
        marks = (2_000, 4_000, 8_000, 32_000)
        shares = []
        for seed in range(20):
            task = chances.slippery(kind, count, seed)
            best = optimum(task, 0.99).discounted
            scout = Scout(task, ScoutConfig(), seed)
            row = []
            for mark in marks:
                scout.advance(mark - scout.step)
                row.append(certificate(scout.policy, task, 0.99).discounted / best)
            shares.append(row)
        mean, least = np.mean(shares, axis=0).round(4), np.min(shares, axis=0).round(4)
        print(f"{kind} {count}, slip 0.1, after {marks}: mean {mean.tolist()}, least {least.tolist()}")


def speed() -> None:
    """Time of a whole run to the certificate, and of exploring alone."""
    for name in ("delivery-8", "office-6", "visit-8", "visit-12"):
        task = load(name)
        _ = task.finite
        times = []
        for _ in range(20):
            scout = Scout(task, ScoutConfig(), 0)
            began = time.perf_counter()
            scout = Scout(task, ScoutConfig(), 0)
            for _ in scout.train(1_000):
                if scout.proof is not None:
                    break
            times.append(time.perf_counter() - began)
        print(f"{name:12} {scout.claim.upper:.0f} proved after {scout.claim.step} steps, "
              f"{1e3 * statistics.median(times):.1f} ms (best {1e3 * min(times):.1f})")
    task = load("visit-100")
    _ = task.finite
    times, exploring = [], []
    for _ in range(5):
        scout = Scout(task, ScoutConfig(), 0)
        began = time.perf_counter()
        scout.advance(1_600)
        exploring.append((time.perf_counter() - began) / 1_600)
        list(scout.train(2_000))
        times.append(time.perf_counter() - began)
    print(f"visit-100    {scout.claim.upper:.0f} after {scout.claim.step} steps, {min(times):.2f} s in all; "
          f"exploring {1e9 * min(exploring):.0f} ns a step, {scout.agent.at[STAMP]} searches")


if __name__ == "__main__":
    parts = {"maps": maps, "random": random, "order": order, "chance": chance, "speed": speed}
    for part in sys.argv[1:] or parts:
        parts[part]()
