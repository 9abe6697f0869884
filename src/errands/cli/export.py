"""`errands export`: a run as one HTML file that plays anywhere, as a film, or as a policy to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError
from errands.policies.file import read_policy
from errands.runs.folder import find_run, open_run
from errands.runs.train import stored_run
from errands.runs.video import Pictures, mp4, pictures_of


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
    from errands.viewer.export import as_gif, page, write_bytes
    from errands.viewer.sources import replay_stored

    films: dict[str, Callable[[Pictures, float], bytes]] = {"gif": as_gif, "mp4": mp4}
    wanted = {kind: path for kind in ("html", *films) if (path := getattr(arguments, kind)) is not None}
    if not wanted and arguments.as_ is None:
        raise ConfigError(f"nothing was asked for; run for example: errands export {arguments.run} --html run.html")
    folder, files = open_run(find_run(arguments.run)), dict[str, str]()
    seed, made = folder.known_seed(arguments.seed), dict[str, bytes]()
    if arguments.as_ == "policy" or wanted.keys() & films:
        run = stored_run(folder, seed, arguments.best)
    if arguments.as_ == "policy":
        files["policy"] = str(run.export(arguments.output or f"{folder.name}.safetensors"))
    if "html" in wanted:
        replay = replay_stored(folder, arguments.seed, arguments.best)
        seed, made["html"] = replay.facts["seed"], page(replay).encode()
    if wanted.keys() & films:
        pictures = pictures_of(run.task, run.policy, run.seed)
        made |= {kind: films[kind](*pictures) for kind in wanted if kind in films}
    files |= {kind: str(write_bytes(wanted[kind], data)) for kind, data in made.items()}
    lines = [f"wrote {file} ({Path(file).stat().st_size:,} bytes)" for file in files.values()]
    if "policy" in files:
        lines.append(f"the policy file holds {read_policy(files['policy']).about['covers']}")
    return Answer({"run": folder.name, "seed": seed, "files": files}, "\n".join(lines))
