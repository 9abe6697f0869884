"""Deep learners on environments that are not ours, with the settings that a user gets: does a stranger's task learn?

python benchmarks/strangers.py --out rows.jsonl JOB...
python benchmarks/strangers.py --table rows.jsonl
python benchmarks/strangers.py --wander cartpole

A JOB is TASK:LEARNER[/field=value...]:SEEDS:STEPS:EVERY, for example mountaincar:crm:0-4:60000:5000. Learners are those of
errands, `sb3` (DQN or TD3 of Stable-Baselines3 with its own default settings on the product of world and agenda machine) and
`sb3-zoo` (the same with the settings that RL Baselines3 Zoo has for the environment, or its settings for one like it).
Each seed, or with --team each job, is a process of its own, --width at a time on one thread each; every evaluation is a
line of --out with the task, the run, the seed, the step, the share of successes and the mean length of ten greedy episodes,
which begin alike for all.
Tasks: mountaincar, cartpole, lunarlander (Box2D), pendulum, reacher (MuJoCo), minigrid (minigrid).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from gpu import unpack, write_row

EPISODES = 10
"""Greedy episodes of an evaluation."""
SOLVED = 0.9
"""The share of successes from which on a task counts as solved."""
ABOVE, BELOW = "above", "below"
TASKS: dict[str, dict[str, Any]] = {
    # The car's own episode ends on the right hill, so the left one comes first, or the car turns round before 0.5.
    "mountaincar": {
        "env": "MountainCar-v0",
        "features": {"left": {"index": 0, BELOW: -0.9}, "top": {"index": 0, ABOVE: 0.45}},
        "machine": "any_order(left, top)",
        "limit": 400,
    },
    # It ends where the pole falls: both sides have to be visited with the pole upright.
    "cartpole": {
        "env": "CartPole-v1",
        "features": {"left": {"index": 0, BELOW: -0.5}, "right": {"index": 0, ABOVE: 0.5}},
        "machine": "any_order(left, right)",
        "limit": 300,
    },
    # It ends where the body hits the ground or comes to rest.
    "lunarlander": {
        "env": "LunarLander-v3",
        "features": {"first_leg": {"index": 6, ABOVE: 0.5}, "second_leg": {"index": 7, ABOVE: 0.5}},
        "machine": "any_order(first_leg, second_leg)",
        "limit": 400,
    },
    # Cosine and sine of the angle; neither this nor the next has an end of its own.
    "pendulum": {
        "env": "Pendulum-v1",
        "features": {
            "up": {"index": 0, ABOVE: 0.9},
            "right": {"index": 1, ABOVE: 0.9},
            "left": {"index": 1, BELOW: -0.9},
        },
        "machine": "any_order(up, right, left)",
        "limit": 200,
    },
    # Where the fingertip is; the arm is 0.21 long, so it has to be bent.
    "reacher": {
        "env": "Reacher-v5",
        "features": lambda before, action, after, info: fingertip_in(after),
        "machine": "any_order(up, down)",
        "limit": 50,
    },
}
ZOO: dict[str, dict[str, Any]] = {
    "mountaincar": {
        "learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1_000, "gamma": 0.98,
        "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8, "exploration_fraction": 0.2,
        "exploration_final_eps": 0.07, "policy_kwargs": {"net_arch": [256, 256]},
    },
    "cartpole": {
        "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1_000, "gamma": 0.99,
        "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04, "policy_kwargs": {"net_arch": [256, 256]},
    },
    "lunarlander": {
        "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 1, "gamma": 0.99,
        "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12,
        "exploration_final_eps": 0.1, "policy_kwargs": {"net_arch": [256, 256]},
    },
    "pendulum": {
        "learning_rate": 1e-3, "gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000, "train_freq": 1,
        "gradient_steps": 1, "policy_kwargs": {"net_arch": [400, 300]}, "noise": 0.1,
    },
    "reacher": {
        "learning_rate": 1e-3, "gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000, "train_freq": 1,
        "gradient_steps": 1, "policy_kwargs": {"net_arch": [400, 300]}, "noise": 0.1,
    },
    # The zoo has no DQN for MiniGrid; these are its settings for Atari games, with the shorter buffer and start of LunarLander.
    "minigrid": {
        "learning_rate": 1e-4, "batch_size": 32, "buffer_size": 100_000, "learning_starts": 1_000, "gamma": 0.99,
        "target_update_interval": 1_000, "train_freq": 4, "gradient_steps": 1, "exploration_fraction": 0.1,
        "exploration_final_eps": 0.01,
    },
}  # fmt: skip
"""Settings of RL Baselines3 Zoo (dqn.yml as of ce95481, td3.yml as of a02f4fb); `noise` is the deviation of the noise on actions.

