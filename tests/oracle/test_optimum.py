"""Exact optima against the paper, closed forms, Held-Karp, and plain value iteration on matrices."""

from __future__ import annotations

from collections import deque
from itertools import pairwise, permutations
from math import comb, factorial

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numba import config

from errands.errors import ConfigError, SpecError, TaskError
from errands.machines import Stepper
from errands.oracle.episode import walk
from errands.oracle.optimum import best_return, check_discount, count_orders, least_steps, most_success, optimum
from errands.oracle.product import product
from errands.tables import FAILURE, SUCCESS
from errands.tasks import Task, load
from errands.worlds.grid import distances

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="millions of states need the compiled loop")


def test_figure_1_takes_ten_steps_and_box_two_first():
    best = optimum(load("figure-1"))
    assert (best.length, best.order, best.orders) == (10, ("b2", "s", "b1", "s"), 1)
    assert len(best.path) == 11
    assert best.discounted == pytest.approx(0.99**9)


@pytest.mark.parametrize(("offices", "length"), enumerate([11, 20, 26, 38, 44, 60], 1))
def test_office_has_the_lengths_of_the_facts(offices, length):
    assert optimum(load(f"office-{offices}"), orders=False).length == length


def test_one_coffee_for_all_offices_is_shorter():
    for offices, length in enumerate([11, 14, 20, 26, 34, 42], 1):
        names = ", ".join(f"o{i + 1}" for i in range(offices))
        phrase = f"avoid(decoration, sequence(coffee, any_order({names})))"
        text = f'name="one"\n[world]\nkind="office"\n[machine]\nphrase="{phrase}"'
        assert optimum(Task.from_toml(text), orders=False).length == length


def test_the_corridor_takes_twenty():
    assert optimum(load("corridor")).length == 20


def test_delivery_has_its_closed_form():
    for seed in range(500):
        boxes = 1 + seed % 6
        task = load(f"delivery-{boxes}", seed)
        layout = task.layout
        places = dict(layout.places)
        station = distances(layout, places["s"])
        start = distances(layout, layout.start)
        cells = [places[f"b{i + 1}"] for i in range(boxes)]
        expected = sum(2 * station[c] for c in cells) + min(start[c] - station[c] for c in cells)
        assert optimum(task, orders=False).length == expected


def _held_karp(start, between) -> int:
    count = len(start)
    cost = np.full((1 << count, count), 10**6)
    cost[[1 << i for i in range(count)], range(count)] = start
    for mask in range(1, 1 << count):
        row = cost[mask]
        for j in range(count):
            if not mask >> j & 1:
                cost[mask | 1 << j, j] = min(cost[mask | 1 << j, j], (row + between[:, j]).min())
    return int(cost[-1].min())


def test_visit_agrees_with_held_karp():
    for seed in range(200):
        places = 1 + seed % 10
        task = load(f"visit-{places}", 1000 + seed)
        cells = [cell for _, cell in task.layout.places]
        between = np.array([distances(task.layout, c)[cells] for c in cells])
        start = distances(task.layout, task.layout.start)[cells]
        assert optimum(task, orders=False).length == _held_karp(start, between)


def _by_hand(task) -> int | None:
    """Breadth-first search in plain Python, straight from the layout and the machine's definition."""
    layout, stepper = task.layout, Stepper(task.machine)
    start = (layout.start, stepper.start)
    steps, queue = {start: 0}, deque([start])
    while queue:
        cell, state = here = queue.popleft()
        for action in range(4):
            there = layout.moves.item(cell, action)
            reached = stepper.step(state, layout.features_at(there)).state
            if stepper.status[reached[0]] == SUCCESS:
                return steps[here] + 1
            if stepper.status[reached[0]] != FAILURE and (there, reached) not in steps:
                steps[there, reached] = steps[here] + 1
                queue.append((there, reached))
    return None


PHRASES = (
    "any_order(a, b, c)",
    "any_order(a, b, before=c)",
    "any_order(a, b, after=c)",
    "avoid(c, any_order(a, b))",
    "sequence(a, any_order(b, c), a)",
    "sequence(any_order(a, b), any_order(b, c))",
)


