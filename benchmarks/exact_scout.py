"""Scout measured: certificates on held-out maps and random tasks, orders against CP-SAT, random moves, speed.

    python benchmarks/exact_scout.py scale maps random partial order chance speed      (all parts, or some of them)
"""

from __future__ import annotations

import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import numpy as np

from errands.learners.scout.kernel.memory import STAMP
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.certificate import certificate
from errands.oracle.optimum import optimum
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, avoid
from errands.worlds.grid import grid_table
from errands.worlds.places import office_layout

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
    """The Office rooms with the start, two coffees, six decorations and four offices on other cells."""
    from dataclasses import replace

    rooms = office_layout()
    names = ["coffee"] * 2 + ["decoration"] * 6 + ["o1", "o2", "o3", "o4"]
    start, *cells = np.random.default_rng(seed).permutation(rooms.cells)[: len(names) + 1].tolist()
    layout = replace(rooms, start=start, places=tuple(zip(names, cells, strict=True)))
    world = tasks.Maze(grid_table(layout), layout.features, limit=1_000)
    return Task("office", world, avoid("decoration", any_order("o1", "o2", "o3", "o4", before="coffee")))


def maps() -> None:
    """Certificates on held-out maps."""
    kinds = {f"delivery-{n}": (lambda seed, n=n: load(f"delivery-{n}", seed)) for n in (2, 4, 6, 8)}
    kinds |= {f"visit-{n}": (lambda seed, n=n: load(f"visit-{n}", seed)) for n in (4, 8, 12)}
    kinds |= {"office, moved": office_map}
    for name, make in kinds.items():
        wrong, steps, ratio = 0, [], 0.0
        for seed in range(100, 100 + MAPS):
            task = make(seed)
            scout = run(task, 3_000)
            best = tasks.shortest(task) if name == "office, moved" else optimum(task, orders=False).length
            wrong += not scout.claim.proved or scout.claim.upper != best
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
        best = best if best <= task.world.limit else float("inf")
        claim = run(task, 50_000).claim
        missing += not claim.proved
        impossible += best == float("inf")
        wrong += claim.proved and not claim.lower == claim.upper == best
    print(f"random tasks   {RANDOM}, wrong {wrong}, without certificate {missing}, {impossible} proved impossible")


def relaxed(cost: np.ndarray) -> tuple[float, np.ndarray]:
    """The subtour bound of a symmetric tour by linear programming with cuts, and what each edge would add to it."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    n = len(cost)
    row, column = np.triu_indices(n, 1)
    touches = [(row == i) | (column == i) for i in range(n)]
    cuts: list[np.ndarray] = []
    while True:
        found = linprog(
            cost[row, column],
            A_ub=-np.array(cuts, float) if cuts else None,
            b_ub=np.full(len(cuts), -2.0) if cuts else None,
            A_eq=np.array(touches, float),
            b_eq=np.full(n, 2.0),
            bounds=(0, 1),
        )
        flow = np.zeros((n, n), np.int32)
        flow[row, column] = flow[column, row] = np.round(found.x * 1e6)
        fresh = []
        for sink in range(1, n):
            cut = maximum_flow(csr_matrix(flow), 0, sink)
            if cut.flow_value < 2e6 - 100:
                left = flow - cut.flow.toarray()
                side = np.zeros(n, bool)
                side[0] = True
                for _ in range(n):
                    side |= (left[side] > 0).any(axis=0)
                fresh.append(side[row] != side[column])
        if not fresh:
            adds = np.zeros((n, n))
            adds[row, column] = adds[column, row] = np.maximum(found.lower.marginals, 0)
            return float(found.fun), adds
        cuts += list({cut.tobytes(): cut for cut in fresh}.values())


def shortest_path(task: Task, known: int, seconds: float) -> tuple[float, bool]:
    """The length of the best order of a Visit task, and whether it is proved: a linear bound, then CP-SAT on what is left."""
    from ortools.sat.python import cp_model

    layout = task.layout
    assert layout is not None
    spot = np.array([divmod(cell, layout.width) for cell in (layout.start, *(cell for _, cell in layout.places))])
    n = len(spot) + 1
    cost = np.zeros((n, n))
    cost[:-1, :-1] = np.abs(spot[:, None] - spot[None]).sum(axis=2)
    cost[-1, 0] = cost[0, -1] = -1_000  # the path ends in a node of its own, which leads back to the start
    bound, adds = relaxed(cost)
    if bound + 1_000 > known - 1 + 1e-6:
        return known, True
    model = cp_model.CpModel()
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and bound + 1_000 + adds[i, j] <= known - 1 + 1e-6]
    arcs = [(i, j, model.new_bool_var("")) for i, j in pairs]
    model.add_circuit(arcs)
    length = sum(int(cost[i, j]) * used for i, j, used in arcs)
    model.add(length >= int(np.ceil(bound - 1e-6)))
    model.add(length <= known - 1_001)
    model.minimize(length)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 4
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return known, True
    better = solver.objective_value + 1_000 if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else known
    return better, status == cp_model.OPTIMAL


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
            length = scout.evaluate().episode_length
            best, proved = shortest_path(task, length, 300)
            print(f"visit-{places:<4} map {seed}: {length} steps after {scout.claim.step}, own bound {scout.claim.lower:.0f}, "
                  f"{took:.2f} s; optimum {best:.0f}{'' if proved else ' (not proved)'}")


def partial() -> None:
    """Certificates of random tasks whose subtasks have predecessors, judged by plain search."""
    tasks = borrow("scout_tasks")
    proved = wrong = impossible = 0
    for seed in range(1_000):
        task, items, pairs = tasks.ordered(seed)
        claim = run(task, 20_000).claim
        best = tasks.shortest_ordered(task, items, pairs)
        proved += claim.proved
        wrong += claim.proved and not claim.lower == claim.upper == best
        impossible += best == float("inf")
    print(f"1,000 random partial orders: {proved} certificates, {wrong} wrong, {impossible} of them 'impossible'")


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


def scale() -> None:
    """Thousands of places by `errands train`: processor seconds, the most memory so far, and what it says."""
    for places, size in ((1_000, 100), (4_096, 300), (10_000, 300)):
        phrase = f"any_order({', '.join(f'v{i + 1}' for i in range(places))})"
        text = f'name = "visit"\n[world]\nkind = "visit"\nplaces = {places}\nsize = {size}\n[machine]\nphrase = "{phrase}"\n'
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "visit.toml").write_text(text)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            command = [sys.executable, "-m", "errands", "train", "visit.toml", "scout", "--quiet"]
            told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = next(line for line in told.splitlines() if "the optimum lies" in line)
        took = f"{used.ru_utime - before:.0f} CPU s, {used.ru_maxrss / 1024:,.0f} MB"
        print(f"{places:,} places, {size} x {size}: {took}; {said}", flush=True)


if __name__ == "__main__":
    parts = {"scale": scale, "maps": maps, "random": random, "partial": partial, "order": order, "chance": chance, "speed": speed}
    for part in sys.argv[1:] or parts:
        parts[part]()
