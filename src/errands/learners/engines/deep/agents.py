"""The agent that DDQN or TD3 trains: a method's heads, who picks them, and how rows are expanded."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp

from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners import LEARNERS, method_of
from errands.learners.engines.deep.agent import DeepAgent, Expansion, HighLevel, ValueLearner
from errands.learners.engines.deep.batch import OverHeads, RowShape, Rule, rule_arrays
from errands.learners.engines.deep.config import DeepConfig
from errands.learners.engines.deep.ddqn import DDQN
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.engines.deep.standardised import Standardised
from errands.learners.engines.deep.td3 import TD3
from errands.learners.method import loaded

MAX_OUTPUTS = 200_000
"""Heads are columns of the last layer; with three hidden layers of 512 this is a matrix of a hundred million numbers."""


# Agents are static arguments of compiled functions and compare by identity (so do MachineArrays, cached as well): a
# second agent with equal settings would compile everything again.
@lru_cache(maxsize=16)
def agent_of(learner: str, machine: MachineArrays, config: DeepConfig, spaces: Spaces) -> DeepAgent:
    """The agent of a learner on a machine; asked again it is the same one, so that nothing is compiled twice."""
    form = method_of(learner).deep
    if form is None or form.agent is None:
        raise UnknownName("deep learner", learner, [name for name, method in LEARNERS.items() if method.deep and method.deep.team])
    wanted = loaded(form.config)
    if not isinstance(config, wanted):
        raise ConfigError(f"'{learner}' takes a {wanted.__name__}, not a {type(config).__name__}")
    if config.network == "conv" and (spaces.image is None or spaces.continuous):
        what = "actions are choices" if spaces.image else "observations have height, width and channels"
        raise ConfigError(f"network = 'conv' is for worlds whose {what}; leave it out here")
    agent: DeepAgent = loaded(form.agent)(learner, machine, config, spaces)
    return agent


def row_shape(spaces: Spaces) -> RowShape:
    """What a stored step looks like."""
    # A discrete action is stored as one number, not as one-hot.
    return RowShape(spaces.observation, spaces.actions if spaces.continuous else 1, spaces.signals)


def headed(
    learner: str,
    machine: MachineArrays,
    config: DeepConfig,
    spaces: Spaces,
    rule: Rule,
    high: HighLevel,
    single: bool = False,
    max_outputs: int = MAX_OUTPUTS,
) -> DeepAgent:
    """An agent with a head for each policy of a rule; `single` teaches one head per row."""
    if rule.heads * spaces.actions > max_outputs:
        raise TaskError(
            f"'{learner}' would need {rule.heads:,} heads of {spaces.actions} outputs; "
            "use 'qcorm-plus', whose network does not grow"
        )
    sizes, shape = (spaces.observation, rule.heads, spaces.actions, config), row_shape(spaces)
    low: ValueLearner = TD3.of(*sizes) if spaces.continuous else DDQN.of(*sizes, spaces.image)
    stretch: dict[str, Any] = {"steps": config.n_steps, "count": config.batch, "gamma": config.gamma, "pairs": config.pairs}
    if high.extra and (config.n_steps > 1 or config.bound_values):
        # Completions are paid for at the end of the episode: they are in no stretch of rows, and in no table.
        raise ConfigError(f"'{learner}' keeps completions apart (dedicated), so it has neither n_steps nor bound_values")
    if config.bound_values:
        stretch["bounds"] = jnp.asarray(rule.bounds(config.gamma)[:, None], jnp.float32)
    expansion: Expansion = OverHeads(shape, rule_arrays(rule), rule.stays, single, **stretch)
    return DeepAgent(machine, scaled(low, config, spaces), high, expansion, shape, config)


def scaled(low: ValueLearner, config: DeepConfig, spaces: Spaces) -> ValueLearner:
    """The value learner, behind a scale where the settings say so."""
    pictures = spaces.image if config.network == "conv" else None
    return Standardised(low, pictures[2] if pictures else spaces.observation, config.warmup) if config.standardise else low
