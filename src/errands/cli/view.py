"""`errands view`: a local page that shows runs while they learn and afterwards, and an editor for tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError, install


@dataclass(frozen=True)
class Arguments:
    """Serve the page on this computer until Ctrl-C; the printed link holds a secret that only you have."""

    run: Positional[str | None] = None
    """The name of a run under runs/, its path, or 'latest'; without one the page opens on the newest run."""
    port: int = 0
    """The port; default: any free one."""
    host: str = "127.0.0.1"
    """Where to listen; anything but loopback lets others on your network try."""
    open: bool = False
    """Open the page in your browser."""


def run(arguments: Arguments) -> Answer:
    """Serve until interrupted."""
    try:
        from errands.viewer.server import serve
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        hint = f"errands view needs starlette and uvicorn; run: {install('viewer')}"
        raise ConfigError(f"{fault.name} is not installed; {hint}") from None
    from errands.runs.folder import RUNS, find

    if not 0 <= arguments.port < 65536:
        raise ConfigError(f"--port is {arguments.port}; ports are 0 (any free one) to 65535")
    runs, name = Path(RUNS), None
    if arguments.run is not None:
        path = find(arguments.run)
        runs, name = path.parent, path.name
    link = serve(runs, name, arguments.host, arguments.port, arguments.open)
    return Answer({"link": link}, "the page is closed")
