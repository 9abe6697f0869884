"""Who looks on while seeds train: callbacks, the run so far that they are shown, and the conditions that end a training."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.errors import ConfigError, UnknownName
from errands.learners import method_of
from errands.learners.base import Learner
from errands.oracle.episode import Policy
from errands.runs.request import Request
from errands.tables import Evaluation
from errands.tasks.task import Task

if TYPE_CHECKING:
    from errands.runs.run import Run


@dataclass(frozen=True)
class RunSoFar:
    """A seed in training, right after an evaluation: what a callback may look at, draw, log or save.

    >>> import errands
    >>> def soon(evaluation, run: errands.RunSoFar):
    ...     return run.optimum is None or run.step < run.steps // 2
    >>> errands.train("figure-1", "qcorm", steps=20_000, on_evaluation=soon).steps
    10000
    """

    request: Request = field(repr=False)
    seed: int
    evaluations: Sequence[Evaluation] = field(repr=False)
    """All of them, the newest last."""
    best: Evaluation | None
    """The best one, confirmed where it is a mean of few episodes; None before the first success."""
    since_best: int
    """Evaluations since then."""
    folder: Path | None
    """Where the run is stored, if it is."""
    trained: Learner = field(repr=False)
    """The learner itself; whoever changes it changes the training."""
    known_optimum: Callable[[], float | None] = field(repr=False)

    @property
    def task(self) -> Task:
        """What is learnt."""
        return self.request.task

    @property
    def step(self) -> int:
        """Training steps so far."""
        return self.trained.step

    @property
    def steps(self) -> int:
        """Training steps that were asked for."""
        return self.request.steps

    @property
    def policy(self) -> Policy:
        """The greedy policy of now; later training does not change it."""
        return self.trained.policy

    @property
    def optimum(self) -> float | None:
        """The exact optimum; None where it is not known."""
        return self.known_optimum()

    def run(self) -> Run:
        """The run as if it ended here: judged, and able to act, to be drawn and exported."""
        from errands.runs.run import judge

        return judge(self.trained, self.request, tuple(self.evaluations), 0.0)


Watcher = Callable[[Evaluation, RunSoFar], bool | None]
OnEvaluation = Callable[[Evaluation], bool | None] | Watcher | Sequence[Callable[[Evaluation], bool | None] | Watcher]
"""Called with every evaluation, and with the run so far where it takes a second argument; False ends the training."""


def watchers_of(given: OnEvaluation | None) -> list[Watcher]:
    """What was given as on_evaluation, each to be called with the run so far."""
    if given is None:
        return []
    return [_watcher(one) for one in (given if isinstance(given, list | tuple) else [given])]


def _watcher(given: Any) -> Watcher:
    if not callable(given):
        raise ConfigError(f"on_evaluation is a {type(given).__name__}; give a function of an evaluation, or a list of such")
    try:
        needed = [p for p in inspect.signature(given).parameters.values()
                  if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]  # fmt: skip
    except (TypeError, ValueError):  # what is written in C need not say
        needed = []
    return given if len(needed) > 1 else lambda evaluation, run: given(evaluation)


def named(watcher: Watcher) -> str:
    """What results call it: a condition by its words."""
    return str(watcher) if any("__str__" in vars(kind) for kind in type(watcher).__mro__[:-1]) else "a callback"


class _Stop:
    """A condition, which results call by the word that names it, as in plateau=5."""

    def __str__(self) -> str:
        names: dict[Any, str] = {make: name for name, (make, _) in STOPS.items()}
        return "=".join([names[type(self)], *(f"{value:g}" for value in vars(self).values())])


@dataclass(frozen=True)
class StopWhenOptimal(_Stop):
    """Ends a training once a policy surely succeeds in the optimal number of steps.

    >>> import errands
    >>> run = errands.train("figure-1", "qcorm", steps=50_000, on_evaluation=[errands.StopWhenOptimal()])
    >>> run.steps < 50_000, run.certificate.gap
    (True, 0.0)
    """

    def __call__(self, evaluation: Evaluation, run: RunSoFar) -> bool:
        """False where that has happened."""
        if run.optimum is None:
            raise ConfigError(_UNKNOWN.format(run.task.name))
        return run.best is None or not run.best.optimal(run.optimum)


_UNKNOWN = "the optimum of '{}' is not known, so no training can stop there; stop at plateau=5 or success=0.99"


@dataclass(frozen=True)
class StopOnPlateau(_Stop):
    """Ends a training when so many evaluations in a row were no better than the best; before the first success it waits.

    >>> import errands
    >>> run = errands.train("figure-1", "qcorm", steps=50_000, on_evaluation=errands.StopOnPlateau(5))
    >>> run.steps < 50_000, run.best.certificate.summary
    (True, '10 steps, 0 more than the optimum')
    """

    evaluations: int

    def __post_init__(self) -> None:
        if not isinstance(self.evaluations, int) or self.evaluations < 1:
            raise ConfigError(f"a plateau of {self.evaluations!r} evaluations was asked for; give a whole number, 1 or more")

    def __call__(self, evaluation: Evaluation, run: RunSoFar) -> bool:
        """False where that has happened."""
        return run.since_best < self.evaluations


@dataclass(frozen=True)
class StopOnSuccess(_Stop):
    """Ends a training once a policy succeeds in such a share of its episodes, means of few episodes being confirmed.

    >>> import errands
    >>> run = errands.train("figure-1", "qcorm", steps=50_000, on_evaluation=errands.StopOnSuccess(0.99))
    >>> run.steps < 50_000, run.certificate.success
    (True, 1.0)
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"a share of successes of {self.share!r} was asked for; it must lie above 0 and not above 1")

    def __call__(self, evaluation: Evaluation, run: RunSoFar) -> bool:
        """False where that has happened."""
        return run.best is None or run.best.success < self.share


