import jax
import jax.numpy as jnp
import numpy as np
import pytest

from errands.errors import ConfigError
from errands.learners.engines.deep.agent import Note
from errands.learners.engines.deep.machine import machine_arrays
from errands.learners.qcorm.deep import JointBandit
from errands.learners.qcorm.settings import DeepQCoRMConfig
from errands.tasks import load

MACHINE = machine_arrays(load("figure-1"))
B1, S = (MACHINE.numbers[frozenset(x)] for x in (["b1"], ["s"]))
KEY = jax.random.PRNGKey(0)


def bandit(**changes) -> JointBandit:
    return JointBandit(DeepQCoRMConfig(**changes), jnp.asarray(MACHINE.open))


def note(step: int, state: int, label: int, time: int, over: bool = False, success: bool = False) -> Note:
    reached, completed = MACHINE.table.next[state, label], MACHINE.completed[state, label]
    numbers = (jnp.int32(x) for x in (step, state, reached, completed, time))
    return Note(*numbers, jnp.float32(0), jnp.zeros(1), *map(jnp.bool_, (success, success, over)))


def walked(high: JointBandit, lengths: tuple[int, int, int, int], memory=None):
    """An episode that brings b1, then b2, each leg taking this many steps."""
    memory, state, time = memory or high.start(KEY), 0, 0
    pick, take = jax.jit(high.pick), jax.jit(high.note)
    labels = [MACHINE.numbers[frozenset({x})] for x in ("b1", "s", "b2", "s")]
    empty = MACHINE.numbers[frozenset()]
    for leg, label in zip(lengths, labels, strict=True):
        for i in range(leg):
            memory, _ = pick(memory, jnp.int32(state), jnp.zeros(1), jnp.full(high.uniforms, 0.99))
            time += 1
            over = time == sum(lengths)
            memory = take(memory, note(time - 1, state, label if i == leg - 1 else empty, time, over, over))
        state = MACHINE.table.next[state, label]
    return memory


def test_after_one_episode_the_steps_to_go_are_those_observed():
    memory = walked(bandit(xi=0.0), (4, 2, 3, 1))
    known = np.asarray(memory.eta)
    assert known[0, 0] == 10.0
    assert known[MACHINE.table.next[0, B1], 2] == 6.0
    assert sorted(known[np.isfinite(known)].tolist()) == [1.0, 4.0, 6.0, 10.0]
    assert float(memory.shortest) == 10.0
    assert memory.best.tolist() == [4.0, 3.0, 1.5]


def test_steps_to_go_move_by_alpha_eta():
    high = bandit(xi=0.0, alpha_eta=0.25, shortest="ratchet")
    memory = walked(high, (2, 2, 3, 1), walked(high, (6, 2, 3, 1)))
    assert float(memory.eta[0, 0]) == 12.0 + 0.25 * (8.0 - 12.0)
    assert float(memory.shortest) == pytest.approx(12.0 + 0.05 * (8.0 - 12.0))


def test_exploring_falls_per_choice_between_several_objectives_or_per_step():
    # Two boxes: one choice in the first state, none later; the episode takes ten steps.
    words = ("choices", "steps", "episodes")
    fallen = {word: walked(bandit(xi=f"1..0.1@0,900 {word}"), (4, 2, 3, 1)).choices for word in words}
    assert {word: int(number) for word, number in fallen.items()} == {"choices": 1, "steps": 10, "episodes": 1}
    again = {word: walked(bandit(xi=f"1..0.1@0,900 {word}"), (2, 2, 1, 1), walked(bandit(), (1, 1, 1, 1))) for word in words[2:]}
    assert int(again["episodes"].choices) == 2


BEST = (5.0, 9.0, 3.0)
"""K_op of the three objectives."""


def paid(objective: int, took: int, length: int, **changes) -> float:
    """What a completion earns with K_mi = 20."""
    high = bandit(**changes)
    memory = high.start(KEY)._replace(shortest=jnp.float32(20.0), best=jnp.array(BEST))
    return float(high.reward(memory, jnp.array([objective]), jnp.array([float(took)]), jnp.array([float(length)]))[0])


# K^tau, K, and delta K by each reading, worked out by hand for K_mi = 20 and the K_op above
CASES = [
    (0, 5, 20, {"episode": 0, "gated": 0, "printed": 0}),
    (1, 4, 20, {"episode": 0, "gated": 0, "printed": 5}),
    (1, 4, 15, {"episode": 0, "gated": 0, "printed": 5}),
    (1, 4, 22, {"episode": 2, "gated": 5, "printed": 5}),
    (2, 3, 26, {"episode": 6, "gated": 6, "printed": 6}),
    (0, 7, 18, {"episode": 0, "gated": 0, "printed": 0}),
]


