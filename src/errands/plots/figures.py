"""All figures as one table, which `errands plot`, the page and exported files walk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from errands.analysis.compare import Compared
from errands.errors import ConfigError
from errands.plots.charts import Runtimes, draw_runtimes, draw_sizes, machine_sizes, runtimes
from errands.plots.curves import LearningCurves, draw_curves, learning_curves
from errands.plots.maps import PolicyMaps, Routes, draw_policies, draw_routes, policy_maps, routes
from errands.plots.paths import Path, draw_path, path_of
from errands.plots.style import as_svg
from errands.runs.run import best_length
from errands.worlds.base import Observed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from errands.learners.base import Learner
    from errands.tasks.task import Task


class Trained(NamedTuple):
    """One seed of a run, or a task that nothing was trained on."""

    task: Task
    learner: Learner | None
    name: str


@dataclass(frozen=True)
class Figure:
    """A figure: a value is computed, then drawn."""

    name: str
    about: str
    of: Literal["run", "runs", "family"]
    """What `value` takes: `Trained`, a sequence of `Compared`, or a title and the machines of a family of tasks."""
    value: Callable[..., Any]
    """What it shows, with `as_json()`."""
    draw: Callable[[Any], Drawing]
    script: str = ""
    """The page's own module that draws it; where there is none the page shows the SVG."""

    def svg(self, *subject: Any) -> str:
        """The figure as the text of an SVG file."""
        return as_svg(self.draw(self.value(*subject)))


def _curves(runs: Sequence[Compared]) -> LearningCurves:
    return learning_curves([run.curve for run in _of_one_task(runs)])


def _runtimes(runs: Sequence[Compared]) -> Runtimes:
    title = ", ".join(dict.fromkeys(run.curve.task.rsplit("-", 1)[0] for run in runs))
    return runtimes(title, [(run.curve.name, run.subtasks, seconds) for run in runs for seconds in run.seconds])


def _of_one_task(runs: Sequence[Compared]) -> Sequence[Compared]:
    tasks = sorted({run.curve.task for run in runs})
    if len(tasks) > 1:
        raise ConfigError(f"this figure shows one task; these runs are on {', '.join(tasks)}: name runs of one of them")
    return runs


def _route(trained: Trained) -> Routes | Path:
    policy = trained.learner.policy if trained.learner else None
    if trained.learner is not None and policy is not None and trained.task.layout is None and Observed.of(trained.task.world):
        return path_of(trained.task, policy, trained.name, trained.learner.seed)
    return routes(trained.task, best_length(trained.task), policy, trained.name)


def _draw_route(value: Routes | Path) -> Drawing:
    return draw_path(value) if isinstance(value, Path) else draw_routes(value)


def _policy(trained: Trained) -> PolicyMaps:
    if trained.learner is None:
        raise ConfigError(f"'{trained.task.name}' is a task and has no policy; add --learner qcorm, or name a run")
    return policy_maps(trained.task, trained.learner.policy, trained.learner)


FIGURES: Mapping[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure("curves", "the length of greedy episodes against training steps", "runs", _curves, draw_curves, "curves.js"),
        Figure("runtimes", "seconds per million steps against the number of subtasks", "runs", _runtimes, draw_runtimes),
        Figure("sizes", "states of the four machines of a family of tasks", "family", machine_sizes, draw_sizes, "sizes.js"),
        Figure("route", "the learnt route beside the optimal one", "run", _route, _draw_route, "replay.js"),
        Figure("policy", "the greedy action in every cell", "run", _policy, draw_policies, "world.js"),
    )
}
