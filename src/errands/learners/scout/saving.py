"""A Scout as arrays, and back: the finished run is the same as one that was never interrupted."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.kernels import scout_memory as me
from errands.kernels.scout_memory import Known
from errands.learners.base import Saved, pack_rng, unpack_rng
from errands.learners.scout.memory import new_agent
from errands.oracle.certificate import Claim

if TYPE_CHECKING:
    from errands.learners.scout.learner import Scout

AGENT = ("at", "mask", "path", "expect")


def save_scout(scout: Scout) -> Saved:
    """Everything that the rest of the run depends on, as arrays."""
    told = {
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
        "told": _bytes(json.dumps(told).encode()),
        "world": _bytes(scout.sampler.save()),
    }


def load_scout(scout: Scout, saved: Saved) -> None:
    """Continue where `saved` was taken."""
    told = json.loads(saved["told"].tobytes().decode())
    scout.lowering.add([frozenset(label) for label in told["labels"][len(scout.lowering.labels) :]])
    scout.known = Known(**{name: saved[f"known.{name}"].copy() for name in Known._fields})
    scout.frozen = Known(**{name: saved[f"frozen.{name}"].copy() for name in Known._fields})
    fresh = new_agent(scout.sampler.states, scout.task.world.limit, scout.lowering.words, len(scout.lowering.labels))
    scout.agent = fresh._replace(**{name: saved[f"agent.{name}"].copy() for name in AGENT})
    scout.agent.at[me.STAMP] = 0
    if scout.agent.at[me.CLOCK] >= 0:
        me.refresh(scout.lowering.machine, scout.agent)
    scout.route = saved["route"].copy()
    scout.step, scout.evaluation_steps, scout.frozen_step = (int(n) for n in saved["counters"])
    unpack_rng(scout.rng, saved["rng"])
    scout.settled = told["proof"] is not None
    scout.proof = None if told["proof"] is None else Claim(**told["proof"])
    scout.sampler.restore(saved["world"].tobytes())


def _bytes(data: bytes) -> NDArray[Any]:
    return np.frombuffer(data, np.uint8).copy()
