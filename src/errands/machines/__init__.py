"""The paper's four reward machines, and the translations between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from errands.machines.counting import Sizes, size
from errands.machines.numeric import Label, NumericRM, Outcome, Transition
from errands.machines.rewards import Reward
from errands.machines.stepping import Stepper
from errands.machines.unfolding import AgendaRM, BooleanRM, CoupledRM, couple, unfold_agenda, unfold_boolean

Machine = NumericRM | BooleanRM | AgendaRM | CoupledRM
KINDS: Mapping[str, Callable[[NumericRM], Machine]] = {
    "numeric": lambda machine: machine,
    "boolean": unfold_boolean,
    "agenda": unfold_agenda,
    "coupled": lambda machine: couple(unfold_agenda(machine)),
}
"""The four machines of a task, each made of the numeric one."""

__all__ = [
    "KINDS",
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