Two differ from it: LunarLander starts to learn at 1, not at 0, and TD3 is updated after each step, not after each episode."""


def fingertip_in(observation: Any) -> set[str]:
    """Which of two discs of radius 0.05, 0.15 above and below the shoulder, Reacher's fingertip is in."""
    # Entries 4 and 5 are where the target is, 8 and 9 how far the fingertip is from it.
    x, y = observation[8] + observation[4], observation[9] + observation[5]
    return {name for name, height in (("up", 0.15), ("down", -0.15)) if x * x + (y - height) ** 2 < 0.05**2}


def minigrid_task() -> Any:
    """Three balls in an empty room, seen through MiniGrid's window of 7 x 7 x 3."""
    import gymnasium as gym
    import minigrid  # noqa: F401 (registers its environments)
    from minigrid.core.world_object import Ball
    from minigrid.envs.empty import EmptyEnv

    from errands.tasks.task import Task

    colours = ("red", "green", "blue")

    class Balls(EmptyEnv):  # type: ignore[misc]
        """The empty room of 8 x 8 with a ball of each colour."""

        def _gen_grid(self, width: int, height: int) -> None:
            super()._gen_grid(width, height)
            for colour, place in zip(colours, ((5, 1), (1, 5), (4, 4)), strict=True):
                self.grid.set(*place, Ball(colour))

    class Window(gym.ObservationWrapper):  # type: ignore[type-arg]
        """The picture alone; a ball that is picked up vanishes from the hands, so that it counts as collected."""

        def __init__(self) -> None:
            super().__init__(Balls(size=8))
            self.observation_space = self.env.observation_space["image"]  # type: ignore[index]

        def observation(self, observation: Any) -> Any:
            """The window."""
            return observation["image"]

        def step(self, action: Any) -> Any:
            """A step, with the colour of a ball that was picked up in the info; the goal's own end is not the task's."""
            observation, reward, _, truncated, info = super().step(action)
            carried = self.env.unwrapped.carrying  # type: ignore[attr-defined]
            if carried is not None:
                self.env.unwrapped.carrying = None  # type: ignore[attr-defined]
            return observation, reward, False, truncated, {**info, "taken": getattr(carried, "color", None)}

    def features(before: Any, action: Any, after: Any, info: dict[str, Any]) -> set[str]:
        return {info["taken"]} if info.get("taken") else set()

    return Task.from_env(Window, features, f"any_order({', '.join(colours)})", limit=150, name="minigrid")


def task_of(name: str) -> Any:
    """The task of a name."""
    from errands.tasks.task import Task

    if name == "minigrid":
        return minigrid_task()
    known = TASKS[name]
    return Task.from_env(known["env"], known["features"], known["machine"], limit=known["limit"], name=name)


Tell = Callable[[int, int, float, float], None]
"""Told the seed, the step, the share of successes and the mean length."""


def ours(name: str, run: str, seeds: list[int], steps: int, every: int, tell: Tell) -> None:
    """Train one of our learners, with settings behind slashes, and tell its scores; several seeds as one team."""
    from errands.learners.engines.deep.learner import DeepTeam
    from errands.learners.presets import config_of

    learner, *words = run.split("/")
    task = task_of(name)
    words += [f"eval_every={every}", f"eval_episodes={EPISODES}"]
    team = DeepTeam(task, config_of(learner, "tuned", task, words, steps), seeds, learner)  # type: ignore[arg-type]
    for evaluations in team.train(steps):
        for seed, evaluation in zip(seeds, evaluations, strict=True):
            tell(seed, team.step, float(evaluation.success), float(evaluation.episode_length))


def theirs(name: str, run: str, seeds: list[int], steps: int, every: int, tell: Tell) -> None:
    """Train Stable-Baselines3 on the product of world and agenda machine, and tell its scores."""
    import gymnasium as gym
    import numpy as np
    import torch
    from stable_baselines3 import DQN, TD3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.noise import NormalActionNoise

    class Watch(BaseCallback):  # type: ignore[misc]
        """Scores the model on the way."""

        def _on_step(self) -> bool:
            if self.num_timesteps % every == 0:
                tell(seed, self.num_timesteps, *score(test, self.model, seed))
            return True

    (seed,) = seeds
    torch.set_num_threads(1)
    env, test = task_of(name).env("agenda"), task_of(name).env("agenda")
    settings = dict(ZOO[name]) if run == "sb3-zoo" else {}
    noise = settings.pop("noise", None)
    if noise is not None:
        count = int(np.prod(env.action_space.shape or ()))
        settings["action_noise"] = NormalActionNoise(np.zeros(count), np.full(count, noise))
    if pictures := name == "minigrid":
        settings["policy_kwargs"] = {"features_extractor_class": window_extractor()}
    method: Any = TD3 if isinstance(env.action_space, gym.spaces.Box) else DQN
    model = method("MultiInputPolicy" if pictures else "MlpPolicy", env, seed=seed, device="cpu", **settings)
    # One call with all steps, so that exploration falls over them as it does for its users.
    model.learn(steps, callback=Watch())


