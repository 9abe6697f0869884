"""A world as the page draws it: what stands still, and what a frame shows of its state (grid, Water, HalfCheetah)."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.plots.style import tints
from errands.tasks.task import Task
from errands.worlds import water
from errands.worlds.base import numbered
from errands.worlds.cheetah import BACKWARD, FORWARD
from errands.worlds.foreign_env import frame
from errands.worlds.grid import ACTIONS, GridLayout

Scene = dict[str, Any]
PNG = "data:image/png;base64,"
MOST_PIXELS = 320
"""The longer side of an environment's own picture."""


def scene(task: Task) -> Scene:
    """What stands still: the plan of a grid, Water's arena, HalfCheetah's marks; other worlds are told in words."""
    if task.layout is not None:
        gone = list(task.vanishing if task.lockstep else task.removed)
        return {**grid_scene(task.layout), "removed": gone, "tints": tints(task.layout.features)}
    if task.world.kind == "water":
        return _water_scene(task)
    if task.world.kind == "cheetah":
        marks = [[name, x] for name, x in BACKWARD + FORWARD if name in task.machine.features]
        return {"kind": "cheetah", "marks": marks}
    return {"kind": "words", "name": task.world.kind}


def _water_scene(task: Task) -> Scene:
    wanted = [c for c in water.COLOURS if c in task.machine.subtasks]
    minded = [c for c in water.COLOURS if c in task.machine.features and c not in wanted]
    each = [c for c in water.COLOURS for _ in range(water.BALLS_EACH)]
    arena = {"kind": "water", "size": water.ARENA, "radius": water.RADIUS, "balls": each}
    return {**arena, "wanted": wanted, "minded": minded}


def grid_scene(layout: GridLayout) -> Scene:
    """The plan of a grid; its legend has the features whose sign on the map is not their name."""
    colour = tints(layout.features)
    places = [[name, layout.sign(name), cell, colour[name]] for name, cell in layout.places]
    signs = dict.fromkeys((name, sign) for name, sign, *_ in places if sign != name)
    return {
        "kind": "grid", "width": layout.width, "height": layout.height, "start": layout.start, "places": places,
        "blocked": sorted(layout.blocked), "walls": [list(w) for w in sorted(layout.walls)],
        "legend": [list(pair) for pair in signs],
    }  # fmt: skip


def cell_of(task: Task, world_state: int) -> int:
    """The cell of a finite world's state: Delivery expanded by its own rule counts cells last."""
    return world_state % task.layout.cells if task.layout is not None else world_state


def posture(env: Any) -> Any:
    """What a frame shows of an environment: numbers for Water and HalfCheetah, the cell of a grid, else a few words."""
    inner = env.unwrapped
    if isinstance(getattr(inner, "state", None), water.WaterState):
        state = inner.state
        return _rounded(np.vstack([state.agent[None], state.balls]), 1)
    if hasattr(inner, "data") and hasattr(inner, "model"):
        return _stick(inner)
    if isinstance(cell := getattr(inner, "cell", None), int):
        return cell
    picture = frame(env)
    return str(getattr(inner, "s", ""))[:200] if picture is None else png_address(picture)


def stage(task: Task) -> Any:
    """The environment in which an episode is recorded, one that can be drawn if it can; None where tables show all."""
    if task.world.kind == "gymnasium":
        env = numbered(task.world, "rgb_array")
        try:
            env.reset(seed=0)
            if frame(env) is not None:
                return env
        except TaskError:
            pass
        env.close()
    return numbered(task.world) if task.finite is None else None


def png_address(picture: NDArray[np.uint8]) -> str:
    """A picture as an address that holds it: made small, in few colours."""
    from PIL import Image

    image = Image.fromarray(picture)
    image.thumbnail((MOST_PIXELS, MOST_PIXELS))
    out = io.BytesIO()
    image.quantize(64).save(out, "PNG", optimize=True)
    return PNG + base64.b64encode(out.getvalue()).decode()


def is_picture(at: Any) -> bool:
    """Whether a frame shows the environment's own picture."""
    return isinstance(at, str) and at.startswith(PNG)


def _stick(env: Any) -> list[list[float]]:
    """The capsules of a MuJoCo robot seen from its side: both ends and the radius of each, the start at x = 0."""
    model, data, found = env.model, env.data, []
    origin = float(getattr(env, "origin", 0.0))
    for g in range(model.ngeom):
        if int(model.geom_type[g]) != 3:  # mjGEOM_CAPSULE
            continue
        # A capsule lies along its own z axis, the third column of its rotation; its sizes are radius and half length.
        (x, _, z), axis = data.geom_xpos[g], data.geom_xmat[g].reshape(3, 3)[:, 2]
        radius, half = model.geom_size[g][:2]
        right, up = half * axis[0], half * axis[2]
        ends = (x - right - origin, z - up, x + right - origin, z + up, radius)
        found.append([round(float(v), 3) for v in ends])
    return found


def action_name(task: Task, action: Any) -> str:
    """An action as people read it."""
    if task.layout is not None:
        return ACTIONS[int(action)]
    if task.world.kind == "water":
        return water.ACTIONS[int(action)]
    if np.ndim(action):
        return " ".join(f"{float(x):+.2f}" for x in np.ravel(action)[:8])
    return str(action)


def _rounded(values: Any, digits: int) -> list[list[float]]:
    return [[round(float(v), digits) for v in row] for row in values]
