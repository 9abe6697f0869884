"""Numbers that worlds report for gauges: drawn grids, environments of one's own, optima by a search of the test's own."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands import Task
from errands.cli import main
from errands.errors import SpecError, TaskError
from errands.learners import LEARNERS
from errands.worlds.grid_world import GridWorld


def a_map(rng: random.Random, width: int = 5) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """A random map with a start and three places."""
    cells = [(x, y) for y in range(width) for x in range(width)]
    rng.shuffle(cells)
    rows = [["." for _ in range(width)] for _ in range(width)]
    places = dict(zip("Axyz", cells, strict=False))
    for letter, (x, y) in places.items():
        rows[y][x] = letter
    for x, y in cells[4 : 4 + rng.randint(0, 7)]:
        rows[y][x] = "#"
    return ["".join(row) for row in rows], places


def neighbours(rows: list[str], cell: tuple[int, int]) -> list[tuple[int, int]]:
    x, y = cell
    ways = [(x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)]
    return [(a, b) if 0 <= a < len(rows) and 0 <= b < len(rows) and rows[b][a] != "#" else cell for a, b in ways]


def away(rows: list[str], source: tuple[int, int]) -> dict[tuple[int, int], int]:
    steps, queue = {source: 0}, deque([source])
    while queue:
        here = queue.popleft()
        for there in neighbours(rows, here):
            if there not in steps:
                steps[there] = steps[here] + 1
                queue.append(there)
    return steps


def shortest(rows: list[str], places: dict[str, tuple[int, int]], fuel: int, near: tuple[int, int] | None = None) -> int | None:
    """The fewest moves to x, y and z with more than no fuel left at the end, and once near enough to z where that is asked."""
    far, home = away(rows, places["z"]), {cell: name for name, cell in places.items()}
    start = (places["A"], frozenset("xyz"), near is None or near[0])
    seen, queue = {start}, deque([(start, 0)])
    while queue:
        (cell, left, distance), steps = queue.popleft()
        if steps + 1 >= fuel:
            return None
        for there in neighbours(rows, cell):
            rest = left - {home.get(there, "")}
            least = distance if near is None else max(near[1], min(distance, far.get(there, 99)))
            if not rest and (near is None or least == near[1]):
                return steps + 1
            if not rest:
                continue  # the machine of the test wants to have been near before
            if (there, rest, least) not in seen:
                seen.add((there, rest, least))
                queue.append(((there, rest, least), steps + 1))
    return None


def test_optima_with_fuel_are_those_of_a_search_of_our_own() -> None:
    """300 random maps; fuel about as much as is needed, so that about half of them are possible."""
    possible = 0
    for seed in range(300):
        rng = random.Random(seed)
        rows, places = a_map(rng)
        if not {places[p] for p in "xyz"} <= set(away(rows, places["A"])):
            continue
        fuel = rng.randint(6, 14)
        world = GridWorld(rows, {"x": "x", "y": "y", "z": "z"}, numbers={"fuel": "moves"})
        best = errands.optimum(Task("fuel", world, errands.budget("fuel", errands.any_order(*"xyz"), start=fuel)), orders=False)
        wanted = shortest(rows, places, fuel)
        assert (best.length, best.success) == (wanted, float(wanted is not None)), seed
        possible += wanted is not None
    assert 60 < possible < 200


def test_a_distance_is_the_least_so_far() -> None:
    """Three places, and at some time within two moves of z before the last of them: a machine of transitions."""
    for seed in range(40):
        rows, places = a_map(random.Random(seed))
        if not {places[p] for p in "xyz"} <= set(away(rows, places["A"])):
            continue
        text = f'''
            name = "near"
            [world]
            kind = "grid"
            rows = {rows}
            legend = {{ x = "x", y = "y", z = "z" }}
            numbers = {{ far = "z" }}
            [machine]
            initial = "u0"
            success = ["u1"]
            failure = ["u2"]
            numeric = {{ b = ["x", "y", "z"], far = {{ from = 9, to = 2 }} }}
            transitions = ["u0 -> u0 : b↓ ; 0", "u0 -> u1 : b⤓ & far⤓ ; 1", "u0 -> u2 : b⤓ & ~far⤓ ; 0"]
        '''
        best = errands.optimum(Task.from_toml(text), orders=False)
        assert best.length == shortest(rows, places, 99, (9, 2)), seed


@pytest.mark.parametrize("steps", [26, 25, 60])
def test_within_has_the_optimum_of_the_phrase_where_there_is_time_for_it(steps: int) -> None:
    """Two offices after a coffee take 26 steps on the paper's map (facts.md: 11 20 26 38 44 60, one coffee each)."""
    task = errands.load("office-2")
    whole = errands.optimum(task).length
    limited = Task(task.name, task.world, errands.within(int(whole) + steps - 26, task.machine))
    best = errands.optimum(limited)
    assert (best.length, best.success) == ((None, 0.0) if steps == 25 else (whole, 1.0))


