"""The best policy of a seed so far: when an evaluation is better, what is kept of it, and its file best.safetensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from errands.errors import StoreError
from errands.learners.base import Learner
from errands.runs.checkpoint import MAX_ARRAYS, OtherRun, evaluations_in, packed
from errands.runs.documents import BestDocument, damaged
from errands.runs.files import Arrays, digest, pack, read_file, unpack, write_file
from errands.tables import ENDS, Evaluation

NAME = "best.safetensors"
MAX_BYTES = 256_000_000
"""Policies that take more are not kept beside the newest."""
CONFIRMING = 3
"""A mean of few episodes must be confirmed by one of so many times as many."""
_OWNER, _MARK = "best.of", "best.sha256"


@dataclass
class Best:
    """The best evaluation of a seed: success first, then length, the earlier of two that are equal; none before a success."""

    evaluation: Evaluation | None = None
    """As it stands in the table."""
    value: Evaluation | None = None
    """What is believed of it: of a mean of few episodes that of the larger sample which confirmed it."""
    arrays: Arrays | None = None
    """What acting needs; None where that was too large to be kept."""
    since: int = 0
    """Evaluations since then; before the first success 0."""
    fresh: bool = False
    """Whether it is not in its file yet."""

    def note(self, evaluation: Evaluation, learner: Learner) -> None:
        """Look at an evaluation that the learner has just made, and keep its policy where it is better."""
        self.since += self.value is not None
        if evaluation.success <= 0 or not self._beaten_by(evaluation):
            return
        value = evaluation if evaluation.exact else learner.average(CONFIRMING * evaluation.episodes, first=1 << 20)
        if value.success <= 0 or not self._beaten_by(value):
            return
        acting = learner.acting()
        small = sum(array.nbytes for array in acting.values()) <= MAX_BYTES
        self.arrays = {name: np.array(array) for name, array in acting.items()} if small else None
        self.evaluation, self.value, self.since, self.fresh = evaluation, value, 0, small

    def _beaten_by(self, other: Evaluation) -> bool:
        # Expectations that were summed in another order differ in their last digits.
        def rank(e: Evaluation) -> tuple[float, float]:
            return -round(float(e.success), 9), round(float(e.episode_length), 6)

        return self.value is None or rank(other) < rank(self.value)

    @classmethod
    def of(cls, rows: Iterable[Evaluation], stored: Best | None) -> Best:
        """Where a seed goes on: what its file holds; where there is none, the best row, whose policy is gone."""
        best = stored or cls()
        for row in rows:
            if stored is not None and stored.evaluation is not None:
                best.since += row.step > stored.evaluation.step
            elif row.success > 0 and best._beaten_by(row):
                best.evaluation, best.value, best.since = row, row, 0
            else:
                best.since += best.value is not None
        return best

    @property
    def document(self) -> BestDocument | None:
        """What results say of it."""
        if self.value is None:
            return None
        e, ends = self.value, {end: getattr(self.value, end) for end in ENDS}
        return BestDocument(step=e.step, length=e.episode_length, success=e.success, episodes=e.episodes, **ends)

    def write(self, folder: Path, seed: int, run: str | None) -> None:
        """Replace the file in one move; it holds its own checksum."""
        if not self.fresh or self.arrays is None or self.evaluation is None or self.value is None:
            return
        owner = np.frombuffer(f"{run} {seed}".encode(), np.uint8)
        inside = unpack(packed({**self.arrays, _OWNER: owner}, [self.evaluation, self.value]), folder / NAME)
        mark = np.frombuffer(digest(pack(inside)).encode(), np.uint8)
        write_file(folder / NAME, pack({**inside, _MARK: mark}))
        self.fresh = False


def read_best(folder: Path, seed: int, run: str | None) -> Best | None:
    """What the file of a seed holds; None where there is none."""
    path = folder / NAME
    if not (path.exists() or path.is_symlink()):
        return None
    arrays = unpack(read_file(path, min(MAX_ARRAYS, 2 * MAX_BYTES)), path)
    mark, owner = arrays.pop(_MARK, None), arrays.get(_OWNER)
    if mark is None or owner is None or mark.tobytes() != digest(pack(arrays)).encode():
        raise damaged(path)
    if owner.tobytes() != f"{run} {seed}".encode():
        raise OtherRun(f"{path} belongs to another run or seed; put it back there")
    del arrays[_OWNER]
    try:
        evaluation, value = evaluations_in(arrays, path)
    except ValueError:
        raise StoreError(f"{path} has no evaluation; it was not written by errands") from None
    return Best(evaluation, value, arrays)
