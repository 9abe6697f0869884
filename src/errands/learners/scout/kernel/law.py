"""How moves go astray in a random world: one law for all cells, chosen by likelihood, beside what every pair did itself."""

from __future__ import annotations

import math

import numpy as np

from errands.kernels import jit
from errands.learners.scout.kernel.memory import Known
from errands.tables import Flags, Floats, Ints

ALONE = np.inf
"""The weight of a law that holds in a pair exactly: its own counts add nothing."""
STRANGE = 1e-4
"""What a law grants an outcome that it does not foresee, so that a usual outcome mistaken for another costs it little."""
IMAGINED = 10.0
"""Imagined tries of each row of a table, which go astray as the whole world does; of a single number it is one."""


def slips(actions: int) -> Flags:
    """[K, A, A] the ways in which one number can say how moves go astray: which actions b come instead of a, all alike.

    Any other action; or the two beside it, for each way to part four actions into two axes.
    """
    ways = [~np.eye(actions, dtype=np.bool_)]
    if actions == 4:
        for other in (1, 2, 3):
            axis = np.array([a in (0, other) for a in range(4)])
            ways.append(axis[:, None] != axis[None, :])
    return np.array(ways)


@jit
def oddness(known: Known) -> float:
    """The share of outcomes that were not the usual one of their pair, over pairs tried three times and more."""
    usual, total = 0, 0
    for s in range(known.tried.shape[0]):
        for a in range(known.tried.shape[1]):
            # Of one or two tries the usual outcome is little more than the first one seen.
            if known.tried[s, a] >= 3:
                usual += known.hits[s, a, known.mode[s, a]]
                total += known.tried[s, a]
    return (total - usual) / total if total > 0 else 0.0


@jit
def stays(known: Known, s: int, a: int) -> int:
    """1 where an action usually stays in its cell, as before a wall; else 0."""
    return 1 if known.tried[s, a] > 0 and known.target[s, a, known.mode[s, a]] == s else 0


@jit
def tally(known: Known) -> Floats:
    """[2, A, A + 1] how often action a, where it usually moves and where it usually stays, did what b usually does (last: none).

    Counted in cells where all actions usually do different things: elsewhere a slip from one to the other cannot be seen.
    """
    cells, actions = known.tried.shape
    counts = np.zeros((2, actions, actions + 1))
    for s in range(cells):
        plain = True
        for a in range(actions):
            plain = plain and known.tried[s, a] > 0
            for b in range(a):
                plain = plain and known.target[s, a, known.mode[s, a]] != known.target[s, b, known.mode[s, b]]
        if not plain:
            continue
        for a in range(actions):
            if known.tried[s, a] < 3:
                continue
            for o in range(known.hits.shape[2]):
                meant = actions
                for b in range(actions):
                    if known.hits[s, a, o] > 0 and known.target[s, a, o] == known.target[s, b, known.mode[s, b]]:
                        meant = b
                counts[stays(known, s, a), a, meant] += known.hits[s, a, o]
    return counts


@jit
def likelihood(counts: Floats, shares: Floats) -> float:
    """The log likelihood of counts [A, A + 1] under shares [A, A]; a table of A - 1 free numbers a row where they are its own."""
    total = 0.0
    for a in range(shares.shape[0]):
        total += counts[a, shares.shape[0]] * math.log(STRANGE)
        for b in range(shares.shape[0]):
            if counts[a, b] > 0.0:
                total += counts[a, b] * math.log(max(shares[a, b], STRANGE))
    return total


@jit
def shares_of(counts: Floats, way: Flags, odd: float) -> Floats:
    """[A, A] the shares that counts [A, A + 1] speak for: one number that goes the given way, or a table of their own (no way)."""
    actions = counts.shape[0]
    shares = np.zeros((actions, actions))
    straight, astray = 1.0 - odd, odd
    for a in range(actions):
        straight += counts[a, a]
        for b in range(actions):
            astray += counts[a, b] if way[a, b] else 0.0
    for a in range(actions):
        if way.any():
            for b in range(actions):
                shares[a, b] = astray / (straight + astray) / way[a].sum() if way[a, b] else 0.0
            shares[a, a] = straight / (straight + astray)
            continue
        weight = counts[a, :actions].sum()
        for b in range(actions):
            spread = 1.0 - odd if a == b else odd / max(actions - 1, 1)
            shares[a, b] = (counts[a, b] + IMAGINED * spread) / (weight + IMAGINED)
    return shares


@jit
def choose_law(known: Known, ways: Flags) -> Floats:
    """[2, A, A] the share of action a's tries that do what b usually does, where a usually moves and where it usually stays.

    Of one number for each way to slip and a table per action, each for all pairs alike or apart for those that usually stay,
    the one that explains the counts best (Schwarz's criterion).
    """
    actions = known.tried.shape[1]
    counts, odd = tally(known), oddness(known)
    both = counts[0] + counts[1]
    price = 0.5 * math.log(both.sum() + 1.0)
    best = -np.inf
    chosen = np.zeros((2, actions, actions))
    none = np.zeros((actions, actions), np.bool_)
    for k in range(ways.shape[0] + 1):
        way = ways[k] if k < ways.shape[0] else none
        numbers = 1 if k < ways.shape[0] else actions * (actions - 1)
        alike = shares_of(both, way, odd)
        score = likelihood(both, alike) - price * numbers
        if score > best:
            best, chosen[0], chosen[1] = score, alike, alike
        moving, staying = shares_of(counts[0], way, odd), shares_of(counts[1], way, odd)
        score = likelihood(counts[0], moving) + likelihood(counts[1], staying) - 2.0 * price * numbers
        if score > best:
            best, chosen[0], chosen[1] = score, moving, staying
    return chosen


