"""Skills as a learner: what it has learnt at work on a task, its checkpoints, and what it carries over to another task."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError
from errands.learners.base import MAX_COUNT, Carried, Form, Learner, Saved, SavedArray, checked
from errands.learners.engines.deep.learner import EVALUATION_STEPS, wall_stopwatch
from errands.learners.engines.deep.network import Layers
from errands.learners.engines.deep.saving import FINITE, MAX_STEPS, named
from errands.learners.engines.deep.team import chosen_device
from errands.learners.skills.errand import Aim, Errand
from errands.learners.skills.imagination import ROUNDS, Way, imagine
from errands.learners.skills.network import ROLES, RoleValues, action_values
from errands.learners.skills.settings import SkillsConfig
from errands.learners.skills.training import SkillsState, advance, begin, practice_of
from errands.machines.stepping import State
from errands.machines.unfolding import unfold_agenda
from errands.oracle.episode import play
from errands.policies.program import write_program
from errands.policies.tables import Exported, MachineStates
from errands.tables import RUNNING, Evaluation
from errands.tasks.task import Task
from errands.worlds.base import World
from errands.worlds.families import MapFamily

MAX_EXPORTED = 4_096
"""Machine states of a policy file."""
LEAST = 1e-4
"""Values below this are noise: so far away all is alike."""


def family_of(world: World, name: str) -> MapFamily:
    """The family of a world; a TaskError where it has none."""
    if (family := world.family) is None:
        raise TaskError(
            f"learner 'skills' needs a world that comes in many maps, and that of '{name}' has one; use water, zones or letters"
        )
    return family


@dataclass(frozen=True, eq=False)
class SkillsPolicy:
    """What was learnt, frozen, at work on one task."""

    net: RoleValues = field(repr=False)
    layers: Layers = field(repr=False)
    family: MapFamily = field(repr=False)
    errand: Errand = field(repr=False)
    task: Task = field(repr=False)
    config: SkillsConfig = field(repr=False)
    _legs: OrderedDict[bytes, NDArray[np.float64]] = field(default_factory=OrderedDict, repr=False)

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[int, Hashable]:
        """The greedy action, and what is aimed at as long as the machine's state stays."""
        return self.act_many([world_state], [machine_state], [memory])[0]

    def act_many(
        self, world_states: Sequence[Any], machine_states: Sequence[State], memories: Sequence[Hashable]
    ) -> list[tuple[int, Hashable]]:
        """What `act` answers in each of these situations, by one pass through the network."""
        rows = np.stack([np.asarray(self.family.row(seen), np.float32) for seen in world_states])
        return self.act_rows(rows, machine_states, memories, [self] * len(rows))

    def act_rows(
        self,
        rows: NDArray[np.float32],
        states: Sequence[State],
        memories: Sequence[Hashable],
        policies: Sequence[SkillsPolicy],
    ) -> list[tuple[int, Hashable]]:
        """The same for rows of several policies of one seed, each on a map of its own."""
        aims = [
            memory[1] if isinstance(memory, tuple) and memory[0] == state else policy.aim(row, state)
            for row, state, memory, policy in zip(rows, states, memories, policies, strict=True)
        ]
        if self.config.imagined:
            plans = self._plans(rows, states, aims, memories)
            return [(plan[0], (state, aim, plan[1:])) for plan, state, aim in zip(plans, states, aims, strict=True)]
        values = self._values(rows, [[aim] for aim in aims])[:, 0]
        return [(int(best), (state, aim)) for best, state, aim in zip(values.argmax(axis=-1), states, aims, strict=True)]

    def _plans(
        self, rows: NDArray[np.float32], states: Sequence[State], aims: Sequence[Aim], memories: Sequence[Hashable]
    ) -> list[tuple[int, ...]]:
        """The actions that are meant next, imagined anew where the machine's state is new or none are left."""
        plans = [memory[2] if isinstance(memory, tuple) else () for memory in memories]
        kept = [isinstance(memory, tuple) and memory[0] == state for memory, state in zip(memories, states, strict=True)]
        new = [i for i, plan in enumerate(plans) if not (kept[i] and plan)]
        if new:
            picks, roles = self._asked([[aims[i]] for i in new])
            held = np.zeros((len(picks), self.config.cut), np.int32)
            for row, i in zip(held, new, strict=False):
                row[: len(plans[i])] = plans[i]
            lengths = np.zeros(len(picks), np.int32)
            lengths[: len(new)] = [len(plans[i]) for i in new]
            seen = jax.vmap(self.family.state)(np.pad(rows[new], ((0, len(picks) - len(new)), (0, 0)), mode="edge"))
            count = max(2, self.config.imagined // ROUNDS)
            known = Way(jnp.asarray(held), jnp.asarray(lengths))
            ways = imagine(self.family.world, self.net, count, self.layers, seen, roles[:, 0], picks[:, 0], known)
            for i, actions, length in zip(new, np.asarray(ways.actions), np.asarray(ways.length), strict=False):
                plans[i] = tuple(actions[: max(int(length), 1)].tolist())
        return plans

    def aim(self, row: NDArray[np.float32], state: State) -> Aim:
        """What to go for in a state of the machine: all that it asks for, or the next three of a planned order."""
        errand = self.errand
        if (aim := errand.direct(state, self.config.most)) is not None:
            return aim
        avoid, names = errand.avoided(state), errand.wanted(state)
        first, between = self.costs(row, names, avoid)
        order = errand.planned(state, names, first, between)
        parts = [(k,) for k in order[:3]] + [()] * 2
        return Aim(parts[0], parts[1], parts[2], avoid)

    def costs(self, row: NDArray[np.float32], names: Sequence[int], avoid: tuple[int, ...]) -> tuple[Any, Any]:
        """The learnt steps to each of these features, and from each to each."""
        count, beside = len(names), self.family.beside
        alone = [Aim((k,), avoid=_without(avoid, k)) for k in names]
        if beside is None:
            # From here: to one and on to another, less the way to the one.
            pairs = [Aim((i,), (j,), avoid=_without(avoid, i, j)) for i in names for j in names]
            steps: NDArray[np.float64] = self.steps(row[None], [alone + pairs])[0]
            first = steps[:count]
            return first, np.maximum(steps[count:].reshape(count, count) - first[:, None], 1.0)
        first = self.steps(row[None], [alone])[0]
        # What stands still has the same legs wherever one is: those of all features are asked for once.
        key, every = np.round(beside(row, 0), 3).tobytes() + repr(avoid).encode(), self.errand.numbers
        if key not in self._legs:
            each = [Aim((k,), avoid=_without(avoid, k)) for k in every]
            self._legs[key] = self.steps(np.stack([beside(row, k) for k in every]), [each] * len(every))
            while len(self._legs) > 64:
                self._legs.popitem(last=False)
        index = [every.index(k) for k in names]
        return first, self._legs[key][np.ix_(index, index)]

    def steps(self, rows: NDArray[np.float32], aims: Sequence[Sequence[Aim]]) -> NDArray[np.float64]:
        """The learnt steps to the end of some errands, [rows, errands]."""
        values = self._values(rows, aims).max(axis=-1)
        logs: NDArray[np.float64] = np.log(np.clip(values, LEAST, 1.0).astype(np.float64))
        return 1 + logs / math.log(self.config.gamma)

    def _asked(self, aims: Sequence[Sequence[Aim]]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Errands as arrays [rows, errands, slots]: the numbers of features, and their roles."""
        # Sizes are powers of two, so that few are compiled.
        slots = _even(max(sum(map(len, aim)) for own in aims for aim in own))
        shape = _even(len(aims)), _even(max(map(len, aims))), slots
        picks, roles = np.zeros(shape, np.int32), np.zeros((*shape, len(ROLES)), np.bool_)
        for i, own in enumerate(aims):
            for j, aim in enumerate(own):
                slot = 0
                for role, part in enumerate(aim):
                    for k in part:
                        picks[i, j, slot], roles[i, j, slot, role] = k, True
                        slot += 1
        return picks, roles

    def _values(self, rows: NDArray[np.float32], aims: Sequence[Sequence[Aim]]) -> NDArray[np.float32]:
        """The values of the actions, [rows, errands, actions]."""
        picks, roles = self._asked(aims)
        padded = np.pad(rows, ((0, len(picks) - len(rows)), (0, 0)))
        return np.asarray(action_values(self.net, self.layers, padded, roles, picks))[: len(rows), : len(aims[0])]

    def exported(self) -> Exported:
        """What a policy file holds of it: the network as a program, with a row of roles for each machine state."""
        if self.config.imagined:
            raise TaskError(
                f"skills act in '{self.task.name}' by episodes that they imagine, which policy files cannot; "
                "train with imagined=0, or keep the run folder instead"
            )
        states = unfold_agenda(self.task.machine, MAX_EXPORTED).states
        roles = np.zeros((len(states), len(self.errand.names), len(ROLES)), np.bool_)
        for row, state in zip(roles, states, strict=True):
            if self.errand.status(state) == RUNNING:
                if (aim := self.errand.direct(state, self.config.most)) is None:
                    raise TaskError(
                        f"'{self.task.name}' needs an order that is planned, which policy files cannot; keep the run folder instead"
                    )
                for role, part in enumerate(aim):
                    row[list(part), role] = True
        # A world with tables shows the number of its state, which files hand over as a one-hot row.
        count = 0 if self.task.finite is None else self.task.finite.states
        rows = jnp.asarray(np.array([self.family.row(cell) for cell in range(count)], np.float32))

        def decide(seen: Any, state: Any, held: Any, since: Any) -> tuple[Any, Any]:
            scene = self.net.scene((seen @ rows if count else seen)[None])
            values = self.net.values(self.layers, scene, jnp.asarray(roles)[state][None, None])
            return jnp.argmax(values[0, 0]).astype(jnp.float32)[None], held

        zero = jnp.int32(0)
        seen = jnp.zeros(count or self.family.world.inputs, jnp.float32)
        program, arrays = write_program(jax.make_jaxpr(decide)(seen, zero, zero, zero))
        index = {state: i for i, state in enumerate(states)}
        numbers = MachineStates(index, self.errand.stepper.full, ordered=False)
        return {"kind": "network", **numbers.exported(), "program": program}, arrays


def _without(avoid: tuple[int, ...], *wanted: int) -> tuple[int, ...]:
    return tuple(k for k in avoid if k not in wanted)


def _even(count: int) -> int:
    return 1 << max(count - 1, 0).bit_length()


class SkillsLearner(Learner):
    """One seed of Skills."""

    config: SkillsConfig

    def __init__(self, task: Task, config: SkillsConfig, seed: int) -> None:
        super().__init__(task, config, seed)
        self.stopwatch = wall_stopwatch()
        self.family, self.errand = family_of(task.world, task.name), Errand(task)
        self.practice = practice_of(self.family.world, RoleValues.of(self.family, config), config)
        with jax.default_device(chosen_device(config.platform)):
            self.state: SkillsState = begin(self.practice, jax.random.PRNGKey(seed))

    def advance(self, count: int) -> None:
        """Take `count` training steps."""
        self.state = advance(self.practice, self.state, jnp.int32(count // self.config.step_multiple))
        self.step = int(self.state.step)

    def evaluate(self) -> Evaluation:
        """One greedy episode on the task's own map."""
        length, total, success = play(self.policy, self.task, 0)
        return Evaluation(self.step, length, round(total, 6), success)

    @property
    def policy(self) -> SkillsPolicy:
        """The greedy policy learnt so far."""
        # A copy is needed: training donates these arrays, after which they cannot be read any more.
        layers = jax.tree.map(jnp.array, self.state.trained.target)
        return SkillsPolicy(self.practice.net, layers, self.family, self.errand, self.task, self.config)

    def fits(self, world: World) -> bool:
        """Whether a world is of the family that was trained in, on whatever map, with whatever number of things."""
        family = world.family if world.kind == self.task.world.kind else None
        return family is not None and RoleValues.of(family, self.config).seen == self.practice.net.seen

    def carry(self, task: Task, config: Any, seed: int) -> Carried:
        """A learner of another errand, on whatever map of the family, with the same network."""
        new = SkillsLearner(task, config, seed)
        new.state = new.state._replace(trained=jax.tree.map(jnp.array, self.state.trained))
        start = new.errand.stepper.start
        if not new.errand.wanted(start):
            raise TaskError(f"no single feature leads on in '{task.name}', and skills know no other ways; train pqn or crm for it")
        how = "at once" if new.errand.direct(start, self.config.most) else "in an order that is planned by them"
        return Carried(new, f"its steps to go to {len(new.errand.numbers)} features, {how}")

    def save(self, copy: bool = True) -> Saved:
        """Everything that the rest of the run depends on."""
        saved = {name: np.asarray(leaf) for name, leaf in named(self.state)}
        return {**saved, "evaluation_steps": np.array(self.evaluation_steps, np.int64)}

    def form(self) -> Form:
        """What every array of `save` is."""
        parts = {name: self._form(name, leaf) for name, leaf in named(self.state)}
        return {**parts, "evaluation_steps": EVALUATION_STEPS}

    def _form(self, name: str, leaf: Any) -> SavedArray:
        low, high = self._bounds(name, leaf)
        about = f"the steps taken, {name}" if name == "step" else f"numbers of {name}"
        return SavedArray(leaf.dtype.name, leaf.shape, about, low, high, acting=name.startswith("trained.target"))

    def _bounds(self, name: str, leaf: Any) -> tuple[Any, Any]:
        if leaf.dtype == bool or name == "key":
            return None, None
        if np.issubdtype(leaf.dtype, np.floating):
            return 0.0 if ".square." in name else -FINITE, FINITE
        known = {"step": MAX_STEPS, "lanes.age": self.config.cut + self.config.rollout,
                 "lanes.errands.picks": len(self.task.world.features) - 1}  # fmt: skip
        return 0, known.get(name, self.family.largest if name.startswith("lanes.worlds") else MAX_COUNT)

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken."""
        checked(saved, self.form())
        leaves = [saved[name] for name, _ in named(self.state)]
        with jax.default_device(chosen_device(self.config.platform)):
            self.state = jax.tree.unflatten(jax.tree.structure(self.state), [jnp.asarray(x) for x in leaves])
        self.step, self.evaluation_steps = int(self.state.step), int(saved["evaluation_steps"])
