"""Tasks: a world with a numeric machine, from task files, phrases or the catalogue."""

from __future__ import annotations

from errands.tasks.catalogue import load
from errands.tasks.phrases import any_order, avoid, either, repeat, sequence
from errands.tasks.task import Task

__all__ = ["Task", "any_order", "avoid", "either", "load", "repeat", "sequence"]
