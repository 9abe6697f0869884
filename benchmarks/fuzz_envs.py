"""Hundreds of environments that misbehave, made of parts: what check, solve, train and evaluate make of them.

    python benchmarks/fuzz_envs.py [EVERY]

Each case runs in a process of its own with a timeout. What is wanted: a sentence that names the environment (or a warning
where nothing is lost), never a raw error, a hang, or a result as if nothing had happened.
"""

from __future__ import annotations

import io
import itertools
import multiprocessing
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

import errands
from errands.errors import ErrandsError
from errands.tasks import Task
from errands.tasks.check import check
from errands.viewer.scene import frame, stage
from errands.worlds.gymnasium import guard

CELLS, START = 6, 2
TIMEOUT = 60.0


class Mute(Exception):
    """An exception whose words raise."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Beyond(BaseException):
    """No Exception."""


class Unhashable:
    """A state that says it can be hashed, and cannot."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __repr__(self) -> str:
        raise SystemExit(0)


def raising(fault: BaseException) -> Callable[[Any], Any]:
    """A part that raises."""

    def strike(right: Any) -> Any:
        raise fault

    return strike


def hanging(right: Any) -> Any:
    """A part that does not come back."""
    time.sleep(600)


RAISED: dict[str, Callable[[Any], Any]] = {
    "ValueError": raising(ValueError("gears\nstuck")),
    "Mute": raising(Mute()),
    "SystemExit": raising(SystemExit(0)),
    "Beyond": raising(Beyond("beyond")),
    "StopIteration": raising(StopIteration()),
    "GeneratorExit": raising(GeneratorExit()),
    "MemoryError": raising(MemoryError()),
    "RecursionError": raising(RecursionError("too deep")),
    "KeyboardInterrupt": raising(KeyboardInterrupt()),
}
HANG: dict[str, Callable[[Any], Any]] = {"hang": hanging}


def being(*values: Any) -> dict[str, Callable[[Any], Any]]:
    """Parts that give these values."""
    return {f"{type(value).__name__}-{k}": lambda right, value=value: value for k, value in enumerate(values)}


HUGE = 10**5000
PARTS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "make": RAISED | being(None, 3),
    "spaces": RAISED | being(None, gym.spaces.Discrete(2**40), "Discrete(6)"),
    "actions": RAISED | being(None, gym.spaces.Discrete(2**40)),
    "copy": RAISED,
    "close": RAISED | HANG,
    "render": RAISED | being([[1, 2], [3]], "a picture", [[["red"]]]),
    "reset": RAISED | HANG | being(None, (), (0,), (0, {}, 0), "ab"),
    "step": RAISED | HANG
    | being(None, (0, 0.0, False, {}), (0, 0.0, False, False, {}, 0), "abcde", {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}),
    "observation": being(
        None, "2", -1, HUGE, float("nan"), float("inf"), [[1.0], [1.0, 2.0]], np.zeros(7, np.float32), np.array(["a"]),
        np.array([HUGE], object), {"a": 1}, Unhashable(), np.array([np.nan], np.float32), np.zeros((1, 1)),
    ),
    "reward": being(None, "1.0", b"1", float("nan"), float("-inf"), HUGE, 1j, [1.0], {}, np.zeros(3)),
    "terminated": being(None, "False", 0, 1, 1.0, [], np.array([True, False]), np.int64(0)),
    "truncated": being(None, "False", 0, [False], np.array(["x"])),
    "info": being(None, "info", [("a", 1)], 3),
    "features": RAISED | HANG | being(None, "a", ["a"], {"a": True}, {1, 2}, {"a", 3}, 7, b"a", Unhashable()),
    "signals": RAISED | HANG | being(None, float("nan"), float("inf"), HUGE, "1", [1.0], 1j, np.zeros(2)),
    "state": RAISED | HANG | being([1], {"a": 1}, {1}, np.zeros(2), Unhashable()),
}  # fmt: skip
KINDS = {
    "box": ("copy", "state", "render"),
    "discrete": ("state", "copy"),
    "state": ("render",),
    "table": ("state", "copy"),
}
"""Kinds of worlds, and the parts that they do not have or do not use."""