class Tank(gym.Env[int, int]):
    """A corridor of ten cells; a step to the right takes one of `fuel`, a step to the left none."""

    observation_space, action_space = gym.spaces.Discrete(10), gym.spaces.Discrete(2)

    def __init__(self, refuel: bool = False) -> None:
        self.refuel = refuel

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.cell, self.fuel = 0, 9
        return self.cell, {"numbers": {"fuel": self.fuel}}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.cell = max(0, min(9, self.cell + (1 if action else -1)))
        self.fuel += -1 if action else int(self.refuel)
        return self.cell, 0.0, False, False, {"numbers": {"fuel": self.fuel}}


def tank(start: int, **how: Any) -> Task:
    return Task.from_env(Tank, {"end": [5]}, f"budget(fuel, end, start={start})", limit=40, **how)


def test_an_environment_tells_its_numbers_in_info() -> None:
    env = tank(9).env()
    env.reset(seed=0)
    *_, info = env.step(1)
    assert info["numbers"] == {"fuel": 8}
    assert info["label"] == "1{fuel=8}end"
    assert "fuel=8" in info["features"]


@pytest.mark.parametrize(
    "numbers",
    [{"fuel": "moves"}, {"fuel": lambda before, action, after: 9 - after}, {"fuel": "fuel"}, ["fuel"]],
)
def test_numbers_come_from_rules_and_functions(numbers: Any) -> None:
    task = tank(9, numbers=numbers)
    env = task.env()
    env.reset(seed=0)
    for _ in range(5):
        *_, terminated, _, info = env.step(1)
    assert terminated
    assert info["success"]
    # A gauge of 5 has fallen to its bound after five moves; one that reads 8, 7, 6, 5, 4 stands at 4.
    env = tank(5, numbers=numbers).env()
    env.reset(seed=0)
    for _ in range(5):
        *_, info = env.step(1)
    assert info["success"] == (numbers != {"fuel": "moves"})
    assert info["remaining"] == (("fuel=4",) if info["success"] else ())


def test_an_entry_of_the_observation_is_a_number() -> None:
    task = Task.from_env(
        "CartPole-v1", {"right": {"index": 0, "above": 1.0}}, "budget(n, right, start=3)", numbers={"n": {"index": 1}}
    )
    env = task.env()
    with pytest.raises(TaskError, match=r"'CartPole-v1' at the start of an episode told what no gauge reads: the number 'n' is"):
        env.reset(seed=0)


def test_a_number_that_rises_is_refused_with_the_step() -> None:
    env = Task.from_env(lambda: Tank(refuel=True), {"end": [5]}, "budget(fuel, end, start=9)").env()
    env.reset(seed=0)
    env.step(1)
    with pytest.raises(TaskError, match=r"in step 2 of an episode let the number 'fuel' rise from 8 to 9"):
        env.step(0)


def test_a_number_that_rises_after_an_episode_was_put_back_is_refused_too() -> None:
    env = Task.from_env(lambda: Tank(refuel=True), {"end": [5]}, "budget(fuel, end, start=9)").env()
    env.reset(seed=0)
    env.step(1)
    saved = env.env.save()
    env.env.restore(saved)
    with pytest.raises(TaskError, match="rise from 8 to 9"):
        env.step(0)


