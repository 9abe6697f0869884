"""What the page draws: a world (what stands still, and what a frame shows of its state), and a machine with its places."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.machines import AgendaRM, CoupledRM, Machine, NumericRM, couple, unfold_agenda, unfold_boolean
from errands.machines.counting import Quotient, size
from errands.machines.graph import MachineGraph, graph_of
from errands.machines.stepping import State
from errands.plots.layout import clean, layout
from errands.tables import FAILURE
from errands.tasks.task import Task
from errands.worlds import water, zones
from errands.worlds.base import Observed, numbered
from errands.worlds.cheetah import BACKWARD, FORWARD
from errands.worlds.grid import GridLayout
from errands.worlds.grid_world import GridEnv
from errands.worlds.gymnasium.guard import frame
from errands.worlds.picture import plan, tints

Scene = dict[str, Any]
PNG = "data:image/png;base64,"
MAX_PIXELS = 320
"""The longer side of an environment's own picture."""


def scene(task: Task) -> Scene:
    """What stands still: the plan of a grid, Water's arena, HalfCheetah's marks; other worlds are told in words."""
    if task.layout is not None:
        return {**grid_scene(task.layout), "removed": list(task.vanishing), "tints": tints(task.layout.features)}
    draw = {"water": _water_scene, "zones": _zones_scene, "cheetah": _cheetah_scene}.get(task.world.kind)
    return {"kind": "words", "name": task.world.kind} if draw is None else draw(task)


def _cheetah_scene(task: Task) -> Scene:
    return {"kind": "cheetah", "marks": [[name, x] for name, x in BACKWARD + FORWARD if name in task.machine.features]}


def _water_scene(task: Task) -> Scene:
    each = [c for c in water.COLOURS for _ in range(water.BALLS_EACH)]
    return {"kind": "water", "size": water.ARENA, "radius": water.RADIUS, "balls": each, **_heeded(task)}


def _zones_scene(task: Task) -> Scene:
    world: Any = task.world
    still = {"places": world.start.places.tolist(), "walls": zones.wall_plan(world.start.doors)}
    return {"kind": "zones", "size": water.ARENA, "radius": zones.REACH, "balls": list(world.features), **still, **_heeded(task)}


def _heeded(task: Task) -> Scene:
    """The features that are subtasks, and those that the machine looks at besides."""
    wanted = [name for name in task.world.features if name in task.machine.subtasks]
    return {"wanted": wanted, "minded": [name for name in task.machine.features if name not in wanted]}


def grid_scene(layout: GridLayout) -> Scene:
    """The plan of a grid; its legend has the features whose sign on the map is not their name."""
    marks = plan(layout)
    signs = dict.fromkeys((mark.feature, mark.sign) for mark in marks if mark.sign != mark.feature)
    return {
        "kind": "grid", "width": layout.width, "height": layout.height, "start": layout.start,
        "plan": [list(mark) for mark in marks], "legend": [list(pair) for pair in signs],
    }  # fmt: skip


def posture(env: Any) -> Any:
    """What a frame shows of an environment: numbers for Water, zones and HalfCheetah, the cell of a grid, else a few words."""
    inner = env.unwrapped
    if isinstance(inner, water.ArenaEnv):
        moving = [inner.state.agent[None], inner.state.balls] if inner.world.kind == "water" else [inner.state.agent[None]]
        return _rounded(np.vstack(moving), 1)
    if isinstance(inner, GridEnv):
        return inner.cell
    if hasattr(inner, "data") and hasattr(inner, "model"):  # any robot of MuJoCo
        return _stick(inner)
    picture = frame(env)
    return str(getattr(inner, "s", ""))[:200] if picture is None else png_address(picture)


def stage(task: Task) -> Any:
    """The environment in which an episode is recorded, one that can be drawn if it can; None where tables show all."""
    if Observed.of(task.world) is not None:
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
    image.thumbnail((MAX_PIXELS, MAX_PIXELS))
    out = io.BytesIO()
    image.quantize(64).save(out, "PNG", optimize=True)
    return PNG + base64.b64encode(out.getvalue()).decode()


def is_picture(at: Any) -> bool:
    """Whether a frame shows the environment's own picture."""
    return isinstance(at, str) and at.startswith(PNG)


