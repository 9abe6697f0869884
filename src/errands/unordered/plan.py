"""Domains whose tasks grow, and the runs that a profile has for them: every method where its machine has room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from errands.errors import UnknownName
from errands.learners import LEARNERS
from errands.learners.presets import config_of
from errands.machines.counting import size
from errands.paper import panels as paper
from errands.paper.panels import Choice, PanelMethod, Profile, Skipped, block_of, by_networks, deep_block, tabular_block
from errands.paper.reproduction import Reproduction, folder_of
from errands.runs.plan import Block
from errands.tasks.catalogue import load

PQN, SKILLS = PanelMethod("pqn", ours=True), PanelMethod("skills", ours=True)
"""Methods with thousands of copies of a world: they take many more steps, in less time."""


class Domain(NamedTuple):
    """Tasks of one kind by their number of subtasks."""

    name: str
    sizes: tuple[int, ...]
    batched: tuple[PanelMethod, ...] = ()
    """Methods for many copies of a world that learn here."""
    maps: tuple[int, ...] = (0, 1, 2)
    """The seeds of its maps."""

    def tasks(self, most: int) -> list[str]:
        """Those with at most so many subtasks."""
        return [f"{self.name}-{n}" for n in self.sizes if n <= most]


DOMAINS: Mapping[str, Domain] = {
    f"unordered-{domain.name}": domain
    for domain in (
        Domain("visit", (2, 4, 8, 16, 32, 64, 100)),
        Domain("office", (2, 4), maps=(0,)),
        Domain("letters", (2, 4, 8), (SKILLS,)),
        Domain("water", (2, 4), (PQN, SKILLS)),
        Domain("zones", (2, 4, 8, 16, 32, 64, 100), (PQN, SKILLS)),
    )
}


class Extent(NamedTuple):
    """How far a profile goes."""

    most: int
    """Subtasks at most."""
    deep_most: int
    """The same of tasks that are learnt with networks."""
    maps: int
    batched_steps: int
    """Steps of methods with many copies of a world."""


EXTENTS: Mapping[str, Extent] = {"quick": Extent(16, 2, 1, 512_000), "full": Extent(100, 100, 3, 10_240_000)}


def chosen(names: Sequence[str]) -> dict[str, Domain]:
    """The domains of these names; `unordered` is all of them."""
    for name in names:
        if name not in DOMAINS and name != "unordered":
            raise UnknownName("unordered figure", name, ["unordered", *DOMAINS])
    return {name: domain for name, domain in DOMAINS.items() if name in names or "unordered" in names}


def prepare(names: Sequence[str], profile: Profile, output: Path, dry: bool, choice: Choice) -> Reproduction:
    """The sweep folder of some domains; `dry` writes nothing."""
    choice = choice.of(method for domain in DOMAINS.values() for method in methods_of(domain))
    parts, left = [], list[Skipped]()
    for name, domain in chosen(names).items():
        blocks, others = plan(domain, profile, choice)
        parts.append((f"-  {name:20}", blocks))
        left += others
    sweep = folder_of([block for _, blocks in parts for block in blocks], output, dry)
    return Reproduction(tuple(parts), profile, sweep, tuple(left))


def plan(domain: Domain, profile: Profile, choice: Choice) -> tuple[list[Block], list[Skipped]]:
    """The runs of a domain, all under the tuned preset, and what is left out."""
    extent, deep = EXTENTS[profile.name], by_networks(domain.name)
    tasks = domain.tasks(extent.deep_most if deep else extent.most)
    blocks, left = list[Block](), list[Skipped]()
    if larger := domain.tasks(domain.sizes[-1])[len(tasks) :]:
        why = f"the {profile.name} profile has up to {extent.deep_most if deep else extent.most} subtasks there"
        left.append(Skipped(", ".join(larger), "all methods", why))
    for task in tasks:
        for method in methods_of(domain):
            if why := _unfit(task, method, choice):
                left.append(Skipped(task, method.name, why))
                continue
            for seed in domain.maps[: extent.maps]:
                if method in domain.batched:
                    # A multiple of the steps that all copies take at once.
                    steps, every = extent.batched_steps, ["eval_every=256000"]
                    blocks.append(block_of(task, method, ["tuned"], profile.deep_seeds, steps, every, seed))
                elif method in own(deep):
                    seeds, steps = (profile.deep_seeds, profile.water_steps) if deep else (profile.seeds, profile.steps)
                    each = config_of(method.learner, "tuned", load(task, seed)).step_multiple
                    blocks.append(block_of(task, method, ["tuned"], seeds, -(-steps // each) * each, (), seed))
                elif deep:
                    blocks.append(deep_block(task, seed, method, "tuned", profile))
                else:
                    blocks.append(tabular_block(task, method, ["tuned"], profile, seed))
    return blocks, left


def methods_of(domain: Domain) -> list[PanelMethod]:
    """Every method once, those of users last: no Boolean machines, which are larger and say the same, and one reading each."""
    deep = by_networks(domain.name)
    known = paper.DEEP if deep else paper.TABULAR
    return [*(method for method in known if not method.settings and method.machine != "boolean"), *domain.batched, *own(deep)]


def own(deep: bool) -> list[PanelMethod]:
    """The methods that a user has registered, for tables or with networks."""
    forms = {name: method.deep if deep else method.tabular for name, method in LEARNERS.items()}
    homes = {name: str(getattr(form.learner, "__module__", form.learner)) for name, form in forms.items() if form}
    return [PanelMethod(name, ours=True) for name, home in homes.items() if not home.startswith("errands.")]


def _unfit(task: str, method: PanelMethod, choice: Choice) -> str:
    """Why a method is not run on a task; empty where it is."""
    if "tuned" not in choice.presets_of(method):
        return "it was not chosen"
    if method in own(by_networks(task)):
        return ""
    known = LEARNERS[method.learner]
    form = known.deep if by_networks(task) else known.tabular
    states, most = size(load(task).machine).agenda, form.most_states if form else 0
    return f"its agenda machine has {states:,} states, more than {most:,}" if states > most else ""
