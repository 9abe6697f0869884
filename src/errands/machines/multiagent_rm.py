"""Import of machines of multiagent-rl-rm: its JSON and YAML files, and its `RewardMachine` objects."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from errands.errors import SpecError, shown_briefly, words_of
from errands.features import is_name, literal
from errands.machines.counting import first_fires
from errands.machines.numeric import MAX_TRANSITIONS, NumericRM, Transition
from errands.machines.rewards import parse_reward

MAX_LENGTH = 1_000_000
MAX_OUT = 200
"""Transitions out of a state: which of them fires first is asked of every two."""
Edge = tuple[Any, Any, Any, Any]
"""From, event, to, reward."""


def from_multiagent_rm(source: Any) -> NumericRM:
    """The machine of a file of multiagent-rl-rm, or of a `RewardMachine` of it.

    An event becomes a feature, `at(A)` being `at_A`. That package sees one event a step. Where several are true here, the
    first in the file that changes something counts. A terminal entered with a positive reward is a success, another a failure.

    Parameters:
        source: the path of a JSON or YAML file, what it holds as a mapping, or a `RewardMachine`.

    >>> import errands
    >>> arrow = {"from_state": "q0", "event": "at(A)", "to_state": "q1", "reward": 1.0}
    >>> machine = errands.from_multiagent_rm({"initial_state": "q0", "terminal_states": ["q1"], "transitions": [arrow]})
    >>> machine.run([set(), {"at_A"}]).rewards
    (0.0, 1.0)
    """
    if isinstance(source, str | Path):
        shown = shown_briefly(str, source, 80)
        try:
            if not Path(source).is_file():
                raise SpecError(f"'{shown}' is no plain file; give the path of a JSON or YAML file")
            with Path(source).open(encoding="utf-8") as file:
                source = parse_multiagent_rm(file.read(MAX_LENGTH + 1))
        except (OSError, ValueError) as fault:
            raise SpecError(f"'{shown}' cannot be read: {words_of(fault, 100)}") from None
    try:
        if isinstance(source, Mapping):
            edges = [(t["from_state"], t["event"], t["to_state"], t["reward"]) for t in source["transitions"]]
            return _machine(source["initial_state"], source.get("terminal_states", []), edges)
        edges = [(u, event, *rest) for (u, event), rest in source.transitions.items()]
        return _machine(source.initial_state, [source.get_final_state()], edges)
    except KeyError as fault:
        raise SpecError(f"the machine says nothing of {fault}, which files of multiagent-rl-rm have") from None
    except (AttributeError, TypeError, ValueError) as fault:
        raise SpecError(f"this is no machine of multiagent-rl-rm that could be read: {fault}") from None


def parse_multiagent_rm(text: str) -> Mapping[str, Any]:
    """What a file holds; JSON is read first, as multiagent-rl-rm does whatever the file is called."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a machine of {len(text):,} characters is too long; at most {MAX_LENGTH:,} are read")
    try:
        data = _loaded(text)
    except RecursionError:
        raise SpecError("the file is nested too deeply for a machine") from None
    if not isinstance(data, dict):
        raise SpecError("the file holds no mapping with 'initial_state', 'terminal_states' and 'transitions'")
    return data


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as fault:
        try:
            import yaml
        except ImportError:
            raise SpecError(f"this is no JSON ({fault}), and reading YAML needs another package: pip install pyyaml") from None
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise
    except Exception as fault:  # noqa: BLE001 (YAML's own, and what it makes of a 13th month or of 10,000 digits)
        raise SpecError(f"this is neither JSON nor YAML: {' '.join(str(fault).split())}") from None


def _machine(initial: Any, terminals: Iterable[Any], edges: list[Edge]) -> NumericRM:
    most = Counter(_key(u) for u, _, _, _ in edges).most_common(1)
    if len(edges) > MAX_TRANSITIONS or any(count > MAX_OUT for _, count in most):
        raise SpecError(f"at most {MAX_TRANSITIONS:,} transitions are read, {MAX_OUT} out of a state; split the task")
    events = _names(event for _, event, _, _ in edges)
    states = _names([initial, *(state for u, _, v, _ in edges for state in (u, v))])
    ends = dict.fromkeys(states[_key(state)] for state in terminals if _key(state) in states)
    transitions = []
    for u, event, v, reward in edges:
        # Rewards may be written "r0.5".
        paid = parse_reward(re.sub(r"^\s*[rR]", "", _key(reward)))
        if _key(u) == _key(v) and not paid.value:
            continue  # what happens anyhow where nothing fires
        if states[_key(u)] not in ends:
            transitions.append(Transition(states[_key(u)], states[_key(v)], literal(events[_key(event)]), paid))
        elif paid.value:
            raise SpecError(f"'{u}' is terminal and a transition leaves it with reward {paid}; a terminal ends the task")
    entered = {t.target: 0.0 for t in transitions if t.target in ends}
    for t in transitions:
        if t.target in entered:
            entered[t.target] = max(entered[t.target], t.reward.value)
    success = tuple(name for name, most in entered.items() if most > 0) or tuple(entered)
    failure = tuple(name for name in entered if name not in success)
    return NumericRM(states[_key(initial)], success, failure, (), first_fires(transitions))


def _key(word: Any) -> str:
    """A state, event or reward as text: a few lines of YAML can hold lists in lists that would fill the memory."""
    parts = word if isinstance(word, list | tuple) else [word]
    if not all(isinstance(part, str | int | float) for part in parts):
        raise SpecError("states, events and rewards are text and numbers, or a list of them; here something else stands")
    return str(tuple(word) if isinstance(word, list) else word)


def _names(words: Iterable[Any]) -> dict[str, str]:
    """A name of errands for every word: what is no letter or digit becomes an underscore."""
    names = {key: re.sub(r"\W+", "_", key).strip("_") for key in map(_key, words)}
    names = {key: name if is_name(name) else f"e_{name}" for key, name in names.items()}
    for name in names.values():
        if len(alike := [key for key, other in names.items() if other == name]) > 1:
            raise SpecError(f"{' and '.join(map(repr, alike[:2]))} would both be called '{name}'; rename one of them")
    return names
