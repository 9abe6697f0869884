"""What a deep learner's checkpoint holds, array by array, and how a team's arrays are those of its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from errands.errors import StoreError
from errands.learners.base import Form, Saved, SavedArray, stacked
from errands.learners.engines.deep.agent import ActingAgent
from errands.learners.engines.deep.standardised import Standardised

MAX_COUNT = 2**31 - 1
MAX_STEPS = 2**30
"""More steps than a run takes, and as many again fit into what counts them."""
FINITE = float(np.finfo(np.float32).max)
_TRAINING = {"mean", "square", "target", "ground", "pending"}
# Checkpoints come from strangers, and a compiled gather with an index out of range reads something else: all have bounds.


def named(state: Any) -> list[tuple[str, Any]]:
    """The arrays of a team's state by name, such as agent_states.high.eta."""
    paths, _ = jax.tree_util.tree_flatten_with_path(state)
    return [(".".join(str(getattr(p, "name", p)) for p in path), leaf) for path, leaf in paths]


def team_form(agent: ActingAgent, state: Any) -> Form:
    """What every array of a team's state is: seeds are the second axis of the buffer, and the first of all else but the step."""
    form = {}
    for name, leaf in named(state):
        about, low, high = _bounds(name, agent, int(np.prod(leaf.shape[-1:])))
        # Only the filled part of the buffer is stored, so its length is the file's to say.
        shape = ("rows", *leaf.shape[1:]) if name == "buffer" else tuple(leaf.shape)
        # Not where training stands, nor moments, targets and transitions; the mean of a scale is that of observations.
        parts = set(name.split("."))
        acting = "agent_states" in parts and ("scale" in parts or parts.isdisjoint(_TRAINING))
        form[name] = SavedArray(leaf.dtype.name, shape, about, low, high, acting=acting)
    return form


def seed_form(form: Form) -> Form:
    """The form of one seed's part of a team."""
    parts = {}
    for name, array in form.items():
        # A seed keeps an axis of length 1: its part has the form of a team of one.
        axis = None if name == "step" else int(name == "buffer")
        shape = tuple(1 if n == axis else length for n, length in enumerate(array.shape))
        parts[name] = replace(array, shape=shape)
    return parts


def _bounds(name: str, agent: ActingAgent, width: int) -> tuple[str, Any, Any]:
    """What an array holds, its least and its greatest values; floats are finite by default."""
    machine, last = agent.machine, name.rpartition(".")[2]
    states, labels, heads = len(machine.rm), len(machine.labels), len(machine.objectives)
    known: dict[str, tuple[str, Any, Any]] = {
        "updates": ("updates so far", 0, MAX_COUNT),
        "step": ("training steps so far", 0, MAX_STEPS),
        "keys": ("the random keys of the seeds", None, None),
        "eta": ("steps to go by machine state and objective, infinite until known", 0.0, np.inf),
        "shortest": ("K_mi, infinite until known", 0.0, np.inf),
        "best": ("K_op of each objective, infinite until known", 0.0, np.inf),
        "share": ("how far the pay of failures has faded", 0.0, 1.0),
        "choice": ("the objective in hand, -1 for none", -1, heads - 1),
        "option": ("the option in hand, -1 for none", -1, MAX_COUNT),
        "pending": ("grounding transitions of the episode: step, coupled state, time entered, duration, exploited",
                    0, np.array([MAX_COUNT, states * heads - 1, MAX_COUNT, MAX_COUNT, 1])),
        "ground": ("grounding transitions of past episodes: step, objective, reward, weight",
                   np.array([0, 0, -FINITE, 0]), np.array([FINITE, heads - 1, FINITE, 1])),
        "waiting": ("how many grounding transitions the episode has", 0, 4 * heads + 4),
        "time": ("steps of the episode so far", 0, machine.task.world.limit),
        "variance": ("the variance of observations by entry", 0.0, FINITE),
        "batches": ("batches that mean and variance of observations are taken of", 0, MAX_COUNT),
        "square": ("Adam's mean of squared gradients", 0.0, FINITE),
    }  # fmt: skip
    if name == "actions":
        # DDQN's are numbers of choices; the learner behind a scale is its `low`.
        low: Any = agent.low.low if isinstance(agent.low, Standardised) else agent.low
        bounds = (0.0, low.net.outputs - 1.0) if agent.low.discrete else (-1.0, 1.0)
        return "the actions about to be taken", *bounds
    if name in ("ways.trail", "ways.way"):
        copies: Any = agent.low
        return "the actions of an episode or a way", 0, copies.actions - 1
    if name == "positions.state":
        return "the machine state of each seed", 0, states - 1
    if name == "worlds" and machine.task.finite is not None:
        return "the cell of each seed", 0, machine.task.finite.states - 1
    if name == "buffer":
        config: Any = agent.config
        low, high = np.full(width, -FINITE), np.full(width, FINITE)
        # The last three columns are label, machine state and end flag; the first two are used as indices. Where returns
        # are of several steps, the flag 2 says that the episode was over although the world went on.
        low[-3:], high[-3:] = 0, [labels - 1, states - 1, 1 if config.n_steps == 1 else 2]
        return (
            "replay rows: observation, next one, action, signals, label, machine state, whether the world ended",
            low,
            high,
        )
    # Layers are lists, so the last part of such a name is a number and tells nothing.
    if ".square." in name:
        return known["square"]
    if last in known:
        return known[last]
    if last in ("used", "exploited", "clean", "touching", "whole"):
        return f"flags: {last}", None, None
    whole = last in ("entered", "choices", "grounded", "replayed", "episodes", "ended", "since", "led", "length")
    return (f"a count: {last}", 0, MAX_COUNT) if whole else (f"numbers of {name}", -FINITE, FINITE)


def split(saved: Saved) -> list[Saved]:
    """What a team saved, seed by seed: each part is what a team of that seed alone would save."""
    return [{name: _part(name, array, i) for name, array in saved.items()} for i in range(len(saved["keys"]))]


def _part(name: str, array: Any, index: int) -> Any:
    """One seed's share of an array: seeds are the second axis of the buffer, and the first of all else but the step."""
    if name == "step":
        return array
    part = array[:, index : index + 1] if name == "buffer" else array[index : index + 1]
    return np.frombuffer(bytes(part).rstrip(), np.uint8)[None] if name == "environments" else part


def join(parts: Sequence[Saved]) -> Saved:
    """What a team of several seeds would have saved, from the parts of its seeds."""
    # One step counts for all seeds of a team.
    steps = sorted({int(part["step"]) for part in parts})
    if len(steps) > 1:
        raise StoreError(
            f"seeds of a team stand at the same step; these checkpoints were taken at {', '.join(map(str, steps))}"
        )
    together = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: arrays[0]
        if name == "step"
        else stacked(arrays)
        if name == "environments"
        else np.concatenate(arrays, axis=int(name == "buffer"))
        for name, arrays in together.items()
    }
