"""What a verb answers: one JSON document, the same for people, and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Exactly one document for --json; `shown` (text, or anything that rich renders) for a terminal."""

    document: Any
    shown: Any = ""
    code: int = 0
    """0 done, 1 the task or run failed."""
