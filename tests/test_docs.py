"""The documentation is true: links lead somewhere, code runs, commands exist and print what the page says.

In a page, a block whose first line is `# name.py` or `# name.toml` is that file; a `text` block after a `python` block is
what it prints; in a `console` block the lines after `$ errands ...` are what the command prints, `...` standing for the rest.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

import errands
from errands.cli import _imports, main
from errands.cli.verbs import VERBS, parse
from errands.tasks.task import Task

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAPER = ROOT / "paper"
PAGES = sorted(path for path in (ROOT / "README.md", *DOCS.rglob("*.md"), *PAPER.rglob("*.md")) if path.exists())
OURS = [DOCS / "tutorial.md", *sorted((DOCS / "concepts").glob("*.md")), *sorted((DOCS / "how-to").glob("*.md"))]
RUN = [page for page in (ROOT / "README.md", *OURS) if page in PAGES]
NEEDS = {"logs.md": "tensorboardX", "minigrid.md": "minigrid"}
"""What a page runs that not every installation has."""
COMMANDS = ("console", "sh", "bash", "shell")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that the block is, if it is one."""
        named = re.match(r"# ([\w-]+\.(?:py|toml))\n", self.text)
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in found]


def commands(block: Block) -> Iterator[tuple[str, list[str], list[str]]]:
    """The commands of a block: the line, its words after `errands`, and the lines that follow it."""
    lines = block.text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"(\$ )?errands ", line)]
    for i, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        words = shlex.split(lines[i].removeprefix("$ "), comments=True)[1:]
        stop = next((n for n, word in enumerate(words) if word in (">", "|", "&", "&&", ";")), len(words))
        yield lines[i], words[:stop], lines[i + 1 : end]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name_of(page)} links to {target}, which is not there"
        assert not anchor or anchor in anchors(there), f"{name_of(page)} links to {target}, a heading that is not there"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_of_a_page_is_understood(page: Path) -> None:
    for block in blocks(page):
        for line, words, _ in commands(block) if block.language in COMMANDS else ():
            words, _ = _imports([word for word in words if word not in ("--json", "--debug")])
            if words and words[0] in ("--help", "--version"):
                continue
            assert words[:1], f"{name_of(page)}: '{line}' says nothing"
            assert words[0] in VERBS, f"{name_of(page)}: '{line}' names no verb"
            verb = VERBS[words[0]]
            if "--help" not in words:
                parse(importlib.import_module(f"errands.cli.{words[0]}").Arguments, words[0], verb, words[1:])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_task_file_of_a_page_is_one(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            data = tomllib.loads(block.text)
            world = data.get("world", {})
            foreign = world.get("id", world.get("reset"))  # an environment of the page's own exists while the page is run
            if {"name", "world", "machine"} <= data.keys() and (foreign is None or foreign in gym.registry):
                Task.from_toml(block.text)


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_what_a_page_runs_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS.get(page.name, "errands"), reason=f"what {name_of(page)} needs is not installed")
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    names: dict[str, Any] = {}
    printed: str | None = None
    for block in blocks(page):
        where = f"{name_of(page)}, line {block.line}"
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            names, printed = run_python(block, tmp_path, names)
            continue
        elif block.language == "text" and printed is not None:
            same(printed, block.text.splitlines(), where)
        elif block.language == "console":
            for line, words, said in commands(block):
                if quick(words):
                    same(run_command(line, words), said, where)
        printed = None
    for name in {Path(block.file).stem for block in blocks(page) if block.file}:
        sys.modules.pop(name, None)
    for drawn in (tmp_path / "docs" / "pictures").glob("*.svg"):
        kept = DOCS / "pictures" / drawn.name
        assert kept.exists(), f"run the command of {name_of(page)} that draws {drawn.name}"
        if "matplotlib" not in kept.read_text(encoding="utf-8"):
            assert drawn.read_bytes() == kept.read_bytes(), (
                f"{drawn.name} is old; run the command of {name_of(page)} again"
            )


def quick(words: list[str]) -> bool:
    """Whether a command is run: those after a `$` all are, but for what waits for a person."""
    return words[0] != "view"


def run_python(block: Block, folder: Path, names: dict[str, Any]) -> tuple[dict[str, Any], str]:
    script = folder / "_block.py"
    script.write_text(block.text, encoding="utf-8")
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        known = runpy.run_path(str(script), init_globals=names)
    return {name: value for name, value in known.items() if not name.startswith("__")}, heard.getvalue()


def run_command(line: str, words: list[str]) -> str:
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        code = main(words)
    assert code == 0, f"'{line}' ended with {code}"
    return heard.getvalue()


def same(printed: str, said: list[str], where: str) -> None:
    """What was printed is what the page says, up to spaces at line ends and what `...` leaves out; nothing said, nothing asked."""
    wanted = [line.rstrip() for line in said]
    got = [line.rstrip() for line in printed.rstrip().splitlines()]
    while wanted and not wanted[-1]:
        wanted.pop()
    if wanted and wanted[-1] == "...":
        wanted.pop()
        got = got[: len(wanted)]
    assert not wanted or got == wanted, (
        f"{where} says\n" + "\n".join(wanted) + "\nbut this is printed:\n" + "\n".join(got)
    )


def script(name: str) -> Any:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_code_says() -> None:
    kept = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert script("make_reference").reference() == kept, "docs/reference.md is old; run: python docs/make_reference.py"


def test_the_drawings_are_what_the_code_draws() -> None:
    for name, draw in script("make_drawings").DRAWINGS.items():
        kept = (DOCS / "pictures" / name).read_text(encoding="utf-8")
        assert draw() == kept, f"{name} is old; run: python docs/make_drawings.py"


def words_of(text: str) -> int:
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def test_the_pages_for_users_have_at_most_twenty_five_thousand_words() -> None:
    pages = [page for page in DOCS.rglob("*.md") if page.name != "reference.md"]
    assert len(pages) > 20
    assert sum(words_of(page.read_text(encoding="utf-8")) for page in pages) <= 25_000


@pytest.mark.parametrize(("folder", "most"), [("methods", 900), ("results", 600)])
def test_readme_and_the_pages_of_methods_and_results_are_short(folder: str, most: int) -> None:
    pages = [*(DOCS / folder).glob("*.md"), *([ROOT / "README.md"] if folder == "methods" else [])]
    long = {page.name: n for page in pages if (n := words_of(page.read_text(encoding="utf-8"))) > most}
    assert long == {}


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)\)", index)}
    apart = (DOCS / "index.md",)
    pages = {page for page in PAGES if page.is_relative_to(DOCS) and not any(page.is_relative_to(p) for p in apart)}
    assert pages - linked == set()


PUBLIC = [name for name in errands.__all__ if not (inspect.isclass(v := getattr(errands, name)) and issubclass(v, Exception))]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_is_true(name: str) -> None:
    value = getattr(errands, name)
    module = sys.modules[value.__module__]
    (test,) = doctest.DocTestFinder(recurse=False).find(value, name, module=module)
    assert test.examples, f"errands.{name} has no example in its docstring"
    said = io.StringIO()
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.write)
    assert result.failed == 0, said.getvalue()


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(errands, name))])
def test_every_parameter_of_a_public_function_is_explained(name: str) -> None:
    value = getattr(errands, name)
    explained = set(re.findall(r"^    (\w+): ", inspect.getdoc(value) or "", re.MULTILINE))
    assert set(inspect.signature(value).parameters) - explained == set()
