"""The paper's experiments (Section 5) as plans: panels, methods, how much a profile runs, and the runs they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errands.errors import UnknownName
from errands.learners import LEARNERS, method_of
from errands.learners.presets import as_document, config_of
from errands.machines.counting import size
from errands.runs.documents import Cell
from errands.runs.plan import Block, make_block
from errands.tasks.catalogue import load

Key = tuple[str, str, str]
"""What a measurement is looked up by: task with its map, method, and preset or (for the pace of networks) kind of network."""
NETWORKS = ("heads", "one-hot")
"""One trunk with a head per objective or machine state, and the paper's one-hot input."""


AS_PRINTED = ("delta=printed", "shortest=ratchet", "failed=length")
"""The printed maximum of Theorem 1's reward, its shortest episode averaged only over episodes that are no longer, and
failures paid by their length; with tables the last two are always so."""


@dataclass(frozen=True)
class PanelMethod:
    """A learner on a machine, by the name that figures and tables use."""

    learner: str
    machine: str | None = None
    settings: tuple[str, ...] = ()
    """Settings that make it a method of its own, such as another reading of the reward."""
    ours: bool = False
    """Whether it is not in the paper; then it has no preset of the paper."""

    @property
    def name(self) -> str:
        """Learner, machine and what was set; the reward of Theorem 1 with all that the text says of it is called printed."""
        printed = AS_PRINTED[0] in self.settings and "shortest=mean" not in self.settings
        rest = [word for word in self.settings if not (printed and word in AS_PRINTED)]
        return " ".join(
            [self.learner, *([self.machine] if self.machine else []), *(["printed"] if printed else []), *rest]
        )

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets that it is run under."""
        return ("tuned",) if self.ours else ("tuned", "paper")


_MACHINES = ("agenda", "boolean")
TABULAR: tuple[PanelMethod, ...] = (
    PanelMethod("qcorm"),
    PanelMethod("qcorm", settings=AS_PRINTED[:1]),
    PanelMethod("qcorm-0"),
    *(PanelMethod(learner, machine) for learner in ("crm", "hrm", "qrm") for machine in _MACHINES),
    PanelMethod("dirl"),
    PanelMethod("qcorm-plus", ours=True),
    PanelMethod("scout", ours=True),
)
PRINTED = PanelMethod("qcorm", settings=AS_PRINTED)
"""QCoRM with the reward of Theorem 1 as printed, beside the reading that its proof supports."""
DEEP: tuple[PanelMethod, ...] = (
    PanelMethod("qcorm"),
    PRINTED,
    PanelMethod("qcorm-0"),
    *(PanelMethod(learner, "agenda") for learner in ("crm", "hrm", "qrm")),
    PanelMethod("dirl"),
    PanelMethod("qcorm-plus", ours=True),
)
TIMED = ("qcorm", "crm", "hrm", "qrm", "qcorm-plus")
"""Learners of the runtime panels with networks; QCoRM-0 costs what QCoRM costs, DiRL ends by itself."""
STOPPING = tuple(name for name, method in LEARNERS.items() if method.stops_when_proved or method.evaluated_at_end)
"""Learners that end by themselves before the steps are spent: time per million steps would mean nothing."""
VARIANTS = ("delta", "shortest", "failed")
"""Settings that make a method of its own."""


@dataclass(frozen=True)
class Panel:
    """One panel of the paper's figures, or one that we add to them."""

    name: str
    title: str
    tasks: tuple[str, ...]
    runtime: bool = False
    maps: tuple[int, ...] = (0,)
    """The seeds of the random maps."""
    letter: str = ""
    """Of the paper's figure; empty for what we add to it."""
    domain: bool = False
    """Whether it is a picture of a domain, for which nothing is run."""

    @property
    def deep(self) -> bool:
        """Whether its methods learn with networks."""
        return by_networks(self.name)


def by_networks(task: str) -> bool:
    """Whether a task is learnt with networks, single evaluations of which scatter."""
    return task.startswith(("water", "cheetah", "zones"))


