"""What Scout claims where there is chance: between which values the optimum and its policy lie, how surely, by which law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from errands.learners.scout.kernel.law import choose_law, oddness, slips
from errands.learners.scout.kernel.memory import Known
from errands.learners.scout.kernel.robust import Odds, candidates, establish, robust_values, tell
from errands.tables import Flags, Floats, Ints
from errands.worlds.grid import Noise

if TYPE_CHECKING:
    from errands.learners.scout.machine import Lowering
    from errands.learners.scout.planner import ExactValues
    from errands.learners.scout.settings import ScoutConfig

MOST = 0.25
"""The most that moves are taken to go astray before anything is known; part of the law."""
TO_SIDES = slice(2, 3)
"""Which of the ways to slip is that of a drawn grid, whose actions go round clockwise."""
FEW = 6
"""Tries below which the usual outcome says little."""
MEANT, LAW, STARTS = 0.55, 0.4, 0.05
"""The parts of delta: that every meaning is right, that the shares are inside, that the starts are."""


@dataclass(frozen=True)
class Law:
    """How moves slip, as far as it is known: by one number, or by another where they run into something."""

    alike: bool
    """Whether it is one number."""
    way: Flags
    """[A, A] which usual outcomes of other actions come instead."""
    astray: Floats
    """[2, 2] the ends of both numbers."""
    tries: int
    """Tries that tell what was done."""
    rejected: str = ""
    """Why it cannot be."""


def log_beta(a: float, b: float) -> float:
    """The logarithm of Euler's beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_bets(hits: float, misses: float) -> float:
    """The logarithm of what a gambler owns who bets on a share that he does not know, but takes for small: Beta(1, 8)."""
    return log_beta(hits + 1.0, misses + 8.0) - log_beta(1.0, 8.0)


