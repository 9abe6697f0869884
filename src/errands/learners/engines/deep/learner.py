"""Deep methods as Learners: one seed alone, or a member of a team whose seeds train side by side in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from errands.errors import ConfigError
from errands.learners.base import MAX_COUNT, Form, Learner, Saved, SavedArray, Stopwatch, checked
from errands.learners.diary import Diary
from errands.learners.engines.deep.agent import ActingAgent, AgentState, decide, decide_many
from errands.learners.engines.deep.config import EngineConfig
from errands.learners.engines.deep.machine import Kind
from errands.learners.engines.deep.saving import join, named, seed_form, split
from errands.learners.engines.deep.team import Team, team_of
from errands.learners.qcorm.deep import BanditMemory
from errands.machines.counting import Quotient
from errands.machines.stepping import State
from errands.machines.unfolding import BooleanRM
from errands.oracle.episode import LANES, play_many, sampled
from errands.policies.program import write_program
from errands.policies.tables import Exported, MachineStates
from errands.tables import Evaluation
from errands.tasks.task import Task


@lru_cache(maxsize=1)
def _programs() -> list[str]:
    """Grows by an entry whenever JAX compiles something in this process."""
    compiled: list[str] = []

    # One listener for the whole process (by the cache): all stopwatches read the same count.
    def on_compile(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(on_compile)
    return compiled


def wall_stopwatch() -> Stopwatch:
    """A clock on the wall, since a device works while this thread waits; it notices what is compiled."""
    return Stopwatch(time.perf_counter, lambda: len(_programs()))


EVALUATION_STEPS = SavedArray("int64", (), "environment steps that evaluations took", low=0, high=MAX_COUNT)


@dataclass(frozen=True, eq=False)
class DeepPolicy:
    """What a seed has learnt, frozen; `act` takes an observation, or the number of a cell, and the machine state."""

    agent: ActingAgent = field(repr=False)
    agent_state: AgentState = field(repr=False)
    see: Callable[[Any], Any] | None = field(default=None, repr=False)
    """How an observation of the environment becomes a row; None where it is one already."""

    def act(self, world_state: Any, machine_state: State, memory: Hashable) -> tuple[Any, Hashable]:
        """The greedy action (a number, or an array in [-1, 1]) and the memory to hand back at the next step."""
        place = self._place(machine_state, memory)
        action, head = decide(self.agent, self.agent_state, self._observation(world_state), *map(np.int32, place[:3]))
        return self._answer(np.asarray(action), int(head), world_state, machine_state, place)

    def act_many(
        self, world_states: Sequence[Any], machine_states: Sequence[State], memories: Sequence[Hashable]
    ) -> list[tuple[Any, Hashable]]:
        """What `act` answers in each of these situations, by one pass through the network."""
        places = [self._place(*both) for both in zip(machine_states, memories, strict=True)]
        rows, numbers = [self._observation(each) for each in world_states], np.array([place[:3] for place in places], np.int32)
        # Always so many rows: else every count of episodes still under way would be compiled anew.
        spare = max(LANES, len(rows)) - len(rows)
        padded = np.pad(np.stack(rows), ((0, spare), (0, 0))), *np.pad(numbers, ((0, spare), (0, 0))).T
        chosen = (np.asarray(part)[: len(rows)] for part in decide_many(self.agent, self.agent_state, *padded))
        return list(map(self._answer, *chosen, world_states, machine_states, places))

    def _place(self, state: State, memory: Hashable) -> tuple[int, int, int, Any]:
        """The number of a machine state, the head in hand and for how many steps there, and what the next number asks for."""
        # Anything else than a tuple is the start of an episode, so nothing is carried over a reset.
        before, inner, held, since = memory if isinstance(memory, tuple) else (None, None, 0, 0)
        number, inner = self.states.locate(state, inner)
        # The same count as in the loops that evaluate: steps for which the head has acted in this machine state.
        return number or 0, held, 0 if before is not None and before != state else since, inner

    def _answer(
        self, action: NDArray[Any], head: int, world_state: Any, state: State, place: tuple[int, int, int, Any]
    ) -> tuple[Any, Hashable]:
        _, held, since, inner = place
        discrete = isinstance(world_state, int) or self.agent.low.discrete
        return (int(action[0]) if discrete else action), (state, inner, int(head), (since if head == held else 0) + 1)

    def _observation(self, world_state: Any) -> NDArray[np.float32]:
        size = self.agent.shape.observation
        if isinstance(world_state, int | np.integer):
            row: Any = np.arange(size) == int(world_state)
        else:
            row = world_state if self.see is None else self.see(world_state)
        return np.array(row, np.float32).reshape(size)

    @cached_property
    def states(self) -> MachineStates:
        """The numbers of the machine's states."""
        rm = self.agent.machine.rm
        return MachineStates(dict(rm.index), rm.stepper.full, isinstance(rm, BooleanRM))

    def exported(self) -> Exported:
        """What a policy file holds of it: the program of `decide`, with the weights as constants."""
        zero = jnp.int32(0)
        program, arrays = write_program(
            jax.make_jaxpr(lambda *inputs: decide(self.agent, self.agent_state, *inputs))(
                jnp.zeros(self.agent.shape.observation, jnp.float32), zero, zero, zero
            )
        )
        return {"kind": "network", **self.states.exported(), "program": program}, arrays