@pytest.mark.parametrize("number", [10**400, 10**18, -(10**30), float("nan"), "4", None, 2.5, [3], 3j])
def test_what_no_gauge_reads_is_told_with_the_step(number: Any) -> None:
    class Odd(Tank):
        def step(self, action: int) -> Any:
            return *super().step(action)[:4], {"numbers": {"fuel": number}}

    env = Task.from_env(Odd, {"end": [5]}, "budget(fuel, end, start=9)").env()
    env.reset(seed=0)
    with pytest.raises(TaskError, match=r"'Odd' in step 1 of an episode told what no gauge reads: .* whole numbers below 10\^18"):
        env.step(1)


@pytest.mark.parametrize(("numbers", "steps"), [({"fuel": "moves"}, 4), ({"fuel": "fuel"}, 5), ({"fuel": "other"}, 4)])
def test_agents_and_policy_files_read_numbers_as_the_task_says(numbers: dict[str, str], steps: int, tmp_path: Path) -> None:
    """Four moves are too few for five cells; fuel that goes 8, 7, 6, 5, 4 is enough, and `other` is five less."""

    class Two(Tank):
        def reset(self, **given: Any) -> Any:
            super().reset(**given)
            return 0, {"numbers": {"fuel": 9, "other": 4}}

        def step(self, action: int) -> Any:
            *rest, _ = super().step(action)
            return *rest, {"numbers": {"fuel": self.fuel, "other": self.fuel - 5, "list": [1]}}

    task = Task.from_env(Two, {"end": [5]}, "budget(fuel, end, start=4)", limit=20, numbers=numbers)
    run = errands.train(task, "crm", steps=200)
    for agent in (run.agent(), errands.read_policy(run.export(tmp_path / "p"))):
        env, taken = Two(), 0
        agent.reset(*env.reset())
        while not agent.done:
            agent.act(env.cell)
            observation, *_, info = env.step(1)
            agent.see(observation, info)
            taken += 1
        assert (taken, agent.success) == (steps, steps == 5)
        agent.reset()
        agent.act(0)
        if numbers != {"fuel": "moves"}:
            with pytest.raises(TaskError, match=r'no info\["numbers"\]|info\["numbers"\] has no'):
                agent.see(1)


def test_an_entry_of_the_observation_is_a_number_in_policy_files_too(tmp_path: Path) -> None:
    class Row(Tank):
        """Shows its cell and its fuel."""

        observation_space: Any = gym.spaces.MultiDiscrete([10, 10])

        def reset(self, **given: Any) -> Any:
            super().reset(**given)
            return np.array([0, 9]), {}

        def step(self, action: int) -> Any:
            *rest, _ = super().step(action)
            return np.array([self.cell, max(0, self.fuel)]), *rest[1:], {}

    # Flattened, the fuel is ten entries; the last of them is 1 while it is 9, and 0 afterwards.
    task = Task.from_env(
        Row, {"end": {"index": 5, "above": 0.5}}, "budget(full, end, start=1)", numbers={"full": {"index": 19}}, state=tuple
    )
    run = errands.train(task, "crm", steps=200)
    agent = errands.read_policy(run.export(tmp_path / "p"), state=tuple)
    agent.reset()
    agent.act(np.array([0, 9]))
    agent.see(np.array([0, 9]))
    assert not agent.done
    agent.act(np.array([0, 9]))
    agent.see(np.array([1, 8]))
    assert (agent.done, agent.success) == (True, False)


@pytest.mark.parametrize("numbers", [[1, 2], None, "fuel", {"x": "y"}, {"x": 10**400}])
def test_numbers_that_no_gauge_reads_are_nobodys_business(numbers: Any) -> None:
    """A game of numbers may have an info["numbers"] of its own."""

    class Game(Tank):
        def step(self, action: int) -> Any:
            return *super().step(action)[:4], {"numbers": numbers}

    run = errands.train(Task.from_env(Game, {"end": [5]}, "end", limit=20), "crm", steps=500)
    agent, env = run.agent(), Game()
    agent.reset(*env.reset())
    agent.act(0)
    agent.see(5, {"numbers": numbers})
    assert agent.success
    product = errands.product(env, errands.sequence("end"), lambda before, action, after, info: {"end"} if after == 5 else set())
    product.reset(seed=0)
    product.step(1)


