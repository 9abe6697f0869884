"""Lanes in environments on the host: each can be put into the recorded states in which attempts begin."""

from __future__ import annotations

from errands.errors import TaskError
from errands.learners.deep.machine import listed
from errands.learners.deep.worlds import device_world
from errands.tasks.task import Task
from errands.worlds.saving import Restorable


def restorable(task: Task) -> None:
    """Refuse a world that cannot be put into a state, in a sentence."""
    if device_world(listed(task)) is not None:
        return
    env = task.world.env()
    able = isinstance(env, Restorable)
    env.close()
    if not able:
        raise TaskError(
            f"dirl starts attempts where earlier ones ended, and the environment of '{task.name}' cannot be put into a state; "
            "give it save() and restore(), or use learner 'qrm' or 'hrm'"
        )
