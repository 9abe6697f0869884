from __future__ import annotations

import random
import subprocess
import sys
import tomllib

import pytest

from errands.errors import SpecError
from errands.machines import size
from errands.machines.rules import Group, Rules
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, sequence
from errands.tasks.spec import json_schema, write_task

FIGURE_1 = load("figure-1").to_toml()


def test_figure_1_of_the_front_door_reads_verbatim() -> None:
    task = Task.from_toml(FIGURE_1)
    sizes = size(task.machine)
    assert (len(task.machine), sizes.boolean, sizes.agenda, sizes.coupled) == (3, 9, 7, 8)
    assert task.machine == Task.from_toml(_with_phrase("any_order(b1, b2, after=s)")).machine
    assert task.removed == ("b1", "b2")


def _with_phrase(phrase: str) -> str:
    return FIGURE_1.split("[machine]")[0] + f'[machine]\nphrase = "{phrase}"\n'


@pytest.mark.parametrize(
    "name", ["figure-1", "corridor", "delivery-3", "office-6", "visit-5", "water-3", "cheetah-bcde"]
)
def test_a_task_written_out_reads_back_the_same(name: str) -> None:
    task = load(name)
    assert Task.from_toml(write_task(task)) == task


def test_every_problem_is_reported_at_once() -> None:
    text = FIGURE_1.replace('"2.."', '"2A"').replace('"u1 -> u1 : ~s ; 0"', '"u1 -> u1 : (s ; 0"')
    with pytest.raises(SpecError) as fault:
        Task.from_toml(text)
    assert any("row 4" in p for p in fault.value.problems)
    assert any("2 starts" in p for p in fault.value.problems)
    assert any("')' was wanted" in p for p in fault.value.problems)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name =", "nam =", "nam: this key is not known"),
        ('kind = "grid"', 'kind = "gird"', "gird"),
        ('initial = "u0"', "initial = 3", "machine.initial"),
        ('initial = "u0"', 'initial = "u0"\nphrase = "a"', "give one of phrase, ltlf, or"),
        ('b = ["b1", "b2"]', 'b = ["b1", "b3"]', "cannot report the subtask 'b3'"),
        ('removed = ["b1", "b2"]', 'removed = ["s"]', "removed names 's'"),
        ('"..."', '"###"', "'b2' cannot be reached"),
        ('"1s."', '"1s"', "row 2"),
        ('"..A"', '"..."', "no start"),
        ('"2.."', '"2A."', "2 starts"),
        ('"2.."', '"2x."', "'x'"),
        ('s = "s"', 's = "s", z = "zoo"', "never used"),
        ("[world]", "[world]\nslip = 1.5", "slip"),
        ("[world]", "[world", "not TOML"),
    ],
)
def test_bad_input_is_one_sentence(old: str, new: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence.replace("'", ".")):
        Task.from_toml(FIGURE_1.replace(old, new, 1))


def test_a_file_that_is_too_large_is_not_read() -> None:
    with pytest.raises(SpecError, match="1,000,000 bytes"):
        Task.from_toml("#" * 1_000_001)


def test_an_unknown_kind_of_world_gets_the_nearest_one() -> None:
    with pytest.raises(SpecError, match="no kind of world is called 'ofice'; did you mean 'office'"):
        Task.from_toml('name = "n"\n[world]\nkind = "ofice"\n[machine]\nphrase = "a"')


def test_a_drawn_grid_loads_no_other_world() -> None:
    code = "import sys, errands; errands.load('figure-1').finite; print(*sorted(m for m in sys.modules if 'errands.worlds' in m))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "drawn_grid" in seen or "grid" in seen
    assert not [word for word in ("water", "cheetah", "gymnasium") if word in seen]


def test_the_schema_names_every_kind_of_world() -> None:
    text = str(json_schema())
    assert all(kind in text for kind in ("grid", "delivery", "office", "visit", "water", "cheetah", "gymnasium"))


def test_removed_may_not_hide_a_feature_that_the_machine_also_looks_at() -> None:
    text = FIGURE_1.replace('"u1 -> u1 : ~s ; 0"', '"u1 -> u1 : ~s & ~b1 ; 0"')
    with pytest.raises(SpecError, match="more than one way"):
        Task.from_toml(text)


PIECES = [
    "\n", " ", '"', "'", "[", "]", "{", "}", "=", "->", ":", ";", "~", "&", "|", "(", ")", "!", "↓", "⤓", "\\", "#",
    "A", ".", "u0", "u2", "b", "b1", "nan", "1e999", "-1", "0x1", "1979-05-27", "true", "[[a]]", "[world]", "[machine]",
    "phrase = ", "sequence(", "any_order(", "avoid(", "\x00", "\u2028", "𝔸", "é", "9" * 30, "'''", '"""', "slip = ",
]  # fmt: skip


def mutated(chance: random.Random, text: str) -> str:
    """A text with a few random cuts, copies, swaps and insertions."""
    for _ in range(chance.randint(1, 4)):
        i, j = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + chance.randint(0, 30))
        kind = chance.random()
        if kind < 0.3:
            text = text[:i] + text[j:]
        elif kind < 0.6:
            text = text[:i] + chance.choice(PIECES) + text[i:]
        elif kind < 0.8:
            text = text[:i] + chance.choice(PIECES) + text[j:]
        else:
            text = text[:j] + text[i:]
    return text


