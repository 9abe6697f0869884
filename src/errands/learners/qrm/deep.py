"""QRM and CRM with networks: a head for each machine state."""

from __future__ import annotations

import numpy as np

from errands.learners.engines.deep.agent import DeepAgent, HighLevel
from errands.learners.engines.deep.agents import headed
from errands.learners.engines.deep.batch import Rule, signal_pay
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays


def by_state(machine: MachineArrays, config: DeepConfig, counterfactual: bool) -> Rule:
    """QRM and CRM: a head per machine state; only the one it is in learns, or all that can still be reached."""
    # The machine's tables are [U, L] and those of a rule [L, H]: hence the transposes in all three rules.
    table = machine.table
    reward, pay = signal_pay(machine, table.reward.T * config.reward_scale, table.signal.T)
    running = machine.running
    alive = np.eye(len(running), dtype=np.bool_)
    if counterfactual:
        # Where boxes vanish, a state in which a box still waits must not learn from a world in which it is gone.
        alive = machine.reachable if machine.task.vanishing else np.ones_like(alive)
    follow = table.next.T.astype(np.int32)
    return Rule(reward, pay, running[follow], follow, np.broadcast_to(running, follow.shape), alive & running)


def agent(learner: str, machine: MachineArrays, config: DeepConfig, spaces: Spaces) -> DeepAgent:
    """The agent: CRM teaches all heads with every row, QRM the one of the machine state that the row was taken in."""
    counterfactual = learner == "crm"
    rule = by_state(machine, config, counterfactual)
    return headed(learner, machine, config, spaces, rule, HighLevel(), single=not counterfactual)