def interval(hits: int, tries: int, delta: float) -> tuple[float, float]:
    """Between which shares the true one lies at all times, but for one run in 1 / delta: where the gambler is not that rich."""
    if tries == 0:
        return 0.0, 1.0
    bound = log_bets(hits, tries - hits) + math.log(delta)

    def likely(p: float) -> bool:
        log = (hits * math.log(p) if hits else 0.0) + ((tries - hits) * math.log1p(-p) if tries > hits else 0.0)
        return log >= bound

    ends = []
    for edge in (0.0, 1.0):
        # Between the mean, which is likely, and the edge; what is returned is on the far side.
        inside, outside = hits / tries, edge
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if 0.0 < middle < 1.0 and likely(middle) else (inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def law_of(known: Known, delta: float, noise: Noise | None = None) -> Law | None:
    """What the counts say of one law; None where the most likely one is no single number.

    The `noise` of a grid that promises its law says to which ways moves slip, and whether those into walls do as well. Else the
    counts choose: the likeliest law that they do not reject, or the likeliest.
    """
    ways, likeliest = slips(known.tried.shape[1]), None
    ways = ways if noise is None else ways[TO_SIDES]
    while len(ways) and (law := _likeliest(known, delta, ways, noise)) is not None:
        if not law.rejected:
            return law
        likeliest = likeliest or law
        ways = ways[(ways != law.way).any(axis=(1, 2))]
    return likeliest


def _likeliest(known: Known, delta: float, ways: Flags, noise: Noise | None) -> Law | None:
    table, blocked = choose_law(known, ways)
    alike = bool((table == blocked).all()) if noise is None else noise.blocked == "slip"
    # The way of a table whose rows have one and the same share beside the meant one.
    way = (table > 1e-12) & ~np.eye(len(table), dtype=np.bool_)
    shares = table[way]
    if not len(shares) or not np.allclose(shares, shares[0]) or len(set(way.sum(axis=1).tolist())) > 1 or oddness(known) > MOST:
        return None
    done, merged, allowed = tell(known, way)
    astray, tries = np.tile([0.0, MOST], (2, 1)), 0
    places = np.arange(len(known.tried))[:, None]
    usual = np.maximum(known.sense, 0)
    stays = np.take_along_axis(known.target, usual[..., None], 2)[..., 0] == places
    straight = np.diagonal(done[:, :, :-1], axis1=1, axis2=2)
    misses = done[:, :, -1] - straight
    if alike:
        stays = np.zeros_like(stays)
    for c in range(2):
        mine = stays == bool(c)
        n, k = int(done[:, :, -1][mine].sum()), int(misses[mine].sum())
        # Three numbers may be asked for: that of all moves, and those of the two kinds.
        low, high = interval(k, n, delta * LAW / 3)
        tries += n
        astray[c] = low, min(high, MOST)
    if alike:
        astray[1] = astray[0]
    why = "" if allowed else "an action did what the law does not know"
    if not why and uneven(*_by_usual(known), np.zeros(known.tried.shape, np.bool_), delta):
        why = "some moves slip otherwise than others"
    if (astray[:, 0] > astray[:, 1]).any():
        why = why or f"more than {MOST:.0%} of the moves go astray"
    if not why and uneven(done[:, :, -1], misses, stays, delta):
        why = "some moves slip otherwise than others"
    if not why and (one_sided(done, way, delta) or merges(merged, delta)):
        why = "one side comes more often than the other"
    return Law(alike, way, astray, tries, why)


def _by_usual(known: Known) -> tuple[Ints, Ints]:
    """[S, A] tries and unusual outcomes of actions that move, in cells where nothing may be established because they differ."""
    n, actions = known.tried.copy(), known.tried.shape[1]
    usual = np.take_along_axis(known.target, known.mode[..., None], 2)[..., 0]
    for a in range(actions):
        others = np.delete(usual, a, axis=1)
        n[(others == usual[:, [a]]).any(axis=1) | (usual[:, a] == np.arange(len(n))), a] = 0
    # Of few tries the usual outcome is the luckiest.
    n[(n < FEW) | (known.tried == 0).any(axis=1)[:, None]] = 0
    return n, np.where(n > 0, n - np.take_along_axis(known.hits, known.mode[..., None], 2)[..., 0], 0).astype(np.int32)


def uneven(tries: Ints, misses: Ints, stays: Flags, delta: float) -> bool:
    """Whether one number does not explain how often tries go astray.

    Gamblers bet that the share is another one in every pair, every cell, for every action; the law is rejected where,
    together, they have become 1 / delta times as rich as against its best number.
    """
    actions = tries.shape[1]
    wealth = []
    pairs = np.arange(tries.size).reshape(tries.shape)
    for group in (pairs, pairs // actions, pairs % actions):
        total = 0.0
        for c in range(2):
            mine = (stays == bool(c)) & (tries > 0)
            n = np.bincount(group[mine], tries[mine])
            k = np.bincount(group[mine], misses[mine])
            n, k = n[n > 0], k[n > 0]
            if not 0 < k.sum() < n.sum():
                continue
            p = k.sum() / n.sum()
            # Around the number of all, for bets on any share lose too much in pairs tried a few times.
            mild, bold = 4.0 * p, 4.0 * (1.0 - p)
            own = sum(log_beta(b + mild, a - b + bold) - log_beta(mild, bold) for a, b in zip(n, k, strict=True))
            total += own - k.sum() * math.log(p) - (n - k).sum() * math.log1p(-p)
        wealth.append(total)
    top = max(wealth)
    return top + math.log(sum(math.exp(w - top) for w in wealth) / len(wealth)) >= math.log(1.0 / delta)


def one_sided(done: Ints, way: Flags, delta: float) -> bool:
    """Whether of an action's sides one comes more often than the other."""
    actions, sides = done.shape[1], int(way[0].sum())
    total = 0.0
    for a in range(actions):
        counts = done[:, a, :actions].sum(axis=0)[way[a]]
        total += sum(math.lgamma(x + 0.5) - math.lgamma(0.5) for x in counts) - math.lgamma(counts.sum() + 0.5 * sides)
        total += math.lgamma(0.5 * sides) + counts.sum() * math.log(sides)
    return total >= math.log(1.0 / delta)


def merges(merged: Ints, delta: float) -> bool:
    """Whether ways that come to the same in a cell, as two sides before walls, come otherwise than as often as they are many.

    `merged` [ways + 1, 2]: of the slips in cells where k ways are the most that come to the same, those there and the others.
    """
    total, ways = 0.0, len(merged) - 1
    for k, (hits, misses) in enumerate(merged.tolist()):
        if hits + misses:
            total += log_beta(hits + 0.5, misses + 0.5) - log_beta(0.5, 0.5)
            total -= hits * math.log(k / ways) + misses * math.log(1.0 - k / ways)
    return total >= math.log(1.0 / delta)


def learn_meanings(known: Known, delta: float, noise: Noise | None) -> None:
    """Keep what is now clear of the actions' meanings; called when the plan is renewed, so that it depends on no look."""
    law = law_of(known, delta, noise)
    if law is not None:
        establish(known, _means(known, law, delta))


def _means(known: Known, law: Law, delta: float) -> Flags:
    cells, actions, room = known.hits.shape
    means = np.ones((cells, actions, room + 1), np.bool_)
    candidates(known, law.astray[:, 1], law.way, math.log(cells / (delta * MEANT)), means)
    return means


def budgets(known: Known, outcomes: int, delta: float) -> Floats:
    """[S, A] how far the odds of each pair may be from its counts, at all times, where there are so many outcomes at most.

    A gambler bets on each outcome as often as it came and, once in a while, on a new one, any of them alike.
    """
    gamma = np.vectorize(math.lgamma, otypes=[float])
    hits, tried = known.hits.astype(float), known.tried.astype(float)
    seen = known.hits > 0
    kinds = seen.sum(axis=2)
    owned = np.where(seen, gamma(np.maximum(hits, 1.0)), 0.0).sum(axis=2) - gamma(tried + 1.0) - kinds * math.log(outcomes)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(seen, hits * np.log(hits / np.maximum(tried, 1.0)[..., None]), 0.0).sum(axis=2)
    found: Floats = shares - owned + math.log(known.tried.size / delta)
    return found


class ValueBounds(NamedTuple):
    """Bounds of a value, and what they stand under."""

    lower: float
    upper: float
    condition: str


def claimed(
    known: Known, plan: ExactValues, lowering: Lowering, config: ScoutConfig, tables: bool, noise: Noise | None
) -> ValueBounds:
    """Between which values the optimum lies and the policy followed is; `tables`: whether all feature sets are known."""
    delta, why = config.delta, ""
    law = law_of(known, delta, noise) if config.law != "none" else None
    if law is not None and law.tries:
        means = _means(known, law, delta)
        possible = bool(means.any(axis=2).all())
        why = law.rejected or ("" if possible else "an action does nothing that it can be meant to do")
        if not why:
            ends = _ends(known, Odds(True, law.way, law.astray, means, np.zeros((1, 1))), plan, lowering, config, tables)
            if ends[0] <= ends[1]:
                ways = int(law.way[0].sum())
                sides = "two sides" if ways == 2 else f"{ways} other ways" if ways > 1 else "other way"
                other = "" if law.alike else ", and those that run into something by another"
                rule = f"moves slip to their {sides} by one number{other}"
                tested = f"{'promised, and ' * (config.law == 'one')}not rejected by {law.tries:,} tries"
                tested = f"{rule}, {MOST:.0%} at most ({'as this world promises' if noise else tested})"
                return ValueBounds(ends[0], ends[1], tested + ends[2])
            why = "no law of that kind explains all tries"
    outcomes = len(known.tried) * max(len(lowering.labels), 1) * 2
    nothing = np.zeros((1, 1), np.bool_), np.zeros((2, 2)), np.ones((1, 1, 1), np.bool_)
    odds = Odds(False, *nothing, budgets(known, outcomes, delta * (1.0 - STARTS)))
    lower, upper, starts = _ends(known, odds, plan, lowering, config, tables)
    own = f"every action has odds of its own in every cell{f' (one law for all is rejected: {why})' if why else ''}"
    return ValueBounds(lower, upper, own + starts)


def _ends(
    known: Known, odds: Odds, plan: ExactValues, lowering: Lowering, config: ScoutConfig, tables: bool
) -> tuple[float, float, str]:
    """Both ends over the starts met, and what they stand under because of these."""
    agenda = plan.agenda
    machine = agenda.states.status, agenda.delta, config.gamma
    ends = [
        robust_values(known, odds, *machine, plan.policy, plan.values, sign, not tables, agenda.layered) for sign in (-1, 1)
    ]
    first, met = agenda.number(lowering.stepper.start), np.flatnonzero(known.started)
    low, high, times = ends[0][first, met], ends[1][first, met], known.started[met].astype(float)
    return over_starts(low, high, times, config.delta * STARTS)


def claimed_from_starts(steps: Sequence[tuple[float, float]], times: Floats, config: ScoutConfig) -> ValueBounds:
    """The same where moves are certain and starts are drawn, by the bounds of the steps from each start met."""
    low, high = (np.array([config.gamma**ends[i] for ends in steps]) for i in (1, 0))
    lower, upper, starts = over_starts(low, high, times, config.delta)
    return ValueBounds(lower, upper, "moves are certain" + starts)


def unmet(times: Floats, delta: float) -> float:
    """What the starts that were not met come to at most (Good and Turing; McAllester and Schapire), at all times."""
    n = float(times.sum())
    return float(min((times == 1).sum() / n + (1.0 + math.sqrt(2.0)) * math.sqrt(math.log(n * (n + 1.0) / delta) / n), 1.0))


def over_starts(low: Floats, high: Floats, times: Floats, delta: float) -> tuple[float, float, str]:
    """Bounds of the mean over starts, of values of those met so far, for the policy followed and for any; and under what.

    The values of all episodes' starts are independent draws: a mixture of Hoeffding's supermartingales holds at all times.
    What the policy does where nobody started is unknown: it may lose as much as those starts come to.
    """
    if len(low) == 1:
        return float(low[0]), float(high[0]), ""
    n, weight = float(times.sum()), 1_000.0  # sharpest after about so many episodes
    radius = math.sqrt((n + weight) * (math.log(2.0 / delta) + 0.5 * math.log((n + weight) / weight)) / 2.0) / n
    missing = unmet(times, delta / 2)
    lower = float(low @ times) / n - radius - missing - float((high - low).max())
    upper = float(high @ times) / n + radius
    starts = f", and each episode's start is drawn alike: {len(low):,} were met, others come to {missing:.1%} at most"
    return max(lower, 0.0), min(upper, 1.0), starts
