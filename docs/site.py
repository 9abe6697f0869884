"""What mkdocs calls while it builds the site: pages from outside of docs/ join it, and links to them lead there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ALWAYS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/README.md")
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TEXT = {".py": "python", ".jsonl": "json", ".json": "json", ".csv": "text", ".toml": "toml", ".txt": "text"}
"""What is shown as a page with one block of code, by suffix; other files are copied."""


def on_files(files: Files, config: Any) -> Files:
    """Add every file that a page links to, and what those link to, until nothing new is found."""
    waiting = [*DOCS.rglob("*.md"), *(ROOT / name for name in ALWAYS if (ROOT / name).exists())]
    seen = set()
    while waiting:
        path = waiting.pop()
        path = path / "README.md" if (path / "README.md").exists() else path
        if path in seen:
            continue
        seen.add(path)
        if not path.is_relative_to(DOCS):
            files.append(_added(path, config))
        if path.suffix == ".md":
            waiting += [target for target in _targets(path) if target not in seen]
        elif path.is_dir():
            waiting += [child for child in sorted(path.iterdir()) if child.suffix in (".py", ".md")]
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to where files are in the site."""
    here = page.file.src_uri
    source = DOCS / here if (DOCS / here).exists() else ROOT / here
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):  # code is left alone
        parts += [_rewritten(markdown[end : fence.start()], source, here), fence[0]]
        end = fence.end()
    return "".join([*parts, _rewritten(markdown[end:], source, here)])


def _rewritten(text: str, source: Path, here: str) -> str:
    def link(found: re.Match[str]) -> str:
        target = _target(source, found[2])
        if target is None or not target.exists():
            return found[0]
        there = os.path.relpath(_uri(target), PurePosixPath(here).parent)
        return f"{found[1]}{there}{found[3] or ''}{found[4]}"

    return LINK.sub(link, text)


def _targets(path: Path) -> Iterator[Path]:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        target = _target(path, found[2])
        if target is not None and target.exists() and not target.is_relative_to(DOCS):
            yield target


def _target(source: Path, link: str) -> Path | None:
    """The file of the repository that a relative link names; None for addresses of the web."""
    if re.match(r"[a-z]+:|/", link):
        return None
    target = (source.parent / link).resolve()
    return target if target.is_relative_to(ROOT) else None


def _uri(target: Path) -> str:
    """The address of a file in the site, before mkdocs turns pages into HTML."""
    if target.is_relative_to(DOCS) and target != DOCS:
        return target.relative_to(DOCS).as_posix()
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        return f"{name}/README.md" if (target / "README.md").exists() else f"{name}/index.md"
    return f"{name}.md" if target.suffix in TEXT else name


def _added(path: Path, config: Any) -> File:
    if path.is_dir():
        listed = [child for child in sorted(path.iterdir()) if child.suffix == ".py"]
        text = "\n".join([f"# {path.name}", "", *(f"- [{child.name}]({child.name})" for child in listed)])
        return File.generated(config, _uri(path), content=text)
    if path.suffix in TEXT:
        text = path.read_text(encoding="utf-8")[:200_000]
        return File.generated(config, _uri(path), content=f"# {path.name}\n\n````{TEXT[path.suffix]}\n{text}\n````\n")
    return File.generated(config, _uri(path), abs_src_path=str(path))
