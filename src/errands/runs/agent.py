"""Agents: a learnt policy at work in an environment of the user's own, with the machine's state in its head."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from errands.errors import TaskError
from errands.machines.numeric import NumericRM
from errands.machines.stepping import Stepper
from errands.tables import RUNNING, SUCCESS
from errands.worlds.guard import T, feature_set, guarded

if TYPE_CHECKING:
    from errands.oracle.episode import Policy
    from errands.tasks.task import Task

Info = Mapping[str, Any]


class Follower:
    """Keeps the machine's state while someone acts: what both kinds of agents share."""

    def __init__(self, machine: NumericRM, vanishing: tuple[str, ...] = ()) -> None:
        self.machine, self._stepper = machine, Stepper(machine)
        self._vanishing = frozenset(vanishing)
        self._begin(None, {})

    def _begin(self, observation: Any, info: Info) -> None:
        self.machine_state = self._stepper.start
        self.order: tuple[str, ...] = ()
        """The subtasks and Boolean objectives as they were completed."""
        self.total_reward = 0.0
        """What the machine has paid."""
        self._memory: Hashable = None
        self._observation, self._info = observation, dict(info)
        self._action: Any = None

    def reset(self, observation: Any, info: Info | None = None) -> None:
        """A new episode has begun; the machine does not consume what is true at its start."""
        self._begin(observation, info or {})

    def __repr__(self) -> str:
        following = ", ".join(self._stepper.alternatives(self.machine_state))
        how = "success" if self.success else "failure" if self.done else f"next {following}"
        return f"<{type(self).__name__}: {how}>"

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
        return tuple(name for i, name in enumerate(self.machine.subtasks) if self.machine_state[1] >> i & 1)

    def _follow(self, observation: Any, info: Info, true: set[str], signals: Mapping[str, float]) -> None:
        """One step of the machine."""
        # A thing that vanishes when its subtask is done is hidden from the machine, even if the environment reports it.
        step = self._stepper.step(self.machine_state, frozenset(true - (self._vanishing - set(self.remaining))))
        self.order += tuple(self._stepper.completed(self.machine_state, step))
        if step.transition is not None:
            self.total_reward += step.transition.reward.paid(signals)
        self.machine_state = step.state
        self._observation, self._info = observation, dict(info)


class TaskAgent(Follower):
    """Acts greedily and follows the machine: `reset`, then `act` and `see` in turn until it is `done`.

    The environment is the one that the task is about, without errands around it. Features are read as the task says,
    or from `info["features"]` where the environment reports them. `env` is needed only where the task's `features` or
    `state` function looks at the environment itself.

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
        super().__init__(task.machine, task.vanishing)
        self.task, self.policy, self.env = task, policy, env
        self._known_spaces: Any = None

    def act(self, observation: Any) -> Any:
        """The action to take in the environment."""
        from errands.worlds.spaces import doing

        self._observation = observation
        chosen, self._memory = self.policy.act(self._state(observation), self.machine_state, self._memory)
        self._action = doing(self._spaces()[1]).make(chosen)
        return self._action

    def see(self, observation: Any, info: Info | None = None) -> None:
        """What the environment answered to the last action."""
        known = dict(info or {})
        self._follow(observation, known, self._features(observation, known), self._signals(observation, known))

    def _features(self, observation: Any, info: dict[str, Any]) -> set[str]:
        if "features" in info:
            return set(info["features"])
        read = getattr(self.task.world, "features_of", None)
        if read is None:
            raise TaskError(
                f"info has no 'features', and the world '{self.task.world.kind}' reads none off observations; act in "
                "task.world.env(), which reports them"
            )
        if getattr(self.task.world, "function_of_env", False):
            self._needs_env("features")
        return self._theirs(
            lambda: feature_set(read(observation, self._observation, self._action, info, self.env)), "features function"
        )

    def _signals(self, observation: Any, info: dict[str, Any]) -> Mapping[str, float]:
        if not self.task.machine.signals:
            return {}
        read = getattr(self.task.world, "signals_of", None)
        if "features" in info or read is None:
            return dict(info.get("signals", {}))
        return self._theirs(lambda: dict(read(self._observation, self._action, observation, info)), "signals")

    def _theirs(self, call: Callable[[], T], what: str) -> T:
        """What a function of the task's author gives."""
        return guarded(call, lambda: f"the {what} of '{self.task.name}'")

    def _needs_env(self, function: str) -> None:
        if self.env is None:
            raise TaskError(f"the task's {function} function looks at the environment itself; give it to the agent: run.agent(env)")

    def _spaces(self) -> Any:
        """The environment's spaces; asked once, of an environment that is closed again."""
        if self._known_spaces is None:
            env = self.task.world.env()
            self._known_spaces = env.observation_space, env.action_space
            env.close()
        return self._known_spaces

    def _state(self, observation: Any) -> Any:
        """The observation as policies see it: the number of a state, or the observation itself."""
        world: Any = self.task.world
        if getattr(world, "numbers", None) is not None:  # states that a function of the user's numbers
            if world.state_of_env:
                self._needs_env("state")
            inner = getattr(self.env, "unwrapped", None)
            read = world.read_state
            return self._theirs(lambda: int(world.numbers.of(read(inner, observation, self._info))), "state function")
        if isinstance(observation, Mapping) and "cell" in observation and self.task.layout is not None:
            cell, cells = int(observation["cell"]), self.task.layout.cells  # Delivery's boxes and hands
            left = sum(1 << i for i, here in enumerate(observation["boxes"]) if here)
            return cell if self.task.lockstep else (2 * left + int(observation["carrying"])) * cells + cell
        space = self._spaces()[0]
        return int(observation) - int(space.start) if hasattr(space, "n") and hasattr(space, "start") else observation
