"""Evaluations as a plain table: one line each, comma separated, as spreadsheets open it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from errands.errors import StoreError
from errands.records import Evaluation

HEADER = b"step,episode_length,total_reward,success\n"
MAX_TABLE = 2_000_000_000
_LINE = re.compile(rb"(0|[1-9][0-9]{0,15}),(0|[1-9][0-9]{0,15}),(-?[0-9a-z.+-]{1,30}),(true|false)\n")


def line(evaluation: Evaluation) -> bytes:
    """One evaluation as a line; the shortest number that reads back as the same reward."""
    reward = repr(float(evaluation.total_reward))
    return f"{evaluation.step},{evaluation.episode_length},{reward},{str(evaluation.success).lower()}\n".encode()


def render(evaluations: Iterable[Evaluation]) -> bytes:
    """The whole table."""
    return HEADER + b"".join(map(line, evaluations))


def parse(data: bytes, path: Path) -> list[Evaluation]:
    """The evaluations of a table; `path` is named where a line cannot be read."""
    if not data.startswith(HEADER):
        raise StoreError(f"{path} is not a table of evaluations: its first line is not '{HEADER.decode().strip()}'")
    lines = data[len(HEADER) :].splitlines(keepends=True)
    found = [_parsed(text, number, path) for number, text in enumerate(lines, 2)]
    if any(later.step <= earlier.step for earlier, later in pairwise(found)):
        raise StoreError(f"{path} is damaged: its steps do not grow; type 'errands resume' to write it again")
    return found


def _parsed(text: bytes, number: int, path: Path) -> Evaluation:
    fields = _LINE.fullmatch(text)
    try:
        if fields and not math.isnan(reward := float(fields[3])):
            return Evaluation(int(fields[1]), int(fields[2]), reward, fields[4] == b"true")
    except ValueError:
        pass
    raise StoreError(f"{path} is damaged in line {number}; type 'errands resume' to write it again")
