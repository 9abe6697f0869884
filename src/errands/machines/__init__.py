"""The paper's four reward machines, and the translations between them."""

from __future__ import annotations

from errands.machines.agenda import AgendaRM, unfold_agenda
from errands.machines.boolean import BooleanRM, unfold_boolean
from errands.machines.counting import Sizes, size
from errands.machines.coupled import CoupledRM, couple
from errands.machines.numeric import Label, NumericRM, Outcome, Transition
from errands.machines.rewards import Reward
from errands.machines.stepping import Stepper

Machine = NumericRM | BooleanRM | AgendaRM | CoupledRM

__all__ = [
    "AgendaRM",
    "BooleanRM",
    "CoupledRM",
    "Label",
    "Machine",
    "NumericRM",
    "Outcome",
    "Reward",
    "Sizes",
    "Stepper",
    "Transition",
    "couple",
    "size",
    "unfold_agenda",
    "unfold_boolean",
]