@settings(max_examples=100)
@given(st.lists(st.sampled_from("....abc#"), min_size=8, max_size=8), st.randoms(), st.sampled_from(PHRASES))
def test_any_drawn_grid_agrees_with_a_search_by_hand(others, rng, phrase):
    cells = [*"Aabc", *others]
    rng.shuffle(cells)
    rows = ["".join(cells[i : i + 4]) for i in (0, 4, 8)]
    world = f'kind="grid"\nrows={rows}\nlegend={{ a="a", b="b", c="c" }}'.replace("'", '"')
    try:
        task = Task.from_toml(f'name="x"\n[world]\n{world}\n[machine]\nphrase="{phrase}"')
    except SpecError:
        reject()
    best = optimum(task, orders=False)
    assert best.length == _by_hand(task)
    if best.policy is not None:
        assert walk(best.policy, task).order == best.order


def test_no_successful_episode_is_said(grid):
    best = optimum(grid(["AXg"], "avoid(X, g)", {"X": "X", "g": "g"}))
    assert (best.length, best.success, best.orders) == (None, 0.0, 0)
    assert best.reason == "no successful episode exists"


def test_a_slippery_corridor_takes_its_closed_form(grid):
    best = optimum(grid(["A...g"], "g", slip=0.2), gamma=0.9)
    assert best.length == pytest.approx(4 / 0.8, rel=1e-9)
    leg = 0.8 * 0.9 / (1 - 0.2 * 0.9)
    assert best.discounted == pytest.approx(leg**4 / 0.9, rel=1e-8)
    assert best.path == (0, 1, 2, 3, 4)


def test_safety_first_only_slips_lead_on_along_the_lava(grid):
    # Up is the one safe move: it drifts sideways with 0.1 each way, and 3 / 0.1 steps lead over two cells.
    best = optimum(grid(["A.g", "XXX"], "avoid(X, g)", slip=0.2))
    assert best.length == pytest.approx(30, rel=1e-9)
    assert best.success == 1.0
    assert best.path == ()


def test_where_nothing_is_sure_the_greatest_chance_is_told(grid):
    best = optimum(grid(["XXX", "A.g", "XXX"], "avoid(X, g)", slip=0.2))
    assert best.length is None
    assert best.success == pytest.approx(0.64)
    assert "0.64" in best.reason


@pytest.mark.parametrize(
    "phrase", ["any_order(a, b, after=c)", "avoid(d, any_order(a, b))", "sequence(c, any_order(a, b))"]
)
def test_random_worlds_agree_with_value_iteration_on_matrices(grid, explicit, phrase):
    task = grid(["a.cA", ".#..", "..b.", "d..."], phrase, slip=0.3)
    best = optimum(task, gamma=0.95)
    _, moves, success, reward = explicit(task)
    dead = 1 - moves.sum(axis=2) - success > 1e-9
    safe = np.ones(moves.shape[1], bool)
    for _ in range(len(safe)):
        allowed = ~dead & ~(moves[:, :, ~safe].sum(axis=2) > 0)
        safe &= allowed.any(axis=0)
    value = np.zeros(moves.shape[1])
    for _ in range(3000):
        value = np.where(allowed, 1 + moves @ np.where(safe, value, 0.0), np.inf).min(axis=0)
    assert best.length == pytest.approx(value[0], rel=1e-8)
    value[:] = 0
    for _ in range(1000):
        value = (reward + 0.95 * (moves @ value)).max(axis=0)
    assert best.discounted == pytest.approx(value[0], rel=1e-8)


LAKE = """name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = { is_slippery = SLIPPERY }
limit = LIMIT
features = { goal = [15], hole = [5, 7, 11, 12] }
[machine]
phrase = "avoid(hole, goal)"
"""


def _lake(slippery: str, limit: int) -> Task:
    return Task.from_toml(LAKE.replace("SLIPPERY", slippery).replace("LIMIT", str(limit)))


def test_the_frozen_lake_is_crossed_surely_only_when_it_is_not_slippery():
    assert optimum(_lake("false", 100)).length == 6
    slippery = optimum(_lake("true", 100_000))
    assert slippery.length is None
    assert slippery.success == pytest.approx(14 / 17, abs=1e-9)


