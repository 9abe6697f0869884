"""Machines inside learners: born when visited, alive while reachable, refused when too large; a policy over one."""

from __future__ import annotations

import random

import gymnasium as gym
import numpy as np
import pytest

import errands
from errands.errors import ConfigError, TaskError, UnknownName
from errands.learners import LEARNERS, default_learner, make_learner
from errands.learners.engines import machines
from errands.learners.engines.machines import UNBORN, CounterfactualLearner, LazyMachine
from errands.learners.engines.tabular import room
from errands.learners.qcorm.settings import QCoRMConfig
from errands.learners.qrm.settings import QRMConfig
from errands.learners.qrm.tabular import CRM, QRM
from errands.machines import NumericRM, size, unfold_agenda, unfold_boolean
from errands.policies.tables import MachinePolicy
from errands.tables import RUNNING
from errands.tasks import Task, load
from errands.tasks.phrases import any_order, parse_phrase


def test_boolean_qrm_runs_at_eight_boxes_on_the_states_that_it_met() -> None:
    learner = make_learner(load("delivery-8"), "qrm", machine="boolean")
    learner.advance(100_000)
    assert isinstance(learner, QRM)
    assert 10 < len(learner.machine) < size(load("delivery-8").machine).boolean == 219_201


def test_a_lazy_machine_is_the_unfolded_one() -> None:
    """Every transition that was born leads where the definition says."""
    task = load("figure-1")
    for kind in ("boolean", "agenda"):
        learner = make_learner(task, "qrm", machine=kind)
        learner.advance(20_000)
        assert isinstance(learner, QRM)
        assert len(learner.machine) == {"boolean": 9, "agenda": 7}[kind]


def test_where_boxes_vanish_only_reachable_states_learn_counterfactually() -> None:
    learner = make_learner(load("delivery-2"), "crm")
    assert isinstance(learner, CounterfactualLearner)
    alive = learner.alive
    counts = (alive.slice[:, 1] - alive.slice[:, 0]).tolist()
    labels = [str(label) for label in learner.enumerated.labels]  # type: ignore[union-attr]
    assert dict(zip(labels, counts, strict=True)) == {
        "0{b1,b2}{b1,b2}": 6, "1{b2}s": 3, "1{b1}s": 3, "2{b2}b2": 2, "2{b1}b1": 2, "3{}s": 1, "4{}": 0
    }  # fmt: skip


def test_where_nothing_vanishes_every_running_state_learns_from_every_step() -> None:
    learner = make_learner(load("office-2"), "crm")
    assert isinstance(learner, CounterfactualLearner)
    running = int((learner.machine.status == 0).sum())
    assert np.all(learner.alive.slice == [0, running])


def test_tables_that_would_not_fit_are_refused_with_their_size() -> None:
    with pytest.raises(TaskError, match=r"would take [\d,.]+ GB and this machine has"):
        room("the table", 10**6, 10**6, 100)
    with pytest.raises(TaskError, match="GB"):
        make_learner(load("delivery-24"), "crm")


def test_names_and_machines_are_checked() -> None:
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        make_learner(load("figure-1"), "qcrom")
    with pytest.raises(UnknownName, match="preset"):
        make_learner(load("figure-1"), "qrm", preset="papr")
    with pytest.raises(ConfigError, match="agenda or boolean"):
        make_learner(load("figure-1"), "qrm", machine="coupled")
    with pytest.raises(ConfigError, match="its own machine"):
        make_learner(load("figure-1"), "qcorm", machine="agenda")
    with pytest.raises(ConfigError, match="takes a QRMConfig"):
        make_learner(load("figure-1"), "qrm", config=QCoRMConfig())
    assert default_learner(load("figure-1")) == "scout"
    # Batched worlds: PQN has a row of values for each set of open subtasks, so up to six of them. Skills do not count steps.
    assert [default_learner(load(name)) for name in ("water-5", "zones-6", "zones-7")] == ["pqn", "pqn", "skills"]
    counted = parse_phrase(f"within(300, any_order({', '.join(f'z{i}' for i in range(1, 8))}))")
    assert default_learner(Task("counted", load("zones-7").world, counted)) == "qcorm-plus"
    assert default_learner(Task.from_env("CartPole-v1", {"left": {"index": 0, "below": 0}}, "sequence(left)")) == "qcorm-plus"
    assert {"qrm", "crm", "hrm", "qcorm", "qcorm-0", "qcorm-plus", "scout", "dirl"} <= set(LEARNERS)


