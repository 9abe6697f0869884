"""docs/how-to/coming-from-sb3.md: forty idioms, each run as it stands there, in one folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from errands.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "coming-from-sb3.md"
NEEDS = {"--log tensorboard": "tensorboardX", "--log wandb": "wandb", "optuna": "optuna", "--mp4": "imageio_ffmpeg"}
"""What a row needs that not every installation has."""


@pytest.mark.filterwarnings("ignore")  # what other libraries say of their own age
def test_forty_idioms_are_told_and_all_but_four_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 41))
    absent = [there for _, there, here in rows if here.startswith("absent: ")]
    assert len(absent) <= 4
    names: dict[str, object] = {}
    exec(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0], names)  # noqa: S102
    missing = []
    for number, there, here in rows:
        if there in absent:
            continue
        code = here.split("`")[1]
        package = next((package for word, package in NEEDS.items() if word in code), None)
        try:
            __import__(package or "errands")
        except ImportError:
            missing.append(package)
            continue
        if code.startswith("errands "):
            assert main(shlex.split(code)[1:]) == 0, (number, code, capsys.readouterr().err)
        else:
            exec(code, names)  # noqa: S102
    capsys.readouterr()
    assert names["run"].steps == 6_000  # type: ignore[attr-defined]
    assert names["rows"]
    if missing:
        pytest.skip(f"rows that need {', '.join(map(str, missing))} were not run")