def test_the_slippery_lakes_own_limit_is_obeyed():
    table = gym.make("FrozenLake-v1").unwrapped.P  # type: ignore[attr-defined]
    chance = [0.0] * 16
    for _ in range(100):
        chance = [
            max(sum(p * (won if over else chance[there]) for p, there, won, over in ways) for ways in table[s].values())
            if s not in (5, 7, 11, 12, 15) else 0.0 for s in range(16)
        ]  # fmt: skip
    slippery = optimum(_lake("true", 100))
    assert slippery.success == pytest.approx(chance[0], abs=1e-9)
    assert 0.7 < slippery.success < 14 / 17 - 0.05
    assert "within the limit of 100 steps" in slippery.reason


def test_a_world_that_ends_by_itself_fails_the_task():
    text = LAKE.replace("SLIPPERY", "false").replace("LIMIT", "100").replace("avoid(hole, goal)", "sequence(hole, goal)")
    assert optimum(Task.from_toml(text)).length is None


def test_the_cliff_is_walked_in_thirteen_steps():
    world = 'kind="gymnasium"\nid="CliffWalking-v1"\nfeatures={ goal=[47] }'
    assert optimum(Task.from_toml(f'name="cliff"\n[world]\n{world}\n[machine]\nphrase="goal"')).length == 13


def test_rewards_on_the_way_count_in_the_discounted_optimum():
    text = """name = "paid"
[world]
kind = "grid"
rows = ["b.Aa"]
legend = { a = "a", b = "b" }
[machine]
initial = "u0"
success = ["u1"]
numeric = { n = ["a", "b"] }
transitions = ["u0 -> u0 : n! ; -1", "u0 -> u0 : n↓ ; 10", "u0 -> u1 : n⤓ ; 10"]
"""
    best = optimum(Task.from_toml(text), gamma=0.5)
    assert best.length == 4
    assert best.discounted == pytest.approx(10 + 0.5 * -1 + 0.25 * -1 + 0.125 * 10)


def test_what_does_not_fit_is_refused_with_its_size():
    with pytest.raises(TaskError, match=r"'delivery-40' needs .* product states .* GB"):
        optimum(load("delivery-40"))
    with pytest.raises(TaskError, match="at most 64 subtasks"):
        optimum(load("visit-100"))


@compiled
def test_sixteen_boxes_have_the_closed_form_too():
    task = load("delivery-16")
    places = dict(task.layout.places)
    station, start = distances(task.layout, places["s"]), distances(task.layout, task.layout.start)
    cells = [places[f"b{i + 1}"] for i in range(16)]
    assert optimum(task).length == sum(2 * station[c] for c in cells) + min(start[c] - station[c] for c in cells)


def test_machines_that_reach_few_agendas_need_no_room_for_all(grid):
    # 2^26 masks and more than 2 GB, were they all counted; in sequence only 27 states occur.
    letters = "abcdefghijklmnopqrstuvwxyz"
    best = optimum(grid(["A" + letters], f"sequence({', '.join(f'any_order({c})' for c in letters)})"))
    assert best.length == 26


def test_continuous_worlds_have_no_exact_optimum():
    best = optimum(Task.from_env("CartPole-v1", {"right": {"index": 0, "above": 1.0}}, "right"))
    assert best.length is None
    assert "continuous" in best.reason


def test_gamma_must_discount():
    with pytest.raises(ConfigError, match="gamma is 1"):
        optimum(load("figure-1"), gamma=1.0)


def test_least_steps_of_a_slippery_corridor_grow_by_the_same_amount_a_cell(grid):
    steps, best = least_steps(product(grid(["Ag..."], "g", slip=0.5)))
    assert steps[[0, 2, 3, 4]] == pytest.approx([2, 2, 4, 6], rel=1e-9)
    assert best[[0, 2, 3, 4]].tolist() == [1, 3, 3, 3]


def test_no_steps_lead_out_of_a_closed_room(grid):
    steps, _ = least_steps(product(grid(["Ag#."], "g")))
    assert np.isinf(steps[3])