_OFFICE_RUNTIME = tuple(f"office-{n}" for n in range(2, 7))
_WATER = tuple(f"water-{n}" for n in range(2, 6))
PANELS: Mapping[str, Panel] = {
    panel.name: panel
    for panel in (
        Panel("delivery-2", "Delivery, 2 boxes", ("delivery-2",), letter="a"),
        Panel("delivery-8", "Delivery, 8 boxes", ("delivery-8",), letter="b"),
        Panel("delivery-runtime", "Delivery, runtime", tuple(f"delivery-{n}" for n in range(2, 9)), True, letter="c"),
        Panel("office-map", "Office", ("office-6",), letter="d", domain=True),
        Panel("office-3", "Office, 3 offices, a fresh coffee each", ("office-3",), letter="e"),
        Panel("office-6", "Office, 6 offices, a fresh coffee each", ("office-6",), letter="f"),
        Panel("office-3-one-coffee", "Office, 3 offices, one coffee for all", ("office-3-one-coffee",), letter="e"),
        Panel("office-6-one-coffee", "Office, 6 offices, one coffee for all", ("office-6-one-coffee",), letter="f"),
        Panel("office-runtime", "Office, runtime", _OFFICE_RUNTIME, True, letter="g"),
        Panel("water-map", "Water", ("water-5",), letter="h", domain=True),
        *(Panel(name, f"Water, {name[-1]} balls", (name,), letter={"3": "i", "5": "j"}.get(name[-1], "")) for name in _WATER),
        Panel("water-maps", "Water, other maps", ("water-3", "water-5"), maps=(1, 2)),
        Panel("water-runtime", "Water, runtime", _WATER, True, letter="k"),
        Panel("cheetah-map", "HalfCheetah", ("cheetah-bcde",), letter="l", domain=True),
        Panel("cheetah-bcd", "HalfCheetah, B, C, D", ("cheetah-bcd",), letter="m"),
        Panel("cheetah-bcde", "HalfCheetah, B, C, D, E", ("cheetah-bcde",), letter="n"),
        Panel("cheetah-runtime", "HalfCheetah, runtime", tuple(f"cheetah-{'bcde'[:n]}" for n in range(1, 5)), True, letter="o"),
    )
}
GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(name for name in PANELS if name.startswith(f"{group}-"))
    for group in ("delivery", "office", "water", "cheetah")
} | {"paper": tuple(name for name, panel in PANELS.items() if panel.letter)}
QUICK = ("water-map", "water-3", "water-5", "water-runtime", "cheetah-map", "cheetah-bcd")
"""What a group with networks runs under the quick profile: the paper's own panels, as far as a CPU can do them in minutes."""


