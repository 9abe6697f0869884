"""Files: a replay as one self-contained HTML page, the pictures of an episode as an animation (GIF)."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np

from errands.errors import ConfigError
from errands.runs.run import Run
from errands.runs.video import Pictures
from errands.viewer.replay import Replay
from errands.viewer.sources import replay_run

MODULES = ("dom.js", "machine.js", "world.js", "curves.js", "replay.js", "file.js")
"""What the file needs, each after those that it imports."""
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[a-z]+\.js";\n', re.MULTILINE)


def static(name: str) -> str:
    """The text of one of the viewer's own files."""
    return files("errands.viewer").joinpath("static", name).read_text(encoding="utf-8")


@cache
def bundle() -> str:
    """The modules as one script: imports left out, since everything imported stands above."""
    parts = [re.sub(r"^export ", "", _IMPORT.sub("", static(name)), flags=re.MULTILINE) for name in MODULES]
    return "\n".join(parts)


def embedded(value: Any) -> str:
    """JSON that can stand inside a script element whatever the texts in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A name like </script> must not end the element, whoever wrote the task; JSON may escape any letter.
    for sign in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def page(replay: Replay) -> str:
    """The whole file."""
    script, style = bundle(), static("style.css")
    # Only our own script and style may run, told by their checksums: nothing that a task or run brings along can.
    policy = (
        f"default-src 'none'; script-src '{_mark(script)}'; style-src '{_mark(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    texts = {"policy": policy, "title": replay.title, "headline": str(replay.facts["headline"])}
    escaped = {name: html.escape(text, quote=True) for name, text in texts.items()}
    return Template(static("file.html")).substitute(escaped, style=style, script=script, replay=embedded(replay.as_json()))


def _mark(text: str) -> str:
    # A browser takes the checksum of exactly what stands between the tags: not a space may be added there.
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_bytes(path: Path, data: bytes) -> Path:
    """Write a file that a user asked for; a ConfigError says why it cannot be."""
    try:
        path.write_bytes(data)
    except OSError as fault:
        raise ConfigError(f"'{path}' cannot be written: {fault.strerror}; choose another file") from None
    return path


def export_html(run: Run | Replay, path: Path | str, begin: Literal["first", "last"] = "last") -> Path:
    """Write a run, or a replay that was made of one, as a file that plays without a server or a network.

    It opens at the last moment of training, or with `begin="first"` before anything was learnt.
    """
    replay = run if isinstance(run, Replay) else replay_run(run)
    return write_bytes(Path(path), page(replace(replay, facts={**replay.facts, "begin": begin})).encode())


MAX_IMAGES = 300
"""Pictures of an animation; one that would have more is thinned."""


def as_gif(pictures: Pictures, per_second: float) -> bytes:
    """An episode as an animation that repeats and rests at its end."""
    from PIL import Image

    last = len(pictures) - 1
    chosen = np.unique(np.linspace(0, last, min(last + 1, MAX_IMAGES)).round().astype(int))
    shown = [Image.fromarray(pictures[i]).quantize(64) for i in chosen]
    times = [int(1000 / per_second)] * (len(shown) - 1) + [1500]
    out = io.BytesIO()
    shown[0].save(out, "GIF", save_all=True, append_images=shown[1:], duration=times, loop=0, optimize=False)
    return out.getvalue()