@pytest.mark.parametrize("delta", ["episode", "gated", "printed"])
@pytest.mark.parametrize(("objective", "took", "length", "excess"), CASES)
def test_the_reward_of_theorem_1_in_each_of_its_three_readings(objective, took, length, excess, delta):
    wanted = 0.9 ** (excess[delta] + 1) if excess[delta] else 1.0
    assert paid(objective, took, length, delta=delta) == pytest.approx(wanted, rel=1e-5)


def test_costs_of_steps_count_only_for_a_leg_faster_than_the_best():
    """K_op 9, K^tau 4, K - K_mi 2: 0.9^3 - (0.9^-3 - 0.9^2); a leg of 9 or more steps gets the first term alone."""
    assert paid(1, 4, 22, min_step_reward=-0.1) == pytest.approx(0.9**3 - (0.9**-3 - 0.9**2), rel=1e-5)
    assert paid(1, 9, 22, min_step_reward=-0.1) == pytest.approx(0.9**3, rel=1e-5)
    assert paid(1, 80, 22, min_step_reward=-0.1) == pytest.approx(0.9**3, rel=1e-5)


def test_a_place_reached_late_by_halfcheetah_is_not_punished_beyond_its_reward():
    """K^tau 800, K_op 150 and K = K_mi + 100 at gamma 0.99: 10 * 0.99^101, where the cost of steps alone came to -1,843."""
    high = bandit(gamma=0.99, full_reward=10.0, min_step_reward=-0.006)
    memory = high.start(KEY)._replace(shortest=jnp.float32(800.0), best=jnp.full(3, 150.0))
    late = high.reward(memory, jnp.array([0]), jnp.array([800.0]), jnp.array([900.0]))
    assert float(late[0]) == pytest.approx(10 * 0.99**101, rel=1e-5)


@pytest.mark.parametrize(("took", "length", "wanted"), [(200, 600, -3.03), (800, 1000, -1843.0)])
def test_as_printed_every_completion_pays_the_cost_of_its_steps(took, length, wanted):
    """K_mi 400, K_op 150, gamma 0.99, r_mi -0.006, 10 in full: 10 * 0.99^201 - 0.6 (0.99^-199 - 0.99^200), and with 800 and 600."""
    high = bandit(gamma=0.99, full_reward=10.0, min_step_reward=-0.006, delta="printed")
    memory = high.start(KEY)._replace(shortest=jnp.float32(400.0), best=jnp.full(3, 150.0))
    paid = high.reward(memory, jnp.array([0]), jnp.array([float(took)]), jnp.array([float(length)]))
    assert float(paid[0]) == pytest.approx(wanted, rel=2e-3)


def test_estimates_may_begin_with_a_number_instead_of_the_first_episode():
    """K_op from 0 and K_mi from 100 by 0.05: legs of 4, of 3, and of 2 and 1 together; an episode of 10."""
    memory = walked(bandit(xi=0.0, best_duration_start=0, shortest_start=100), (4, 2, 3, 1))
    assert memory.best.tolist() == pytest.approx([0.2, 0.15, 1.5 * (1 - 0.95**2)])
    assert float(memory.shortest) == pytest.approx(95.5)
    # Printed, with K_op 0: nobody is early, so a first episode of 10 of at most 100 steps is paid in full.
    high = bandit(delta="printed", best_duration_start=0, shortest_start=100)
    assert high.reward(high.start(KEY), jnp.array([0]), jnp.array([4.0]), jnp.array([10.0])).tolist() == [1.0]


@pytest.mark.parametrize("value", ["second", -1])
def test_a_start_that_is_no_number_of_steps_is_refused(value):
    with pytest.raises(ConfigError, match=r"shortest_start is .*; write a number of steps, or 'first'"):
        DeepQCoRMConfig(shortest_start=value)


def test_the_best_duration_may_be_kept_for_each_coupled_state():
    """The station is reached in 2 steps with a box behind it and in 1 as the last: apart, where one K_op is their mean."""
    memory = walked(bandit(xi=0.0, best_durations="coupled"), (4, 2, 3, 1))
    best = np.asarray(memory.best).reshape(-1, 3)
    assert sorted(best[np.isfinite(best)].tolist()) == [1.0, 2.0, 3.0, 4.0]
    assert best[0, 0] == 4.0


def test_a_floor_bounds_the_penalty():
    assert paid(2, 3, 60, floor=0.3) == pytest.approx(0.3)
    assert paid(2, 3, 26, floor=0.3) == pytest.approx(0.9**7, rel=1e-5)
    assert paid(2, 3, 20, floor=0.3) == 1.0


