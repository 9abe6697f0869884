"""Edges learnt in an environment that is stepped: numbered states and actions, no tables; attempts begin in saved states."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from errands.errors import ErrandsError, TaskError
from errands.learners.base import Form, Saved, SavedArray
from errands.learners.dirl.graph import AbstractEdge, AbstractGraph
from errands.learners.dirl.settings import DiRLConfig
from errands.learners.dirl.tabular import (
    AWAY,
    ELSEWHERE,
    THERE,
    Attempts,
    Done,
    EdgeJob,
    EdgeLearner,
    Learnt,
    Rows,
    Starts,
    action_type,
    learnt_form,
)
from errands.learners.schedule import Schedule
from errands.tables import Floats
from errands.tasks.task import Task
from errands.worlds.base import numbered
from errands.worlds.gymnasium.shell import NumberedEnv
from errands.worlds.saving import Restorable, from_json, to_json

BLANK = ord(" ")
ROUND = 512
"""Rows are filled with blanks to a multiple of this, so that most have the same length."""


def recorded(env: gym.Env[Any, Any], seen: Any) -> NDArray[np.uint8]:
    """The state of an environment and what is seen in it, as JSON and blanks."""
    data = json.dumps(to_json({"seen": seen, "state": env.save()})).encode()  # type: ignore[attr-defined]
    return np.frombuffer(data.ljust(-(-len(data) // ROUND) * ROUND), np.uint8)


def put(env: gym.Env[Any, Any], row: NDArray[np.uint8]) -> Any:
    """Put an environment into a recorded state; what is seen there."""
    saved = from_json(json.loads(bytes(row)))
    env.restore(saved["state"])  # type: ignore[attr-defined]
    return saved["seen"]


def stacked(rows: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Rows of bytes as one array; shorter ones are filled with blanks."""
    width = max((row.shape[-1] for row in rows), default=0)
    padded = [np.pad(row, (0, width - len(row)), constant_values=BLANK) for row in rows]
    return np.array(padded, np.uint8).reshape(len(rows), width)


def check_restorable(task: Task) -> None:
    """Refuse a world whose environment cannot be put into a state, in a sentence."""
    env = task.world.env()
    reason = "it has no save() and restore()"
    try:
        if isinstance(env, Restorable):
            env.reset(seed=0)
            # There and back once: methods may exist and yet refuse, or give what cannot be written as JSON.
            put(env, recorded(env, 0))
            return
    except (ErrandsError, TypeError, ValueError, AttributeError) as fault:
        reason = str(fault)
    finally:
        env.close()
    raise TaskError(
        f"dirl starts attempts where earlier ones ended, and the environment of '{task.name}' cannot be put into a "
        f"state ({reason}); use learner 'qrm', 'hrm' or 'qcorm-plus'"
    )


def check_rows(env: gym.Env[Any, Any], rows: Rows) -> None:
    """Put an environment into every recorded state; raises what it raises about one that is not its own."""
    env.reset(seed=0)
    for row in rows:
        put(env, row)
    env.close()


