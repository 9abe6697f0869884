"""Policy files that somebody changed, with right checksums: refused in a sentence, or acted by inside the action space."""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import errands
from errands.errors import StoreError, TaskError
from errands.policies.export import policy_bytes
from errands.policies.file import NO_CHECKSUM, FileAgent, read_policy

ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 255, 2**31, 2**63, 2**64, 10**12, 2**200, 0.5, -1e308, float("nan"), float("inf"), "", "x",
    "F64", "|V1000000000", "O", [], {}, [[]], [0], [10**12, 10**12], ["a"], {"a": 1}, [[0, 1], [2]], "~" * 5_000,
]  # fmt: skip
WRONG: list[Any] = [
    None, "x", -1, 10**6, 2**70, 1.5, float("nan"), [], [3], [[1], [1, 2]], {}, {"cell": 0}, object(), np.zeros((3, 3)), b"x",
]  # fmt: skip
SMALL = {"width": 8, "depth": 1, "capacity": 500, "warmup": 20, "platform": "cpu"}


def cases(deep: bool = True) -> dict[str, bytes]:
    """A good file of every kind of policy."""
    made = [
        ("actions", "figure-1", "crm", None), ("orders", "figure-1", "qrm", "boolean"), ("options", "figure-1", "hrm", None),
        ("objectives", "figure-1", "qcorm", None), ("planned", "delivery-2", "scout", None),
    ]  # fmt: skip
    files = {}
    for name, task, learner, machine in made:
        run = errands.train(task, learner, steps=2_000, machine=machine)
        files[name] = policy_bytes(run.task, run.policy)
    run = errands.train("delivery-3", "scout", steps=2_000)
    files["nearest"] = policy_bytes(run.task, run.policy, most=900)
    how: dict[str, Any] = {"numbers": {"fuel": "moves"}, "kwargs": {"is_slippery": False}, "state": int}
    lake = errands.Task.from_env("FrozenLake-v1", {"goal": [15]}, "budget(fuel, goal, start=30)", **how)
    files["numbered"] = policy_bytes(lake, errands.train(lake, "crm", steps=500).policy)
    if deep:
        pendulum = errands.Task.from_env("Pendulum-v1", {"up": {"index": 0, "above": 0.9}}, "up", limit=50)
        for name, task, learner in (("network", errands.load("water-2"), "hrm"), ("continuous", pendulum, "qcorm")):
            from errands.learners import make_learner

            files[name] = policy_bytes(task, make_learner(task, learner, settings=SMALL).policy)
    return files


