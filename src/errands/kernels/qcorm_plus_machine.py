"""The machine's step where its agenda is too large to be listed: four nodes stand for all."""

from __future__ import annotations

from errands.kernels import jit
from errands.kernels.qcorm_plus_memory import NUMERIC, Memory
from errands.kernels.stepping import advance
from errands.tables import FAILURE, SUCCESS, AgendaTable


@jit
def leap(machine: AgendaTable, memory: Memory, n: int, label: int) -> int:
    """The machine's step where nodes are not listed: n itself, the other running node, success 2 or failure 3."""
    u, mask = memory.where[NUMERIC], memory.mask[0]
    entry, left, _ = advance(machine, u, mask, label)
    target = machine.next[entry]
    memory.where[NUMERIC], memory.mask[0] = target, left
    if machine.status[target] == SUCCESS:
        return 2
    if machine.status[target] == FAILURE:
        return 3
    return n if target == u and left == mask else 1 - n
