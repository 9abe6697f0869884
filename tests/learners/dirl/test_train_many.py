"""Several searches in one set of lanes: each ends as it would alone, whatever the number of lanes."""

import numpy as np

from errands.learners.dirl.deep import train_many
from errands.tasks.phrases import any_order, sequence

PLENTY = 10**6


def results(learner):
    return [(r.edge, r.training_steps, r.rollout_steps, r.attempts, r.successes) for r in learner.results]


def test_two_seeds_side_by_side_end_as_each_alone(corridor, small):
    task = corridor(any_order("right", "left"))
    alone = [small(task, seed, edge_steps=60) for seed in (0, 1)]
    for learner in alone:
        assert train_many([learner], [PLENTY], 1)
    together = [small(task, seed, edge_steps=60) for seed in (0, 1)]
    over = []
    assert train_many(together, [PLENTY] * 2, 2, ended=over.append)
    assert sorted(over) == [0, 1]
    assert [results(a) for a in alone] == [results(b) for b in together]
    assert [learner.training_steps for learner in together] == [len(results(learner)) * 60 for learner in together]
    for a, b in zip(alone, together, strict=True):
        ours, theirs = a.save(), b.save()
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_nothing_to_spend_ends_at_once(corridor, small):
    learner = small(corridor(sequence("right", "left")), edge_steps=60)
    over = []
    assert train_many([learner], [0], 1, ended=over.append)
    assert (over, learner.results, learner.step) == ([0], [], 0)
