"""Deep learners side by side: microseconds per step, distance to the memory bound, and greedy lengths.

python benchmarks/deep.py speed --runs qcorm:10,qcorm:100      one line of JSON per run (learner[/variant]:seeds)
python benchmarks/deep.py speed --runs qcorm:10 --paths now,plain,copying   the same program built in other ways
python benchmarks/deep.py parts --task cheetah-bcd --runs qcorm:10
python benchmarks/deep.py robots --task cheetah-bcd --runs qcorm:10    the robots alone, one by one and in one call
python benchmarks/deep.py learn --runs crm:15 --steps 300000   greedy lengths on the way; --values: and what became of the network
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
import zlib
from collections import Counter
from os import cpu_count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import jax
import numpy as np

from errands.learners import LEARNERS
from errands.learners.engines.deep import device, host, network
from errands.learners.engines.deep.agents import agent_of
from errands.learners.engines.deep.host import HostTeam
from errands.learners.engines.deep.host_envs import HalfCheetahEnvs, HostEnvs
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.engines.deep.team import Team, team_of
from errands.learners.presets import deep_preset
from errands.tasks import load

BANDWIDTH = 4.3e12
"""Bytes per second that a copy moves on an H200, read and written together."""
VARIANTS: dict[str, dict[str, Any]] = {"one-hot": {"network": "one-hot"}}


PROGRAMS: dict[str, dict[str, Any]] = {
    "learn": {"static_argnums": (0, 1), "donate_argnums": (2, 3)},
    "turn": {"static_argnums": (0, 1), "donate_argnums": 3},
}
"""The compiled programs of a step of the host loop, and how they are compiled."""
PLAIN = {name: getattr(host, name) for name in PROGRAMS}
OPTIONS = device.options
GRAPHS = "xla_gpu_enable_command_buffer"
WHOLE = {GRAPHS: "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"}
WHOLE |= {"xla_gpu_command_buffer_unroll_loops": True}
PATHS: dict[str, dict[str, dict[str, Any]]] = {
    "now": {},
    "copying": {},  # new weights do not wait for the whole way back, so they are not written over the old ones
    "late": {},  # actions are asked for where they are read, behind the update
    "plain": {"advance": {}},
    "whole": {"advance": device.SIDE_BY_SIDE | WHOLE},
    "side-learn": {"learn": device.SIDE_BY_SIDE},
    "side-turn": {"turn": device.SIDE_BY_SIDE},
    "no-graphs-learn": {"learn": {GRAPHS: ""}},
    "no-graphs-turn": {"turn": {GRAPHS: ""}},
}
"""Ways to build the same program: options of XLA for a GPU, by program."""
AWAITED = network.awaited
ARRAY = type(jax.numpy.zeros(1))
ASKED = ARRAY.copy_to_host_async


def take(path: str) -> None:
    """Have everything compiled anew in one of the ways of PATHS."""
    network.awaited = (lambda number, gradient: number) if path == "copying" else AWAITED
    ARRAY.copy_to_host_async = (lambda array: None) if path == "late" else ASKED
    advance = PATHS[path].get("advance")
    device.options = OPTIONS if advance is None else lambda platform: advance
    device._compiled.cache_clear()
    for name, how in PROGRAMS.items():
        options = PATHS[path].get(name)
        # Patched where it is called from: options belong to a program when it is compiled.
        program = jax.jit(PLAIN[name].__wrapped__, compiler_options=options, **how) if options else PLAIN[name]
        setattr(host, name, program)
    agent_of.cache_clear()
    jax.clear_caches()


def make(run: str, args: argparse.Namespace) -> Team:
    """The team of `learner[/variant]:seeds`."""
    name, seeds = run.split(":")
    learner, *variants = name.split("/")
    task = load(args.task) if args.task in ("cheetah-b", "cheetah-bc") else load(args.task, args.map_seed)
    config = deep_preset(learner, args.preset, task)
    changes: dict[str, Any] = {"eval_every": args.eval_every}
    for variant in variants:
        field, _, value = variant.partition("=")
        changes.update({field: json.loads(value)} if value else VARIANTS[variant])
    config = dataclasses.replace(config, **changes)
    return team_of(task, learner, config, range(int(seeds)), args.machine)


def weights(team: Team) -> int:
    """Weights of all networks of all seeds."""
    return sum(
        leaf.size for name, leaf in jax.tree_util.tree_leaves_with_path(team.agent_states) if "weights" in str(name)
    )


def digest(team: Team) -> str:
    """A checksum of all that was learnt: two ways of computing the same must agree in it."""
    checksum = 0
    for leaf in jax.tree.leaves(team.agent_states):
        checksum = zlib.crc32(np.ascontiguousarray(leaf).tobytes(), checksum)
    return f"{checksum:08x}"


def speed(run: str, args: argparse.Namespace) -> dict[str, Any]:
    """Microseconds per step by the clock and of all cores' work, compilation apart."""
    before = time.perf_counter()
    team = make(run, args)
    team.advance(args.warm)
    jax.block_until_ready(team.state.step)
    compiled = time.perf_counter() - before
    times, busy = [], []
    for _ in range(args.repeats):
        before, used = time.perf_counter(), time.process_time()
        team.advance(args.count)
        jax.block_until_ready((team.state.step, team.agent_states))
        times.append((time.perf_counter() - before) / args.count * 1e6)
        busy.append((time.process_time() - used) / args.count * 1e6)
    count = weights(team)
    # weights, two moments and target are read and written once; gradients are left out
    bound = count * 4 * 8 / BANDWIDTH * 1e6
    shown = {"run": run, "task": args.task, "us_per_step": round(min(times), 1), "all": [round(t, 1) for t in times]}
    shown["cpu_us_per_step"] = round(min(busy), 1)
    shown |= {"compile_s": round(compiled, 1), "weights": count, "bound_us": round(bound, 1)}
    return shown | {"digest": digest(team)}


