"""Skills on maps that they never saw: train seeds side by side, keep their weights, then play greedy episodes on many maps.

    python benchmarks/skills.py train water water.npz --seeds 10 --seconds 150 --set embed=64 --set width=256
    python benchmarks/skills.py optima optima.jsonl --maps 512
    python benchmarks/skills.py play water.npz water-5 water-3 "water: sequence(red, green, blue)" --maps 512 --optima optima.jsonl
    python benchmarks/skills.py pqn pqn.json --seeds 10 --seconds 20 --task water-5 --map 0
    python benchmarks/skills.py gpu OUT --wheels FOLDER --seconds 400

`train` stops after its seconds (compiling left out) and lets the step size fall to 2 % over them. `play` prints for each seed the
success, and the mean length over the optimum: of worlds with tables it is computed, of Water read from --optima FILE (lines of JSON
with balls, map and optimum; `optima` writes it). Zones stand beside an order of a local search that is carried out exactly.
`pqn` writes every evaluation, and says after how many seconds all seeds succeed in at most 46 steps.
`gpu` runs these jobs on one GPU, one after the other, while the next ones are compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

GPU = {
    "water": ["--share", "0.5", "--set", "embed=64", "--set", "width=256", "--set", "envs=1024", "--set", "minibatches=8"],
    "zones": ["--share", "0.24", "--set", "embed=64", "--set", "width=256", "--set", "envs=1024", "--set", "minibatches=8"],
    "letters": ["--share", "0.12", "--set", "embed=64", "--set", "width=128", "--set", "envs=512", "--set", "minibatches=4"],
}
"""Jobs of one GPU call, with their shares of its seconds."""


@contextlib.contextmanager
def turn(path: str | None) -> Iterator[None]:
    """One process after the other, where they share a file."""
    if path is None:
        yield
        return
    with Path(path).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compiled(name: str, words: list[str], seeds: int, alpha: float) -> tuple[Any, Any, Any, Any]:
    """Settings, the seeds before their first step, and a compiled chunk of passes of all of them."""
    import jax
    import jax.numpy as jnp

    import errands
    from errands.learners.engines.deep.network import TrainedWeights
    from errands.learners.presets import config_of
    from errands.learners.skills.network import RoleValues
    from errands.learners.skills.training import OnMaps, practice_of

    task = errands.load(name)
    config = config_of("skills", "tuned", task, words)
    family = task.world.family
    # The step size is handed in below: how many steps there will be is known only once the pace is.
    practice = practice_of(family.world, RoleValues.of(family, config), dataclasses.replace(config, alpha=str(alpha)))

    def one(trained: TrainedWeights, lanes: OnMaps, key: Any, number: Any, rate: Any, passes: Any) -> Any:
        def body(i: Any, now: Any) -> Any:
            return practice.iterate(number + i, key, *now, rate)

        return jax.lax.fori_loop(0, passes, body, (trained, lanes))

    together = jax.devices()[0].platform != "cpu"

    def chunk(state: Any, keys: Any, number: Any, rate: Any, passes: Any) -> Any:
        if together:
            return jax.vmap(one, in_axes=(0, 0, 0, None, None, None))(*state, keys, number, rate, passes)
        return jax.lax.map(lambda each: one(*each, number, rate, passes), (*state, keys))

    keys = jnp.stack([jax.random.PRNGKey(seed) for seed in range(seeds)])
    first = jax.jit(jax.vmap(practice.first))(keys)
    state = first.trained, first.lanes
    program = jax.jit(chunk, donate_argnums=0).lower(state, keys, jnp.int32(0), jnp.float32(0), jnp.int32(1)).compile()
    return config, keys, state, program


def train(args: argparse.Namespace) -> None:
    """Train seeds side by side for so many seconds, and keep their averaged weights."""
    begun = time.perf_counter()
    config, keys, state, program = compiled(args.family, args.set, args.seeds, args.alpha)
    import jax
    import jax.numpy as jnp

    said = {"family": args.family, "seeds": args.seeds, "compile_seconds": round(time.perf_counter() - begun, 1)}
    with turn(args.lock):
        begun, number, passes = time.perf_counter(), 0, 4
        while (spent := time.perf_counter() - begun) < args.seconds:
            rate = args.alpha * max(0.02, 1 - spent / args.seconds)
            before = time.perf_counter()
            state = jax.block_until_ready(program(state, keys, jnp.int32(number), jnp.float32(rate), jnp.int32(passes)))
            number += passes
            # Chunks of about half a second.
            passes = max(1, min(4 * passes, int(passes * 0.5 / (time.perf_counter() - before))))
        said |= {"seconds": round(time.perf_counter() - begun, 1), "steps": number * config.step_multiple}
    said |= {"device": str(jax.devices()[0].device_kind), "alpha": args.alpha, "settings": args.set}
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state[0].target)]
    np.savez(args.file, about=json.dumps(said), **{f"w{i}": leaf for i, leaf in enumerate(leaves)})
    print(json.dumps(said), flush=True)


def optima(args: argparse.Namespace) -> None:
    """The exact optimum of Water with three and with five balls on every map, as lines of JSON."""
    import errands

    with Path(args.file).open("w") as file:
        for balls in (3, 5):
            for number in range(args.maps):
                best = errands.optimum(errands.load(f"water-{balls}", number), orders=False).length
                print(json.dumps({"balls": balls, "map": number, "optimum": best}), file=file, flush=True)


def play(args: argparse.Namespace) -> None:
    """Greedy episodes of every seed on every map."""
    import errands
    from errands.learners.scout.zones import tour_bounds
    from errands.tasks import Task
    from errands.tasks.phrases import parse_phrase

    saved = np.load(args.file)
    about = json.loads(str(saved["about"]))
    known_optima: dict[tuple[str, int], Any] = {}
    for line in Path(args.optima).read_text().splitlines() if args.optima else ():
        row = json.loads(line)
        known_optima[f"water-{row['balls']}", row["map"]] = row["optimum"]
    for name in args.tasks:
        kind, _, phrase = name.partition(":")
        tasks = [errands.load(kind, number) for number in range(args.maps)]
        if phrase:
            formula = phrase.strip()
            machine = errands.from_ltlf(formula) if any(sign in formula for sign in "&|!") else parse_phrase(formula)
            tasks = [Task(formula, task.world, machine) for task in tasks]
        if tasks[0].finite is not None:
            known_optima |= {(name, k): errands.optimum(task, orders=False).length for k, task in enumerate(tasks)}
        known_optima |= {(name, k): bounds.upper for k, task in enumerate(tasks) if (bounds := tour_bounds(task)) is not None}
        shares, ratios, worst = [], [], 0.0
        for seed in range(about["seeds"] if args.seeds is None else args.seeds):
            begun = time.perf_counter()
            lengths = episodes(saved, about | {"settings": about["settings"] + args.set}, seed, tasks)
            done = {k: length for k, length in enumerate(lengths) if length}
            known = {k: (length, known_optima[name, k]) for k, length in done.items() if (name, k) in known_optima}
            both = np.array(list(known.values()), float).reshape(-1, 2)
            shares.append(len(done) / len(tasks))
            row: dict[str, Any] = {"task": name, "seed": seed, "maps": len(tasks), "success": shares[-1]}
            row["length"] = round(float(np.mean(list(done.values()))), 2) if done else None
            if len(both):
                ratios.append(both[:, 0].sum() / both[:, 1].sum())
                worst = max(worst, (both[:, 0] / both[:, 1]).max())
                row |= {"optimum": round(both[:, 1].mean(), 2), "over": round(ratios[-1], 3), "most_over": round(worst, 2)}
            print(json.dumps({**row, "seconds": round(time.perf_counter() - begun, 1)}), flush=True)
        over = f", {np.mean(ratios):.3f} times the optimum, {worst:.2f} at most" if ratios else ""
        print(f"{name}: success {np.mean(shares):.4f} (least {min(shares):.4f}) of {len(shares)} seeds{over}", flush=True)


def episodes(saved: Any, about: dict[str, Any], seed: int, tasks: list[Any]) -> list[int]:
    """The length of a seed's episode in each task, 0 where it fails; all tasks ask for the same on maps of their own."""
    import jax

    from errands.learners.presets import config_of
    from errands.learners.skills.errand import Errand
    from errands.learners.skills.learner import SkillsPolicy
    from errands.learners.skills.network import RoleValues
    from errands.tables import RUNNING, SUCCESS
    from errands.worlds.base import numbered

    first = tasks[0]
    config, errand = config_of("skills", "tuned", first, about["settings"]), Errand(first)
    net = RoleValues.of(first.world.family, config)
    shape = jax.tree.structure(jax.eval_shape(net.init, jax.random.PRNGKey(0)))
    layers = jax.tree.unflatten(shape, [saved[f"w{i}"][seed] for i in range(shape.num_leaves)])
    policies = [SkillsPolicy(net, layers, task.world.family, errand, task, config) for task in tasks]
    envs = [numbered(task.world) for task in tasks]
    seen, states = [env.reset()[0] for env in envs], [errand.stepper.start] * len(tasks)
    memories: list[Any] = [None] * len(tasks)
    lengths, live = [0] * len(tasks), list(range(len(tasks)))
    for time_ in range(1, first.world.limit + 1):
        rows = np.stack([np.asarray(policies[k].family.row(seen[k]), np.float32) for k in live])
        answers = policies[0].act_rows(rows, [states[k] for k in live], [memories[k] for k in live], [policies[k] for k in live])
        for k, (action, memories[k]) in zip(live, answers, strict=True):
            seen[k], _, _, _, info = envs[k].step(action)
            states[k] = errand.stepper.step(states[k], frozenset(info["features"])).state
            if errand.status(states[k]) == SUCCESS:
                lengths[k] = time_
        live = [k for k in live if errand.status(states[k]) == RUNNING]
        if not live:
            break
    return lengths


