"""From a learner's name to its agent: which heads there are, who picks them, and how rows are expanded."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners.deep.agent import DeepAgent, Expansion, HighLevel, NoHighLevel, ValueLearner
from errands.learners.deep.bandit import Bandit
from errands.learners.deep.batch import (
    OverHeads,
    RowShape,
    Rule,
    by_objective,
    by_option,
    by_state,
    options_of,
    rule_arrays,
)
from errands.learners.deep.config import CONFIGS, DeepConfig, DeepHRMConfig, DeepPlusConfig, DeepQCoRMConfig
from errands.learners.deep.contexts import OverContexts
from errands.learners.deep.controller import Controller
from errands.learners.deep.ddqn import DDQN
from errands.learners.deep.factored import FactoredDDQN, FactoredTD3
from errands.learners.deep.host_envs import Spaces
from errands.learners.deep.machine import MachineArrays
from errands.learners.deep.standardised import Standardised
from errands.learners.deep.td3 import TD3

# Heads are columns of the last layer; with three hidden layers of 512 this is a matrix of a hundred million numbers.
MOST_OUTPUTS = 200_000


# Agents are static arguments of compiled functions and compare by identity (so do MachineArrays, cached as well): a
# second agent with equal settings would compile everything again.
@lru_cache(maxsize=16)
def agent_of(learner: str, machine: MachineArrays, config: DeepConfig, spaces: Spaces) -> DeepAgent:
    """The agent of a learner on a machine; asked again it is the same one, so that nothing is compiled twice."""
    if learner not in CONFIGS:
        raise UnknownName("deep learner", learner, CONFIGS)
    if not isinstance(config, CONFIGS[learner]):
        raise ConfigError(f"'{learner}' takes a {CONFIGS[learner].__name__}, not a {type(config).__name__}")
    if config.network == "conv" and (spaces.image is None or spaces.continuous):
        what = "actions are choices" if spaces.image else "observations have height, width and channels"
        raise ConfigError(f"network = 'conv' is for worlds whose {what}; leave it out here")
    # A discrete action is stored as one number, not as one-hot.
    shape = RowShape(spaces.observation, spaces.actions if spaces.continuous else 1, spaces.signals)
    if isinstance(config, DeepPlusConfig):
        return _plus(machine, config, spaces, shape)
    rule, high = _parts(learner, machine, config, spaces)
    if rule.heads * spaces.actions > MOST_OUTPUTS:
        raise TaskError(
            f"'{learner}' would need {rule.heads:,} heads of {spaces.actions} outputs; "
            "use 'qcorm-plus', whose network does not grow"
        )
    sizes = (spaces.observation, rule.heads, spaces.actions, config)
    low: ValueLearner = TD3.of(*sizes) if spaces.continuous else DDQN.of(*sizes, spaces.image)
    # QRM teaches one head per row, so expanding over all of them would be wasted work.
    stretch: dict[str, Any] = {"steps": config.n_steps, "count": config.batch, "gamma": config.gamma}
    if high.extra and (config.n_steps > 1 or config.bound_values):
        # Completions are paid for at the end of the episode: they are in no stretch of rows, and in no table.
        raise ConfigError(f"'{learner}' keeps completions apart (dedicated), so it has neither n_steps nor bound_values")
    if config.bound_values:
        stretch["bounds"] = jnp.asarray(rule.bounds(config.gamma)[:, None], jnp.float32)
    expansion: Expansion = OverHeads(shape, rule_arrays(rule), rule.stays, learner == "qrm", **stretch)
    return DeepAgent(machine, _scaled(low, config, spaces), high, expansion, shape, config)


def _scaled(low: ValueLearner, config: DeepConfig, spaces: Spaces) -> ValueLearner:
    """The value learner, behind a scale where the settings say so."""
    pictures = spaces.image if config.network == "conv" else None
    return Standardised(low, pictures[2] if pictures else spaces.observation, config.warmup) if config.standardise else low


def _parts(learner: str, machine: MachineArrays, config: DeepConfig, spaces: Spaces) -> tuple[Rule, HighLevel]:
    if isinstance(config, DeepHRMConfig):
        source, _ = options_of(machine)
        # [U, options]; heads and options have the same numbers.
        offered = source == np.arange(len(machine.rm))[:, None]
        return by_option(machine, config), Controller(config, spaces.observation, jnp.asarray(offered))
    if isinstance(config, DeepQCoRMConfig):
        if config.joint is (learner == "qcorm-0"):
            raise ConfigError("'qcorm' takes joint=True and 'qcorm-0' takes joint=False; change one of them")
        return by_objective(machine, config), Bandit(config, jnp.asarray(machine.open))
    return by_state(machine, config, learner == "crm"), NoHighLevel()


def _plus(machine: MachineArrays, config: DeepPlusConfig, spaces: Spaces, shape: RowShape) -> DeepAgent:
    expansion = OverContexts(shape, machine, config)
    codes = expansion.codes.shape[1]
    low: ValueLearner
    if spaces.continuous:
        low = FactoredTD3.of(spaces.observation, codes, spaces.actions, config)
    else:
        low = FactoredDDQN.of(spaces.observation, codes, spaces.actions, config, spaces.image)
    # The machine state is an input of the network, so there is a single head and nothing to choose.
    return DeepAgent(machine, _scaled(low, config, spaces), NoHighLevel(single=True), expansion, shape, config)