def test_the_best_return_is_worth_a_risk_when_the_safe_way_is_long(grid):
    # Along the lava the safe move takes 3 / h steps for two cells; walking on succeeds with (0.8 / 0.9)^2.
    crossed = product(grid(["A.g", "XXX"], "avoid(X, g)", slip=0.2))
    ahead = 0.8 * 0.9 / (1 - 0.1 * 0.9)
    assert best_return(crossed, 0.9)[0] == pytest.approx(ahead**2 / 0.9, rel=1e-8)


def test_success_is_as_probable_as_its_steps(grid):
    crossed = product(grid(["XXXX", "A..g", "XXXX"], "avoid(X, g)", slip=0.1))
    assert most_success(crossed)[[4, 5, 6]] == pytest.approx([0.9**3, 0.9**2, 0.9])


@pytest.mark.parametrize("gamma", [0.0, 1.0, -0.5, float("nan")])
def test_a_discount_lies_between_zero_and_one(gamma):
    with pytest.raises(ConfigError, match="gamma is"):
        check_discount(gamma)


def test_optimal_orders_are_counted_once_each():
    for seed in range(12):
        task = load("visit-4", seed)
        cells = [cell for _, cell in task.layout.places]
        steps = {c: distances(task.layout, c) for c in [task.layout.start, *cells]}
        # Going straight may touch a cell early; an order counts only if it is the order in which cells are touched.
        best = optimum(task)
        fitting = set()
        for order in permutations(range(4)):
            stops = [task.layout.start, *(cells[i] for i in order)]
            if sum(steps[a][b] for a, b in pairwise(stops)) == best.length and _unspoilt(task, stops):
                fitting.add(order)
        assert best.orders == len(fitting)


def _unspoilt(task, stops) -> bool:
    layout = task.layout
    for i, (here, there) in enumerate(pairwise(stops)):
        if distances(layout, here, avoid=stops[i + 2 :])[there] != distances(layout, here)[there]:
            return False
    return True


def test_in_delivery_only_the_first_box_matters():
    task = load("delivery-5")
    places = dict(task.layout.places)
    station, start = distances(task.layout, places["s"]), distances(task.layout, task.layout.start)
    gains = [start[places[f"b{i + 1}"]] - station[places[f"b{i + 1}"]] for i in range(5)]
    assert count_orders(product(task)) <= gains.count(min(gains)) * factorial(4)


def test_more_than_eight_subtasks_are_not_counted():
    assert count_orders(product(load("visit-9"))) is None


@pytest.mark.parametrize("slips", [False, True])
def test_a_misspelt_feature_is_why_nothing_succeeds(slips: bool) -> None:
    lake = Task.from_env("FrozenLake-v1", lambda *step: {"gaol"}, "sequence(goal)", kwargs={"is_slippery": slips})
    assert optimum(lake).reason == "no successful episode exists: the world never reports goal"


def test_five_steps_do_not_fit_a_limit_of_three(grid):
    best = optimum(grid(["A....g"], "g", limit=3))
    assert (best.length, best.success, best.unlimited, best.discounted, best.path) == (None, 0.0, 5, 0.0, ())
    assert best.reason == "the shortest successful episode takes 5 steps, more than the limit of 3"
    assert optimum(grid(["A....g"], "g", limit=5)).length == 5


def test_a_slippery_corridor_within_a_limit_is_a_binomial(grid):
    # Four steps ahead, each with 0.8; slips bump into the walls. At least 4 of 6 succeed.
    best = optimum(grid(["A...g"], "g", slip=0.2, limit=6), gamma=0.9)
    assert best.success == pytest.approx(sum(comb(6, k) * 0.8**k * 0.2 ** (6 - k) for k in (4, 5, 6)))
    assert (best.length, best.unlimited) == (None, pytest.approx(5))
    at = [comb(t - 1, 3) * 0.8**4 * 0.2 ** (t - 4) for t in (4, 5, 6)]
    assert best.discounted == pytest.approx(sum(p * 0.9 ** (t - 1) for p, t in zip(at, (4, 5, 6), strict=True)), rel=1e-8)
    assert best.reason == (
        "no policy succeeds surely within the limit of 6 steps; the greatest probability of success is 0.90112; "
        "without the limit one does in 5 expected steps"
    )
    late = optimum(grid(["A...g"], "g", slip=0.2, limit=3))
    assert late.reason.startswith("no episode succeeds within the limit of 3 steps")
    assert "is more than 0.999999;" in optimum(grid(["A...g"], "g", slip=0.2, limit=18)).reason


