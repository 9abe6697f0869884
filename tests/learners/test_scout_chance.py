"""Scout where moves are random: its share of the optimal discounted return, by exact evaluation of its policy."""

from __future__ import annotations

import numpy as np
import pytest

from errands.errors import TaskError
from errands.learners import default_learner, make_learner
from errands.learners.scout import planner
from errands.learners.scout.kernel import memory as me
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.stages import StageValues
from errands.learners.scout.tabular import Scout
from errands.machines.stepping import Stepper
from errands.oracle.episode import Policy
from errands.tasks import Task, load

GAMMA = 0.99


def share(task: Task, policy: Policy) -> float:
    """Discounted return of a policy over the optimum's, both by iterating the product of world and machine."""
    world = task.finite
    assert world is not None
    table, stepper = world.table, Stepper(task.machine)
    number, states, rows = {stepper.start: 0}, [stepper.start], []
    for state in states:
        row = []
        for label in world.labels:
            after = state if stepper.status[state[0]] else stepper.step(state, label).state
            if after not in number:
                number[after] = len(states)
                states.append(after)
            row.append(number[after])
        rows.append(row)
    status = np.array([stepper.status[u] for u, _ in states])
    after = np.array(rows)[:, table.label]
    chance = np.diff(table.cumulative, axis=2, prepend=0.0)
    wins, goes_on = status[after] == 1, (status[after] == 0) & ~table.ends
    chosen = np.array([[policy.act(s, state, None)[0] for s in range(world.states)] for state in states])
    starts = np.diff(table.start_cumulative, prepend=0.0)

    def iterate(best: bool) -> float:
        v = np.zeros((len(states), world.states))
        for _ in range(1_500):
            q = GAMMA * (chance * (wins + goes_on * v[after, table.next])).sum(axis=3)
            v = q.max(axis=2) if best else np.take_along_axis(q, chosen[..., None], axis=2)[..., 0]
            v[status != 0] = 0.0
        return float(v[0, table.starts] @ starts)

    return iterate(best=False) / iterate(best=True)


def slippery(kind: str, count: int, map_seed: int = 0) -> Task:
    items = ", ".join(f"{kind[0]}{i + 1}".replace("d", "b") for i in range(count))
    world = {
        "delivery": f'kind = "delivery"\nboxes = {count}\nmap_seed = {map_seed}',
        "visit": f'kind = "visit"\nplaces = {count}\nmap_seed = {map_seed}',
        "office": 'kind = "office"',
    }[kind]
    phrase = {
        "delivery": f"any_order({items}, after=s)",
        "visit": f"any_order({items})",
        "office": f"avoid(decoration, any_order({items}, before=coffee))",
    }[kind]
    return Task.from_toml(f'name = "x"\n[world]\n{world}\nslip = 0.1\n[machine]\nphrase = "{phrase}"\n')


def explored(task: Task, steps: int, seed: int) -> Scout:
    scout = Scout(task, ScoutConfig(eval_every=steps), seed)
    list(scout.train(steps))
    return scout


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "count"), [("delivery", 4), ("visit", 5)])
def test_four_thousand_steps_give_99_percent_of_the_optimum(kind: str, count: int, seed: int) -> None:
    task = slippery(kind, count, seed)
    scout = explored(task, 4_000, seed)
    assert share(task, scout.policy) >= 0.99
    assert not scout.claim.proved
    assert "random" in scout.claim.reason


def test_lethal_cells_are_passed_at_99_percent_of_the_optimum_after_32000_steps() -> None:
    task = slippery("office", 4)
    assert share(task, explored(task, 32_000, 0).policy) >= 0.99


@pytest.mark.parametrize(("kind", "count"), [("delivery", 4), ("visit", 5), ("office", 3)])
def test_stages_come_close_to_the_exact_values(kind: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "MAX_VALUES", 0)
    task = slippery(kind, count, 1)
    scout = explored(task, 10_000, 0)
    assert isinstance(scout.random_planner, StageValues)
    assert share(task, scout.policy) >= 0.98


def test_many_subtasks_are_done_in_a_random_world() -> None:
    scout = explored(slippery("visit", 25), 6_000, 0)
    assert isinstance(scout.random_planner, StageValues)
    assert scout.evaluate().success


def test_no_episode_waits_for_a_success_that_nobody_knows() -> None:
    """The place lies behind a wall, so that no plan is worth anything: what is left to do is to try all pairs alike."""
    rows = ["A....", ".....", "...##", "...#x"]
    world = f'kind = "grid"\nrows = {rows}\nlegend = {{ x = "x" }}\nslip = 0.2\nlimit = 50'
    task = Task.from_toml(f'name = "x"\n[world]\n{world}\n[machine]\nphrase = "sequence(x)"\n')
    tried = explored(task, 20_000, 0).known.tried
    seen = tried[tried.any(axis=1)]
    assert seen.shape == (16, 4)
    assert seen.max() <= 3 * np.median(seen)


def test_a_plan_that_takes_longer_than_it_promises_is_left() -> None:
    """Every move slips, so that no plan keeps its promise always; still nobody follows it for a whole episode of 1,000 steps."""
    scout = explored(slippery("visit", 5), 8_000, 0)
    agent = scout.agent.at
    greedy = []
    while scout.step < 12_000:
        scout.advance(1)
        if agent[me.FOLLOWING] == me.GREEDY and agent[me.CLOCK] >= 0:
            assert agent[me.CLOCK] <= agent[me.UNTIL]
            greedy.append(int(agent[me.UNTIL]))
    assert greedy
    assert max(greedy) < 400


@pytest.mark.parametrize("learner", ["scout", "qcorm-plus"])
def test_a_machine_that_pays_for_more_than_success_is_refused(learner: str) -> None:
    """On QR-MAX's map 4 one coffee pays 1,000 and the other 1; a toll is paid where moves are certain, too."""
    toll = 'name = "x"\n[world]\nkind = "visit"\nplaces = 2\n[machine]\nphrase = "sequence(v1, toll(3, v1, v2))"\n'
    for task, paid in ((load("office-map4-exp6"), "for one success more"), (Task.from_toml(toll), "-3 from")):
        with pytest.raises(TaskError, match=paid):
            make_learner(task, learner, 0)
        assert default_learner(task) == "crm"
    costly = toll.replace("sequence(v1, toll(3, v1, v2))", "avoid(v1, sequence(v2), cost=100)")
    make_learner(Task.from_toml(costly), learner, 0)  # whoever fails nowhere never pays
