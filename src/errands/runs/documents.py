"""The JSON files of a run folder: each has a schema and a checksum of itself, so that no changed bit is believed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from errands.errors import StoreError
from errands.runs.files import digest, read_file, write_file

MAX_DOCUMENT, MAX_SWEEP = 8_000_000, 128_000_000
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Positive = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]
Scalar = bool | int | float | str | None


class Document(BaseModel):
    """A JSON file of a run folder."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _once(seeds: list[int]) -> list[int]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is listed more than once")
    return seeds


class ExtensionDocument(Document):
    """What a run was asked for until it was trained further."""

    steps: Annotated[int, Field(ge=1, lt=2**53)]
    """The total until then."""
    reached: list[Count] = Field(max_length=100_000)
    """Where each seed was then, if other settings hold from there on; else empty."""
    config: dict[str, Scalar | list[Scalar]]
    """The settings that were others."""
    stop_when: list[Name] = Field(max_length=20)


class RunDocument(Document):
    """run.json: what was asked for (its identity and its plan), and with which versions on which machine."""

    kind: Literal["errands run"] = "errands run"
    format: Literal[1] = 1
    id: Hash
    """The checksum of all that decides the bytes of its seeds, whose files repeat it: the run of a longer plan is the same one."""
    task: Name
    task_sha256: Hash
    learner: Name
    machine: Name | None
    preset: Name
    config: dict[str, Scalar | list[Scalar]]
    steps: Annotated[int, Field(ge=1, lt=2**53)]
    seeds: Annotated[list[Seed], AfterValidator(_once)] = Field(min_length=1, max_length=100_000)
    team: Count
    checkpoint_seconds: float = Field(gt=0)
    stop_when: list[Name] = Field(max_length=20)
    imports: list[Name] = Field(max_length=100)
    """The modules that were imported for it (`--import`); naming them here imports nothing."""
    created: str
    versions: dict[str, str]
    git: dict[str, str]
    computer: dict[str, str | int]
    start: Annotated[str, Field(max_length=10_000)] = ""
    video_every: Count = 0
    extended: Annotated[list[ExtensionDocument], Field(max_length=1000)] = []
    """Each time that it was trained further, what it had been asked for before."""

    @property
    def method(self) -> str:
        """The learner, with its machine where it has a choice: crm (agenda)."""
        return f"{self.learner} ({self.machine})" if self.machine else self.learner

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The seeds that train together."""
        return grouped(self.seeds, self.team)


def grouped(seeds: Sequence[int], team: int) -> list[tuple[int, ...]]:
    """Seeds cut into teams of so many that train side by side; each alone where there are none."""
    return [tuple(seeds[i : i + (team or 1)]) for i in range(0, len(seeds), team or 1)]


class CheckpointDocument(Document):
    """checkpoint-N.json: the sizes and checksums of the arrays and evaluations that were stored after N steps."""

    kind: Literal["errands checkpoint"] = "errands checkpoint"
    format: Literal[1] = 1
    seed: Seed
    step: Count
    arrays_bytes: Count
    arrays_sha256: Hash
    evaluations_bytes: Count
    evaluations_sha256: Hash
    first_step: Count
    first_sha256: Hash
    seconds: float = Field(ge=0)
    training_seconds: float = Field(ge=0)
    run: Hash | None
    """The id of the run that it belongs to; none outside of runs."""


_SOMETIMES = (
    "training_steps", "rollout_steps", "final_length_low", "final_length_high", "final_success_low", "final_success_high",
    "under", "stopped", "diagnosis",
)  # fmt: skip
"""What a row says only where it applies: the kinds of DiRL's steps, the intervals of means, a clause, what stopped it."""


class BoundsDocument(Document):
    """What a learner knew of the optimum at its end; `delta` is the probability that it is wrong, null where it is certain."""

    lower: Count | Positive | None
    """Null where no episode succeeds."""
    upper: Count | Positive | None
    """Null where no way is known."""
    proved: bool
    delta: Probability | None


class ClaimDocument(Document):
    """What a learner claims where there is chance: of the discounted chance of success, `lower` of its policy's and `upper` of
    the best one's; `delta` is the probability that it is wrong."""

    lower: Probability
    upper: Probability
    delta: Probability
    gamma: Probability
    conditional_on: str
    """What it stands under, besides chance."""
    sentence: str