def test_a_gauge_that_no_world_reports_is_refused() -> None:
    with pytest.raises(SpecError, match="the world does not report the number 'fuel'; it reports none"):
        Task("x", errands.load("office-2").world, errands.budget("fuel", "o1", start=3))
    with pytest.raises(SpecError, match="the number 'fuel' is 'water'; it is 'moves', or the distance from a feature"):
        Task.from_toml('name = "x"\n[world]\nkind = "office"\nnumbers = { fuel = "water" }\n[machine]\nphrase = "o1"')


@pytest.mark.parametrize("numbers", ['{ fuel = "moves" }', '{ fuel = "o3" }'])
def test_task_files_with_numbers_are_written_as_they_are_read(numbers: str) -> None:
    task = Task.from_toml(f'''
        name = "x"
        [world]
        kind = "office"
        numbers = {numbers}
        [machine]
        initial = "u0"
        success = ["u1"]
        numeric = {{ b = ["o1"], fuel = {{ from = 30, to = 2 }}, t = {{ from = 3, each = "o2" }} }}
        transitions = ["u0 -> u1 : b⤓ & ~fuel⤓ & ~t⤓ ; 1"]
    ''')
    from errands.tasks.spec import write_task

    assert Task.from_toml(write_task(task)) == task


YARD = GridWorld(["x..t.", ".#.#.", "A.t.y"], {"x": "x", "y": "y", "t": "toll"}, numbers={"fuel": "moves"})
TOLL = errands.at_most(1, "toll", errands.any_order("x", "y"))
SHIFT = errands.budget("fuel", errands.within(20, errands.any_order("x", "y")), start=21)


SLOW = [pytest.mark.slow]
OF_ONE_MAP = [name for name, method in LEARNERS.items() if not (method.tabular and method.tabular.networks)]


@pytest.mark.parametrize("learner", [pytest.param(n, marks=SLOW if n in ("pqn", "ppo") else []) for n in sorted(OF_ONE_MAP)])
def test_every_learner_takes_gauges_and_its_policy_file_acts_as_it_does(learner: str, tmp_path: Path) -> None:
    """By hand: x is two moves up, y six more by one of the two tolls; another toll fails the task."""
    few = {"settings": ["width=8"], "steps": 1_000} if learner in ("pqn", "ppo") else {"steps": 20_000}
    by_edge = learner in ("hrm", "dirl")  # a policy for each arrow of the machine: nothing to learn where every step is one
    machine = TOLL if by_edge else SHIFT
    run = errands.train(Task("yard", YARD, machine), learner, **few)
    assert run.certificate.optimum == 8
    if learner not in ("pqn", "ppo"):
        assert (run.certificate.length, run.certificate.success) == (8, 1.0)
    agent = errands.read_policy(run.export(tmp_path / "yard.safetensors"))
    env = run.task.world.env()
    observation, info = env.reset(seed=0)
    agent.reset(observation, info)
    steps = 0
    while not agent.done and steps < 20:
        observation, _, _, _, info = env.step(agent.act(observation))
        agent.see(observation, info)
        steps += 1
    assert (steps, agent.success) == ((20, False) if learner in ("pqn", "ppo") and not run.certificate.success else (8, True))


def test_a_replay_tells_the_gauges_of_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = errands.train(Task("yard", YARD, SHIFT), "scout", steps=2_000, name="yard")
    assert run.certificate.length == run.certificate.optimum == 8
    assert main(["export", "yard", "--html", "yard.html"]) == 0
    page = Path("yard.html").read_text(encoding="utf-8")
    assert "3{y,steps_left=17,fuel=18}y" in page
    assert "8{steps_left=12,fuel=13}" in page
    assert "3{y,steps_left=16" not in page