def learn(run: str, args: argparse.Namespace) -> dict[str, Any]:
    """Greedy lengths of every seed on the way to `steps`."""
    before = time.perf_counter()
    team = make(run, args)
    rows: list[list[Any]] = []
    for evaluations in team.train(args.steps):
        lengths = [e.episode_length if e.success else -e.episode_length for e in evaluations]
        rows.append([evaluations[0].step, lengths])
        inside = state_of_values(team) if args.values else {}
        rows[-1] += [inside] if inside else []
        print(json.dumps({"run": run, "step": rows[-1][0], "lengths": lengths} | inside), file=sys.stderr, flush=True)
        if time.perf_counter() - before > args.seconds:
            break
    shown = {"run": run, "task": args.task, "map_seed": args.map_seed, "preset": args.preset, "rows": rows}
    return shown | {"orders": team.orders, "seconds": round(time.perf_counter() - before, 1)}


def state_of_values(team: Team, count: int = 256) -> dict[str, list[float]]:
    """Of remembered steps the greatest value, and the share of the last hidden layer's units that none of them wakes; by seed."""
    agent, state = team.agent, team.state
    net, inputs = agent.low.net, agent.shape.observation
    places = np.random.default_rng(0).integers(0, min(team.step, len(state.buffer)), count)
    found: dict[str, list[float]] = {"value": [], "silent": []}
    for seed in range(len(team.seeds)):
        layers = jax.tree.map(lambda part, seed=seed: part[seed], state.agent_states.trained.weights)
        steps = state.buffer[places, seed]
        rows, last = steps[:, :inputs], layers[:-1]
        if isinstance(net, network.Factored):
            # In the machine state that each step was taken in.
            codes = agent.expansion.codes[np.asarray(steps[:, -2], int)]
            rows, last = net.trunk(layers, rows) * net.factor(layers, codes), layers[net.behind : -1]
        hidden = network.through(last, rows, last=False)
        found["silent"].append(round(float((hidden <= 0).all(axis=0).mean()), 3))
        found["value"].append(round(float(network.through(layers[-1:], hidden).max()), 3))
    return found