class Line(gym.Env[int, int]):
    """Six cells without a published table: left and right, the goal at the end, a trap at the other."""

    observation_space = gym.spaces.Discrete(6)
    action_space = gym.spaces.Discrete(2)
    last = 5

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[int, dict[str, object]]:
        super().reset(seed=seed)
        self.at = 2
        return self.at, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
        self.at = min(self.at + 1, self.last) if action else self.at - 1
        return self.at, 0.0, self.at == 0, False, {}


def _line() -> Task:
    errands.allow(__name__.partition(".")[0])  # which defines the environment
    if "ErrandsTest/Line-v0" not in gym.registry:
        gym.register("ErrandsTest/Line-v0", entry_point=Line, max_episode_steps=50)
    errands.allow(__name__.partition(".")[0])  # which defines the environment
    return Task.from_toml(
        'name = "line"\n[world]\nkind = "gymnasium"\nid = "ErrandsTest/Line-v0"\n'
        'features = { near = [3], far = [5] }\n[machine]\nphrase = "sequence(far, near)"\n'
    )


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm-0"])
def test_an_environment_without_tables_is_asked_step_by_step(name: str) -> None:
    task = _line()
    assert task.finite is None
    learner = make_learner(task, name, seed=0)
    last = list(learner.train(4_000))[-1]
    assert (last.episode_length, last.success) == (5, True)


def test_an_observation_outside_its_space_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Line, "last", 9)
    with pytest.raises(TaskError, match=r"observed 6, which is not in its Discrete\(6\)"):
        make_learner(_line(), "crm").advance(5_000)


@pytest.mark.parametrize("name", ["scout", "qcorm-0", "qcorm-plus"])
def test_a_world_without_tables_is_trained_and_judged_through_the_front_door(name: str) -> None:
    from errands.runs.run import train

    run = train(_line(), name, steps=3_000)
    assert run.order == ("far", "near")
    assert (run.evaluations[-1].episode_length, run.evaluations[-1].success) == (5, True)
    if name == "scout":
        assert run.certificate is not None
        assert run.certificate.claim is not None
        assert run.certificate.claim.proved
        assert run.certificate.gap is None  # ten episodes are no exact expectation


@pytest.mark.parametrize("name", ["qrm", "crm", "hrm", "qcorm-0"])
def test_a_world_without_tables_goes_on_after_a_resume_with_a_new_episode(name: str) -> None:
    first = make_learner(_line(), name)
    first.advance(1_234)
    second = make_learner(_line(), name)
    second.restore(first.save())
    last = list(second.train(5_000))[-1]
    assert (last.step, last.episode_length, last.success) == (5_000, 5, True)


BOXES = any_order("b1", "b2", "b3", after="s")
LABELS = [set(), {"b1"}, {"b2"}, {"b3"}, {"s"}]


def explored(kind: str, seed: int) -> LazyMachine:
    """Born in random order until nothing is missing."""
    machine = LazyMachine(BOXES, kind, LABELS, ())  # type: ignore[arg-type]
    chance = random.Random(seed)
    waiting = [(0, label) for label in range(5)]
    while waiting:
        i, label = waiting.pop(chance.randrange(len(waiting)))
        before = len(machine)
        if machine.stepper.status[machine.states[i][0]] == 0:
            machine.birth(i, label)
        waiting += [(j, new) for j in range(before, len(machine)) for new in range(5)]
    return machine


@pytest.mark.parametrize(("kind", "unfold"), [("agenda", unfold_agenda), ("boolean", unfold_boolean)])
@pytest.mark.parametrize("seed", range(3))
def test_all_states_of_the_machine_are_born_once(kind: str, unfold: object, seed: int) -> None:
    machine = explored(kind, seed)
    assert len(machine) == len(unfold(BOXES))  # type: ignore[operator]
    assert len(set(machine.index.values())) == len(machine)


def test_a_transition_is_unknown_until_it_is_asked_for() -> None:
    machine = LazyMachine(BOXES, "agenda", LABELS, ())
    assert (machine.table.next == UNBORN).all()
    assert machine.birth(0, 1) == 1
    assert machine.table.next[0, 1] == 1
    assert machine.birth(0, 0) == 0
    assert machine.born().tolist() == [[True, True, False, False, False], [False] * 5]


def test_rewards_signals_and_ends_are_filled_in() -> None:
    numeric = NumericRM.of("u0", ["u1"], ["u0 -> u0 : ~g ; -cost", "u0 -> u1 : g ; 3"])
    machine = LazyMachine(numeric, "agenda", [set(), {"g"}], ("speed", "cost"))
    machine.birth(0, 0)
    machine.birth(0, 1)
    assert (machine.table.reward[0].tolist(), machine.table.signal[0].tolist()) == ([-1.0, 3.0], [1, -1])
    assert machine.table.status[:2].tolist() == [0, 1]


