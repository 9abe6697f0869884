"""`errands export`: a run as one HTML file that plays anywhere, as an animation, a picture, a table, or a policy to use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from errands.cli.summary import Answer
from errands.cli.verbs import Positional
from errands.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.viewer.replay import Replay


@dataclass(frozen=True)
class Arguments:
    """Write what a run learnt into files that need neither a server nor a network."""

    run: Positional[str] = "latest"
    """The name of a run under runs/, its path, or 'latest'."""
    html: Path | None = None
    """A self-contained page that plays the episode."""
    gif: Path | None = None
    """An animation of the last episode."""
    mp4: Path | None = None
    """The same as a video."""
    png: Path | None = None
    """A picture of the world at the end of the last episode."""
    csv: Path | None = None
    """The last episode as a table."""
    as_: Literal["policy"] | None = None
    """policy: one file that numpy alone acts by (errands.read_policy)."""
    output: Path | None = None
    """Where the policy is written; default: RUN.safetensors."""
    seed: int | None = None
    """Which seed; default: the first that was trained."""
    best: bool = False
    """The policy of the best evaluation instead of the newest."""


def run(arguments: Arguments) -> Answer:
    """Write the files that were asked for."""
    from errands.cli.options import a_run_of
    from errands.policies.file import read_policy
    from errands.runs.folder import HEAD, find, open_run
    from errands.runs.train import stored_run
    from errands.viewer.export import as_csv, as_gif, as_mp4, as_png, page, write_bytes
    from errands.viewer.sources import replay_stored

    makers: dict[str, Callable[[Replay], bytes]] = {
        "html": lambda replay: page(replay).encode(),
        "gif": lambda replay: as_gif(folder.task, replay),
        "mp4": lambda replay: as_mp4(folder.task, replay),
        "png": lambda replay: as_png(folder.task, replay),
        "csv": as_csv,
    }
    wanted = {kind: path for kind in makers if (path := getattr(arguments, kind)) is not None}
    if not wanted and arguments.as_ is None:
        raise ConfigError(f"nothing was asked for; run for example: errands export {arguments.run} --html run.html")
    path = find(arguments.run)
    if not (path / HEAD).is_file():
        raise ConfigError(f"'{arguments.run}' is a sweep; export one of its runs, such as {a_run_of(path)}")
    folder, files = open_run(path), dict[str, str]()
    seed = folder.document.seeds[0] if arguments.seed is None else arguments.seed
    if arguments.as_ == "policy":
        run = stored_run(folder, folder.known_seed(arguments.seed), arguments.best)
        files["policy"] = str(run.export(arguments.output or f"{folder.name}.safetensors"))
    if wanted:
        replay = replay_stored(folder, arguments.seed, arguments.best)
        seed = replay.facts["seed"]
        for kind, file in wanted.items():
            write_bytes(file, makers[kind](replay))
            files[kind] = str(file)
    lines = [f"wrote {file} ({Path(file).stat().st_size:,} bytes)" for file in files.values()]
    if "policy" in files:
        lines.append(f"the policy file holds {read_policy(files['policy']).about['covers']}")
    return Answer({"run": folder.name, "seed": seed, "files": files}, "\n".join(lines))
