"""Machines used by several tests: the paper's Figure 1b, and random ones that are deterministic by construction."""

from __future__ import annotations

import random
from dataclasses import replace

from errands.errors import SpecError
from errands.features import Boolean, Change, Guard, Not, Numeric, conjunction, disjunction, negation
from errands.machines import NumericRM, Reward, Transition
from errands.machines.rules import Group, Rules

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


def random_rules(chance: random.Random, count: int) -> Rules:
    """Random predecessors, separate visits, choices and capacities over so many subtasks."""
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    drawn = [pair for pair in pairs if chance.random() < 0.3]
    before, apart = drawn[: len(drawn) // 2 + 1], drawn[len(drawn) // 2 + 1 :][:2]

    def group(members: list[int]) -> Group:
        cuts = sorted(chance.sample(range(1, len(members)), chance.randint(0, len(members) - 1)))
        parts = tuple(tuple(members[a:b]) for a, b in zip([0, *cuts], [*cuts, len(members)], strict=True))
        return Group(chance.randint(1, len(parts)), parts)

    members = list(range(count))
    choices, capacities = [], []
    if count and chance.random() < 0.5:
        outer = group(members)
        inner = [group(list(part)) for part in outer.parts if len(part) > 1 and chance.random() < 0.5]
        choices = [*inner, outer]
    if count and chance.random() < 0.4:
        capacities = [group(members)]
    return Rules(tuple(before), tuple(apart), tuple(choices), tuple(capacities))


def random_ruled_machine(chance: random.Random) -> NumericRM:
    """A random machine whose subtasks obey random rules; some names come twice."""
    while True:
        machine = random_machine(chance)
        numeric = tuple((v, tuple(n if chance.random() < 0.85 else "p" for n in own)) for v, own in machine.numeric)
        rules = random_rules(chance, sum(len(own) for _, own in numeric))
        if rules:
            try:
                return replace(machine, numeric=numeric, rules=rules)
            except SpecError:
                continue


def random_trace(chance: random.Random, machine: NumericRM, length: int) -> list[set[str]]:
    """A random sequence of feature sets; several subtasks may be true at once."""
    names = ["p", "q", "r", "unheard_of", *machine.counted]
    return [{n for n in names if chance.random() < 0.25} for _ in range(length)]