def pqn(args: argparse.Namespace) -> None:
    """How soon all seeds of PQN succeed in 46 steps or fewer, and how short their ways become."""
    import errands
    from errands.learners.engines.deep.learner import DeepTeam
    from errands.learners.presets import config_of

    task = errands.load(args.task, args.map)
    words = ["envs=512", "rollout=16", "width=256", "minibatches=4", "eval_every=163840", "alpha=0.0005..0.00001@0,20000000"]
    words += args.set
    config = config_of("pqn", "tuned", task, words)
    team = DeepTeam(task, config, range(args.seeds), "pqn")
    begun = time.perf_counter()
    team.advance(config.step_multiple)
    team.evaluate()
    said: dict[str, Any] = {"compile_seconds": round(time.perf_counter() - begun, 1), "settings": words, "rows": []}
    team = DeepTeam(task, config, range(args.seeds), "pqn")
    spent = 0.0
    with turn(args.lock):
        while spent < args.seconds and team.step < args.steps:
            begun = time.perf_counter()
            team.advance(config.eval_every)
            _ = team.step
            np.asarray(team.team.agent_states.trained[0][0])
            spent += time.perf_counter() - begun
            found = team.evaluate()
            said["rows"].append([round(spent, 3), team.step, [e.episode_length for e in found], [bool(e.success) for e in found]])
    well = [all(ok) and max(lengths) <= 46 for _, _, lengths, ok in said["rows"]]
    mean = [all(ok) and sum(lengths) / len(lengths) <= 46 for _, _, lengths, ok in said["rows"]]
    for word, flags in (("each", well), ("mean", mean)):
        last_bad = max((i for i, flag in enumerate(flags) if not flag), default=-1)
        since = said["rows"][last_bad + 1][0] if last_bad + 1 < len(flags) else None
        said[word] = {"first": next((row[0] for row, flag in zip(said["rows"], flags, strict=True) if flag), None), "since": since}
    Path(args.file).write_text(json.dumps(said))
    print(json.dumps({key: value for key, value in said.items() if key != "rows"}), said["rows"][-1], flush=True)