def window_extractor() -> Any:
    """MiniGrid's window through two layers of 32 filters, as ours, and the machine state beside it."""
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class Window(BaseFeaturesExtractor):  # type: ignore[misc]
        """The features of window and machine state."""

        def __init__(self, space: Any) -> None:
            # Their pictures come channels first, and their policies divide by 255 and make the state one-hot.
            channels, height, width = space["world"].shape
            count = int(space["machine"].n)
            super().__init__(space, 32 * height * width + count)
            conv = torch.nn.Conv2d
            self.conv = torch.nn.Sequential(
                conv(channels, 32, 3, padding=1),
                torch.nn.ReLU(),
                conv(32, 32, 3, padding=1),
                torch.nn.ReLU(),
                torch.nn.Flatten(),
            )

        def forward(self, seen: Any) -> Any:
            return torch.cat([self.conv(seen["world"]), seen["machine"].flatten(1)], dim=1)

    return Window


def score(test: Any, model: Any, seed: int) -> tuple[float, float]:
    """Share of successes and mean length of greedy episodes that begin where those of our learners do."""
    won, total = 0, 0
    for number in range(EPISODES):
        observation, info = test.reset(seed=(seed + 1_000_003 * number) % 2**31)
        over = False
        while not over:
            observation, _, terminated, truncated, info = test.step(model.predict(observation, deterministic=True)[0])
            total, over = total + 1, terminated or truncated
        won += bool(info["success"])
    return won / EPISODES, total / EPISODES


def wander(name: str, steps: int = 20_000, seeds: int = 3) -> str:
    """How often random play does some of a task and all of it, by how long an action is kept: what there is to learn from."""
    import numpy as np

    lengths = [1, 2, 4, 8, 16]
    lines = ["| task | action kept for | episodes | with some of it | with all |", "|---|---|---|---|---|"]
    for number in [*range(len(lengths)), None]:
        counts = np.zeros(3)
        for seed in range(seeds):
            env, draw = task_of(name).env("agenda"), np.random.default_rng(seed)
            whole = env.reset(seed=seed)[1]["remaining"]
            for step in range(steps):
                if step % 100 == 0:
                    length = int(draw.choice(lengths)) if number is None else lengths[number]
                if step % 100 % length == 0:
                    action = draw.integers(env.action_space.n)  # type: ignore[attr-defined]
                _, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    counts += 1, info["remaining"] != whole, info["success"]
                    env.reset()
        means = " | ".join(f"{count:.1f}" for count in counts / seeds)
        lines.append(f"| {name} | {'mixed' if number is None else lengths[number]} | {means} |")
    return "\n".join(lines)


def stand_in() -> None:
    """Empty modules for what is imported and not needed here, where it is not installed."""
    from importlib.machinery import ModuleSpec
    from importlib.util import find_spec

    def empty(name: str, **parts: Any) -> None:
        module = types.ModuleType(name)
        vars(module).update(parts, __spec__=ModuleSpec(name, None))
        sys.modules[name] = module
        outer, _, inner = name.rpartition(".")
        if outer in sys.modules:
            setattr(sys.modules[outer], inner, module)

    if find_spec("numba") is None:
        # Compiled loops of tabular learners and the oracle; as plain Python they can at least be imported.
        import errands

        same = lambda function: function  # noqa: E731
        empty(
            "errands.kernels",
            __path__=[str(Path(errands.__path__[0]) / "kernels")],
            hot=same,
            jit=same,
            Repeated=object,
        )
    if find_spec("matplotlib") is None:
        for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.figure"):
            empty(name, Figure=object)
    for name in ("pandas", "imageio"):
        if find_spec(name) is None:
            empty(name, DataFrame=object)


def one(job: str, out: Path) -> None:
    """A single seed of a job, or all of them as a team."""
    name, run, seeds, steps, every = job.split(":")
    began = time.perf_counter()

    def tell(seed: int, step: int, share: float, length: float) -> None:
        seconds = round(time.perf_counter() - began, 1)
        row = {"task": name, "run": run, "seed": seed, "step": step, "success": round(share, 3)}
        write_row(out, row | {"length": round(length, 1), "seconds": seconds})

    stand_in()
    (theirs if run.startswith("sb3") else ours)(name, run, numbers(seeds), int(steps), int(every), tell)


