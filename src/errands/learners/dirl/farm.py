"""Many searches at once: every edge that some search waits for is learnt in the next free lane."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from errands.learners.dirl.deep import DeepDiRL, roomy
from errands.learners.dirl.edge import Done, Job
from errands.learners.dirl.ground import ground_of


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
    room = max((c.edge_steps or c.capacity) for c in (learner.config for learner in learners))
    ground = ground_of(first.task, first.graph, roomy(first.config, room), lanes)
    waiting: list[tuple[int, Job]] = []
    parts: list[dict[int, Done]] = [{} for _ in learners]
    asked: list[list[Job]] = [[] for _ in learners]
    at: dict[int, int] = {}

    def ask(place: int) -> None:
        asked[place] = learners[place].jobs(steps[place])
        waiting.extend((place, job) for job in asked[place])
        if not asked[place]:
            ended(place)

    for place in range(len(learners)):
        ask(place)
    while waiting or ground.busy:
        waiting.sort(key=lambda one: -one[1].training)  # the longest first: short jobs fill what is left
        free = ground.free
        for lane, (place, job) in zip(free, waiting, strict=False):
            ground.begin(lane, job)
            at[lane] = place
        del waiting[: len(free)]
        ground.advance()
        if time.perf_counter() > until:
            return False
        for lane in ground.ended():
            place, done = at[lane], ground.jobs[lane]
            assert done is not None  # noqa: S101 (it has just ended)
            parts[place][done.number] = ground.collect(lane)
            if len(parts[place]) == len(asked[place]):
                for job in asked[place]:
                    learners[place].settle(job, parts[place].pop(job.number))
                ask(place)
    return True
