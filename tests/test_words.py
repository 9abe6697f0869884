"""The pages stay short enough to be read: words outside of code blocks, whatever holds a letter or a digit being a word."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LIMITS = [
    (ROOT / "README.md", 900),
    *((page, 900) for page in sorted((DOCS / "methods").glob("*.md"))),
    *((page, 600) for page in sorted((DOCS / "results").glob("*.md"))),
]


def words(text: str) -> int:
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    shown = re.sub(r"\]\([^)]*\)", "]", prose)
    return sum(any(sign.isalnum() for sign in word) for word in shown.split())


def test_words_are_counted_as_a_reader_counts_them() -> None:
    page = "# Two words\n\n| a | 3.5 % |\n|---|---|\n\n```\ncode is not read\n```\n[one link](with/a/path.md) and `some code`.\n"
    assert words(page) == 2 + 2 + 2 + 1 + 2


@pytest.mark.parametrize(("page", "most"), LIMITS, ids=[str(page.relative_to(ROOT)) for page, _ in LIMITS])
def test_a_page_is_no_longer_than_its_kind_allows(page: Path, most: int) -> None:
    count = words(page.read_text(encoding="utf-8"))
    assert count <= most, f"{page.name} has {count} words"
