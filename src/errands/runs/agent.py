"""An agent: a learnt policy at work in an environment of the user's own, with the machine's state in its head."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from errands.errors import TaskError
from errands.machines.stepping import Stepper
from errands.oracle.episode import Policy
from errands.tables import RUNNING, SUCCESS
from errands.tasks.task import Task

Info = Mapping[str, Any]


class Agent:
    """Acts greedily and follows the machine: `reset`, then `act` and `see` in turn until it is `done`.

    The environment is the one that the task is about, without errands around it. Features are read as the task says,
    or from `info["features"]` where the environment reports them. `env` is needed only where the task's `state`
    function looks at the environment itself.

    >>> import errands
    >>> task = errands.load("figure-1")
    >>> agent, env = errands.train(task, "qcorm", steps=5_000).agent(), task.world.env()
    >>> observation, info = env.reset(seed=0)
    >>> agent.reset(observation, info)
    >>> while not agent.done:
    ...     observation, _, terminated, truncated, info = env.step(agent.act(observation))
    ...     agent.see(observation, info)
    >>> agent.success, agent.order
    (True, ('b2', 's', 'b1', 's'))
    """

    def __init__(self, task: Task, policy: Policy, env: Any = None) -> None:
        self.task, self.policy, self.env = task, policy, env
        self._stepper = Stepper(task.machine)
        self._spaces: Any = None
        self.reset(None)

    def reset(self, observation: Any, info: Info | None = None) -> None:
        """A new episode has begun; the machine does not consume what is true at its start."""
        self.machine_state = self._stepper.start
        self.order: tuple[str, ...] = ()
        """The subtasks and Boolean objectives as they were completed."""
        self.total_reward = 0.0
        self._memory: Hashable = None
        self._observation, self._info, self._action = observation, dict(info or {}), None

    @property
    def done(self) -> bool:
        """Whether the machine has ended, in success or failure; an environment may end before."""
        return self._stepper.status[self.machine_state[0]] != RUNNING

    @property
    def success(self) -> bool:
        """Whether the task is done."""
        return self._stepper.status[self.machine_state[0]] == SUCCESS

    @property
    def remaining(self) -> tuple[str, ...]:
        """The subtasks that are still to be done."""
        names = self.task.machine.subtasks
        return tuple(name for i, name in enumerate(names) if self.machine_state[1] >> i & 1)

    def act(self, observation: Any) -> Any:
        """The action to take in the environment."""
        self._observation = observation
        chosen, self._memory = self.policy.act(self._state(observation), self.machine_state, self._memory)
        self._action = self._outward(chosen)
        return self._action

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action."""
        known = dict(info or {})
        true = self._features(observation, known)
        gone = set(self.task.vanishing) - set(self.remaining)
        step = self._stepper.step(self.machine_state, frozenset(true - gone))
        self.order += tuple(self._stepper.completed(self.machine_state, step))
        if step.transition is not None:
            self.total_reward += step.transition.reward.paid(self._signals(observation, known))
        self.machine_state = step.state
        self._observation, self._info = observation, known

    def _features(self, observation: Any, info: dict[str, Any]) -> set[str]:
        if "features" in info:
            return set(info["features"])
        read = getattr(self.task.world, "features_of", None)
        if read is None:
            raise TaskError(
                f"info has no 'features', and the world '{self.task.world.kind}' reads none off observations; act in "
                "task.world.env(), which reports them"
            )
        return set(read(observation, self._observation, self._action, info))

    def _signals(self, observation: Any, info: dict[str, Any]) -> Mapping[str, float]:
        if not self.task.machine.signals:
            return {}
        read = getattr(self.task.world, "signals_of", None)
        if "signals" in info or read is None:
            return dict(info.get("signals", {}))
        return dict(read(self._observation, self._action, observation, info))

    def _space(self) -> Any:
        """The environment's spaces; asked once, of an environment that is closed again."""
        if self._spaces is None:
            env = self.task.world.env()
            self._spaces = env.observation_space, env.action_space
            env.close()
        return self._spaces

    def _state(self, observation: Any) -> Any:
        """The observation as policies see it: the number of a state, or the observation itself."""
        world: Any = self.task.world
        if getattr(world, "numbers", None) is not None:  # states that a function of the user's numbers
            return int(world.numbers.of(world.read_state(getattr(self.env, "unwrapped", None), observation, self._info)))
        if isinstance(observation, Mapping) and "cell" in observation:  # Delivery's boxes and hands
            return self._delivered(observation)
        space = self._space()[0]
        return int(observation) - int(space.start) if hasattr(space, "start") and hasattr(space, "n") else observation

    def _delivered(self, observation: Mapping[str, Any]) -> int:
        cell = int(observation["cell"])
        if self.task.lockstep or self.task.layout is None:
            return cell
        left = sum(1 << i for i, here in enumerate(observation["boxes"]) if here)
        return (2 * left + int(observation["carrying"])) * self.task.layout.cells + cell

    def _outward(self, action: Any) -> Any:
        """The environment's action: policies count from 0, and give numbers between -1 and 1 for bounded Boxes."""
        from errands.worlds.spaces import doing

        return doing(self._space()[1]).make(action)