def test_tables_grow_and_keep_what_is_known() -> None:
    machine = LazyMachine(any_order(*(f"v{i}" for i in range(8))), "boolean", [{f"v{i}"} for i in range(8)], ())
    chance, at = random.Random(0), 0
    while len(machine) <= machine.capacity // 2 or machine.capacity == 64:
        following = machine.birth(at, chance.randrange(8))
        at = 0 if machine.stepper.status[machine.states[following][0]] else following
    assert machine.capacity >= 128
    for i, label in np.argwhere(machine.born()).tolist()[:50]:
        kept = int(machine.table.next[i, label])
        assert machine.birth(i, label) == kept


def test_new_labels_widen_the_table() -> None:
    labels = [set(LABELS[0])]
    machine = LazyMachine(BOXES, "agenda", labels, ())
    machine.birth(0, 0)
    labels.append({"b2"})
    machine.widen()
    assert machine.table.next.shape[1] == 2
    assert (machine.table.next[0, 0], machine.birth(0, 1)) == (0, 1)


@pytest.mark.parametrize("kind", ["agenda", "boolean"])
def test_a_packed_machine_comes_back_with_what_was_known(kind: str) -> None:
    machine = explored(kind, 1)
    again = LazyMachine(BOXES, kind, LABELS, ())  # type: ignore[arg-type]
    again.unpack(*machine.pack(), machine.born())
    assert again.states == machine.states
    assert np.array_equal(again.table.next[: len(again)], machine.table.next[: len(machine)])
    assert np.array_equal(again.table.status[: len(again)], machine.table.status[: len(machine)])


@pytest.fixture
def learner() -> CRM:
    return CRM(load("delivery-3"), QRMConfig(), 0)


def test_what_can_still_come_is_found_by_walking_the_machine(learner: CRM) -> None:
    machine, alive = learner.machine, learner.alive
    for i in range(len(machine.status)):
        reached, stack = set(), [i] if machine.status[i] == RUNNING else []
        while stack:
            u = stack.pop()
            if u not in reached and machine.status[u] == RUNNING:
                reached.add(u)
                stack += machine.next[u].tolist()
        listed = alive.running[alive.slice[i, 0] : alive.slice[i, 1]].tolist()
        assert listed == sorted(reached)


def test_a_quiet_label_moves_and_pays_nothing(learner: CRM) -> None:
    machine = learner.machine
    running = np.flatnonzero(machine.status == RUNNING)
    for label, names in enumerate(learner.world.labels):
        quiet = all(machine.next[u, label] == u and machine.reward[u, label] == 0 for u in running)
        assert bool(learner.alive.quiet[label]) is quiet
        assert quiet is (not names)


def test_a_label_that_pays_for_waiting_is_not_quiet() -> None:
    lines = '["u0 -> u0 : ~g ; -1", "u0 -> u1 : g ; 0"]'
    task = Task.from_toml(
        'name = "t"\n[world]\nkind = "grid"\nrows = ["A.g"]\nlegend = { g = "g" }\n'
        f'[machine]\ninitial = "u0"\nsuccess = ["u1"]\ntransitions = {lines}\n'
    )
    assert not CRM(task, QRMConfig(), 0).alive.quiet.any()


def test_a_policy_acts_by_machine_and_world_state(learner: CRM) -> None:
    actions = np.zeros((len(learner.enumerated), learner.world.states), np.int8)
    start = learner.enumerated.states[0]
    actions[0, 5] = 3
    policy = MachinePolicy(actions, learner.machine_states())
    assert policy.act(5, start, None)[0] == 3  # type: ignore[arg-type]
    assert policy.act(6, start, None)[0] == 0  # type: ignore[arg-type]


def test_lists_that_would_be_too_long_are_refused() -> None:
    class Small(CRM):
        max_alive = 20

    with pytest.raises(TaskError, match=r"the lists of reachable machine states would have .* entries, more than 20"):
        Small(load("delivery-3"), QRMConfig(), 0)


def test_eighteen_boxes_are_refused_before_any_machine_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "unfold_agenda", lambda machine: pytest.fail("the machine was built"))
    with pytest.raises(TaskError, match="would have 1,548,371,237 entries, more than 200,000,000; use learner 'qcorm'"):
        CRM(load("delivery-18"), QRMConfig(), 0)
