"""Deep learners on a CPU: time per step beside Stable-Baselines3's DQN, and heads beside the paper's one-hot input.

python benchmarks/deep_cpu.py speed --out paper/rows/cpu.jsonl      Water 5, one seed, 3 x 512
python benchmarks/deep_cpu.py learn --out paper/rows/networks.jsonl  what both networks cost and learn

`speed` takes turns: every round runs each contestant for a moment, so that whatever else the machine does hits all alike;
the medians over the rounds are compared, by the clock and by the time that the cores were busy. Behind `taskset -c 0` both have
one core. Stable-Baselines3 (extra `sb3`) runs at batch 32, at 160 = 32 x 5 as the paper's
QCoRM needs on five balls, and at 1,024 = 32 x 32 as its CRM needs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import jax
import jax.numpy as jnp

from errands.learners.engines.deep.network import Headed
from errands.learners.engines.deep.team import Team, team_of
from errands.learners.presets import deep_preset
from errands.tasks import load

CORES = len(os.sched_getaffinity(0))
BATCHES = (32, 160, 1_024)
OURS = {
    "qcorm heads": ("qcorm", "water-5", "heads", 500),
    "crm heads": ("crm", "water-5", "heads", 500),
    "qcorm one-hot": ("qcorm", "water-5", "one-hot", 100),
    "crm one-hot": ("crm", "water-5", "one-hot", 50),
    "qcorm heads, 4 balls": ("qcorm", "water-4", "heads", 500),
    "qcorm heads, 3 balls": ("qcorm", "water-3", "heads", 500),
    "qcorm heads, 2 balls": ("qcorm", "water-2", "heads", 500),
}
RATIOS = {
    "SB3 at 160 / QCoRM with heads (at least 3)": ("sb3 160", "qcorm heads"),
    "SB3 at 1,024 / agenda CRM with heads (at least 10)": ("sb3 1024", "crm heads"),
    "QCoRM with heads, 5 balls / 2 balls (at most 1.2)": ("qcorm heads", "qcorm heads, 2 balls"),
    "SB3 at 32 / QCoRM with heads": ("sb3 32", "qcorm heads"),
    "QCoRM, one-hot / heads": ("qcorm one-hot", "qcorm heads"),
    "agenda CRM, one-hot / heads": ("crm one-hot", "crm heads"),
}

Work = Callable[[], int]


def ours(learner: str, task: str, network: str, count: int) -> tuple[Team, Work]:
    """A team of one seed, and what takes `count` steps with it."""
    found = load(task)
    config = dataclasses.replace(deep_preset(learner, "paper", found), eval_every=10**9, network=network)
    team = team_of(found, learner, config, (0,))

    def work() -> int:
        team.advance(count)
        jax.block_until_ready(team.state)
        return count

    return team, work


def theirs(batch: int) -> Work:
    """Stable-Baselines3's DQN on the same world with the agenda machine's state among the observations."""
    # PyTorch's waiting threads must not spin: on a machine with other work that would make it several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(CORES)
    model = DQN(
        "MlpPolicy", load("water-5").env("agenda"), learning_rate=1e-5, buffer_size=50_000, batch_size=batch, tau=0.1, gamma=0.9,
        target_update_interval=1, train_freq=1, gradient_steps=1, learning_starts=100, policy_kwargs={"net_arch": [512] * 3},
        device="cpu",
    )  # fmt: skip
    model.learn(150)
    count = 100 if batch < 1_000 else 40

    def work() -> int:
        model.learn(count, reset_num_timesteps=False)
        return count

    return work


def arithmetic(team: Team) -> tuple[float, float]:
    """Multiplications and additions of one step, and bytes that it must move: weights, moments, target, read and written."""
    config, net = team.agent.config, team.agent.low.net  # type: ignore[attr-defined]
    assert isinstance(net, Headed)
    rows = config.batch + team.agent.high.extra
    wide = net.heads if net.kind == "one-hot" else 1
    products = [i * o * (1 if n == 0 else wide) for n, (i, o) in enumerate(net.sizes)]
    # Forward: rows, their successors and the present one; the target on successors; backward twice, but not below the first.
    flops = 2 * (sum(products) * (5 * rows + 1) - products[0] * rows)
    return flops, sum(i * o + o for i, o in net.sizes) * 4 * 8


def machine_rates() -> tuple[float, float, float]:
    """Operations per second in products; bytes per second in a pass over as much as a learner holds, and over 256 MB."""
    square, held, large = jnp.full((512, 512), 1e-3), jnp.ones(4 * 564_000), jnp.ones(2**26)
    product = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, y: y @ x, x))
    scale = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, y: y * 1.000001, x))
    passes = [10 * 2 * long.nbytes / best(scale, long) for long in (held, large)]
    return 50 * 2 * 512**3 / best(product, square), passes[0], passes[1]


def best(work: Callable[[Any], Any], argument: Any) -> float:
    """The shortest of five runs, in seconds."""
    work(argument).block_until_ready()
    times = []
    for _ in range(5):
        before = time.perf_counter()
        work(argument).block_until_ready()
        times.append(time.perf_counter() - before)
    return min(times)


def speed(args: argparse.Namespace) -> None:
    """Take turns, print medians, then the ratios that were promised."""
    flops, cached, copied = machine_rates()
    rates = {"pass_gb_per_s": round(cached / 1e9, 1), "large_pass_gb_per_s": round(copied / 1e9, 1)}
    tell({"cores": CORES, "products_gflops": round(flops / 1e9, 1)} | rates, args.out)
    works: dict[str, Work] = {}
    bounds: dict[str, dict[str, float]] = {}
    for name, spec in OURS.items():
        team, works[name] = ours(*spec)
        operations, moved = arithmetic(team)
        bounds[name] = {"products_ms": round(operations / flops * 1e3, 2), "memory_ms": round(moved / copied * 1e3, 2)}
    if not args.alone:
        works |= {f"sb3 {batch}": theirs(batch) for batch in BATCHES}
    for work in works.values():
        work()
    wall: dict[str, list[float]] = {name: [] for name in works}
    busy: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(args.rounds):
        for name, work in works.items():
            before, cpu = time.perf_counter(), time.process_time()
            count = work()
            wall[name].append((time.perf_counter() - before) / count * 1e3)
            busy[name].append((time.process_time() - cpu) / count * 1e3)
    for name in works:
        shown = {"run": name, "ms": round(statistics.median(wall[name]), 2), "all": [round(t, 2) for t in wall[name]]}
        tell(shown | {"cpu_ms": round(statistics.median(busy[name]), 2)} | bounds.get(name, {}), args.out)
    for title, (first, second) in RATIOS.items():
        if first in works:
            by_round = statistics.median(a / b for a, b in zip(wall[first], wall[second], strict=True))
            cpu = statistics.median(busy[first]) / statistics.median(busy[second])
            clock = statistics.median(wall[first]) / statistics.median(wall[second])
            tell(
                {"ratio": title, "clock": round(clock, 2), "by_round": round(by_round, 2), "cpu": round(cpu, 2)},
                args.out,
            )


SMALL: dict[str, Any] = {"width": 128, "depth": 2, "alpha": 3e-4}
LEARN = (("figure-1", 12_000), ("office-2", 40_000), ("water-2", 60_000))


def learn(args: argparse.Namespace) -> None:
    """Greedy lengths and milliseconds of busy cores per step of all seeds together, with heads and with the one-hot input."""
    for task, steps in LEARN:
        for learner in ("crm", "qcorm-0"):
            for network in ("heads", "one-hot"):
                found = load(task)
                config = deep_preset(learner, "tuned", found)
                every = int(steps * args.scale) // 10
                fall = f"1..0.1@0,{3 * steps // 10}"
                config = dataclasses.replace(config, **SMALL, network=network, epsilon=fall, eval_every=every)
                team = team_of(found, learner, config, range(args.seeds))
                rows, times = [], []
                for evaluations in team.train(10 * every):
                    rows.append([e.episode_length if e.success else None for e in evaluations])
                    times.append(time.process_time())
                shown = {"task": task, "learner": learner, "network": network, "steps": 10 * every, "last": rows[-1]}
                # What was compiled is compiled by the first evaluation.
                cost = round((times[-1] - times[0]) / (9 * every) * 1e3, 3)
                tell(shown | {"cpu_ms": cost, "every": every, "lengths": rows}, args.out)


def tell(row: dict[str, Any], out: Path | None) -> None:
    """One line of JSON."""
    print(json.dumps(row), flush=True)
    if out:
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "learn"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the steps, for a trial")
    parser.add_argument("--alone", action="store_true", help="without Stable-Baselines3")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    (speed if args.what == "speed" else learn)(args)


if __name__ == "__main__":
    main()