@jit
def meant(known: Known, law: Floats) -> Ints:
    """[S, A] the outcome that an action is meant to have by the law: of few tries the most frequent one may be a slip.

    It explains the others as what other actions mean to do; where it explains no more than the usual outcome that one stays.
    """
    cells, actions, room = known.hits.shape
    found = known.mode.copy()
    for s in range(cells):
        for a in range(actions):
            shares = law[stays(known, s, a), a]
            best, choice = -np.inf, known.mode[s, a]
            for i in range(room + 1):
                # The usual outcome first, so that it wins where all are equal.
                o = known.mode[s, a] if i == 0 else i - 1
                if known.hits[s, a, o] == 0:
                    continue
                score = known.hits[s, a, o] * math.log(max(shares[a], STRANGE))
                for k in range(room):
                    if k == o or known.hits[s, a, k] == 0:
                        continue
                    share = STRANGE
                    for b in range(actions):
                        if b != a and known.tried[s, b] > 0 and known.target[s, a, k] == known.target[s, b, found[s, b]]:
                            share = max(share, shares[b])
                    score += known.hits[s, a, k] * math.log(share)
                if score > best + 1e-9:
                    best, choice = score, o
            found[s, a] = choice
    return found


@jit
def expectation(known: Known, law: Floats, s: int, a: int, expected: Floats) -> None:
    """Write the share that the law expects of each seen outcome of a pair."""
    room, actions = known.hits.shape[2], law.shape[1]
    shares = law[stays(known, s, a), a]
    total = 0.0
    for b in range(actions):
        # What an untried action would do here is unknown; its share goes to the others in proportion.
        total += shares[b] if known.tried[s, b] > 0 else 0.0
    for o in range(room):
        expected[o] = 0.0
        for b in range(actions):
            k = known.mode[s, b]
            if (
                known.hits[s, a, o] > 0
                and known.tried[s, b] > 0
                and known.target[s, a, o] == known.target[s, b, k]
                and known.label[s, a, o] == known.label[s, b, k]
                and known.ends[s, a, o] == known.ends[s, b, k]
            ):
                expected[o] += shares[b] / total


@jit
def log_evidence(known: Known, law: Floats, s: int, a: int, weight: float, expected: Floats) -> float:
    """The log likelihood of a pair's outcomes, one after the other, with the law worth `weight` tries or ALONE."""
    expectation(known, law, s, a, expected)
    score = 0.0 if weight == ALONE else math.lgamma(weight) - math.lgamma(weight + known.tried[s, a])
    for o in range(known.hits.shape[2]):
        if known.hits[s, a, o] == 0:
            continue
        if weight == ALONE:
            score += known.hits[s, a, o] * math.log(max(expected[o], STRANGE))
        else:
            # The shares are Dirichlet with mean `expected`; the floor is for outcomes that the law does not foresee.
            share = weight * max(expected[o], 0.01)
            score += math.lgamma(share + known.hits[s, a, o]) - math.lgamma(share)
    return score


@jit
def pair_class(known: Known, s: int, a: int) -> int:
    """Pairs are alike where as many actions of the cell usually stay, this one among them or not."""
    count = 0
    for b in range(known.tried.shape[1]):
        count += stays(known, s, b)
    return 2 * count + stays(known, s, a)


@jit
def weights(known: Known, law: Floats, base: float) -> Floats:
    """[S, A] how many tries of a pair the law is worth: for each class of pairs what makes their counts most likely.

    That is `base` times a power of 4 where this says clearly more than the law ALONE; else ALONE, but for pairs whose own counts
    speak against it more loudly than one of all pairs would by chance.
    """
    cells, actions, room = known.hits.shape
    found = np.full((cells, actions), base)
    if base == 0.0:
        return found
    classes = 2 * (actions + 1)
    expected = np.zeros(room)
    scores = np.zeros((classes, 8))
    pairs = 1
    for s in range(cells):
        for a in range(actions):
            # A single try is equally likely under every weight, and tells nothing about it.
            if known.tried[s, a] >= 2:
                pairs += 1
                for power in range(8):
                    scores[pair_class(known, s, a), power] += log_evidence(known, law, s, a, base * 4.0 ** (power - 3), expected)
    finite, alone = np.zeros(classes), np.zeros(classes)
    for k in range(classes):
        finite[k] = base * 4.0 ** (np.argmax(scores[k]) - 3)
    margin = math.log(pairs)
    rejects = np.zeros((cells, actions), np.bool_)
    for s in range(cells):
        for a in range(actions):
            if known.tried[s, a] >= 2:
                k = pair_class(known, s, a)
                mixed = log_evidence(known, law, s, a, finite[k], expected) - margin
                strict = log_evidence(known, law, s, a, ALONE, expected)
                rejects[s, a] = mixed > strict
                alone[k] += max(mixed, strict)
    for s in range(cells):
        for a in range(actions):
            k = pair_class(known, s, a)
            found[s, a] = ALONE if alone[k] >= scores[k].max() - margin and not rejects[s, a] else finite[k]
    return found
