"""Machines of multiagent-rl-rm, in files and as objects, become machines of errands that pay the same."""

from __future__ import annotations

import importlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.cli import main
from errands.errors import SpecError


def spec(*arrows: tuple[str, str, str, float | str], terminal: tuple[str, ...] = ("q2",)) -> dict[str, Any]:
    keys = ("from_state", "event", "to_state", "reward")
    return {
        "name": "mail", "env_id": "officeworld", "version": "1.0", "states": ["q0", "q1", "q2"], "initial_state": "q0",
        "terminal_states": list(terminal), "event_vocabulary": ["at(A)", "at(B)"],
        "transitions": [dict(zip(keys, arrow, strict=True)) for arrow in arrows],
    }  # fmt: skip


MAIL = spec(("q0", "at(A)", "q1", 0.5), ("q0", "at(B)", "q0", 0.0), ("q1", "at(B)", "q2", "r2"))


def test_a_file_is_read_as_the_machine_written_by_hand(tmp_path: Path) -> None:
    by_hand = errands.NumericRM.of("q0", ["q2"], ["q0 -> q1 : at_A ; 0.5", "q1 -> q2 : at_B ; 2"])
    assert errands.from_multiagent_rm(MAIL) == by_hand
    path = tmp_path / "mail.yaml"
    path.write_text(json.dumps(MAIL))  # that package takes JSON in a .yaml, too
    assert errands.from_multiagent_rm(path) == by_hand


def test_lint_reads_a_file_back_in_english(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = tmp_path / "mail.yaml"
    path.write_text(yaml.safe_dump(MAIL))
    assert main(["lint", str(path)]) == 0
    said = capsys.readouterr().out
    assert "at_A" in said
    assert "reach at_B, then the task is done with reward 2" in said
    assert main(["size", str(path)]) == 0


def test_where_events_coincide_the_first_in_the_file_counts() -> None:
    machine = errands.from_multiagent_rm(spec(("q0", "at(A)", "q1", 0), ("q0", "at(B)", "q2", 1), ("q1", "at(B)", "q2", 1)))
    assert machine.run([{"at_A", "at_B"}]).terminal is False
    assert machine.run([{"at_B"}]).success is True


def test_a_terminal_that_pays_nothing_beside_one_that_pays_is_a_failure() -> None:
    machine = errands.from_multiagent_rm(spec(("q0", "at(A)", "q1", 0), ("q0", "at(B)", "q2", 1), terminal=("q1", "q2")))
    assert (machine.success, machine.failure) == (("q2",), ("q1",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "the file holds no mapping with 'initial_state'"),
        ("[" * 5000, "nested too deeply|neither JSON nor YAML"),
        ("a: [", "neither JSON nor YAML"),
        ("a: !!timestamp x", "neither JSON nor YAML"),
        ("a: 2001-13-45", "neither JSON nor YAML"),
        ("{}", "the machine says nothing of 'transitions'"),
        ('{"initial_state": "a", "transitions": [1]}', "no machine of multiagent-rl-rm that could be read"),
        ('!!python/object/apply:os.system ["true"]', "neither JSON nor YAML"),
    ],
)
def test_other_files_are_refused_in_a_sentence(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=said):
        errands.from_multiagent_rm(path)
    assert main(["lint", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_what_would_change_its_meaning_is_refused() -> None:
    with pytest.raises(SpecError, match="would both be called 'at_A'"):
        errands.from_multiagent_rm(spec(("q0", "at(A)", "q1", 0), ("q1", "at A", "q2", 1)))
    with pytest.raises(SpecError, match="'q2' is terminal and a transition leaves it with reward 3"):
        errands.from_multiagent_rm(spec(("q0", "at(A)", "q2", 1), ("q2", "at(B)", "q0", 3)))


def shipped() -> list[Any]:
    """The machines that the package ships: its example, completed by itself too, and from 0.3.0 on those of OfficeWorld."""
    rmgen, specs, provided, completed = (
        importlib.import_module(f"multiagent_rlrm.rmgen.{name}") for name in ("io", "spec", "providers", "completion")
    )
    back = spec(("q0", "at(A)", "q1", "r0.5"), ("q1", "at(A)", "q0", -1), ("q1", "at(B)", "q2", 3.25))
    texts = [provided.EXAMPLE_JSON, MAIL, back]
    read = [specs.RMSpec.from_dict(text) for text in texts]
    found = [rmgen.compile_reward_machine(one) for one in read]
    found += [rmgen.compile_reward_machine(completed.complete_missing_transitions(one)[0]) for one in read[:1]]
    try:
        office = importlib.import_module("multiagent_rlrm.environments.office_world.config_office")
    except ImportError:
        return found
    machine = importlib.import_module("multiagent_rlrm.multi_agent.reward_machine").RewardMachine
    for name in office.config["maps"]:
        for number in range(1, 6):
            transitions = office.get_experiment_for_map(name, f"exp{number}")["transitions"]
            found.append(machine(transitions, None))
    return found


def test_machines_that_multiagent_rl_rm_ships_pay_what_they_pay_there(peer: Callable[..., Path]) -> None:
    peer("multiagent-rl-rm>=0.2", "--only-binary", ":all:")
    rng = random.Random(0)
    ended = 0
    for machine in (them := shipped()):
        ours = errands.from_multiagent_rm(machine)
        events = list(dict.fromkeys(event for _, event in machine.transitions))
        names = {event: name for event in events for name in ours.features if name == cleaned(event)}
        final = machine.get_final_state()
        for _ in range(100):
            trace = [rng.choice([None, *events]) for _ in range(80)]
            paid, state = [], machine.initial_state
            for event in trace:
                following, reward = machine.get_reward_for_non_current_state(state, event)
                state = state if following is None else following
                paid.append(float(reward))
                if state == final:
                    break
            outcome = ours.run([{names[event]} if event in names else set() for event in trace])
            assert (outcome.rewards, outcome.terminal) == (tuple(paid), state == final)
            ended += outcome.success
    assert ended > 20 * len(them)


def cleaned(event: Any) -> str:
    name = "_".join("".join(c if c.isalnum() else " " for c in str(event)).split())
    return f"e_{name}" if name[0].isdigit() else name


def test_lists_in_lists_pipes_and_a_thousand_arrows_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    bomb: Any = "x"
    for _ in range(60):  # ten lines of YAML with anchors, 2^60 words as text
        bomb = [bomb, bomb]
    for key in ("from_state", "event", "to_state", "reward"):
        arrow = {"from_state": "q0", "event": "a", "to_state": "q2", "reward": 1} | {key: bomb}
        with pytest.raises(SpecError, match="states, events and rewards are text and numbers"):
            errands.from_multiagent_rm(spec() | {"transitions": [arrow]})
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(SpecError, match="is no plain file; give the path of a JSON or YAML file"):
            errands.from_multiagent_rm(path)
    with pytest.raises(SpecError, match="at most 2,000 transitions are read, 200 out of a state"):
        errands.from_multiagent_rm(spec(*(("q0", f"e{k}", "q2", 1.0) for k in range(1_000))))
    with pytest.raises(SpecError, match="cannot be read") as fault:
        errands.from_multiagent_rm("y" * 100_000)
    assert len(str(fault.value)) < 300