class BestDocument(Document):
    """The best evaluation of a seed; where those are means of few episodes, the larger sample that confirmed it."""

    step: Count
    length: Count | Positive
    success: bool | Probability
    episodes: Count
    length_low: Positive | None = None
    length_high: Positive | None = None
    success_low: Probability | None = None
    success_high: Probability | None = None


class DiagnosisDocument(Document):
    """What is known of a seed none of whose evaluations succeeded half of the time."""

    features: dict[str, Count]
    """Steps of training in which each feature of the machine was true; empty where nobody counted (tables, a device)."""
    completed: dict[str, Count]
    """How often each objective was completed in training."""
    ends: dict[str, Count]
    furthest: Count
    """The most objectives that an episode completed."""
    greedy: list[str]
    exploration: Probability | None
    says: list[str]
    advice: list[str]


class ResultDocument(Document):
    """result.json: how a seed ended; the last file to be written."""

    kind: Literal["errands result"] = "errands result"
    format: Literal[1] = 1
    seed: Seed
    steps: Count
    final_length: Count | Positive | None = None
    """The last evaluation: whole steps where there is no chance, else expected steps."""
    final_success: bool | Probability = False
    final_episodes: Count = 1
    final_length_low: Positive | None = None
    final_length_high: Positive | None = None
    final_success_low: Probability | None = None
    final_success_high: Probability | None = None
    final_gap: Positive | None = None
    """Steps above the optimum; null where success is not sure, or either is not known exactly."""
    first_optimal_step: Count | None = None
    best: BestDocument | None = None
    order: list[str] = []
    diagnosis: DiagnosisDocument | None = None
    wall_seconds: float = Field(ge=0)
    training_seconds: float | None = Field(default=None, ge=0)
    """Seconds of the training steps alone, evaluations and compiling left out; of a team, of all its seeds together."""
    evaluation_steps: Count = 0
    training_steps: Count | None = None
    rollout_steps: Count | None = None
    optimum: float | None = None
    bounds: BoundsDocument | None = None
    """The learner's own; null where it keeps none."""
    claim: ClaimDocument | None = None
    certificate: str | None = None
    under: str | None = None
    """The clause under which bounds, optimum and proofs stand, where the world was only tried or stepped."""
    proved: bool = False
    proved_step: Count | None = None
    evaluations_bytes: Count = 0
    evaluations_sha256: Hash | None = None
    checkpoint_sha256: Hash | None = None
    final: bool = False
    """Whether nothing is left to do however many steps are planned: it has proved or found all."""
    stopped: Name | None = None
    """What ended it before the planned steps: a condition such as plateau=5, or a callback."""
    planned: Count = 0
    """How many steps were planned then; a longer plan goes on."""
    run: Hash | None = None
    """The id of the run that it belongs to; none of a seed that was refused before there was one."""
    error: str | None = None

    def done(self, steps: int) -> bool:
        """Whether the seed has ended well, where so many steps are planned."""
        stopped = self.stopped is not None and self.planned >= steps
        return self.error is None and (self.final or stopped or self.steps >= steps)

    @property
    def better_before(self) -> BestDocument | None:
        """The best evaluation, where it was better than the last."""
        best = self.best
        if best is None or self.final_length is None or best.step == self.steps:
            return None
        if (-float(self.final_success), self.final_length) <= (-float(best.success), best.length):
            return None
        if self.final_success_high is None or self.final_length_low is None:
            return best
        # Two means of episodes differ only where the interval of the last leaves the best out.
        return best if best.success > self.final_success_high or best.length < self.final_length_low else None

    @property
    def optimal(self) -> bool:
        """Whether the final policy surely succeeds in the optimal number of steps."""
        return self.final_gap == 0

    def row(self) -> dict[str, Any]:
        """The row of `errands train --json`."""
        internal = {
            "evaluations_bytes", "evaluations_sha256", "checkpoint_sha256", "run", "final", "planned", "kind", "format", "optimum",
        }  # fmt: skip
        absent = {name for name in _SOMETIMES if getattr(self, name) is None}
        return {**self.model_dump(exclude=internal | absent), "bounds": self.known_bounds}

    @property
    def known_bounds(self) -> dict[str, Any] | None:
        """The optimum as its own lower and upper bound; where it is not known, the learner's own bounds."""
        under = {} if self.under is None else {"under": self.under}
        if (best := int_if_whole(self.optimum)) is not None:
            return {"lower": best, "upper": best, "proved": True, "delta": None} | under
        return None if self.bounds is None else self.bounds.model_dump() | under


