"""Tasks: a world with a numeric machine, from task files, phrases or the catalogue."""

from __future__ import annotations

from errands.tasks.catalogue import load
from errands.tasks.task import Task

__all__ = ["Task", "load"]