@dataclass
class Fault:
    """One part that misbehaves once it was used so many times."""

    part: str
    what: str
    after: int
    armed: bool = True
    uses: int = 0
    struck: int = 0

    def __deepcopy__(self, memo: object) -> Fault:
        return self

    def at(self, part: str, right: Any) -> Any:
        """What a part gives: what is right, until the fault is due."""
        if part != self.part or not self.armed:
            return right
        self.uses += 1
        if self.uses <= self.after:
            return right
        self.struck += 1
        return PARTS[part][self.what](right)


class Foe(gym.Env[Any, Any]):
    """Six cells in a row, of which one part misbehaves."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (as in gymnasium)

    def __init__(self, kind: str, fault: Fault, render_mode: str | None = None) -> None:
        self.kind, self.fault, self.render_mode = kind, fault, render_mode
        self.cell = START
        if kind == "table":
            self.P = {s: {a: [(1.0, self._next(s, a), 0.0, False)] for a in range(2)} for s in range(CELLS)}
            self.initial_state_distrib = np.eye(CELLS)[START]

    @staticmethod
    def _next(cell: int, action: int) -> int:
        return min(CELLS - 1, max(0, cell + (1 if action else -1)))

    @property
    def observation_space(self) -> Any:
        numbered = self.kind in ("discrete", "table")
        right = gym.spaces.Discrete(CELLS) if numbered else gym.spaces.Box(0, CELLS, (1,), np.float32)
        return self.fault.at("spaces", right)

    @property
    def action_space(self) -> Any:
        return self.fault.at("actions", gym.spaces.Discrete(2))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell = START
        return self.fault.at("reset", (self._seen(), self.fault.at("info", {"charge": 0.5})))

    def step(self, action: Any) -> Any:
        self.cell = self._next(self.cell, int(action))
        at = self.fault.at
        answer = (
            self._seen(), at("reward", 0.0), at("terminated", False), at("truncated", False), at("info", {"charge": 0.5})
        )  # fmt: skip
        return at("step", answer)

    def _seen(self) -> Any:
        right = self.cell if self.kind in ("discrete", "table") else np.array([self.cell], np.float32)
        return self.fault.at("observation", right)

    def render(self) -> Any:
        return self.fault.at("render", np.zeros((4, 9, 3), np.uint8))

    def close(self) -> None:
        self.fault.at("close", None)

    def __deepcopy__(self, memo: object) -> Foe:
        twin = self.fault.at("copy", Foe(self.kind, self.fault, self.render_mode))
        twin.cell = self.cell
        twin._np_random = self._np_random
        return twin


def task_of(kind: str, fault: Fault, part: str) -> Task:
    """Both ends of the row, in a world of this kind; paid by a signal where that is what misbehaves."""

    def make(render_mode: str | None = None) -> Any:
        return fault.at("make", Foe(kind, fault, render_mode))

    make.__name__ = "Foe"

    def features(before: Any, action: Any, after: Any, info: Any) -> Any:
        cell = int(np.ravel(after)[0])
        return fault.at("features", {name for name, end in (("a", 0), ("b", CELLS - 1)) if cell == end})

    def charge(before: Any, action: Any, after: Any) -> Any:
        return fault.at("signals", 0.5)

    def state(observation: Any) -> Any:
        return fault.at("state", int(observation[0]))

    machine: Any = "any_order(a, b)"
    if part == "signals":
        lines = ["u0 -> u0 : ~a ; -charge", "u0 -> u1 : a ; 10"]
        machine = errands.NumericRM.of("u0", ["u1"], lines, (), {})
    return Task.from_env(
        make, features, machine, limit=40, step_seconds=0.3 if fault.what == "hang" else None,
        state=state if kind == "state" else None, signals={"charge": charge} if part == "signals" else None,
    )  # fmt: skip


def checked(task: Task, fault: Fault) -> None:
    """errands check, its findings as an error."""
    report = check(task.world.env, None, task, 200)
    wrong = [finding.sentence for finding in report.findings if finding.level == "error"]
    if wrong:
        raise ErrandsError("; ".join(wrong))


def evaluated(task: Task, fault: Fault) -> None:
    """An environment that begins to misbehave after training."""
    fault.armed = False
    run = errands.train(task, "crm", steps=300)
    fault.armed = True
    run.evaluate(3)


def looked_at(task: Task, fault: Fault) -> None:
    """What the page asks for."""
    env = stage(task)
    if env is not None:
        env.reset(seed=0)
        frame(env)
        env.close()


WAYS: dict[str, Callable[[Task, Fault], Any]] = {
    "check": checked,
    "solve": lambda task, fault: errands.optimum(task),
    "scout": lambda task, fault: errands.train(task, "scout", steps=300),
    "crm": lambda task, fault: errands.train(task, "crm", steps=300),
    "qcorm": lambda task, fault: errands.train(task, "qcorm", steps=300),
    "evaluate": evaluated,
    "page": looked_at,
}
Case = tuple[str, str, str, str, int]
"""Kind, way, part, what it does, and after how many uses."""


def cases() -> Iterator[Case]:
    """All of them."""
    for (kind, lacks), way, part, after in itertools.product(KINDS.items(), WAYS, PARTS, (0, 7)):
        drawn = (part == "render") == (way == "page")  # only the page draws, and there drawing is what matters
        stepped = kind != "box" or way in ("check", "solve")  # networks take too long here
        paid = part != "signals" or way != "scout"  # Scout looks at success alone
        if part not in lacks and drawn and stepped and paid:
            for what in PARTS[part]:
                yield kind, way, part, what, after


def outcome(case: Case) -> tuple[str, str]:
    """What came of a case, in a word, and what was said."""
    kind, way, part, what, after = case
    fault = Fault(part, what, after)
    guard.CLOSING = 0.3
    with warnings.catch_warnings(record=True) as caught, redirect_stderr(io.StringIO()):
        warnings.simplefilter("always")
        try:
            WAYS[way](task_of(kind, fault, part), fault)
        except ErrandsError as said:
            return _told(str(said), part)
        except KeyboardInterrupt:
            return ("told", "an interrupt") if what == "KeyboardInterrupt" else ("raw", "an interrupt")
        except BaseException as fault_of_ours:  # noqa: BLE001 (what is looked for)
            return "raw", type(fault_of_ours).__name__
    if not fault.struck:
        return "not met", ""
    words = " ".join(str(warning.message) for warning in caught)
    # What cannot be closed, copied or drawn is no loss: the first is a warning, and for the others there is another way.
    if part in ("copy", "render") or (part == "close" and "Foe" in words):
        return "told", words
    return "silent", words


def _told(sentence: str, part: str) -> tuple[str, str]:
    if "Foe" not in sentence or "\n" in sentence:
        return "anonymous", sentence
    steps = part in ("step", "observation", "reward", "terminated", "truncated", "info", "features", "signals", "state")
    return ("told" if not steps or re.search(r"in step \d|start of an episode|step from", sentence) else "no step"), sentence


def apart(case: Case) -> tuple[str, str]:
    """The outcome of a case in a process of its own; `hang` where it does not come back."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=lambda: theirs.send(outcome(case)), daemon=True)
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(TIMEOUT) else ("hang", "")
    except EOFError:
        process.join()
        return "raw", f"ended with code {process.exitcode}"
    finally:
        process.kill()
        process.join()


def main() -> None:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for way in WAYS:  # what is compiled now is not compiled in every process
        outcome(("state", way, "nothing", "nothing", 0))
        outcome(("discrete", way, "nothing", "nothing", 0))
    chosen = list(cases())[::every]
    begun, counts = time.perf_counter(), Counter[str]()
    for case in chosen:
        verdict, sentence = apart(case)
        counts[verdict] += 1
        if verdict not in ("told", "not met"):
            print(f"{verdict:10} {' '.join(map(str, case)):50} {sentence[:200]}", flush=True)
    found = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
    print(f"{len(chosen):,} environments in {time.perf_counter() - begun:.0f} s: {found}")


if __name__ == "__main__":
    main()
