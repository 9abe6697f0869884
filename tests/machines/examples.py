"""Machines used by several tests: the paper's Figure 1b, and random ones that are deterministic by construction."""

from __future__ import annotations

import random

from errands.features import Boolean, Change, Guard, Not, Numeric, conjunction, disjunction, negation
from errands.machines import NumericRM, Reward, Transition

FIGURE_1B = [
    "u0 -> u0 : b! ; 0",
    "u0 -> u1 : b↓ | b⤓ ; 0",
    "u1 -> u1 : ~s ; 0",
    "u1 -> u2 : s & b⤓ ; 1",
    "u1 -> u0 : s & b! ; 0",
]


def boxes(count: int) -> NumericRM:
    """Figure 1b with this many boxes."""
    return NumericRM.of("u0", ["u2"], FIGURE_1B, numeric={"b": [f"b{i + 1}" for i in range(count)]})


def random_guard(chance: random.Random, names: list[str], variables: list[str], depth: int = 2) -> Guard:
    """A random formula over these features."""
    if depth == 0 or chance.random() < 0.35:
        if variables and chance.random() < 0.5:
            return Numeric(chance.choice(variables), chance.choice(list(Change)))
        return Boolean(chance.choice(names))
    if chance.random() < 0.3:
        return Not(random_guard(chance, names, variables, depth - 1))
    parts = [random_guard(chance, names, variables, depth - 1) for _ in range(chance.randint(2, 3))]
    return conjunction(parts) if chance.random() < 0.5 else disjunction(parts)


def random_machine(chance: random.Random) -> NumericRM:
    """A random machine with several variables, Boolean features, failures and dead ends.

    Each guard excludes the earlier ones of its state, so that no two fire together.
    """
    numeric = [(f"n{v}", tuple(f"x{v}{i}" for i in range(chance.randint(1, 3)))) for v in range(chance.randint(0, 2))]
    variables = [name for name, _ in numeric]
    running = [f"u{i}" for i in range(chance.randint(1, 4))]
    targets = [*running, "won", "won", "lost"]
    transitions = []
    for state in running:
        earlier: list[Guard] = []
        for _ in range(chance.randint(1 if state == "u0" else 0, 4)):
            guard = random_guard(chance, ["p", "q", "r"], variables)
            reward = Reward(float(chance.randint(-2, 2))) if chance.random() < 0.9 else Reward(-1.0, "cost")
            transitions.append(
                Transition(state, chance.choice(targets), conjunction([guard, *map(negation, earlier)]), reward)
            )
            earlier.append(guard)
    named = {s for t in transitions for s in (t.source, t.target)}
    terminals = [tuple(s for s in group if s in named) for group in (("won",), ("lost",))]
    return NumericRM("u0", terminals[0], terminals[1], tuple(numeric), tuple(transitions))


def random_trace(chance: random.Random, machine: NumericRM, length: int) -> list[set[str]]:
    """A random sequence of feature sets; several subtasks may be true at once."""
    names = ["p", "q", "r", "unheard_of", *machine.subtasks]
    return [{n for n in names if chance.random() < 0.25} for _ in range(length)]