def gpu(args: argparse.Namespace) -> None:
    """The jobs of one GPU call: each compiles at once, and they train one after the other."""
    out, site = Path(args.file), Path(args.file) / "site"
    for wheel in sorted(Path(args.wheels).glob("*.whl")) if args.wheels else ():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    paths = [str(Path(__file__).resolve().parent.parent / "src"), str(site), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    common = ["--seeds", str(args.seeds), "--lock", str(out / "lock")]
    jobs = {
        name: ["train", name, str(out / f"{name}.npz"), "--seconds", str(float(words[1]) * args.seconds), *words[2:], *common]
        for name, words in GPU.items()
    } | {"pqn": ["pqn", str(out / "pqn.json"), "--seconds", str(0.06 * args.seconds), *common]}
    going = {}
    for name, words in jobs.items():
        log = (out / f"{name}.log").open("w")
        going[name] = subprocess.Popen([sys.executable, __file__, *words], stdout=log, stderr=log, env=env)
    for name, process in going.items():
        process.wait()
        print(name, process.returncode, (out / f"{name}.log").read_text()[-1500:], flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for verb in (train, play, optima, pqn, gpu):
        one = verbs.add_parser(verb.__name__)
        one.set_defaults(verb=verb)
        if verb is train:
            one.add_argument("family")
        one.add_argument("file")
        if verb is play:
            one.add_argument("tasks", nargs="+")
        one.add_argument("--seeds", type=int, default=None if verb is play else 10)
        one.add_argument("--seconds", type=float, default=60.0)
        one.add_argument("--steps", type=int, default=10**12, help="of each seed at most (pqn)")
        one.add_argument("--task", default="water-5")
        one.add_argument("--map", type=int, default=0)
        one.add_argument("--alpha", type=float, default=0.0007)
        one.add_argument("--set", action="append", default=[], help="a setting, as for errands train")
        one.add_argument("--maps", type=int, default=512)
        one.add_argument("--optima")
        one.add_argument("--wheels")
        one.add_argument("--lock")
    args = parser.parse_args()
    args.verb(args)


if __name__ == "__main__":
    main()