def _stick(env: Any) -> list[list[float]]:
    """The capsules of a MuJoCo robot seen from its side: both ends and the radius of each, the start at x = 0."""
    model, data, capsules = env.model, env.data, []
    origin = float(getattr(env, "origin", 0.0))
    for g in range(model.ngeom):
        if int(model.geom_type[g]) != 3:  # mjGEOM_CAPSULE
            continue
        # A capsule lies along its own z axis, the third column of its rotation; its sizes are radius and half length.
        (x, _, z), axis = data.geom_xpos[g], data.geom_xmat[g].reshape(3, 3)[:, 2]
        radius, half = model.geom_size[g][:2]
        right, up = half * axis[0], half * axis[2]
        ends = (x - right - origin, z - up, x + right - origin, z + up, radius)
        capsules.append([round(float(v), 3) for v in ends])
    return capsules


def action_name(task: Task, action: Any) -> str:
    """An action as people read it."""
    if names := task.world.action_names:
        return names[int(action)]
    if np.ndim(action):
        return " ".join(f"{float(x):+.2f}" for x in np.ravel(action)[:8])
    return str(action)


def _rounded(values: Any, digits: int) -> list[list[float]]:
    return [[round(float(v), digits) for v in row] for row in values]


MAX_STATES = 60
"""A machine with more states is drawn only in part: the states that the shown episodes pass."""
Diagram = dict[str, Any]


def diagram(graph: MachineGraph, objectives: Sequence[str | None] = ()) -> Diagram:
    """Boxes, wires and rings with their places, the text on each, and each state's objective where it has just one."""
    picture = layout(graph)
    states = []
    for node, box, objective in zip(graph.nodes, picture.boxes, objectives or [None] * len(graph.nodes), strict=True):
        member = box.member
        states.append({
            "text": clean(node.text), "objective": objective, "status": node.status, "initial": node.initial, "group": node.group,
            "x": box.x, "y": box.y, "w": member.half_width, "h": member.half_height,
            "lines": list(member.lines), "loop": list(member.loop), "above": member.loop_above,
            "reach": member.reach,
        })  # fmt: skip
    wires = [
        {
            "source": wire.source, "target": wire.target, "spans": [list(span) for span in wire.spans],
            "label": list(wire.label), "lines": list(wire.lines),
            "fails": graph.nodes[wire.target].status == FAILURE,
        }
        for wire in picture.wires
    ]  # fmt: skip
    edges = [[e.source, e.target, e.guard, e.reward] for e in graph.edges]
    return {
        "title": graph.title, "width": picture.width, "height": picture.height, "round": picture.round,
        "states": states, "wires": wires, "rings": [list(ring) for ring in picture.rings], "edges": edges,
    }  # fmt: skip


def small_machines(numeric: NumericRM, most: int = MAX_STATES) -> dict[str, Machine]:
    """Those of the four machines that have few enough states to be drawn whole, by kind."""
    machines: dict[str, Machine] = {"numeric": numeric}
    try:
        sizes = size(numeric)
        if sizes.boolean <= most:
            machines["boolean"] = unfold_boolean(numeric, most)
        if sizes.agenda <= most:
            agenda = unfold_agenda(numeric, most)
            machines["agenda"] = agenda
            if sizes.coupled <= most:
                machines["coupled"] = couple(agenda)
    except TaskError:
        pass
    return machines


def drawn(machine: Machine, partly: bool = False) -> Diagram:
    """The diagram of a machine; of a part of one without loops, which say at length what does not happen."""
    graph = graph_of(machine)
    if partly:
        ways = tuple(edge for edge in graph.edges if edge.source != edge.target)
        graph = MachineGraph(f"part of the {graph.title}", graph.nodes, ways)
    labels = machine.labels if isinstance(machine, AgendaRM | CoupledRM) else ()
    return diagram(graph, [label.objective[0] if len(label.objective) == 1 else None for label in labels])


def part(numeric: NumericRM, states: Sequence[State]) -> AgendaRM:
    """The agenda machine on some of its states, the initial one first; nothing is unfolded."""
    quotient = Quotient(numeric)
    return AgendaRM(numeric, tuple(states), tuple(quotient.label(state).depth for state in states), quotient.stepper)
