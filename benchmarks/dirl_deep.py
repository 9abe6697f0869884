"""DiRL with DDQN and TD3 edges on the continuous domains: one complete run per budget and seed.

python benchmarks/dirl_deep.py --tasks water-3,water-5 --seeds 10 --budgets 300000,1000000 --seconds 150 --out FILE

One line of JSON per task and budget, written as soon as all its seeds have ended; when the clock runs out what is
there is evaluated and written too. A budget is the total of interactions, predicted before the start: each edge gets
as many training steps as leave room for all of its rollouts. `--edge-steps` gives them directly, without a total.

python benchmarks/dirl_deep.py --stored FOLDER --out FILE    the line of a run that `errands train TASK dirl` has ended
python benchmarks/dirl_deep.py --show FILE...    the lines of files as the table of docs/methods/dirl.md
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import jax

from errands.learners.dirl.deep import DeepDiRL
from errands.learners.dirl.graph import abstract_graph
from errands.learners.dirl.settings import DeepDiRLConfig
from errands.learners.presets import deep_preset
from errands.tasks import Task, load

UNLIMITED = 10**9


def settings(task: Task, args: argparse.Namespace) -> DeepDiRLConfig:
    """The preset with what `--set` changes."""
    changes = dict(part.split("=", 1) for part in args.set)
    config = deep_preset("dirl", args.preset, task)
    return dataclasses.replace(config, **{name: json.loads(value) for name, value in changes.items()})


def for_budget(config: DeepDiRLConfig, task: Task, budget: int) -> DeepDiRLConfig:
    """So many training steps an edge that all edges and rollouts fit; else the total is shared as it is used up."""
    each = budget // len(abstract_graph(task.machine).edges) - config.rollouts * config.edge_limit
    return dataclasses.replace(config, edge_steps=each if each > 0 else None)


def row(learners: list[DeepDiRL], budget: int, ended: list[bool]) -> dict[str, Any]:
    """What became of the seeds of one budget."""
    ends = [learner.evaluate() for learner in learners]
    first = learners[0]
    return {
        "task": first.task.name,
        "seeds": [learner.seed for learner in learners],
        "budget": None if budget == UNLIMITED else budget,
        "edge_steps": first.config.edge_steps,
        "rollouts": first.config.rollouts,
        "edge_limit": first.config.edge_limit,
        "predicted": first.predicted(budget),
        "edges": len(first.graph.edges),
        "ended": ended,
        "success": [e.success for e in ends],
        "lengths": [e.episode_length for e in ends],
        "rewards": [e.total_reward for e in ends],
        "orders": [list(learner.order) for learner in learners],
        "estimates": [round(learner.estimate, 4) for learner in learners],
        "steps": [learner.step for learner in learners],
        "training_steps": [learner.training_steps for learner in learners],
        "rollout_steps": [learner.rollout_steps for learner in learners],
        "edges_tried": [len(learner.results) for learner in learners],
        "edges_succeeded": [sum(r.successes > 0 for r in learner.results) for learner in learners],
        "results": [
            [[r.edge, r.training_steps, r.rollout_steps, r.attempts, r.successes] for r in learner.results]
            for learner in learners
        ],
    }


def write_line(found: dict[str, Any], out: Path | None) -> None:
    """Show the beginning of a line, and append the whole of it to a file."""
    line = json.dumps(found)
    print(line[:1500], flush=True)
    if out:
        with out.open("a") as file:
            file.write(line + "\n")


def stored_line(folder: Path) -> dict[str, Any]:
    """The line of a run folder whose seeds have all ended; `seconds` are those of all seeds together."""
    # Here, because a GPU machine need not have what run folders need.
    from errands.learners.presets import as_document, config_of
    from errands.runs.folder import open_run

    run = open_run(folder)
    learners, document, results = [], run.document, run.results()
    for place in run.seeds():
        checkpoint, learner = place.newest(), run.request.new_learner(place.seed)
        if not isinstance(learner, DeepDiRL) or checkpoint is None or len(results) < len(document.seeds):
            raise SystemExit(f"{folder} is no run of DiRL with networks whose seeds have all ended")
        learner.restore(checkpoint.arrays)
        learners.append(learner)
    found = row(learners, document.steps, [True] * len(learners))
    known = as_document(config_of("dirl", document.preset, run.task))
    changed = [f"{name}={json.dumps(value)}" for name, value in document.config.items() if known[name] != value]
    extra = {"preset": document.preset, "set": changed, "map_seed": getattr(run.task.world, "map_seed", 0)}
    spent = {"seconds": round(sum(r.wall_seconds for r in results), 1), "device": document.computer["processor"]}
    return {**found, **extra, **spent}


def run(name: str, args: argparse.Namespace, until: float) -> None:
    """All budgets of a task, each seed by itself."""
    began = time.perf_counter()
    task = load(name, args.map_seed)
    config = settings(task, args)
    cells = [(for_budget(config, task, b), b) for b in args.budgets]
    cells += [(dataclasses.replace(config, edge_steps=s), UNLIMITED) for s in args.edge_steps]
    groups = [[DeepDiRL(task, c, seed) for seed in range(args.seeds)] for c, _ in cells]
    learners = [learner for group in groups for learner in group]
    steps = [budget for (_, budget), group in zip(cells, groups, strict=True) for _ in group]
    over = [False] * len(learners)

    def write(cell: int) -> None:
        mine = slice(cell * args.seeds, (cell + 1) * args.seeds)
        found = row(groups[cell], cells[cell][1], over[mine])
        spent = {"seconds": round(time.perf_counter() - began, 1), "device": jax.devices()[0].device_kind}
        extra = {"preset": args.preset, "set": args.set, "map_seed": args.map_seed}
        write_line({**found, **extra, **spent}, args.out)

    for place, (learner, most) in enumerate(zip(learners, steps, strict=True)):
        over[place] = all(time.perf_counter() < until for _ in learner.explore(most))
        if (place + 1) % args.seeds == 0:
            write(place // args.seeds)


COLUMNS = ("task", "budget", "steps an edge", "succeed", "length", "edges that succeed", "interactions", "in training",
           "searches ended", "orders")  # fmt: skip


def show(paths: list[str]) -> None:
    """A Markdown table; lengths are medians of seeds that succeed, the other numbers medians of all."""
    print("|" + "|".join(f" {name} " for name in COLUMNS) + "|\n" + "|---" * len(COLUMNS) + "|")
    for found in (json.loads(line) for path in paths for line in Path(path).read_text().splitlines()):
        won = [n for n, good in zip(found["lengths"], found["success"], strict=True) if good]
        orders = Counter(" ".join(o) for o, good in zip(found["orders"], found["success"], strict=True) if good)
        taken, trained = (median(found[name]) for name in ("steps", "training_steps"))
        edges = f"{median(found['edges_succeeded']):g} of {median(found['edges_tried']):g}, {found['edges']} in all"
        cells = (
            found["task"], f"{found['budget']:,}" if found["budget"] else "-", f"{found['edge_steps'] or 0:,}",
            f"{len(won)}/{len(found['seeds'])}", f"{median(won):g}" if won else "-", edges, f"{taken:,.0f}",
            f"{trained / taken:.0%}" if taken else "-", f"{sum(found['ended'])}/{len(found['seeds'])}",
            "; ".join(f"{name} ({times})" for name, times in orders.most_common(3)) or "-",
        )  # fmt: skip
        print("|" + "|".join(f" {cell} " for cell in cells) + "|")


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    return [int(float(part)) for part in text.split(",") if part]


def main() -> None:
    """Read the command line; tasks share what is left of the clock equally."""
    began = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="water-3,water-5,cheetah-bcd")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budgets", type=numbers, default=[])
    parser.add_argument("--edge-steps", type=numbers, default=[])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--preset", default="tuned")
    parser.add_argument("--map-seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="a setting as field=JSON; may be repeated")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--stored", type=Path, help="a run folder of `errands train`")
    parser.add_argument("--show", nargs="+", default=[])
    args = parser.parse_args()
    tasks = [] if args.show or args.stored else args.tasks.split(",")
    if args.stored:
        write_line(stored_line(args.stored), args.out)
    if args.show:
        show(args.show)
    for i, name in enumerate(tasks):
        now = time.perf_counter()
        run(name, args, now + (began + args.seconds - now) / (len(tasks) - i))


if __name__ == "__main__":
    main()
