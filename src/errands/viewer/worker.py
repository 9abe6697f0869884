"""The process that trains a run for the page: bounded in time and memory, and gone when the server is."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path


def main(path: str, seconds: int) -> int:
    """Train every seed of a run folder."""
    from errands.viewer.training import MOST_BYTES

    _limit(MOST_BYTES)
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    bell = threading.Timer(seconds, lambda: os._exit(3))
    bell.daemon = True
    bell.start()
    from errands.runs.engine_local import attempt
    from errands.runs.folder import open_run
    from errands.runs.train import jobs_of

    for job in jobs_of(open_run(Path(path))):
        attempt(job, lambda beat: None, strict=False)
    return 0


def _outlive_nobody() -> None:
    """End with the server: the pipe to it is closed when it ends, however it ends."""
    while os.read(0, 1024):
        pass
    os._exit(1)


def _limit(most: int) -> None:
    try:
        import resource
    except ImportError:  # only where the system has no such limits
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
