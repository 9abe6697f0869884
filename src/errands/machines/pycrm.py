"""Import of PyCRM's machines (pyrewardmachines): plain ones, and counting ones that have finitely many configurations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from errands.errors import SpecError
from errands.features import Guard, parse_guard
from errands.machines.counting import first_fires
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Transition
from errands.machines.rewards import Reward

MAX_CONFIGURATIONS = 1_000
Counters = tuple[int, ...]
_WORDS = {"and": "&", "or": "|", "not": "~"}
_NOT = re.compile(r"(\w+)\s+not\s+(?=\w)", re.IGNORECASE)
_EXPRESSION = re.compile(r"(?P<events>[^/]*)(?:/\s*\((?P<counters>(?:\s*(?:NZ|Z|-)\s*,?)+)\)\s*)?")


def from_pycrm(machine: Any, bound: int | None = None, functions: float | None = None) -> NumericRM:
    """The machine that a `RewardMachine` or `CountingRewardMachine` of PyCRM is.

    Members of its enum become features. The first transition that fires is taken, as there; where none does PyCRM raises, and this
    machine stays. A terminal that is entered with a positive reward is a success, another one a failure.

    Parameters:
        machine: the object; PyCRM itself is not imported.
        bound: the highest count. A step beyond it ends the task in a failure; needed where a counter can grow for ever.
        functions: the number that is paid where PyCRM computes a reward from observations.

    >>> import errands
    >>> class CoffeeToOffice:
    ...     u_0 = 0
    ...     def _get_state_transition_function(self):
    ...         return {0: {"COFFEE": 1, "not COFFEE": 0}, 1: {"OFFICE and not PLANT": -1, "": 1}}
    ...     def _get_reward_transition_function(self):
    ...         return {0: {"COFFEE": 0, "not COFFEE": 0}, 1: {"OFFICE and not PLANT": 1, "": 0}}
    >>> errands.from_pycrm(CoffeeToOffice()).run([{"COFFEE"}, set(), {"OFFICE"}])
    Outcome(rewards=(0.0, 0.0, 1.0), terminal=True, success=True)
    """
    try:
        targets = dict(machine._get_state_transition_function())
        paid = machine._get_reward_transition_function()
        counting = hasattr(machine, "_get_counter_transition_function")
        changes = machine._get_counter_transition_function() if counting else {}
        start = (int(machine.u_0), tuple(map(int, machine.c_0)) if counting else ())
        edges = [_edge(u, text, v, changes, paid, functions) for u, out in targets.items() for text, v in out.items()]
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise SpecError(f"this is no machine of PyCRM that could be read: {type(fault).__name__}: {fault}") from None
    return _unfolded(start, edges, bound)


class _Edge(NamedTuple):
    source: int
    text: str
    guard: Guard
    counters: tuple[str, ...]
    """Z (none), NZ (some) or - for each counter."""
    target: int
    change: Counters
    reward: float


def _edge(u: int, text: str, v: int, changes: Mapping[Any, Any], paid: Mapping[Any, Any], functions: float | None) -> _Edge:
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise SpecError(f"'{text[:60]}' is no expression of PyCRM; it looks like 'A and not B / (Z,NZ)'")
    # As PyCRM does: between two names NOT means AND NOT.
    events = _NOT.sub(lambda m: m[0] if m[1].lower() in _WORDS else f"{m[1]} and not ", found["events"])
    said = re.sub(r"\w+", lambda word: _WORDS.get(word[0].lower(), word[0]), events).strip()
    reward = paid[u][text]
    if callable(reward):
        constant = getattr(reward, "__name__", "") == "constant_reward_function"
        if not constant and functions is None:
            raise SpecError(
                f"what state {u} pays for '{text[:60]}' is a function of observations; say what to pay in its place: functions=0.0"
            )
        reward = reward(None, None, None) if constant else functions
    change = tuple(map(int, changes[u][text])) if u in changes else ()
    counters = tuple(word.strip() for word in (found["counters"] or "").split(",") if word.strip())
    return _Edge(int(u), text, parse_guard(said or "true"), counters, int(v), change, float(reward))


def _unfolded(start: tuple[int, Counters], edges: list[_Edge], bound: int | None) -> NumericRM:
    """A state for each configuration (state, counters) that can be reached."""
    sources = {edge.source for edge in edges}
    transitions, seen, waiting = list[Transition](), {start}, [start]
    while waiting:
        u, counts = waiting.pop()
        for edge in edges:
            if edge.source != u or any((c == 0) != (z == "Z") for c, z in zip(counts, edge.counters, strict=False) if z != "-"):
                continue
            after = tuple(c + d for c, d in zip(counts, edge.change, strict=True))
            beyond = bound is not None and any(abs(a) > max(bound, abs(c)) for a, c in zip(after, counts, strict=True))
            target = "done" if edge.reward > 0 else "failed"
            if edge.target in sources:
                target = "beyond" if beyond else _name(edge.target, after)
                if not beyond and (edge.target, after) not in seen:
                    seen.add((edge.target, after))
                    waiting.append((edge.target, after))
            transitions.append(Transition(_name(u, counts), target, edge.guard, Reward(edge.reward)))
        if len(seen) > MAX_CONFIGURATIONS or len(transitions) > MAX_TRANSITIONS:
            raise SpecError(
                "the counters of this machine take too many values, and numeric variables of errands only fall; give the highest "
                "count, bound=5, or write the task with errands.repeat"
            )
    return _machine(_name(*start), transitions)


def _machine(initial: str, transitions: list[Transition]) -> NumericRM:
    success, failure = ([n for n in names if any(t.target == n for t in transitions)] for names in (["done"], ["failed", "beyond"]))
    if not success and "failed" in failure:  # nothing is ever paid at the end: no hint that it is bad
        success, failure = ["failed"], failure[1:]
    return NumericRM(initial, tuple(success), tuple(failure), (), first_fires(transitions))


def _name(u: int, counts: Counters) -> str:
    return "_".join([f"u{u}", *(str(c).replace("-", "m") for c in counts)])
