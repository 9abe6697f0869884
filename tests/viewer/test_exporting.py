"""The exported file: everything inside, allowed by hash, and no text that can become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.errors import ConfigError
from errands.viewer.export import MODULES, bundle, embedded, export_html, page, static
from errands.viewer.replay import Replay
from errands.viewer.server import FILES


@pytest.fixture(scope="module")
def replay(replay_policy: Any) -> Replay:
    task = errands.load("figure-1")
    return replay_policy(task, errands.optimum(task).policy)


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_only_the_files_own_script_and_style_are_allowed(replay: Replay) -> None:
    found = Elements(page(replay)).found
    policy = next(a["content"] for tag, a, _ in found if tag == "meta" and a.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag, attributes, text in found:
        if tag == "style" or (tag == "script" and attributes["type"] == "module"):
            mark = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{mark}'" in policy
        assert not any(name in attributes for name in ("src", "href", "style", "onload"))


def test_the_data_in_the_file_are_the_replay(replay: Replay) -> None:
    found = Elements(page(replay)).found
    text = next(text for tag, a, text in found if tag == "script" and a["type"] == "application/json")
    assert json.loads(text) == json.loads(json.dumps(replay.as_json()))


def test_nothing_is_asked_for_from_outside(replay: Replay) -> None:
    text = page(replay)
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "import " not in bundle().replace("// ", "")


def test_modules_joined_into_one_script_share_no_names() -> None:
    declared = re.compile(r"^(?:export )?(?:const|let|function|async function) (\w+)", re.MULTILINE)
    names = [name for module in MODULES for name in declared.findall(static(module))]
    assert len(names) == len(set(names))
    assert not re.search(r"^(import|export) ", bundle(), re.MULTILINE)


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028", "a & b", "<script"])
def test_no_text_can_end_the_data(text: str) -> None:
    written = embedded({"name": text})
    assert json.loads(written) == {"name": text}
    assert not set(written) & set("<>&\u2028")


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(replay: Replay, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        export_html(replay, tmp_path / "nowhere" / "run.html")


def test_the_pages_own_files_are_small_and_never_parse_markup() -> None:
    texts = [static(name) for name in {*FILES, *MODULES, "index.html"}]
    assert sum(len(text.encode()) for text in texts) < 300_000
    parsing = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    for text in texts:
        assert not any(word in text for word in (*parsing, 'setAttribute("style"'))