def policy_of(team: Team, index: int) -> DeepPolicy:
    """The policy of one seed of a team, copied so that later training does not change it."""
    # A copy is needed: training donates these arrays, after which they cannot be read any more.
    return DeepPolicy(team.agent, jax.tree.map(lambda leaf: jnp.array(leaf[index]), team.agent_states), team.see)


class DeepLearner(Learner):
    """One seed; `learner` is qrm, crm, hrm, qcorm, qcorm-0 or qcorm-plus. Without `team` it is a team of its own."""

    config: EngineConfig

    def __init__(
        self,
        task: Task,
        config: EngineConfig,
        seed: int,
        learner: str,
        machine: Kind = "agenda",
        team: Team | None = None,
        index: int = 0,
    ) -> None:
        super().__init__(task, config, seed)
        self.stopwatch = wall_stopwatch()
        self.learner = learner
        self.team = team or team_of(task, learner, config, (seed,), machine)
        self.index = index
        """Where the seed stands in its team."""

    def advance(self, count: int) -> None:
        """Take `count` training steps."""
        # Seeds of a team share arrays and step together; advancing one would advance all behind their backs.
        self._alone("trained")
        self.team.advance(count)
        self.step = self.team.step

    def _alone(self, what: str) -> None:
        if len(self.team.seeds) > 1:
            raise ConfigError(f"seed {self.seed} is a member of a team and is {what} with it; ask the DeepTeam")

    def measure(self) -> Evaluation:
        """The evaluation that a run reports: one greedy episode where that says everything, else means of several."""
        return self.team.measure()[self.index]

    def evaluate(self) -> Evaluation:
        """One greedy episode from the start; a team's members are evaluated together."""
        return self.team.evaluate()[self.index]

    def average(self, episodes: int, first: int = 0) -> Evaluation:
        """The means of several greedy episodes, played side by side in environments of their own."""
        if self.task.finite is not None:
            return super().average(episodes, first)
        begin = (self.seed * 1_000_003 + self.step) % 2**31 + first
        played = play_many(self.policy, self.task, range(begin, begin + episodes))
        return sampled(lambda number: played[number], episodes).evaluation(self.step)

    @property
    def policy(self) -> DeepPolicy:
        """The greedy policy learnt so far."""
        return policy_of(self.team, self.index)

    @property
    def diaries(self) -> Sequence[Diary]:
        """What training met, by environment of this seed."""
        known = self.team.diaries
        each = len(known) // len(self.team.seeds)
        return known[self.index * each : (self.index + 1) * each]

    @property
    def order(self) -> tuple[str, ...]:
        """The objectives in the order in which the greedy policy completes them."""
        # Orders are by-products of an evaluation.
        self.team.evaluate()
        return self.team.orders[self.index]

    @property
    def steps_to_go(self) -> Mapping[str, float]:
        """The learnt steps to go by label, where the method keeps them."""
        memory = self.team.agent_states.high
        if not isinstance(memory, BanditMemory):
            return {}
        quotient, machine = Quotient(self.task.machine), self.team.agent.machine
        eta = np.asarray(memory.eta)[self.index]
        return {
            str(quotient.label((int(machine.numeric[i]), int(machine.masks[i])), machine.objectives[k])): float(
                eta[i, k]
            )
            for i, k in np.argwhere(np.isfinite(eta) & machine.open)
        }

    @property
    def checkpoint_bytes(self) -> int:
        """The most bytes that a checkpoint takes, however long the run."""
        # Arrays of a team have one part per seed; what is shared (the step) is too small to count.
        return self.team.checkpoint_bytes // len(self.team.seeds)

    def save(self, copy: bool = True) -> Saved:
        """Everything that the rest of the run depends on: weights, moments, buffers, world, random state."""
        return self._with_counts(split(self.team.save())[self.index])

    def acting(self) -> Saved:
        """What acting needs of `save`: neither the buffer nor anything of the other seeds travels for it."""
        form, own = self.team.form(), slice(self.index, self.index + 1)
        return {name: np.asarray(leaf[own]) for name, leaf in named(self.team.state) if form[name].acting}

    def _with_counts(self, saved: Saved) -> Saved:
        return {**saved, "evaluation_steps": np.array(self.evaluation_steps, np.int64)}

    def form(self) -> Form:
        """What every array of `save` is."""
        return {**seed_form(self.team.form()), "evaluation_steps": EVALUATION_STEPS}

    def restore(self, saved: Saved) -> None:
        """Continue where `saved` was taken; a StoreError where it has another form."""
        self._alone("restored")
        checked(saved, self.form())
        self.team.restore({name: array for name, array in saved.items() if name != "evaluation_steps"})
        self._take_counts(saved)

    def _take_counts(self, saved: Saved) -> None:
        self.evaluation_steps = int(saved["evaluation_steps"])
        self.step = self.team.step


