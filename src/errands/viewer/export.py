"""A replay as a file: one self-contained HTML page, an animation (GIF), a picture (PNG) or a table (CSV)."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from errands.errors import ConfigError
from errands.runs.run import Run
from errands.runs.video import mp4
from errands.tasks.task import Task
from errands.terminal import harmless
from errands.viewer.replay import Episode, Replay
from errands.viewer.scene import PNG
from errands.viewer.sources import replay_run
from errands.worlds import water, zones
from errands.worlds.picture import Drawing, Shape, Stroke, Word, grid_drawing, pixels

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
    headline = html.escape(str(replay.facts["headline"]))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(replay.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><h1>{html.escape(replay.title)}</h1><p class="quiet">{headline}</p></header>\n'
        '<main id="main"></main>\n'
        '<footer>space plays, ← → step, [ ] moments of training, m changes the machine; made by errands</footer>\n'
        f'<script type="application/json" id="replay">{embedded(replay.as_json())}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


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
_METRE = 150.0


def frame_drawing(task: Task, replay: Replay, episode: Episode, index: int) -> Drawing:
    """The world in one frame, with the way so far and one line of text under it."""
    at = episode.frames[index]["at"]
    if task.layout is not None:
        left = replay.stands[episode.frames[index]["stand"]]["remaining"]
        gone = {n for n, remains in zip(replay.subtasks, left, strict=True) if not remains and n in replay.scene["removed"]}
        path = [frame["at"] for frame in episode.frames[: index + 1]]
        drawn = grid_drawing(task.layout, at, path, gone)
    elif replay.scene["kind"] == "water":
        drawn = water.water_drawing(at[0], at[1:])
    elif replay.scene["kind"] == "zones":
        drawn = zones.zones_drawing(at[0], replay.scene["places"], replay.scene["walls"])
    elif replay.scene["kind"] == "cheetah":
        drawn = _cheetah(at, replay.scene["marks"])
    else:
        drawn = Drawing(320, 60, (Word(160, 30, f"state {at}", 14, "#222222"),))
    return _captioned(drawn, f"step {index}   {replay.stands[episode.frames[index]['stand']]['label']}")


def _captioned(drawn: Drawing, text: str) -> Drawing:
    most = max(8, int(drawn.width / 7))
    shown = text if len(text) <= most else text[: most - 1] + "…"
    word = Word(drawn.width / 2, drawn.height + 9, shown, 12, "#444444")
    return Drawing(drawn.width, drawn.height + 22, (*drawn.shapes, word))


def _cheetah(at: Any, marks: Any) -> Drawing:
    wide, tall, floor = 560.0, 260.0, 232.0
    middle = (at[0][0] + at[0][2]) / 2 if at else 0.0
    shapes: list[Shape] = [Stroke(((0, floor), (wide, floor)), "#b9c0c4", 2)]
    for name, x in marks:
        right = wide / 2 + (x - middle) * _METRE
        shapes += [Stroke(((right, 30), (right, floor)), "#e08e2b", 1), Word(right, 18, name, 15, "#e08e2b")]
    for x1, z1, x2, z2, radius in at:
        ends = tuple((wide / 2 + (x - middle) * _METRE, floor - z * _METRE) for x, z in ((x1, z1), (x2, z2)))
        shapes.append(Stroke(ends, "#1f6f78", 2 * radius * _METRE))
    return Drawing(wide, tall, tuple(shapes))


def images(task: Task, replay: Replay) -> list[NDArray[np.uint8]]:
    """The last episode as images, thinned where it is long, its end included."""
    episode = replay.episodes[-1]
    last = len(episode.frames) - 1
    chosen = np.unique(np.linspace(0, last, min(last + 1, MAX_IMAGES)).round().astype(int))
    return [image(task, replay, episode, int(i)) for i in chosen]


def image(task: Task, replay: Replay, episode: Episode, index: int) -> NDArray[np.uint8]:
    """One frame [height, width, 3]: drawn by errands, or the environment's own picture."""
    if replay.scene["kind"] != "pictures":
        return pixels(frame_drawing(task, replay, episode, index))
    from PIL import Image

    data = base64.b64decode(replay.pictures[episode.frames[index]["at"]].removeprefix(PNG))
    return np.array(Image.open(io.BytesIO(data)).convert("RGB"))


def as_gif(task: Task, replay: Replay, seconds: float = 0.2) -> bytes:
    """The last episode as an animation that repeats and rests at its end."""
    from PIL import Image

    pictures = [Image.fromarray(shown).quantize(64) for shown in images(task, replay)]
    pace = seconds if replay.scene["kind"] == "grid" else 0.05
    times = [int(1000 * pace)] * (len(pictures) - 1) + [1500]
    out = io.BytesIO()
    pictures[0].save(out, "GIF", save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=False)
    return out.getvalue()


def as_mp4(task: Task, replay: Replay) -> bytes:
    """The last episode as a video."""
    return mp4(images(task, replay), 5 if replay.scene["kind"] == "grid" else 20)


def as_png(task: Task, replay: Replay) -> bytes:
    """The end of the last episode, with the way that led there."""
    from PIL import Image

    episode = replay.episodes[-1]
    out = io.BytesIO()
    Image.fromarray(image(task, replay, episode, len(episode.frames) - 1)).save(out, "PNG")
    return out.getvalue()


def as_csv(replay: Replay) -> bytes:
    """The last episode as a table: one row for each step; texts that a spreadsheet would run are made harmless."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["step", "at", "action", "features", "state", "label", "guard", "reward", "total", "completed"])
    for i, frame in enumerate(replay.episodes[-1].frames):
        stand, move = replay.stands[frame["stand"]], replay.moves[frame["move"]]
        seen, guard = " ".join(frame["features"]), move["guard"] or ""
        words = [frame["action"] or "", seen, stand["state"], stand["label"], guard]
        at = frame["at"] if isinstance(frame["at"], int) else ""
        done = harmless(" ".join(frame["done"]))
        table.writerow([i, at, *map(harmless, words), frame["reward"], frame["total"], done])
    return out.getvalue().encode()
