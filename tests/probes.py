"""Tiny tasks whose values are known on paper; every learner must solve them."""

from __future__ import annotations

from errands.tasks import Task


def grid(rows: list[str], legend: dict[str, str], phrase: str, extra: str = "") -> Task:
    """A drawn task in a few words."""
    letters = ", ".join(f'"{k}" = "{v}"' for k, v in legend.items())
    shown = ", ".join(f'"{row}"' for row in rows)
    world = f'[world]\nkind = "grid"\nrows = [{shown}]\nlegend = {{ {letters} }}\n{extra}'
    return Task.from_toml(f'name = "probe"\n{world}\n[machine]\nphrase = "{phrase}"\n')


def one_step() -> Task:
    """The goal lies one step to the right: 1 step."""
    return grid(["Ag"], {"g": "g"}, "g")


def straight() -> Task:
    """Five cells in a row: 4 steps."""
    return grid(["A...g"], {"g": "g"}, "g")


def two_ways() -> Task:
    """Two goals on either side, the near one first: 2 + (2 + 3) = 7 steps; the far one first takes 8."""
    return grid(["x.A..y"], {"x": "x", "y": "y"}, "any_order(x, y)")


def there_and_back() -> Task:
    """a, then b, then a again: 2 + 4 + 4 = 10 steps with two low-level policies."""
    return grid(["a.A.b"], {"a": "a", "b": "b"}, "sequence(a, b, a)")


def past_lava() -> Task:
    """The straight way of 2 steps is fatal; around it takes 4."""
    return grid(["AXg", "..."], {"X": "lava", "g": "g"}, "avoid(lava, g)")


def two_groups() -> Task:
    """p and q in any order, then r and t: 1 + 2 + 1 + 2 = 6 steps, by p, q, r, t."""
    return grid(["pAqr.t"], {"p": "p", "q": "q", "r": "r", "t": "t"}, "sequence(any_order(p, q), any_order(r, t))")


def muddy() -> Task:
    """The straight way of 2 steps leads through mud that costs 1 (worth -1 + 0.9); around it takes 4 (0.9 ** 3)."""
    return Task.from_toml(
        'name = "muddy"\n[world]\nkind = "grid"\nrows = ["Amg", "..."]\nlegend = { m = "mud", g = "g" }\n'
        '[machine]\ninitial = "u0"\nsuccess = ["u1"]\n'
        'transitions = ["u0 -> u0 : mud & ~g ; -1", "u0 -> u1 : g ; 1"]\n'
    )


PROBES = {
    "one step": (one_step, 1),
    "straight": (straight, 4),
    "two ways": (two_ways, 7),
    "there and back": (there_and_back, 10),
    "past lava": (past_lava, 4),
    "two groups": (two_groups, 6),
}
"""The optimum of each, found with pencil and paper."""