@dataclass(frozen=True)
class StopAtEpsilon(_Stop):
    """Ends a training once the learner's claim leaves less than this share of the optimum open.

    >>> import errands
    >>> run = errands.train("figure-1", "scout", steps=5_000, on_evaluation=errands.StopAtEpsilon(0.01))
    >>> run.certificate.claim.epsilon
    0.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < 1:
            raise ConfigError(f"an epsilon of {self.epsilon!r} was asked for; it must lie above 0 and below 1")

    def __call__(self, evaluation: Evaluation, run: RunSoFar) -> bool:
        """False where that has happened."""
        claim = getattr(run.trained, "claim", None)
        if claim is None:
            raise ConfigError(f"'{run.request.learner}' claims nothing, so no training of it can stop at an epsilon; use 'scout'")
        return not claim.epsilon < self.epsilon * claim.upper


STOPS: dict[str, tuple[Callable[..., Watcher], Callable[[str], Any] | None]] = {
    "optimal": (StopWhenOptimal, None),
    "plateau": (StopOnPlateau, int),
    "success": (StopOnSuccess, float),
    "epsilon": (StopAtEpsilon, float),
}
"""What --stop-when can say, and how what follows the sign = is read; None where nothing follows."""


def stop_of(word: str) -> Watcher:
    """The condition that a word such as plateau=5 names."""
    name, _, value = word.partition("=")
    if name not in STOPS:
        raise UnknownName("condition to stop", word[:60], STOPS)
    make, read = STOPS[name]
    if (read is None) != (value == ""):
        raise ConfigError(f"--stop-when {word[:60]} was asked for; write optimal, plateau=5, success=0.99 or epsilon=0.01")
    try:
        return make() if read is None else make(read(value))
    except ValueError:
        raise ConfigError(f"--stop-when {word[:60]} was asked for; what follows = is a number") from None


def stops_of(words: Sequence[str], task: Task, learner: str) -> list[str]:
    """The words themselves, where each can end a training on the task; what cannot be is refused before anything is written."""
    from errands.runs.train import known_optimum

    stops = [stop_of(word) for word in words]
    if any(isinstance(stop, StopWhenOptimal) for stop in stops) and known_optimum(task).length is None:
        raise ConfigError(_UNKNOWN.format(task.name))
    if any(isinstance(stop, StopAtEpsilon) for stop in stops) and not method_of(learner).stops_when_proved:
        raise ConfigError(f"'{learner}' claims nothing, so no training of it can stop at an epsilon; use 'scout'")
    return list(map(str, stops))