@pytest.mark.parametrize("seed", range(30))
def test_any_random_world_with_a_limit_agrees_with_matrices_that_count_the_steps(grid, explicit, seed):
    rng = np.random.default_rng(seed)
    cells = rng.permutation([*"Aabd", *rng.choice([*"...#"], 8)])
    phrase = ["avoid(d, any_order(a, b))", "any_order(a, b)", "sequence(d, a)"][seed % 3]
    limit = int(rng.integers(2, 25))
    try:
        task = grid(["".join(cells[:6]), "".join(cells[6:])], phrase, slip=[0.0, 0.1, 0.5][seed // 10], limit=limit)
    except SpecError:
        return
    _, moves, success, reward = explicit(task)
    lost = 1 - moves.sum(axis=2) - success > 1e-9
    chance, steps, returns = np.zeros(moves.shape[1]), np.full(moves.shape[1], np.inf), np.zeros(moves.shape[1])
    for _ in range(limit):
        with np.errstate(invalid="ignore"):
            ahead = np.where(moves > 0, moves * steps, 0.0).sum(axis=2)
        steps = np.where(lost, np.inf, 1 + ahead).min(axis=0)
        chance = (success + moves @ chance).max(axis=0)
        returns = (reward + 0.9 * (moves @ returns)).max(axis=0)
    best = optimum(task, gamma=0.9)
    assert best.success == pytest.approx(chance[0], abs=1e-9)
    assert best.discounted == pytest.approx(returns[0], abs=1e-9)
    # Every slip may happen at every step: only what never slips off its way is surely in time.
    assert best.length == (None if np.isinf(steps[0]) else pytest.approx(steps[0], rel=1e-9))


class Doors(gym.Env):
    """Action 0 opens the heavy door to the goal (3) with one half; action 1 goes round, over two cells more."""

    observation_space, action_space = gym.spaces.Discrete(4), gym.spaces.Discrete(2)
    initial_state_distrib = np.array([1.0, 0.0, 0.0, 0.0])
    P = {  # noqa: RUF012 (Gymnasium's own form)
        0: {0: [(0.5, 3, 0.0, False), (0.5, 0, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
        1: {a: [(1.0, 2, 0.0, False)] for a in (0, 1)},
        2: {a: [(1.0, 3, 0.0, False)] for a in (0, 1)},
        3: {a: [(1.0, 3, 0.0, False)] for a in (0, 1)},
    }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        ways = self.P[self.at][int(action)]
        self.at = ways[self.np_random.choice(len(ways), p=[way[0] for way in ways])][1]
        return self.at, 0.0, False, False, {}


@pytest.mark.parametrize(("limit", "length"), [(3, 3), (4, 2.5), (5, 2.25)])
def test_the_long_way_that_is_never_late_is_taken_when_the_short_one_may_be(limit, length):
    # The door alone takes 2 expected steps and may be late; with three steps left one must go round.
    best = optimum(Task.from_env(Doors, {"goal": [3]}, "goal", limit=limit))
    assert (best.length, best.success, best.unlimited) == (pytest.approx(length), 1.0, pytest.approx(2))


def test_where_time_as_a_state_takes_too_long_the_method_says_so(grid):
    task = grid(["A...g"], "g", slip=0.2, limit=6)
    best = optimum(task, work=10)
    assert best.length == pytest.approx(5)
    assert best.method.endswith("; the time limit of 6 steps is left out: it would take too long")
    assert "left out" not in optimum(task).method


def test_a_name_is_no_task() -> None:
    with pytest.raises(TaskError, match=r"give a task, such as errands.load\('office-6'\)"):
        optimum("office-6")  # type: ignore[arg-type]