def test_the_shortest_episode_is_a_ratchet_or_a_mean():
    ratchet, mean = (bandit(xi=0.0, shortest=word, alpha_k=0.5) for word in ("ratchet", "mean"))
    for high, wanted in ((ratchet, 10.0), (mean, 15.0)):
        memory = walked(high, (14, 2, 3, 1), walked(high, (4, 2, 3, 1)))
        assert float(memory.shortest) == wanted


@pytest.mark.parametrize(("failed", "reward"), [("length", 1.0), ("fading", 0.64)])
def test_completions_of_failed_episodes_are_paid_by_length_or_less_and_less(failed, reward):
    """K_mi 20, failed after 4 steps, faded by 0.6."""
    high = bandit(xi=0.0, failed=failed)
    memory = high.start(KEY)._replace(shortest=jnp.float32(20.0), share=jnp.float32(0.6))
    memory = high.note(memory, note(2, 0, B1, 3))
    state = MACHINE.table.next[0, B1]
    last = note(3, state, MACHINE.numbers[frozenset()], 4, over=True)._replace(terminal=jnp.bool_(True))
    memory = high.note(memory, last)
    assert int(memory.grounded) == 1
    assert float(memory.ground[0, 2]) == pytest.approx(reward, rel=1e-4)
    assert float(memory.ground[0, 3]) == 1.0


def test_pay_for_failures_fades_with_every_exploited_success():
    high = bandit(xi=0.0, failed="fading")
    memory = walked(high, (4, 2, 3, 1), walked(high, (4, 2, 3, 1)))
    assert float(memory.share) == pytest.approx(1 - 0.998**2, rel=1e-5)
    # What succeeds is paid as ever: the first two legs of the second episode, K = K_mi = 10.
    assert memory.ground[4:6, 2].tolist() == [1.0, 1.0]
    lost = note(8, 0, MACHINE.numbers[frozenset()], 9, over=True)
    assert float(high.note(memory, lost).share) == float(memory.share)


def test_grounding_transitions_wait_for_the_end_of_the_episode():
    high = bandit(xi=0.0)
    memory = high.note(high.start(KEY), note(7, 0, B1, 3))
    assert (int(memory.waiting), int(memory.grounded)) == (1, 0)
    memory = walked(high, (4, 2, 3, 1))
    assert (int(memory.waiting), int(memory.grounded)) == (0, 4)
    assert memory.ground[:4, :3].tolist() == [[3, 0, 1], [5, 2, 1], [8, 1, 1], [9, 2, 1]]


def test_each_is_replayed_once_where_the_paper_is_taken_literally():
    high = bandit(xi=0.0, ground_replay="once", ground_batch=3)
    memory, weights = walked(high, (4, 2, 3, 1)), []
    for _ in range(3):
        memory, extra = high.replay(memory, jnp.int32(10), jnp.zeros(high.uniforms))
        weights.append(extra.weight.tolist())
    assert weights == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_a_batch_of_its_own_follows_each_episode():
    high = bandit(xi=0.0, ground_replay="episode", ground_batch=3)
    memory, weights, alone = walked(high, (4, 2, 3, 1)), [], []
    for _ in range(2):
        memory, extra = high.replay(memory, jnp.int32(10), jnp.zeros(high.uniforms))
        weights.append(extra.weight.tolist())
        alone.append(bool(extra.alone))
    assert (weights, alone) == ([[1, 1, 1], [0, 0, 0]], [True, False])


def test_exploring_prefers_a_transition_that_was_never_used():
    high = bandit()
    memory = high.start(KEY)
    memory = memory._replace(used=memory.used.at[0, 1].set(True))
    _, choice = high.pick(memory, jnp.int32(0), jnp.zeros(1), jnp.array([0.0, 0.1, 0.9, 0.9, *[0.0] * 8]))
    assert int(choice) == 0
    _, other = high.pick(
        high.start(KEY), jnp.int32(0), jnp.zeros(1), jnp.array([0.0, 0.1, 0.9, 0.9, *[0.0] * 8])
    )
    assert int(other) == 1


def test_exploiting_takes_the_fewest_known_steps_to_go():
    high = bandit(xi=0.0)
    memory = high.start(KEY)
    memory = memory._replace(eta=memory.eta.at[0].set(jnp.array([12.0, 10.0, jnp.inf])))
    zero = jnp.int32(0)
    assert int(high.best(memory, zero, zero, zero, jnp.zeros(1))) == 1
    _, choice = high.pick(memory, zero, jnp.zeros(1), jnp.full(high.uniforms, 0.5))
    assert int(choice) == 1
