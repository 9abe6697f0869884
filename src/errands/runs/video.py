"""Episodes as films (MP4): pictures of an environment through the program that imageio-ffmpeg brings along."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import ConfigError, TaskError, install
from errands.oracle.episode import Policy, episode
from errands.tasks.task import Task
from errands.worlds.base import numbered

Pictures = Sequence[NDArray[np.uint8]]
FOLDER = "videos"
MOST = 1_200


def check_films(task: Task) -> None:
    """Refuse what cannot be filmed before anything is trained."""
    _program()
    with closing(numbered(task.world, "rgb_array")) as env:
        env.reset(seed=0)
        _picture(env, task)


def pictures_of(task: Task, policy: Policy, seed: int = 0) -> tuple[Pictures, float]:
    """A greedy episode as the environment draws it, and how many pictures are to be shown in a second."""
    with closing(numbered(task.world, "rgb_array")) as env:
        shown = [_picture(env, task) for _, _ in zip(episode(policy, task, seed, env), range(MOST), strict=False)]
        return shown, float(env.metadata.get("render_fps") or 20)


def _picture(env: Any, task: Task) -> NDArray[np.uint8]:
    try:
        shown = env.render()
    except TaskError:  # Gymnasium's own answer where nothing is drawn
        shown = None
    if not isinstance(shown, np.ndarray) or shown.ndim != 3:
        raise ConfigError(f"'{task.name}' cannot be filmed: its environment gives no picture for render_mode='rgb_array'")
    return shown[..., :3].astype(np.uint8)


def mp4(pictures: Pictures, per_second: float) -> bytes:
    """Pictures of one size as an MP4 file."""
    program = _program()
    # Half of the colours are stored, so that sides have to be even.
    even = [np.pad(p, ((0, p.shape[0] % 2), (0, p.shape[1] % 2), (0, 0)), mode="edge") for p in pictures]
    height, width = even[0].shape[:2]
    with TemporaryDirectory() as place:
        path = Path(place) / "film.mp4"
        writer = program.write_frames(str(path), (width, height), fps=per_second, macro_block_size=2, ffmpeg_log_level="error")
        writer.send(None)
        for picture in even:
            writer.send(np.ascontiguousarray(picture))
        writer.close()
        return path.read_bytes()


def _program() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ConfigError(f"a video needs imageio-ffmpeg; run: {install('video')}") from None
    return imageio_ffmpeg