@dataclass(frozen=True)
class Profile:
    """How much is run."""

    name: str
    seeds: int
    steps: int
    deep_seeds: int
    water_steps: int
    cheetah_steps: int
    width: int | None = None
    """Units of each hidden layer where they are not the preset's."""
    scout_steps: int = 20_000
    """Scout stops by itself with a proof; more steps would not be taken."""
    budgets: int = 9
    """How many budgets, each half of the next, DiRL is run for: it is evaluated only at its end."""
    deep_budgets: int = 3
    pace_steps: int = 2_000
    """Steps by which the pace of a network is measured."""
    def steps_of(self, task: str, map_seed: int = 0) -> int:
        """The training steps of a task; maps beside the paper's one get a fifth."""
        cheetah, networks = task.startswith("cheetah"), by_networks(task)
        steps = self.cheetah_steps if cheetah else self.water_steps if networks else self.steps
        return steps if map_seed == 0 else max(1, steps // 5)


PROFILES: Mapping[str, Profile] = {
    "quick": Profile("quick", 3, 100_000, 2, 10_000, 2_000, width=128, budgets=4, deep_budgets=1, pace_steps=200),
    "full": Profile("full", 10, 1_000_000, 10, 1_000_000, 1_000_000),
}
LARGE = 10_000
"""Boolean machines with more states than this are run by CRM and HRM only when asked for."""
EVALUATIONS, CHUNK = 20, 500
"""At least so many evaluations of a network's run, on multiples of the steps that its loop is compiled for."""


@dataclass(frozen=True)
class Skipped:
    """What is not run, and why."""

    task: str
    method: str
    reason: str


def chosen(names: Sequence[str], quick: bool) -> tuple[list[Panel], list[Skipped]]:
    """The panels of these names and groups, and what the quick profile leaves out; no names: all tabular panels."""
    wanted, left = dict[str, Panel](), list[Skipped]()
    for name in names or [name for name, panel in PANELS.items() if not panel.deep]:
        if name not in PANELS and name not in GROUPS:
            raise UnknownName("figure", name, [*PANELS, *GROUPS])
        for member in GROUPS.get(name, (name,)):
            if quick and name in GROUPS and name != "paper" and PANELS[member].deep and member not in (*QUICK, *names):
                why = f"the quick profile leaves it out of '{name}'; name {member} itself, or use --profile full"
                left.append(Skipped(member, "all methods", why))
            else:
                wanted[member] = PANELS[member]
    return list(wanted.values()), left


@dataclass(frozen=True)
class Choice:
    """Which methods and presets of the panels are run; an empty choice is all of them."""

    methods: tuple[str, ...] = ()
    """By the names that figures and tables use."""
    presets: tuple[str, ...] = ()

    def of(self, methods: Iterable[PanelMethod]) -> Choice:
        """The same choice, of these methods; an UnknownName where one of its names is not among them."""
        known = tuple(dict.fromkeys(method.name for method in methods))
        for name in self.methods:
            if name not in known:
                raise UnknownName("method", name, known)
        return self

    def presets_of(self, method: PanelMethod) -> list[str]:
        """The presets that a method is run under; none where it was not chosen."""
        chosen = not self.methods or method.name in self.methods
        return [preset for preset in method.presets if chosen and (not self.presets or preset in self.presets)]


EVERYTHING = Choice()


def plan(
    panels: Sequence[Panel], profile: Profile, large: bool = False, choice: Choice = EVERYTHING
) -> tuple[list[Block], list[Skipped]]:
    """The blocks of runs that some panels stand for, learning before paces, and what is left out; nothing is there twice."""
    # Tabular runtimes come from the same runs as the curves; only networks have runs for their pace alone.
    run, choice = [panel for panel in panels if not panel.domain], choice.of((*TABULAR, *DEEP))
    learnt = dict.fromkeys((t, m) for p in run if not p.runtime or not p.deep for t in p.tasks for m in p.maps)
    paced = dict.fromkeys(task for panel in panels if panel.runtime and panel.deep for task in panel.tasks)
    blocks, left = list[Block](), list[Skipped]()
    for task, map_seed in learnt:
        deep = by_networks(task)
        for method in DEEP if deep else TABULAR:
            if not (presets := choice.presets_of(method)):
                left.append(Skipped(task_name(task, map_seed), method.name, "it was not chosen"))
            elif not large and (why := _large(task, method, profile)):
                left.append(Skipped(task, method.name, why))
            elif deep:
                blocks += (deep_block(task, map_seed, method, preset, profile) for preset in presets)
            else:
                blocks.append(tabular_block(task, method, presets, profile))
    blocks += [block for task in paced for block in _paces(task, profile, choice)]
    return blocks, left


def tabular_block(task: str, method: PanelMethod, presets: list[str], profile: Profile, map_seed: int = 0) -> Block:
    """A tabular method on a task; DiRL for budgets of which each is half of the next."""
    steps: Any = profile.steps
    if method.learner == "scout":
        steps = profile.scout_steps
    if method.learner == "dirl":
        steps = _budgets(steps, profile.budgets)
    return block_of(task, method, presets, profile.seeds, steps, method.settings, map_seed)


def deep_block(task: str, map_seed: int, method: PanelMethod, preset: str, profile: Profile) -> Block:
    """A block of one preset: only what differs from the preset's settings is set."""
    steps = profile.steps_of(task, map_seed)
    config = as_document(config_of(method.learner, preset, load(task, map_seed)))
    # A replay memory larger than the run would never be filled, and would only take memory.
    wanted = {"eval_every": evaluation_interval(steps), "capacity": min(config["capacity"], steps)}
    if profile.width is not None:
        wanted |= {"width": profile.width, "warmup": min(config["warmup"], max(1, steps // 10))}
    words = [f"{name}={value}" for name, value in wanted.items() if config[name] != value]
    budgets: Any = _budgets(steps, profile.deep_budgets) if method.learner == "dirl" else steps
    return block_of(task, method, [preset], profile.deep_seeds, budgets, (*method.settings, *words), map_seed)


def _paces(task: str, profile: Profile, choice: Choice) -> Iterator[Block]:
    """The pace of every timed learner with both networks, as a short run; QCoRM+ has one network only."""
    steps = profile.pace_steps
    for method in (m for m in DEEP if m.learner in TIMED and not m.settings and choice.presets_of(m)):
        # Learning from the first step on is what is timed; is_pace knows these cells by the same two settings.
        words = ["warmup=1", f"capacity={max(steps, 1_000)}", f"eval_every={_pace_interval(steps)}"]
        words += [] if profile.width is None else [f"width={profile.width}"]
        for network in NETWORKS[:1] if method.ours else NETWORKS:
            kind = [] if method.ours else [f"network={network}"]
            yield block_of(task, method, ["tuned"], profile.deep_seeds, steps, (*kind, *words))


def block_of(
    task: str, method: PanelMethod, presets: list[str], seeds: int, steps: Any, settings: Sequence[str], map_seed: int = 0
) -> Block:
    """A method on a task as a block of a plan."""
    machine = {} if method.machine is None else {"machine": [method.machine]}
    return make_block(
        {"task": [task], "learner": [method.learner], "preset": presets, "seeds": seeds, "steps": steps,
         "set": list(settings), "map_seed": [map_seed], **machine}
    )  # fmt: skip


def _budgets(steps: int, count: int) -> list[int]:
    return sorted({max(1, steps // 2**k) for k in range(count)})


def evaluation_interval(steps: int) -> int:
    """Steps between two evaluations of a network: 10,000, less in a short run, and a multiple of the compiled chunk."""
    every = max(1, min(10_000, steps // EVALUATIONS))
    return every - every % CHUNK if every >= CHUNK else every


def _large(task: str, method: PanelMethod, profile: Profile) -> str:
    """Why a Boolean machine is not trained on unasked, with what it would take; empty for everything else."""
    per_state = method_of(method.learner).per_state
    if method.machine != "boolean" or per_state is None:
        return ""
    states = size(load(task).machine).boolean
    if states <= LARGE:
        return ""
    minutes = per_state[0] * states * 1e-9 * profile.steps * profile.seeds / 60
    much = f"about {minutes:,.0f} minutes of one core under each preset"
    return f"its Boolean machine has {states:,} states, {much}; ask for it with --boolean-large"


def key_of(cell: Cell) -> Key:
    """What a cell of a plan is looked up by."""
    words = dict(word.split("=", 1) for word in cell.settings)
    variant = tuple(word for word in cell.settings if word.split("=", 1)[0] in VARIANTS)
    method = PanelMethod(cell.learner, cell.machine, variant).name
    under = words.get("network", NETWORKS[0]) if is_pace(cell) else cell.preset
    return task_name(cell.task, cell.map_seed), method, under


def is_pace(cell: Cell) -> bool:
    """Whether a cell only measures the pace of a network: it starts to learn at once, and is evaluated four times."""
    return "warmup=1" in cell.settings and f"eval_every={_pace_interval(cell.steps or 0)}" in cell.settings


def _pace_interval(steps: int) -> int:
    """A quarter of the steps: the first one is spoilt by compiling, the others are timed."""
    return max(1, steps // 4)


def task_name(task: str, map_seed: int) -> str:
    """A task with its map, where that is not the first."""
    return f"{task}, map {map_seed}" if map_seed else task


def task_and_map(name: str) -> tuple[str, int]:
    """What `task_name` was given."""
    task, _, map_seed = name.partition(", map ")
    return task, int(map_seed or 0)


def subtasks_of(task: str) -> int:
    """How many subtasks a task has, by which runtimes are compared."""
    return len(load(task_and_map(task)[0]).machine.subtasks)
