"""The documentation site builds without a warning and without the network; every link of every page leads somewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import errands

ROOT = Path(__file__).parent.parent
pytest.importorskip("mkdocs", reason="the site needs the extra [docs]")


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: with it mkdocs counts no warnings, and --strict has nothing to refuse.
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "no_proxy": "*", "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_of_every_page_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 40
    wrong = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            there = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (anchor and there in pages and unquote(anchor) not in pages[there].anchors):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []


def test_nothing_is_loaded_from_outside(pages: dict[Path, Page]) -> None:
    assert {link for page in pages.values() for link in page.loaded if re.match(r"[a-z]+:|//", link)} == set()


def test_the_search_knows_every_page_and_every_public_name(site: Path, pages: dict[Path, Page]) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(path.relative_to(site)) for path in pages} - found - {"index.html"} == set()
    titles = {entry["title"] for entry in index["docs"]}
    assert {f"errands.{name}" for name in errands.__all__} - titles == set()