def parts(run: str, args: argparse.Namespace) -> dict[str, Any]:
    """Where a step of the host loop goes, in microseconds; what is left of the whole is waiting for the next action.

    `own` is the processor time of this thread alone, which other work on the machine hardly changes; `*_own` that of the calls.
    """
    team = make(run, args)
    assert isinstance(team, HostTeam)
    team.advance(args.warm)
    spent: dict[str, float] = {}
    busy: dict[str, float] = {}

    def timed(owner: Any, name: str) -> None:
        work = getattr(owner, name)

        def measured(*given: Any) -> Any:
            before, own = time.perf_counter(), time.thread_time()
            result = work(*given)
            busy[name] = busy.get(name, 0.0) + time.thread_time() - own
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - before
            return result

        setattr(owner, name, measured)

    for owner, name in ((host, "learn"), (host, "turn"), (team.host_envs, "send"), (team.host_envs, "receive")):
        timed(owner, name)
    before, own = time.perf_counter(), time.thread_time()
    team.advance(args.count)
    own = time.thread_time() - own
    jax.block_until_ready(team.state.step)
    whole = time.perf_counter() - before
    times = {"whole": whole, **spent, "waiting": whole - sum(spent.values()), "own": own}
    times |= {f"{name}_own": seconds for name, seconds in busy.items()}
    return {"run": run, "task": args.task, **{name: round(t / args.count * 1e6, 1) for name, t in times.items()}}


def kernels(run: str, args: argparse.Namespace) -> dict[str, Any]:
    """What a GPU is busy with in a step: microseconds and launches by kernel, from JAX's profiler."""
    if jax.devices()[0].platform == "cpu":
        raise SystemExit("kernels looks at a GPU, and JAX sees none here; use parts or speed")
    team = make(run, args)
    team.advance(args.warm)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            team.advance(args.count)
            jax.block_until_ready((team.state.step, team.agent_states))
        traced = sorted(Path(folder).rglob("*.xplane.pb"))[-1]
        planes = [p for p in jax.profiler.ProfileData.from_file(str(traced)).planes if "GPU" in p.name]
        events = [e for p in planes for line in p.lines if "Stream" in line.name for e in line.events]
        busy, launches = Counter[str](), Counter(e.name for e in events)
        for event in events:
            busy[event.name] += event.duration_ns / args.count / 1e3
    shown = {name: [round(us, 1), launches[name] / args.count] for name, us in busy.most_common(20)}
    whole = {"busy_us": round(sum(busy.values()), 1), "launches": len(events) / args.count}
    return {"run": run, "task": args.task, **whole, "kernels": shown}


def robots(run: str, args: argparse.Namespace) -> dict[str, Any]:
    """A step of all robots, one after the other and in one call on so many threads: by the clock, and of this thread."""
    machine, seeds = machine_arrays(load(args.task)), tuple(range(int(run.rpartition(":")[2])))
    actions = np.random.default_rng(0).uniform(-1, 1, (args.count, len(seeds), 6)).astype(np.float32)
    threads = [n for n in (1, 2, 3, 5, 10) if n <= min(len(seeds), cpu_count() or 1)]
    ways = {"one by one": HostEnvs(machine, seeds)}
    ways |= {f"{n} threads" if n > 1 else "1 thread": HalfCheetahEnvs(machine, seeds, threads=n) for n in threads}
    times: dict[str, list[float]] = {name: [] for name in ways}
    own: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(args.repeats):  # in turns, since machines change their pace
        for name, envs in ways.items():
            envs.reset()
            before, used = time.perf_counter(), time.thread_time()
            for row in actions:
                envs.step(row)
            times[name].append((time.perf_counter() - before) / args.count * 1e6)
            own[name].append((time.thread_time() - used) / args.count * 1e6)
    shown = {name: {"us": round(min(t), 1), "own": round(min(own[name]), 1)} for name, t in times.items()}
    return {"task": args.task, "robots": len(seeds), **shown}


MODES = {"robots": robots, "speed": speed, "learn": learn, "parts": parts, "kernels": kernels}


def main() -> None:
    """Read the command line and print one line of JSON per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MODES))
    teams = [name for name, method in LEARNERS.items() if method.deep and method.deep.team]
    parser.add_argument("--runs", default=",".join(f"{name}:1" for name in teams))
    parser.add_argument("--task", default="water-5")
    parser.add_argument("--map-seed", type=int, default=0)
    parser.add_argument("--machine", default="agenda")
    parser.add_argument("--preset", default="tuned")
    parser.add_argument("--warm", type=int, default=500)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--eval-every", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--values", action="store_true", help="learn: the greatest value and silent units too (DDQN)")
    parser.add_argument("--paths", default="now", help=f"of {', '.join(PATHS)}")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for path, run in ((path, run) for run in args.runs.split(",") for path in args.paths.split(",")):
        take(path)
        row = json.dumps({"path": path, **MODES[args.what](run, args)})
        print(row, flush=True)
        if args.out:
            with args.out.open("a") as file:
                file.write(row + "\n")


if __name__ == "__main__":
    main()
