"""What multiagent-rl-rm asks for around one agent; imported in an environment of that library alone."""

from __future__ import annotations

from typing import Any

from multiagent_rlrm.multi_agent.action_encoder import ActionEncoder
from multiagent_rlrm.multi_agent.action_rl import ActionRL
from multiagent_rlrm.multi_agent.agent_rl import AgentRL
from multiagent_rlrm.multi_agent.base_environment import BaseEnvironment
from multiagent_rlrm.multi_agent.reward_machine import RewardMachine
from multiagent_rlrm.multi_agent.state_encoder import StateEncoder
from multiagent_rlrm.multi_agent.wrappers.rm_environment_wrapper import RMEnvironmentWrapper


class Lonely(BaseEnvironment):
    """A world of one agent; `step` of those that derive from it counts `timestep`."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        """The agent's first state."""
        self.timestep = 0
        (agent,) = self.agents
        agent.reset()
        return {agent.name: agent.get_state().copy()}, {agent.name: {}}


def with_agent(world: Lonely, place: Any, states: int, moves: int, machine: tuple[Any, Any], start: Any, algorithm: Any) -> Any:
    """The wrapped world and its agent; `place` numbers a position, `machine` is a table of transitions and a detector of events."""

    class Cells(StateEncoder):
        def encode(self, state: Any, state_rm: Any = None) -> Any:
            at, q, rm = place(state), self.encode_rm_state(state_rm), self.agent.get_reward_machine()
            return at * states + q, {"s": at, "q": rm.get_state_index(state_rm) if state_rm is not None else q}

    class Moves(ActionEncoder):
        def build_actions(self) -> None:
            for a in range(moves):
                self.agent.add_rl_action(ActionRL(str(a)))

    agent = AgentRL("a", world)
    agent.set_reward_machine(RewardMachine(*machine))
    agent.add_state_encoder(Cells(agent))
    agent.add_action_encoder(Moves(agent))
    agent.set_initial_position(*start)
    agent.set_learning_algorithm(algorithm)
    world.add_agent(agent)
    algorithm.learn_init()
    return RMEnvironmentWrapper(world, [agent]), agent
