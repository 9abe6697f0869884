"""What a saved Scout is, array by array: the description that saving, restoring and documentation share."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError
from errands.learners.base import MAX_COUNT, RNG, Form, Saved, SavedArray, checked, pack_rng, require, unpack_rng
from errands.learners.scout.kernel import memory as me
from errands.learners.scout.kernel.memory import Explorer, Known
from errands.learners.scout.machine import Lowering
from errands.oracle.certificate import Bounds
from errands.tables import RUNNING

if TYPE_CHECKING:
    from errands.learners.scout.tabular import Scout

# What of the agent is saved; `after`, `effect` and the scratch space of searches are found again.
AGENT = ("at", "mask", "path", "expect")
# Counts have 32 bits; a saved one leaves half of the range for going on.
COUNT = 2**30


def form_of(scout: Scout, labels: int) -> Form:
    """The arrays of a saved Scout whose machine was lowered against so many labels."""
    states, actions, limit = len(scout.known.tried), scout.sampler.actions, scout.task.world.limit
    room = me.room_of(states, limit)
    # Bounds of Explorer.at, field by field. They matter: compiled code takes these numbers as places in arrays and does
    # not test them. STAMP has to be 0, and CLOCK below the limit, at which the episode would be over.
    low, high = np.zeros(me.FIELDS, np.int64), np.zeros(me.FIELDS, np.int64)
    low[me.CLOCK], high[me.CLOCK], high[me.LEVEL] = -1, limit - 1, COUNT
    high[me.CELL], high[me.STATE] = states - 1, len(scout.lowering.stepper.status) - 1
    high[[me.AT, me.END]], high[[me.GUIDED, me.MOVED]] = room, 1
    high[me.FRESH], high[me.FOLLOWING], high[me.UNTIL] = states * actions, me.SEEKING, limit
    return {
        **known_form("known", states, actions, labels),
        **known_form("frozen", states, actions, labels),
        "agent.at": SavedArray("int64", (me.FIELDS,), "the fields of Explorer.at", low, high),
        "agent.mask": SavedArray(
            "uint64", (scout.lowering.words,), "the subtasks that remain", 0, scout.lowering.machine.full
        ),
        "agent.path": SavedArray("int32", (room,), "the actions ahead", into=actions),
        "agent.expect": SavedArray(
            "int32", (room,), "the cells they should lead to, -1: anywhere", low=-1, into=states
        ),
        "route": SavedArray(
            "int32", (states,), "the action that is followed in each cell, -1 for none", low=-1, into=actions
        ),
        "counters": SavedArray("int64", (3,), "steps, steps in evaluations, the step of the last plan", 0, MAX_COUNT),
        "rng": RNG,
        "told": SavedArray("uint8", ("told",), "the proof and the labels met, as JSON"),
        "world": SavedArray("uint8", ("world",), "the environment's own state as JSON; empty for a table"),
    }


def known_form(name: str, states: int, actions: int, labels: int) -> Form:
    """The arrays of what is known; a pair has as many outcomes as the file says."""
    pairs, rows = (states, actions), (states, actions, f"{name} outcomes")
    facts = np.array([1, 1, states * actions])
    return {
        f"{name}.tried": SavedArray("int32", pairs, "how often each pair was tried", 0, COUNT),
        f"{name}.target": SavedArray("int32", rows, "the cell of each outcome", into=states),
        f"{name}.label": SavedArray("int32", rows, "the label of each outcome", into=labels),
        f"{name}.ends": SavedArray("bool", rows, "whether the world ended"),
        f"{name}.hits": SavedArray("int32", rows, "how often each outcome came", 0, COUNT),
        f"{name}.sense": SavedArray("int32", pairs, "what is meant, -1: not established", low=-1, into=f"{name} outcomes"),
        f"{name}.base": SavedArray("int32", rows, "how often each outcome had come then", 0, COUNT),
        f"{name}.mode": SavedArray("int32", pairs, "the usual outcome", into=f"{name} outcomes"),
        f"{name}.cell_label": SavedArray(
            "int32", (states,), "the label of each cell, -1: not seen", low=-1, into=labels
        ),
        f"{name}.started": SavedArray("int32", (states,), "episodes that started in each cell", 0, COUNT),
        f"{name}.facts": SavedArray("int64", (3,), "random? events? pairs tried", 0, facts),
    }


def save_scout(scout: Scout) -> Saved:
    """Everything that the rest of the run depends on, as arrays."""
    notes = {
        "proof": None if scout.proof is None else asdict(scout.proof),
        "labels": [sorted(label) for label in scout.lowering.labels],
    }
    at = scout.agent.at.copy()
    at[me.STAMP] = 0  # a mark that only one search reads
    return {
        **{f"known.{name}": part.copy() for name, part in scout.known._asdict().items()},
        **{f"frozen.{name}": part.copy() for name, part in scout.frozen._asdict().items()},
        **{f"agent.{name}": getattr(scout.agent, name).copy() for name in AGENT},
        "agent.at": at,
        "route": scout.route.copy(),
        "counters": np.array([scout.step, scout.evaluation_steps, scout.frozen_step], np.int64),
        "rng": pack_rng(scout.rng),
        "told": _bytes(json.dumps(notes).encode()),
        "world": _bytes(scout.sampler.save()),
    }


def load_scout(scout: Scout, saved: Saved) -> None:
    """Continue where `saved` was taken; a StoreError of one sentence where it has another form."""
    # The order matters: the number of labels and of states gives the form that all other arrays are checked against.
    proof, labels = _notes(saved, scout.lowering)
    tried = saved.get("known.tried")
    states = len(tried) if tried is not None and tried.ndim else 0
    require(len(scout.known.tried) <= states <= scout.sampler.most, "'known.tried' has not the states of this world")
    scout.make_room(states)
    checked(saved, form_of(scout, len(labels)))
    known, frozen = (Known(**{f: saved[f"{name}.{f}"].copy() for f in Known._fields}) for name in ("known", "frozen"))
    _check(known, "known")
    _check(frozen, "frozen")
    scout.lowering.add(labels[len(scout.lowering.labels) :])
    agent = scout.agent._replace(
        effect=np.zeros(len(labels), np.int8), **{name: saved[f"agent.{name}"].copy() for name in AGENT}
    )
    _check_agent(scout, agent)
    scout.known, scout.frozen, scout.agent, scout.route = known, frozen, agent, saved["route"].copy()
    # `effect` was not saved; between two episodes `begin` will find it.
    if agent.at[me.CLOCK] >= 0:
        me.refresh(scout.lowering.machine, agent)
    scout.step, scout.evaluation_steps, scout.frozen_step = (int(n) for n in saved["counters"])
    unpack_rng(scout.rng, saved["rng"])
    scout.settled, scout.proof = proof is not None, proof
    try:
        scout.sampler.restore(saved["world"].tobytes())
    except Exception as fault:  # noqa: BLE001 (an environment may raise anything about a state that is not its own)
        raise StoreError(f"the saved array 'world' is no state of this world ({type(fault).__name__})") from None


def _notes(saved: Saved, lowering: Lowering) -> tuple[Bounds | None, list[frozenset[str]]]:
    """The proof and the labels of a saved Scout."""
    text = saved.get("told")
    require(text is not None and text.dtype == np.uint8 and text.ndim == 1, "'told' is missing or no text")
    try:
        notes = json.loads(saved["told"].tobytes().decode())
        labels = [frozenset(map(str, label)) for label in notes["labels"]]
        proof = None if notes["proof"] is None else Bounds(**notes["proof"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise StoreError("the saved array 'told' holds no proof and labels of Scout's") from None
    features = set(lowering.stepper.machine.features)
    known = lowering.labels
    # Labels that were met one by one differ; only the list of a world with tables may repeat itself.
    apart = len(set(labels)) == len(labels) or labels == known
    require(apart and labels[: len(known)] == known, "'told' has other labels than this world")
    require(
        all(label <= features for label in labels[len(known) :]), "'told' has features that the machine does not know"
    )
    numbers = () if proof is None else (proof.lower, proof.upper, proof.step)
    # Booleans are numbers to Python, but no bounds.
    plain = all(isinstance(n, int | float) and not isinstance(n, bool) and n >= 0 for n in numbers)
    require(plain and (proof is None or isinstance(proof.reason, str)), "'told' holds a proof of another form")
    return proof, labels


def _check(known: Known, name: str) -> None:
    """The invariants of Known, which plans rely on."""
    # Between Booleans <= reads "only if": a place is taken only if the one before it is.
    front = (known.hits[:, :, 1:] > 0) <= (known.hits[:, :, :-1] > 0)
    usual = np.take_along_axis(known.hits, known.mode[:, :, None].astype(np.int64), 2)[:, :, 0]
    require(
        # Summed in 64 bits: numbers of a broken file could overflow 32 and look right.
        (known.hits.sum(axis=2, dtype=np.int64) == known.tried).all(), f"'{name}.hits' does not sum to '{name}.tried'"
    )
    require(front.all(), f"'{name}.hits' has gaps between outcomes")
    require(((usual > 0) | (known.tried == 0)).all(), f"'{name}.mode' names outcomes that never came")
    require(known.facts[me.PAIRS] == np.count_nonzero(known.tried), f"'{name}.facts' miscounts the pairs")
    tried = known.hits > 0
    entered = known.cell_label[known.target[tried]] >= 0
    require(entered.all(), f"'{name}.cell_label' does not know cells that were entered")
    require((known.cell_label[known.started > 0] >= 0).all(), f"'{name}.cell_label' does not know a start")
    left = known.cell_label[known.tried.any(axis=1)] >= 0
    require(left.all(), f"'{name}.cell_label' does not know cells in which something was tried")


def _check_agent(scout: Scout, agent: Explorer) -> None:
    """An agent under way must be in a state that the machine can be in."""
    at, lowering = agent.at, scout.lowering
    # A surprise empties the path (END is 0) wherever the agent was on it, so AT may lie beyond END; then it is not looked at.
    require(at[me.END] <= len(agent.path), "'agent.at' is beyond the end of its path")
    # The next episode overwrites machine state and mask before they are read.
    if at[me.CLOCK] < 0:
        return
    state = int(at[me.STATE]), lowering.mask_of(agent.mask)
    require(lowering.stepper.status[state[0]] == RUNNING, "'agent.at' is in a machine state that has ended")
    require(not state[1] & ~lowering.stepper.full, "'agent.mask' has subtasks that the machine does not have")
    agenda = scout.planners.agenda
    require(agenda is None or agenda.number(state) >= 0, "'agent.mask' is no state of the agenda")


def _bytes(data: bytes) -> NDArray[Any]:
    return np.frombuffer(data, np.uint8).copy()
