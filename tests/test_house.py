"""The house: one home per class name, a map that names every room, and a budget of lines for each."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "errands"

LINES = 48_135
"""Of src, all in all. What comes in is paid for by what goes out."""
BUDGET = {
    "analysis": 634, "cli": 2177, "kernels": 1799, "learners": 17245, "machines": 2831, "oracle": 1774, "paper": 1894,
    "plots": 2056, "policies": 1436, "runs": 4769, "tasks": 3490, "unordered": 295, "viewer": 1904, "worlds": 4821,
}  # fmt: skip
"""Lines of each package at most; whoever raises one says in the commit why."""
LOOSE = 1022
"""Lines of the modules that lie in no package, together."""


def modules() -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    assert len(found) > 100
    return found


def test_no_public_class_name_has_two_homes() -> None:
    homes = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            verb = path.parent.name == "cli" and isinstance(node, ast.ClassDef) and node.name == "Arguments"  # every verb has them
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not verb:
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_the_house_keeps_to_its_budget_of_lines() -> None:
    used: dict[str, int] = defaultdict(int)
    for path in modules():
        used[path.relative_to(PACKAGE).parts[0] if path.parent != PACKAGE else "loose"] += lines(path)
    budget = {**BUDGET, "loose": LOOSE}
    assert set(used) == set(budget), "each package has a budget, and nothing else has"
    assert {package: (n, budget[package]) for package, n in used.items() if n > budget[package]} == {}
    assert sum(used.values()) <= LINES


def test_every_package_stands_on_the_map_of_the_house() -> None:
    """CONTRIBUTING names each package and loose module, in the order of the layers."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text.split("### The way")[0], re.MULTILINE)
    named = re.findall(r"\w+", " ".join(rows))
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(named) == rooms - {"__init__", "__main__"}


def test_the_table_of_methods_is_true() -> None:
    """docs/architecture.md has every method once, with its section of the paper, its folder and the folder's lines."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\| `[a-z].*$", text, re.MULTILINE)]
    told = {method: (paper, folder.strip("`")) for names, paper, folder, _, _ in rows for method in re.findall(r"`([^`]+)`", names)}
    folders = [path for path in (PACKAGE / "learners").iterdir() if (path / "settings.py").exists()]
    declared = {path.name: importlib.import_module(f"errands.learners.{path.name}").METHODS for path in folders}
    assert told == {m.name: (m.paper or "ours", f"learners/{folder}") for folder, methods in declared.items() for m in methods}
    for _, _, folder, said, best in rows:
        there = sum(lines(path) for path in (PACKAGE / folder.strip("`")).rglob("*.py"))
        assert abs(there - int(said)) <= 0.15 * there, f"{folder} has {there} lines; say so in docs/architecture.md"
        assert best


def test_every_file_that_the_map_names_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:\w+/)+\w+\.py)`", text))
    assert len(paths) > 10
    assert [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_every_measurement_is_explained() -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+\.py)` \|", text, re.MULTILINE)) == {p.name for p in (ROOT / "benchmarks").glob("*.py")}