def narrowest(known: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Of several bounds of the same optimum those that leave the least room."""
    ends = ((bounds, bounds["lower"], bounds["upper"]) for bounds in known if bounds is not None)
    rooms = [(not b["proved"], float("inf") if low is None or high is None else high - low, b) for b, low, high in ends]
    return min(rooms, key=lambda room: room[:2])[2] if rooms else None


class Cell(Document):
    """One run of a plan: a learner on a task, for seeds 0..seeds-1, all by their names, since plans have thousands."""

    task: Annotated[str, Field(min_length=1, max_length=1000)]
    map_seed: Annotated[int, Field(ge=0, lt=2**63)]
    learner: Name
    machine: Name | None
    preset: Name
    settings: Annotated[tuple[str, ...], Field(strict=False)]
    steps: Annotated[int, Field(ge=1, lt=2**53)] | None
    seeds: Annotated[int, Field(ge=1, le=100_000)]
    folder: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$")] = ""
    """The name of its run folder; empty where it has none yet."""

    @property
    def unplaced(self) -> Cell:
        """What is asked for, wherever it lies."""
        return self.model_copy(update={"folder": ""})


class SweepDocument(Document):
    """sweep.json: all cells of the plan, the task files among them, and when it was begun."""

    kind: Literal["errands sweep"] = "errands sweep"
    format: Literal[1] = 1
    cells: list[Cell] = Field(min_length=1)
    files: dict[str, str]
    """The text of each task that was given as a file."""
    checkpoint_seconds: float = Field(gt=0)
    created: str
    git: dict[str, str]

    @field_validator("cells")
    @classmethod
    def _apart(cls, cells: list[Cell]) -> list[Cell]:
        if len({cell.folder for cell in cells if cell.folder}) < len(cells):
            raise ValueError("two cells have the same folder, or one has none")
        return cells


def int_if_whole(number: float | None) -> float | int | None:
    """A whole number without a point."""
    return int(number) if number is not None and float(number).is_integer() else number


D = TypeVar("D", bound=Document)


def write_document(path: Path, document: Document) -> None:
    """Store a document with its checksum, in one move."""
    write_file(path, _render(document.model_dump()))


def read_document(path: Path, kind: type[D], limit: int = MAX_DOCUMENT) -> D:
    """The document of a file of at most `limit` bytes; a StoreError says what is wrong with it."""
    data = read_file(path, limit)
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise damaged(path) from None
    # To write it again and compare every byte checks the checksum, the order of keys and the spacing in one go.
    # It comes before the schema, so that damage is never reported as a file of another version.
    if not isinstance(values, dict) or values.pop("sha256", None) is None or _render(values) != data:
        raise damaged(path)
    try:
        return kind.model_validate(values)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(p)[:60] for p in first["loc"]) or "the file"
        said = f"{where}: {first['msg'].lower()}"
        raise StoreError(f"{path} is not of this version of errands ({said}); use the one that wrote it") from None


def damaged(path: Path) -> StoreError:
    """What to say about a file whose bytes are not those that were written."""
    return StoreError(f"{path} is damaged: its checksum does not fit; restore it from a copy or remove its folder")


def _render(body: dict[str, Any]) -> bytes:
    """The bytes of a document: there is one way to write each, and the checksum covers all of them."""
    try:
        # The checksum is that of the text without its own line, which is then put in as the last key.
        plain = json.dumps(body, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    except (ValueError, RecursionError):
        # What cannot be written as JSON equals the bytes of no file: whoever compares takes it for damage.
        return b""
    return plain.removesuffix(b"\n}\n") + f',\n "sha256": "{digest(plain)}"\n}}\n'.encode()
