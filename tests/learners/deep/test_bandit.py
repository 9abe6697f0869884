import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.learners.deep.bandit import Bandit
from errands.learners.deep.config import DeepQCoRMConfig
from errands.learners.deep.high import Note
from errands.learners.deep.machine import listed
from errands.tasks import load

MACHINE = listed(load("figure-1"))
B1, S = (MACHINE.numbers[frozenset(x)] for x in (["b1"], ["s"]))
KEY = jax.random.PRNGKey(0)


def bandit(**changes) -> Bandit:
    return Bandit(DeepQCoRMConfig(**changes), jnp.asarray(MACHINE.open))


def note(step: int, state: int, label: int, time: int, over: bool = False, success: bool = False) -> Note:
    reached, completed = MACHINE.table.next[state, label], MACHINE.completed[state, label]
    numbers = (jnp.int32(x) for x in (step, state, reached, completed, time))
    return Note(*numbers, jnp.float32(0), jnp.zeros(1), *map(jnp.bool_, (success, success, over)))


def walked(high: Bandit, lengths: tuple[int, int, int, int], memory=None):
    """An episode that brings b1, then b2, each leg taking this many steps."""
    memory, state, time = memory or high.start(KEY), 0, 0
    pick, take = jax.jit(high.pick), jax.jit(high.note)
    labels = [MACHINE.numbers[frozenset({x})] for x in ("b1", "s", "b2", "s")]
    empty = MACHINE.numbers[frozenset()]
    for leg, label in zip(lengths, labels, strict=True):
        for i in range(leg):
            memory, _ = pick(memory, jnp.int32(state), jnp.zeros(1), jnp.zeros(3), jnp.full(high.uniforms, 0.99))
            time += 1
            over = time == sum(lengths)
            memory = take(memory, note(time - 1, state, label if i == leg - 1 else empty, time, over, over))
        state = MACHINE.table.next[state, label]
    return memory


def test_after_one_episode_the_steps_to_go_are_those_observed():
    memory = walked(bandit(xi_start=0.0, xi_end=0.0), (4, 2, 3, 1))
    known = np.asarray(memory.eta)
    assert known[0, 0] == 10.0
    assert known[MACHINE.table.next[0, B1], 2] == 6.0
    assert sorted(known[np.isfinite(known)].tolist()) == [1.0, 4.0, 6.0, 10.0]
    assert float(memory.shortest) == 10.0
    assert memory.best.tolist() == [4.0, 3.0, 1.5]


def test_steps_to_go_move_by_alpha_eta():
    high = bandit(xi_start=0.0, xi_end=0.0, alpha_eta=0.25)
    memory = walked(high, (2, 2, 3, 1), walked(high, (6, 2, 3, 1)))
    assert float(memory.eta[0, 0]) == 12.0 + 0.25 * (8.0 - 12.0)
    assert float(memory.shortest) == pytest.approx(12.0 + 0.05 * (8.0 - 12.0))


@pytest.mark.parametrize(("objective", "duration", "length"), [(0, 5, 20), (1, 4, 20), (2, 3, 26), (0, 7, 18)])
def test_the_reward_is_that_of_theorem_1_with_its_excess_clamped(objective, duration, length):
    high = bandit(min_step_reward=-0.1)
    best = [5.0, 9.0, 3.0]
    memory = high.start(KEY)._replace(shortest=jnp.float32(20.0), best=jnp.array(best))
    pending = memory.pending.at[0].set(jnp.array([0, objective, 0, duration, 1]))
    reward = float(high._reward(memory, pending, jnp.float32(length))[0])
    assert reward == pytest.approx(_theorem_1(duration, length, best[objective]), rel=1e-5)


def _theorem_1(duration: int, length: int, best: float) -> float:
    excess = max(best - duration, length - 20.0)
    if excess <= 0:
        return 1.0
    return 0.9 ** (excess + 1) + (0.9 ** (1 - duration) - 0.9**excess) / 0.1 * -0.1


def test_grounding_transitions_wait_for_the_end_of_the_episode():
    high = bandit(xi_start=0.0, xi_end=0.0)
    memory = high.note(high.start(KEY), note(7, 0, B1, 3))
    assert (int(memory.waiting), int(memory.grounded)) == (1, 0)
    memory = walked(high, (4, 2, 3, 1))
    assert (int(memory.waiting), int(memory.grounded)) == (0, 4)
    assert memory.ground[:4, :3].tolist() == [[3, 0, 1], [5, 2, 1], [8, 1, 1], [9, 2, 1]]


def test_each_is_replayed_once_where_the_paper_is_taken_literally():
    high = bandit(xi_start=0.0, xi_end=0.0, ground_replay="once", ground_batch=3)
    memory, weights = walked(high, (4, 2, 3, 1)), []
    for _ in range(3):
        memory, extra = high.replay(memory, jnp.int32(10), jnp.zeros(high.uniforms))
        weights.append(extra.weight.tolist())
    assert weights == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_exploring_prefers_a_transition_that_was_never_used():
    high = bandit()
    memory = high.start(KEY)
    memory = memory._replace(used=memory.used.at[0, 1].set(True))
    _, choice = high.pick(memory, jnp.int32(0), jnp.zeros(1), jnp.zeros(3), jnp.array([0.0, 0.1, 0.9, 0.9, *[0.0] * 8]))
    assert int(choice) == 0
    _, other = high.pick(high.start(KEY), jnp.int32(0), jnp.zeros(1), jnp.zeros(3), jnp.array([0.0, 0.1, 0.9, 0.9, *[0.0] * 8]))
    assert int(other) == 1


def test_exploiting_takes_the_fewest_known_steps_to_go():
    high = bandit(xi_start=0.0, xi_end=0.0)
    memory = high.start(KEY)
    memory = memory._replace(eta=memory.eta.at[0].set(jnp.array([12.0, 10.0, jnp.inf])))
    zero = jnp.int32(0)
    assert int(high.best(memory, zero, zero, zero, jnp.zeros(1), jnp.zeros(3))) == 1
    _, choice = high.pick(memory, zero, jnp.zeros(1), jnp.zeros(3), jnp.full(high.uniforms, 0.5))
    assert int(choice) == 1
