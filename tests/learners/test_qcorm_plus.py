"""QCoRM+ ends exactly optimal where moves are certain, and near the optimum where they are random."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parent))
import scout_tasks

from errands.errors import ConfigError, TaskError
from errands.learners.qcorm_plus.kernel.values import best_believed
from errands.learners.qcorm_plus.settings import QCoRMPlusConfig
from errands.learners.qcorm_plus.tabular import QCoRMPlus
from errands.oracle.certificate import certificate
from errands.oracle.optimum import optimum, steps_to_go
from errands.tasks import Task, load
from errands.tasks.catalogue import task_text
from probes import PROBES

SMALL = QCoRMPlusConfig(recent=1 << 12)


def trained(task: Task, steps: int = 20_000, config: QCoRMPlusConfig = SMALL, seed: int = 0) -> QCoRMPlus:
    learner = QCoRMPlus(task, config, seed)
    learner.advance(steps)
    return learner


def drawn_office(offices: int, seed: int, slip: float = 0.0) -> Task:
    """Offices, two coffees and six decorations on random cells of twelve rooms; drawn again until it can be done."""
    draw = random.Random(seed)
    inside = [(x, y) for y in range(11) for x in range(15) if x % 4 != 3 and y % 4 != 3]
    while True:
        grid = [["#" if (x % 4 == 3 and y % 4 != 1) or (y % 4 == 3 and x % 4 != 1) else "." for x in range(15)]
                for y in range(11)]  # fmt: skip
        signs = "A" + "12345678"[:offices] + "ccxxxxxx"
        for (x, y), sign in zip(draw.sample(inside, len(signs)), signs, strict=True):
            grid[y][x] = sign
        rows = ", ".join(f'"{"".join(row)}"' for row in grid)
        legend = ", ".join(f'{i} = "o{i}"' for i in range(1, offices + 1))
        names = ", ".join(f"o{i}" for i in range(1, offices + 1))
        task = Task.from_toml(
            f'name = "drawn-office"\n[world]\nkind = "grid"\nslip = {slip}\nrows = [{rows}]\n'
            f'legend = {{ {legend}, c = "coffee", x = "decoration" }}\n'
            f'[machine]\nphrase = "avoid(decoration, any_order({names}, before=coffee))"\n'
        )
        if optimum(task, orders=False).success:
            return task


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_is_solved_and_certified(probe: str) -> None:
    make, best = PROBES[probe]
    task = make()
    judged = certificate(trained(task, 2_000).policy, task)
    assert (judged.length, judged.success, judged.gap) == (best, 1.0, 0.0)


@pytest.mark.parametrize(
    ("name", "best"),
    [("figure-1", 10), ("corridor", 20), ("office-2", 20), ("office-3", 26), ("office-4", 38), ("office-5", 44), ("office-6", 60)],
)
def test_the_published_maps_end_at_their_exact_optimum(name: str, best: int) -> None:
    task = load(name)
    learner = trained(task)
    assert learner.evaluate().episode_length == best
    assert certificate(learner.policy, task).gap == 0.0


@pytest.mark.parametrize("name", ["delivery-2", "delivery-5", "delivery-8", "visit-4", "visit-8", "visit-12"])
@pytest.mark.parametrize("map_seed", [11, 12, 13])
def test_held_out_random_maps_end_optimal(name: str, map_seed: int) -> None:
    task = load(name, map_seed=map_seed)
    assert certificate(trained(task).policy, task).gap == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_random_offices_end_optimal(seed: int) -> None:
    task = drawn_office(4 + seed % 3, seed)
    assert certificate(trained(task).policy, task).gap == 0.0


def test_every_kind_of_task_ends_optimal_by_an_independent_search() -> None:
    """Several groups, before and after, features on several cells, failures, one-way doors, machines with cycles."""
    solved = 0
    for seed in range(1_000, 1_040):
        task = scout_tasks.task(seed)
        best = scout_tasks.shortest(task)
        if best <= task.world.limit:
            found = trained(task).evaluate()
            assert (found.success, found.episode_length) == (True, best), seed
            solved += 1
    assert solved > 25


def test_without_corrections_a_path_through_an_open_subtask_can_be_lost() -> None:
    """The feature to avoid in the second half stands on the short way of landmarks: only corrections see it."""
    task = next(t for t in map(scout_tasks.task, range(200)) if _needs_corrections(t))
    best = scout_tasks.shortest(task)
    assert trained(task).evaluate().episode_length == best
    assert trained(task, config=QCoRMPlusConfig(corrections=False)).evaluate().episode_length != best


def _needs_corrections(task: Task) -> bool:
    from errands.learners.qcorm_plus.kernel.memory import CORRECTED

    if scout_tasks.shortest(task) > task.world.limit:
        return False
    plain = trained(task, config=QCoRMPlusConfig(corrections=False))
    return trained(task).position[CORRECTED] > 0 and plain.evaluate().episode_length != scout_tasks.shortest(task)


@pytest.mark.parametrize("seed", [4, 7, 12, 29])
def test_promises_only_fall_and_never_below_the_truth(seed: int) -> None:
    task = scout_tasks.task(seed)
    best = 0.99 ** scout_tasks.shortest(task)
    learner = QCoRMPlus(task, SMALL, 0)
    first, before = int(learner.world.table.starts[0]), learner.memory.q.copy()
    for _ in range(100):
        learner.advance(17)
        assert best_believed(learner.agenda, learner.memory, 0, first)[0] >= best * (1 - 1e-9)
        assert (learner.memory.q[:, :, : before.shape[2]] <= before + 1e-15).all()
        before = learner.memory.q.copy()


@pytest.mark.parametrize("landmarks", [1, 3])
def test_landmarks_may_share_a_table_and_the_result_stays_exact(landmarks: int) -> None:
    for name, best in [("office-4", 38), ("corridor", 20)]:
        learner = trained(load(name), config=QCoRMPlusConfig(landmarks=landmarks))
        assert learner.evaluate().episode_length == best


@pytest.mark.parametrize("name", ["delivery-4", "visit-5", "office-4"])
def test_slipping_moves_cost_little_of_the_optimal_return(name: str) -> None:
    task = Task.from_toml(task_text(name, 31).replace("[machine]", "slip = 0.1\n\n[machine]"))
    best = optimum(task, orders=False)
    found = certificate(trained(task, 300_000, QCoRMPlusConfig()).policy, task, best=best)
    assert best.discounted is not None
    assert found.discounted >= 0.95 * best.discounted


def test_steps_to_go_are_those_of_figure_1() -> None:
    learner = trained(load("figure-1"), 3_000)
    assert learner.steps_to_go == {"0{b1,b2}b2": 10, "1{b1}s": 6, "2{b1}b1": 2, "3{}s": 1, "4{}": 0}
    assert learner.order == ("b2", "s", "b1", "s")


def test_steps_to_go_on_the_way_are_the_exact_ones_of_a_delivery() -> None:
    task = load("delivery-3")
    learnt, exact = trained(task).steps_to_go, steps_to_go(task)
    assert learnt == {label: exact[label] for label in learnt}
    assert max(learnt.values()) == optimum(task).length
    assert len(learnt) == 7


def test_a_machine_with_too_many_agenda_states_is_refused_before_they_are_listed() -> None:
    with pytest.raises(TaskError, match=r"visit-20' has more than 524,288 agenda states, too many for QCoRM\+"):
        QCoRMPlus(load("visit-20"), SMALL, 0)


@pytest.mark.parametrize(
    "wrong", [{"gamma": 1.0}, {"epsilon": 2.0}, {"replays": -1}, {"recent": 1000}], ids=lambda wrong: next(iter(wrong))
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        QCoRMPlusConfig(**wrong)  # type: ignore[arg-type]
