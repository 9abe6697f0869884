"""Plans: lists and ranges of tasks, learners, machines, presets and settings, and the runs that they stand for."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from errands.errors import ConfigError, UnknownName
from errands.learners import method_of
from errands.learners.presets import PRESETS
from errands.runs.documents import Cell
from errands.tasks.catalogue import load_file, task_text

MAX_BYTES, MAX_CELLS, MAX_RANGE, MAX_RUNS = 1_000_000, 200_000, 100_000, 5_000_000
_LONG_KEY = re.compile(r"(?:[^\s.=\"'#,\[\]]{0,100}\.){60}")
"""Sixty dots without a space between: no key of a plan, and more work than it is worth."""
MACHINES = ("agenda", "boolean")
_RANGE = re.compile(r"(.*?)([0-9]{1,18})\.\.([0-9]{1,18})")


def spread(text: str) -> list[str]:
    """The words of a list with ranges: 'delivery-2..4,office-3' gives four names, '0..9' ten numbers."""
    words: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        match = _RANGE.fullmatch(word)
        if match is None:
            words += [word] if word else []
            continue
        low, high = int(match[2]), int(match[3])
        if high < low or high - low >= MAX_RANGE:
            raise ConfigError(f"the range '{word}' cannot be swept; it must go up, over at most {MAX_RANGE:,} numbers")
        words += [f"{match[1]}{number}" for number in range(low, high + 1)]
    return words


def _listed(value: Any) -> Any:
    """A word, a number or a list of them as a list of words, ranges written out."""
    items = value if isinstance(value, list | tuple) else [value]
    return [word for item in items for word in (spread(item) if isinstance(item, str) else [item])]


def _numbers(value: Any) -> Any:
    words = _listed(value)
    if any(isinstance(w, str) and not w.isdecimal() for w in words):
        raise ValueError("write whole numbers, lists like 0,3 or ranges like 0..9")
    return [int(w) if isinstance(w, str) else w for w in words]


Words = Annotated[list[Annotated[str, Field(max_length=1000)]], BeforeValidator(_listed)]
Numbers = Annotated[list[Annotated[int, Field(ge=0, lt=2**63)]], BeforeValidator(_numbers)]
Budgets = Annotated[
    list[Annotated[int, Field(ge=1, lt=2**53)] | None],
    BeforeValidator(lambda v: [v] if v is None or isinstance(v, int) else _numbers(v)),
]
"""Training steps: one number, or several, each of which is a run of its own; None means as for 'errands train'."""
Settings = Annotated[list[str], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]


class Block(BaseModel):
    """One grid of runs: every task with every learner, machine, preset and setting."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: Words = Field(min_length=1)
    learner: Words = Field(min_length=1)
    machine: Words = ["agenda"]
    preset: Words = ["tuned"]
    map_seed: Numbers = [0]
    seeds: int = Field(default=10, ge=1, le=100_000)
    steps: Budgets = [None]
    eval_every: int | None = Field(default=None, ge=1)
    set: Settings = []
    vary: dict[str, list[bool | int | float | str]] = {}


def read_plan(text: str) -> list[Block]:
    """The blocks of a plan file: keys at the top hold for every [[runs]]; without [[runs]] they are the one block."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ConfigError(f"a plan has at most {MAX_BYTES:,} bytes; this one is larger")
    if _LONG_KEY.search(text):
        raise ConfigError("the plan has a key or number with more than sixty dots; its keys have none, ranges are 0..9")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ConfigError(f"the plan is not TOML: {str(fault)[:200]}") from None
    runs = data.pop("runs", [{}])
    if not isinstance(runs, list) or not all(isinstance(block, dict) for block in runs):
        raise ConfigError("'runs' in the plan is not a list of tables; write [[runs]] above each block")
    return [make_block({**data, **block}) for block in runs]


def make_block(given: Mapping[str, Any]) -> Block:
    """A checked block."""
    try:
        return Block.model_validate(dict(given))
    except ValidationError as fault:
        said = [f"{'.'.join(map(str, e['loc']))[:60]}: {e['msg'].lower()}" for e in fault.errors(include_url=False)]
        raise ConfigError(f"the plan cannot be read: {'; '.join(dict.fromkeys(said))[:500]}") from None


def expand(blocks: Sequence[Block]) -> list[Cell]:
    """Every run folder that the blocks stand for, in order, each once; names are checked, nothing is built."""
    # Counted before any cell is made: a few words can stand for more cells than memory holds.
    predicted = sum(combinations(block) for block in blocks)
    if predicted > MAX_CELLS:
        count = f"{predicted:,}" if predicted < 10**15 else f"about {float(min(predicted, 10**300)):.0e}"
        raise ConfigError(f"the plan has {count} combinations, and at most {MAX_CELLS:,} are swept; sweep it in parts")
    runs = sum(combinations(block) * block.seeds for block in blocks)
    if runs > MAX_RUNS:
        raise ConfigError(f"the plan has {runs:,} seeds to train, and at most {MAX_RUNS:,} are swept; sweep it in parts")
    return list(dict.fromkeys(cell for block in blocks for cell in _cells(block)))


def combinations(block: Block) -> int:
    """How many cells a block stands for, at most; nothing is made."""
    lists = (block.task, block.map_seed, block.learner, block.preset, block.steps, block.machine, *block.vary.values())
    return math.prod(max(1, len(values)) if isinstance(values, list | tuple) else 1 for values in lists)


def _cells(block: Block) -> Iterator[Cell]:
    for what, given, known in (("preset", block.preset, PRESETS), ("machine", block.machine, MACHINES)):
        if unknown := [name for name in given if name not in known]:
            raise UnknownName(what, unknown[0], known)
    methods = {learner: method_of(learner) for learner in block.learner}
    fixed = [*block.set, *([f"eval_every={block.eval_every}"] if block.eval_every else [])]
    varied = [[f"{name}={value}" for value in values] for name, values in block.vary.items()]
    for task, map_seed in product(block.task, block.map_seed):
        if is_file(task):
            load_file(Path(task))
        else:
            task_text(task)
        for learner, preset, chosen in product(block.learner, block.preset, product(*varied)):
            for kind, steps in product(block.machine if methods[learner].machines else [None], block.steps):
                yield Cell(
                    task=task, map_seed=map_seed, learner=learner, machine=kind, preset=preset,
                    settings=(*fixed, *chosen), steps=steps, seeds=block.seeds,
                )  # fmt: skip


def is_file(name: str) -> bool:
    """Whether a task is named by its file."""
    return name.endswith(".toml") or "/" in name or "\\" in name