class SteppedEdges(EdgeLearner):
    """Edge learners of a Gymnasium environment with Discrete spaces; a learnt policy is an action per observation."""

    def __init__(self, task: Task, graph: AbstractGraph, config: DiRLConfig) -> None:
        check_restorable(task)
        self.task, self.graph, self.config = task, graph, config
        self.env = numbered(task.world)
        self.inside = self._inside(self.env)
        self.numbers = self.env.numbers if isinstance(self.env, NumberedEnv) else None
        seen, done = self.env.observation_space, self.env.action_space
        if not isinstance(seen, gym.spaces.Discrete) or not isinstance(done, gym.spaces.Discrete):
            raise TaskError(
                f"tabular dirl needs Discrete spaces; '{task.name}' has {seen} and {done}: use 'qcorm-plus'"
            )
        self.first_state, self.first_action = int(seen.start), int(done.start)
        self.states, self.actions = int(seen.n), int(done.n)

    def form(self) -> Form:
        """What is saved of edges, and the states that were met where a function numbers them."""
        about = "states of the environment in which attempts ended, as JSON, end to end"
        return {
            "learnt": learnt_form(self.states, self.actions),
            "rows": SavedArray("uint8", ("rows", "width"), about),
            "numbers": SavedArray(
                "uint8", ("numbers",), "the states of a state function in the order of their numbers, as JSON"
            ),
        }

    def save(self) -> Saved:
        """The states that were met."""
        met = self.numbers.save() if self.numbers is not None else []
        return {"numbers": np.frombuffer(json.dumps(to_json(met)).encode(), np.uint8)}

    def restore(self, saved: Saved) -> None:
        """Number states as before, and see whether the environment takes the recorded ones."""
        met = from_json(json.loads(bytes(saved["numbers"])))
        if self.numbers is not None:
            self.numbers.restore(met)
        check_rows(self._inside(numbered(self.task.world)), saved["rows"])

    @staticmethod
    def _inside(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        """The environment whose state is recorded; numbers of states belong to the world and are never set back."""
        return env.shell if isinstance(env, NumberedEnv) else env

    def solve(self, job: EdgeJob) -> Done:
        """Q-learning for exactly the steps of the job, then greedy attempts."""
        rng = job.rng()
        self.env.reset(seed=int(rng.integers(2**31)))
        learnt = self._learn(job, rng)
        return Done(learnt, self._attempt(job, learnt, rng))

    def _begin(self, starts: Starts, rng: np.random.Generator) -> int:
        """Put the environment where attempts begin; the state there."""
        row = starts.drawn(rng)
        # The recorded number already counts from 0, see `_attempt`; an observation of `reset` does not.
        return int(self.env.reset()[0]) - self.first_state if row is None else int(put(self.inside, row))

    def _step(self, edge: AbstractEdge, action: int) -> tuple[int, int]:
        """One step: the state then, and whether the attempt is away, there or elsewhere."""
        observation, _, ends, truncated, info = self.env.step(action + self.first_action)
        stepper, graph = self.graph.stepper, self.graph
        # Always from the edge's source: an attempt is over as soon as the machine leaves it.
        after = stepper.step(graph.vertices[edge.source], info["features"]).state
        vertex = graph.number.get(after, -1)
        fate = THERE if vertex == edge.target else AWAY if vertex == edge.source else ELSEWHERE
        # After its end an environment cannot go on, so that only the end of the whole task is a success.
        over = ends or truncated
        if over and not (fate == THERE and graph.final(edge.target)):
            fate = ELSEWHERE
        return int(observation) - self.first_state, fate

    def _learn(self, job: EdgeJob, rng: np.random.Generator) -> Learnt:
        config = self.config
        q: Floats = np.full((self.states, self.actions), config.q_init)
        s, time, epsilon = self._begin(job.starts, rng), 0, Schedule.of(config.epsilon)
        for step in range(job.training):
            if rng.random() < epsilon.at(step):
                a = int(rng.integers(self.actions))
            else:
                # Ties are broken by chance: at first all values are equal.
                a = int(rng.choice(np.flatnonzero(q[s] == q[s].max())))
            there, fate = self._step(job.edge, a)
            time += 1
            # A time limit is a truncation: its value is still that of what would have followed.
            target = float(fate == THERE) if fate != AWAY else config.gamma * q[there].max()
            q[s, a] += config.alpha * (target - q[s, a])
            if fate != AWAY or time >= config.edge_limit:
                s, time = self._begin(job.starts, rng), 0
            else:
                s = there
        learnt: Learnt = q.argmax(axis=1).astype(action_type(self.actions))
        return learnt

    def _attempt(self, job: EdgeJob, learnt: Learnt, rng: np.random.Generator) -> Attempts:
        ends: list[NDArray[np.uint8]] = []
        steps = 0
        for attempt in range(job.rollouts):
            s, fate, time = self._begin(job.starts, rng), AWAY, 0
            while fate == AWAY and time < self.config.edge_limit:
                # An attempt that is cut short counts for nothing, but its steps were taken and are counted.
                if steps == job.most:
                    return Attempts(attempt, steps, stacked(ends))
                s, fate = self._step(job.edge, int(learnt[s]))
                time, steps = time + 1, steps + 1
            if fate == THERE:
                # The state of the environment, and with it the number that the learnt table is indexed by.
                ends.append(recorded(self.inside, s))
        return Attempts(job.rollouts, steps, stacked(ends))