class DeepTeam:
    """Seeds of one method that train side by side, vmapped in one process: each member is a Learner with its own checkpoint.

    Trained again with the same seeds a team repeats itself to the byte on the CPU, resumed or not; a seed trained alone,
    or among others, sums in another order and differs in the last bits.
    """

    def __init__(
        self, task: Task, config: EngineConfig, seeds: Sequence[int], learner: str, machine: Kind = "agenda"
    ) -> None:
        self.config = config
        self.stopwatch = wall_stopwatch()
        self.team = team_of(task, learner, config, tuple(seeds), machine)
        self.members = tuple(
            DeepLearner(task, config, seed, learner, machine, self.team, index) for index, seed in enumerate(seeds)
        )

    @property
    def step(self) -> int:
        """Training steps of each seed so far."""
        return self.team.step

    def advance(self, count: int) -> None:
        """Take `count` training steps with every seed."""
        self.team.advance(count)
        for member in self.members:
            member.step = self.team.step

    def evaluate(self) -> list[Evaluation]:
        """One greedy episode of every seed."""
        return self.team.evaluate()

    def measure(self) -> list[Evaluation]:
        """What a run reports of every seed."""
        return self.team.measure()

    def train(self, steps: int) -> Iterator[list[Evaluation]]:
        """Train until every seed took `steps` steps; evaluations of all of them every `eval_every` steps and at the last."""
        every = self.config.eval_every
        while self.step < steps:
            began = self.stopwatch.start(self.step)
            self.advance(min((self.step // every + 1) * every, steps) - self.step)
            self.stopwatch.stop(self.step, began)
            evaluations = self.measure()
            for member, evaluation in zip(self.members, evaluations, strict=True):
                member.evaluation_steps += evaluation.steps_taken
            yield evaluations

    def save(self) -> list[Saved]:
        """What each member's `save` gives, with one transfer from the device for all."""
        parts = split(self.team.save())
        return [member._with_counts(part) for member, part in zip(self.members, parts, strict=True)]

    def restore(self, parts: Sequence[Saved]) -> None:
        """Continue where the members' checkpoints were taken, all at the same step."""
        # Every part is checked before any is used: a team is restored as a whole or not at all.
        for member, part in zip(self.members, parts, strict=True):
            checked(part, member.form())
        arrays = [{name: array for name, array in part.items() if name != "evaluation_steps"} for part in parts]
        self.team.restore(join(arrays))
        for member, part in zip(self.members, parts, strict=True):
            member._take_counts(part)
