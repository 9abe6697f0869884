"""`errands evaluate`: how good a stored policy is, by many greedy episodes of the environment itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import errands
from errands.cli.options import Count, Quiet
from errands.cli.verbs import Answer, Positional
from errands.errors import ConfigError
from errands.oracle.episode import Estimate
from errands.runs.folder import find_run
from errands.terminal import counting


@dataclass(frozen=True)
class Arguments(Quiet):
    """Let a learnt policy act greedily for many episodes; success and length with their 95 % intervals."""

    run: Positional[str] = "latest"
    """The name of a run under runs/, its path, or 'latest'."""
    phrase: str | None = None
    """Another phrase in the same world, such as "any_order(a, b)", pursued by what was learnt, without training."""
    episodes: Count = 100
    """Episodes to be played; where starts and moves are certain one says everything."""
    seed: int | None = None
    """Which seed; default: the first that was trained."""
    best: bool = False
    """The policy of the best evaluation instead of the newest."""


def run(arguments: Arguments) -> Answer:
    """Open it, play, and tell."""
    if not 2 <= arguments.episodes <= 10_000_000:
        raise ConfigError(f"--episodes is {arguments.episodes}; it must lie between 2 and 10,000,000")
    path = find_run(arguments.run)
    opened = errands.open(path, arguments.seed, best=arguments.best)
    steps = opened.steps
    opened = opened if arguments.phrase is None else opened.on(arguments.phrase)
    title = f"{path.name}, seed {opened.seed}"
    with counting(title, arguments.episodes, arguments.quiet, "episodes") as report:
        sample = opened.evaluate(arguments.episodes, report=report)
    judged = opened.certificate
    exact = judged.sample is None and opened.task.finite is not None and judged.success is not None
    document = {
        "run": path.name,
        "seed": opened.seed,
        "episodes": sample.episodes,
        "success": _numbers(sample.success),
        "length": _numbers(sample.length),
        **({} if arguments.phrase is None else {"phrase": arguments.phrase, "start": opened.start, "unknown": opened.unknown}),
        "exact": {"success": judged.success, "length": judged.length} if exact else None,
    }
    means = "one episode says everything" if sample.episodes == 1 else f"means of {sample.episodes:,} greedy episodes"
    lines = [f"{title}, step {steps:,}: success {sample.success}, {sample.length} steps; {means}"]
    if exact and sample.episodes > 1:
        lines.append(f"exactly, by the world's table: success {judged.success:.6g}, {judged.length:.6g} steps")
    if arguments.phrase is not None:
        lines.append(f"{arguments.phrase}: {opened.summary}\ngoes by {opened.start}")
        lines += [f"not known: {opened.unknown}"] if opened.unknown else []
    return Answer(document, "\n".join(lines))


def _numbers(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
