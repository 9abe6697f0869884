"""Counterfactual (CRM) and coupled (lifted, grounding) transitions of a step, for other libraries' replay buffers."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Literal, NamedTuple, get_args

import gymnasium as gym
import numpy as np

from errands.errors import TaskError, UnknownName
from errands.machines import Machine
from errands.machines.counting import objectives
from errands.machines.stepping import State
from errands.machines.unfolding import Position
from errands.tables import FAILURE
from errands.tasks.product import Crossing, Observation, ProductEnv, Walker

Kind = Literal["counterfactual", "coupled"]


class ReplayTransition(NamedTuple):
    """One transition for a replay buffer; `terminated` is never a truncation."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    of: int | str
    """The machine state that it was imagined in (counterfactual), or the objective (coupled)."""


class RewardMachineReplay:
    """Turns one step of the world into the transitions that every machine state, or every open objective, learns from.

    Counterfactual transitions have the product's observations. Coupled ones are for one policy per objective: world and
    number of the objective; they end when the objective is completed, with `full_reward`.

    Parameters:
        machine: the machine that the agent trains on.
        kind: "counterfactual" (one transition for each machine state) or "coupled" (one for each objective).
        space: the observation space of the world.
        observation: how world and machine are joined, as for `errands.product`.
        reachable_only: leave out machine states that no trace reaches.
        full_reward: what completing an objective pays (coupled).

    >>> import errands, gymnasium
    >>> agenda = errands.unfold_agenda(errands.any_order("a", "b"))
    >>> replay = RewardMachineReplay(agenda, space=gymnasium.spaces.Discrete(4))
    >>> len(list(replay.transitions(0, 1, 2, {"a"})))
    3
    """

    def __init__(
        self,
        machine: Machine,
        kind: Kind = "counterfactual",
        *,
        space: gym.Space[Any],
        observation: Observation = "auto",
        reachable_only: bool = False,
        full_reward: float = 1.0,
    ) -> None:
        if kind not in get_args(Kind):
            raise UnknownName("kind of replay", str(kind), get_args(Kind))
        self.kind = kind
        self.walker = Walker(machine)
        self.reachable_only = reachable_only
        self.full_reward = full_reward
        self.objectives = objectives(self.walker.numeric)
        self.product = Crossing(space, self.walker.count, self.walker.width, observation)
        self.crossing = self.product
        if kind == "coupled":
            self.crossing = Crossing(space, len(self.objectives), len(self.objectives), observation)
        else:
            self.walker.running()

    @staticmethod
    def of(
        env: ProductEnv, kind: Kind = "counterfactual", *, reachable_only: bool | None = None
    ) -> RewardMachineReplay:
        """The replay of a product environment; where things are removed, only for states still to come."""
        only = bool(env.removed) if reachable_only is None else reachable_only
        space, observation = env.env.observation_space, env.crossing.kind
        return RewardMachineReplay(env.walker.machine, kind, space=space, observation=observation, reachable_only=only)

    def transitions(
        self,
        observation: Any,
        action: Any,
        next_observation: Any,
        features: Set[str],
        signals: Mapping[str, float] | None = None,
        terminated: bool = False,
        machine_state: int | None = None,
    ) -> list[ReplayTransition]:
        """The transitions of one step; observations and `terminated` are the world's, `machine_state` from before."""
        position = None if machine_state is None else self.walker.position(machine_state)
        if position is None and (self.kind == "coupled" or self.reachable_only):
            raise TaskError(
                f"{self.kind} transitions depend on where the machine is; pass machine_state= from before the step"
            )
        step = ReplayTransition(observation, action, 0.0, next_observation, terminated, 0)
        if self.kind == "counterfactual":
            # CRM: the same step of the world, replayed in every machine state in which the task goes on.
            imagined = self.walker.running(position if self.reachable_only else None)
            return [self._counterfactual(step, features, signals, there) for there in imagined]
        return self._coupled(step, features, signals, self.walker.agenda_state(position or self.walker.start))

    def of_step(
        self, observation: Any, action: Any, next_observation: Any, info: Mapping[str, Any]
    ) -> list[ReplayTransition]:
        """The transitions of one step of the product environment: its own observations, and its info after the step."""
        world = self.product.world_of
        told = (info[key] for key in ("features", "signals", "world_terminated", "machine_state_before"))
        return self.transitions(world(observation), action, world(next_observation), *told)

    def choices(self, observation: Any, machine_state: int) -> dict[str, Any]:
        """The observation of each objective open in a machine state, from which a coupled agent chooses."""
        state = self.walker.agenda_state(self.walker.position(machine_state))
        return {name: self._lifted(observation, name) for name in self.walker.stepper.alternatives(state)}

    def _product(self, observation: Any, position: Position) -> Any:
        return self.crossing.join(observation, self.walker.index(position), self.walker.code(position))

    def _lifted(self, observation: Any, objective: str) -> Any:
        k = self.objectives.index(objective)
        code = np.zeros(len(self.objectives), np.int8)
        code[k] = 1
        return self.crossing.join(observation, k, code)

    def _counterfactual(
        self, world: ReplayTransition, true: Set[str], signals: Mapping[str, float] | None, position: Position
    ) -> ReplayTransition:
        after, reward, terminal, _ = self.walker.step(position, true, signals)
        before, following = self._product(world.observation, position), self._product(world.next_observation, after)
        ended = terminal or world.terminated
        return ReplayTransition(before, world.action, reward, following, ended, self.walker.index(position))

    def _coupled(
        self, world: ReplayTransition, true: Set[str], signals: Mapping[str, float] | None, state: State
    ) -> list[ReplayTransition]:
        stepper = self.walker.stepper
        open_ = stepper.alternatives(state)
        step = stepper.step(state, true)
        failed = stepper.status[step.state[0]] == FAILURE
        done = () if failed else stepper.completed(state, step)
        if done:
            # What the others would have been paid for this step, had nothing been completed.
            step = stepper.step(state, set(true) - set(open_))
        paid = step.transition.reward.paid(signals) if step.transition else 0.0
        # An objective that is not completed is paid for waiting or for a failure only; a move that is not its own
        # pays it nothing.
        going_on = failed or step.state == state
        return [
            ReplayTransition(
                observation=self._lifted(world.observation, name),
                action=world.action,
                reward=self.full_reward if name in done else paid if going_on else 0.0,
                next_observation=self._lifted(world.next_observation, name),
                terminated=failed or name in done or world.terminated,
                of=name,
            )
            for name in open_
        ]
