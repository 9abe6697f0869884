"""Many searches at once: every edge that some search waits for is learnt in the next free lane."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from errands.learners.dirl.deep import DeepDiRL, roomy
from errands.learners.dirl.edge import Done, Job
from errands.learners.dirl.ground import ground_of


@dataclass
class _Search:
    """A learner's run: the edges that it waits for, and what became of those that are learnt."""

    place: int
    learner: DeepDiRL
    steps: int
    asked: list[Job] = field(default_factory=list)
    done: dict[int, Done] = field(default_factory=dict)

    def ask(self) -> list[Job]:
        """The edges to learn next; none when the search has ended."""
        self.asked = self.learner.jobs(self.steps)
        return self.asked

    def take(self, job: Job, done: Done) -> bool:
        """Note what became of an edge; True when all that were asked for are learnt, and settled in their order."""
        self.done[job.number] = done
        if len(self.done) < len(self.asked):
            return False
        for one in self.asked:
            self.learner.settle(one, self.done.pop(one.number))
        return True


def train_many(
    learners: Sequence[DeepDiRL],
    steps: Sequence[int],
    lanes: int,
    until: float = float("inf"),
    ended: Callable[[int], None] = lambda place: None,
) -> bool:
    """Complete runs of learners that differ in seed and budget only, each within its number of interactions.

    Stops at the time `until` of time.perf_counter, leaving edges under way; `ended` is told the place of each learner
    whose search has ended. Returns whether all have.
    """
    first = learners[0]
    room = max(learner.config.edge_steps or learner.config.capacity for learner in learners)
    ground = ground_of(first.task, first.graph, roomy(first.config, room), lanes)
    waiting: list[tuple[_Search, Job]] = []
    at: dict[int, tuple[_Search, Job]] = {}

    def ask(search: _Search) -> None:
        waiting.extend((search, job) for job in search.ask())
        if not search.asked:
            ended(search.place)

    for place, (learner, most) in enumerate(zip(learners, steps, strict=True)):
        ask(_Search(place, learner, most))
    while waiting or ground.busy:
        waiting.sort(key=lambda one: -one[1].training)  # the longest first: short jobs fill what is left
        free = ground.free
        for lane, one in zip(free, waiting, strict=False):
            ground.begin(lane, one[1])
            at[lane] = one
        del waiting[: len(free)]
        ground.advance()
        if time.perf_counter() > until:
            return False
        for lane in ground.ended():
            search, job = at[lane]
            if search.take(job, ground.collect(lane)):
                ask(search)
    return True
