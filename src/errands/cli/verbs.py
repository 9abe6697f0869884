"""The verbs of the command, in the groups that its help shows; each lives in a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """Where a verb lives (a module with `Arguments` and `run`), what it does, and an example."""

    module: str
    group: str
    about: str
    example: str


VERBS: Mapping[str, Verb] = {
    "demo": Verb("demo", "look", "the paper's first example, end to end", "errands demo"),
    "tasks": Verb("tasks", "look", "list the catalogue of tasks", "errands tasks"),
    "show": Verb("show", "look", "draw a task's machine", "errands show figure-1 --as coupled"),
    "size": Verb("size", "look", "count the states of its four machines", "errands size delivery-12"),
    "lint": Verb("lint", "look", "check a task file and read it back in English", "errands lint mine.toml"),
    "play": Verb("play", "look", "walk a grid world with the arrow keys", "errands play office-3"),
    "check": Verb("check", "look", "check your own environment", "errands check pkg.envs:MyEnv --features pkg.envs:label"),
    "solve": Verb("solve", "solve", "the exact optimum of a task", "errands solve office-6 --one-policy-per-subtask"),
    "learners": Verb("learners", "learn", "list the learners and their settings", "errands learners qcorm"),
    "train": Verb("train", "learn", "train a learner and judge it", "errands train delivery-4 qcorm --steps 200000 --seeds 5"),
    "sweep": Verb(
        "sweep", "many", "train many tasks, learners and seeds",
        "errands sweep --task delivery-2..4 --learner qcorm,crm --seeds 10 --steps 100000",
    ),
    "compare": Verb("compare", "many", "several runs in one table, and what differs", "errands compare one two --plot both.svg"),
    "reproduce": Verb(
        "reproduce", "many", "the paper's figures and claims, measured again", "errands reproduce office-3 --profile quick"
    ),
    "plot": Verb("plot", "see", "curves, bars, runtimes, sizes, routes, policies", "errands plot route latest --output route.svg"),
    "doctor": Verb("doctor", "house", "versions, cores, GPU, rendering, cache, known faults", "errands doctor"),
    "completion": Verb("completion", "house", "complete verbs, tasks and options in your shell", "errands completion bash"),
    "bench": Verb("bench", "house", "how fast this machine trains", "errands bench --sizes 2 8"),
    "verify": Verb("verify", "many", "repeat a part of a run and compare every byte", "errands verify latest"),
    "resume": Verb("resume", "learn", "go on with a run or sweep that was stopped", "errands resume latest"),
    "view": Verb("view", "see", "a local page: watch runs learn, replay them, write tasks", "errands view latest"),
    "export": Verb("export", "see", "a run as a page that plays anywhere", "errands export latest --html run.html"),
}

GROUPS: Mapping[str, str] = {
    "look": "Look at tasks",
    "solve": "Know the truth",
    "learn": "Learn",
    "many": "Many runs",
    "see": "See what was learnt",
    "house": "This machine",
}