def fuzz(seed: int, count: int) -> int:
    """Read this many random and mutated files; all must be tasks or SpecErrors; returns the tasks."""
    chance = random.Random(seed)
    seeds = [load(n).to_toml() for n in ("figure-1", "corridor", "office-2", "delivery-2", "visit-2", "cheetah-bcd")]
    seeds.append(
        'name = "g"\n[world]\nkind = "gymnasium"\nid = "FrozenLake-v1"\nfeatures = { goal = [15] }\n'
        '[machine]\nphrase = "sequence(goal)"\n'
    )
    accepted = 0
    for _ in range(count):
        if chance.random() < 0.1:
            text = "".join(chance.choice(PIECES) for _ in range(chance.randint(0, 30)))
        else:
            text = mutated(chance, chance.choice(seeds))
        try:
            Task.from_toml(text)
            accepted += 1
        except SpecError:
            continue
    return accepted


@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_random_and_mutated_files_give_nothing_but_spec_errors(part: int) -> None:
    assert fuzz(part, 25_000) > 100


SUBTASKS = "[" + ", ".join(f'"x%d_{i}"' for i in range(300)) + "]"


@pytest.mark.parametrize(
    "text",
    [
        'name = "deep"\nworld = ' + "[" * 5_000 + "]" * 5_000,
        'name = "deep"\nworld = ' + "{a=" * 3_000 + "1" + "}" * 3_000,
        "a." * 20_000 + 'b = 1\nname = "x"',
        'name = "n"\n[world]\nkind = "grid"\nrows = ["A"]\n[machine]\nphrase = "' + "sequence(" * 3_000 + 'a"',
        'name = "n"\n[world]\nkind = "grid"\nrows = ["A"]\n[machine]\ninitial = "u0"\nsuccess = ["w"]\ntransitions = ['
        + ", ".join(f'"u0 -> u{i} : {" | ".join(f"f{j}" for j in range(i % 7, i % 7 + 18))} ; {i}"' for i in range(900))
        + "]",
        'name = "n"\n[world]\nkind = "grid"\nrows = ["A"]\n[machine]\ninitial = "u0"\nsuccess = ["w"]\n'
         "numeric = { " + ", ".join(f"n{v} = {SUBTASKS % tuple([v] * 300)}" for v in range(8)) + " }\n"
        + 'transitions = ["u0 -> u0 : ' + " | ".join(f"n{v}↓" for v in range(8)) + ' ; 0", "u0 -> w : n0⤓ & ~n0↓ ; 1"]',
    ],
    ids=["arrays", "tables", "dots", "phrases", "guards", "counts"],
)  # fmt: skip
def test_hostile_files_are_refused_without_hanging(text: str) -> None:
    with pytest.raises(SpecError):
        Task.from_toml(text)


def test_toml_is_read_by_the_standard_library() -> None:
    assert tomllib.loads(FIGURE_1)["name"] == "figure-1"


@pytest.mark.parametrize("number", ["0x" + "f" * 20_000, "0b" + "1" * 65, "0o" + "7" * 5_000])
def test_a_very_long_whole_number_is_one_sentence(number: str) -> None:
    text = f'name = "x"\n[world]\nkind = "visit"\nplaces = 2\nmap_seed = {number}\n[machine]\nphrase = "v1"\n'
    with pytest.raises(SpecError, match=r"binary digits; numbers have at most 64"):
        Task.from_toml(text)


def test_rules_stand_in_task_files_and_are_written_back() -> None:
    text = """name = "two passengers"
[world]
kind = "visit"
places = 4
[machine]
initial = "u0"
success = ["u1"]
numeric = { v = ["v1", "v2", "v3", "v4"] }
transitions = ["u0 -> u0 : v↓ ; 0", "u0 -> u1 : v⤓ ; 1"]
before = [["v1", "v2"], ["v3", "v4"]]
capacity = [{ number = 1, of = [["v1", "v2"], ["v3", "v4"]] }]
"""
    task = Task.from_toml(text)
    assert task.machine.rules == Rules(before=((0, 1), (2, 3)), capacities=(Group(1, ((0, 1), (2, 3))),))
    assert Task.from_toml(write_task(task)).machine == task.machine
    said = any_order(sequence("v1", "v2"), sequence("v3", "v4"), one_at_a_time=True)
    assert said == task.machine
    assert Task.from_toml(write_task(Task("said", task.world, said))).machine == said
    with pytest.raises(SpecError, match="before names 'v9', which is not a subtask"):
        Task.from_toml(text.replace('["v1", "v2"], ["v3"', '["v9", "v2"], ["v3"', 1))
    with pytest.raises(SpecError, match="before goes in a circle through v1, v2"):
        Task.from_toml(text.replace('before = [["v1", "v2"],', 'before = [["v1", "v2"], ["v2", "v1"],'))


def test_a_bound_without_end_is_read_back_from_the_task_file() -> None:
    """JSON has no infinity, and the file said `-Infinity`, which is no TOML."""
    left = {"index": 0, "above": float("-inf"), "below": -1.23456789012345e-05}
    task = Task.from_env("CartPole-v1", {"left": left}, "left")
    assert Task.from_toml(task.to_toml()).world.settings() == task.world.settings()
    assert "-inf" in task.to_toml()