def numbers(seeds: str) -> list[int]:
    """The seeds of a job: 0-4 is five of them."""
    first, _, last = seeds.partition("-")
    return list(range(int(first), int(last or first) + 1))


def alone(job: str) -> list[str]:
    """The jobs of single seeds."""
    name, run, seeds, *rest = job.split(":")
    return [":".join([name, run, str(seed), *rest]) for seed in numbers(seeds)]


def run_all(jobs: list[str], out: Path, width: int, until: float) -> bool:
    """Each job in a process of its own, `width` at a time, until the clock runs out; whether none has failed."""
    waiting, going, well = list(jobs), dict[str, Any](), True
    while (waiting or going) and time.time() < until:
        while waiting and len(going) < width:
            job = waiting.pop(0)
            log = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
            words = [sys.executable, __file__, "--one", "--out", str(out), job]
            going[job] = subprocess.Popen(words, stdout=log, stderr=log), log
        time.sleep(0.2)
        for job, (process, log) in list(going.items()):
            if process.poll() is not None:
                del going[job]
                if process.returncode:
                    well = False
                    log.seek(0)
                    print(job, log.read().decode(errors="replace")[-1500:], flush=True)
    for job, (process, _) in going.items():
        process.kill()
        print(f"{job}: out of time", flush=True)
    print(f"{len(waiting)} not begun: {' '.join(waiting)}", flush=True)
    return well


def table(rows: list[dict[str, Any]]) -> str:
    """Per task and run: seeds, steps, the share of successes at the end, and when each seed was first solved."""
    groups: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["run"]), {}).setdefault(row["seed"], []).append(row)
    lines = [
        "| task | run | seeds | steps | last third | at the end | length | first solved at | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, run), seeds in sorted(groups.items()):
        curves = [sorted(each, key=lambda row: row["step"]) for each in seeds.values()]
        last = [curve[-1] for curve in curves]
        thirds = [sum(r["success"] for r in c[-max(1, len(c) // 3) :]) / max(1, len(c) // 3) for c in curves]
        first = [next((r["step"] for r in c if r["success"] >= SOLVED), None) for c in curves]
        shown = ", ".join("never" if step is None else f"{step:,}" for step in sorted(first, key=lambda s: s or 10**9))
        mean = lambda values: sum(values) / len(values)  # noqa: E731
        lines.append(
            f"| {name} | {run} | {len(curves)} | {max(r['step'] for r in last):,} | {mean(thirds):.2f} "
            f"| {mean([r['success'] for r in last]):.2f} | {mean([r['length'] for r in last]):.0f} | {shown} "
            f"| {mean([r['seconds'] for r in last]):.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Start the jobs, be one, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "jobs", nargs="*", help="TASK:LEARNER[/field=value...]:SEEDS:STEPS:EVERY, or a file with one per line"
    )
    parser.add_argument("--out", type=Path, default=Path("strangers.jsonl"))
    parser.add_argument("--width", type=int, default=8, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for all of them")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels to unpack and use")
    parser.add_argument(
        "--site",
        type=Path,
        default=Path(tempfile.gettempdir()) / "errands-strangers",
        help="where wheels and compiled programs are kept",
    )
    parser.add_argument("--table", type=Path, help="print the table of these rows")
    parser.add_argument("--team", action="store_true", help="the seeds of a job in one process (not with sb3)")
    parser.add_argument(
        "--wander", metavar="TASK", help="how often random play does a task, by how long an action is kept"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.table:
        print(table([json.loads(line) for line in args.table.read_text().splitlines()]))
        return
    if args.wander:
        print(wander(args.wander))
        return
    if args.one:
        one(args.jobs[0], args.out)
        return
    until = time.time() + args.seconds
    jobs = [job for word in args.jobs for job in (Path(word).read_text().split() if Path(word).is_file() else [word])]
    paths = [str(Path(__file__).resolve().parent.parent / "src")]
    if args.wheels:
        unpack(args.wheels, args.site)
        paths.append(str(args.site.resolve()))
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
    # Processes side by side: each on one thread, and programs compiled by one serve the others.
    os.environ |= {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3"}
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(args.site).resolve() / "compiled"))
    if not args.team:
        jobs = [single for job in jobs for single in alone(job)]
    if not run_all(jobs, args.out.resolve(), args.width, until):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