def taken_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytearray]:
    """Header, what is said about the policy, and the arrays' bytes."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["errands"]), bytearray(data[8 + length :])


def put_together(header: dict[str, Any], about: dict[str, Any], body: bytes) -> bytes:
    """A file with the right checksum."""
    text = json.dumps({**header, "__metadata__": {"errands": json.dumps({**about, "sha256": NO_CHECKSUM})}}).encode()
    data = len(text).to_bytes(8, "little") + text + body
    return data.replace(NO_CHECKSUM.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
    return [(tree, key) for key in keys] + [place for key in keys for place in _places(tree[key])]


def mutated(data: bytes, dice: np.random.Generator) -> bytes:
    """The file with one to three things changed, and the right checksum."""
    header, about, body = taken_apart(data)
    for _ in range(int(dice.choice([1, 1, 1, 2, 3]))):
        if dice.random() < 0.2 and body:  # numbers of the arrays
            at = int(dice.integers(len(body)))
            length = int(dice.choice([1, 4, 8]))
            body[at : at + length] = dice.bytes(length) if dice.random() < 0.5 else b"\xff" * length
            continue
        tree = header if dice.random() < 0.25 else about
        # First how deep, then where: most places lie in long lists of states and lines.
        places = [place for place in _places(tree) if place != (about, "kind")]
        if not places:
            continue
        by_depth = [[(c, k) for c, k in places if c is part] for part in {id(c): c for c, _ in places}.values()]
        some = by_depth[int(dice.integers(len(by_depth)))]
        box, key = some[int(dice.integers(len(some)))]
        other_box, other = places[int(dice.integers(len(places)))]
        how = dice.integers(6)
        if how == 0:
            box.pop(key)
        elif how == 1 and isinstance(box, list):
            box.insert(key, box[key])
        elif how == 2 and isinstance(box[key], int | float):
            box[key] += int(dice.choice([-1, 1, 1000]))
        elif how == 3:
            box[key] = json.loads(json.dumps(other_box[other]))
        elif how == 4 and isinstance(box, dict):
            box[str(dice.integers(10))] = box[key]
        else:
            box[key] = ODD[int(dice.integers(len(ODD)))]
    return put_together(header, about, bytes(body))


def _inside(form: dict[str, Any], action: Any) -> bool:
    """Whether an action lies in the space that its file describes."""
    if "n" in form:
        return isinstance(action, int) and 0 <= action - form["start"] < form["n"]
    if "low" in form:
        low, high = np.array(form["low"]), np.array(form["high"])
        near = 1e-5 * (abs(low) + abs(high))
        return bool(np.isfinite(action).all() and (action >= low - near).all() and (action <= high + near).all())
    steps = action.astype(object) - np.array(form["starts"], object)
    return bool((steps >= 0).all() and (steps < np.array(form["counts"])).all())


def _shown(form: dict[str, Any], dice: np.random.Generator) -> Any:
    """An observation that fits a form."""
    if "parts" in form:
        return {key: _shown(part, dice) for key, part in form["parts"]}
    if "counts" in form:
        numbers = [int(s + dice.integers(n)) for n, s in zip(form["counts"], form["starts"], strict=True)]
        return numbers if len(numbers) > 1 else numbers[0]
    return dice.integers(2, size=form["size"]) if dice.random() < 0.5 else dice.normal(size=form["size"]).astype(np.float32)


def attempt(path: Path, data: bytes, dice: np.random.Generator) -> str:
    """What became of a file: refused, told in a sentence while acting, acted, or a fault of ours."""
    path.write_bytes(data)
    began = time.perf_counter()
    try:
        agent = read_policy(path)
    except StoreError as fault:
        return "refused" if len(str(fault)) < 600 and "\n" not in str(fault) else f"no sentence: {str(fault)[:200]!r}"
    except Exception as fault:  # noqa: BLE001
        return f"raw at reading: {fault!r:.200}"
    how = _acted(agent, dice)
    return "slow" if time.perf_counter() - began > 5 else how


def _acted(agent: FileAgent, dice: np.random.Generator) -> str:
    form, told = agent.about["observation"], False
    names = list(agent.machine.features)
    for wrong in (True, False):
        for _ in range(30):
            if agent.done:
                agent.reset()
            fits = dice.integers(20) if agent.about["numbering"] and "states" in agent.about["numbering"] else _shown(form, dice)
            observation = WRONG[int(dice.integers(len(WRONG)))] if wrong and dice.random() < 0.5 else fits
            true = {name for name in names if dice.random() < 0.3}
            try:
                action = agent.act(observation)
                if not _inside(agent.about["action"], action):
                    return f"outside: {action!r:.100}"
                agent.see(observation, {"features": true, "signals": dict.fromkeys(agent.machine.signals, 1.0)})
            except TaskError as fault:
                told |= observation is fits
                if len(str(fault)) > 600 or "\n" in str(fault):
                    return f"no sentence: {str(fault)[:200]!r}"
            except Exception as fault:  # noqa: BLE001
                return f"raw while acting: {fault!r:.200} for {observation!r:.80}"
    return "told" if told else "acted"


def main() -> None:
    """So many mutations of every kind of file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_400, help="mutations in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", action="store_true", help="without networks")
    asked = parser.parse_args()
    files = cases(deep=not asked.tables)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dice, began = np.random.default_rng(asked.seed), time.perf_counter()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.count):
            name = list(files)[number % len(files)]
            how = attempt(Path(folder) / "policy", mutated(files[name], dice), dice)
            found[how] += 1
            if how not in ("refused", "acted", "told"):
                print(f"{name} {number}: {how}")
    good = sum(found[how] for how in ("refused", "acted", "told"))
    print(f"{asked.count} mutations of {len(files)} files in {time.perf_counter() - began:.0f} s:", end=" ")
    told = f"{found['told']} told while acting"
    print(f"{found['refused']} refused, {found['acted']} acted by, {told}, {asked.count - good} faults;", end=" ")
    print(f"memory grew by {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10} MiB")


if __name__ == "__main__":
    main()
