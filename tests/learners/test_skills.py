"""Skills: errands read from machines by hand, orders by pencil, small networks on maps that they never saw, checkpoints, files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import errands  # noqa: E402
from errands.errors import ConfigError, StoreError, TaskError  # noqa: E402
from errands.learners.skills.errand import Aim, Errand  # noqa: E402
from errands.learners.skills.imagination import Way, imagine  # noqa: E402
from errands.learners.skills.learner import SkillsLearner, family_of  # noqa: E402
from errands.learners.skills.network import ROLES, RoleValues  # noqa: E402
from errands.learners.skills.settings import SkillsConfig  # noqa: E402
from errands.learners.skills.training import ErrandArrays, progress  # noqa: E402
from errands.runs.run import Run  # noqa: E402
from errands.tasks import Task  # noqa: E402
from errands.tasks.phrases import parse_phrase  # noqa: E402

QUICK = {
    "envs": 64, "rollout": 8, "errands": 2, "minibatches": 2, "embed": 16, "width": 32, "most": 1, "gamma": 0.9,
    "alpha": "0.004..0.0004@0,80000", "eval_every": 25_600, "cut": 40, "average": 0.02, "imagined": 0,
}  # fmt: skip
SMALL = SkillsConfig(envs=4, rollout=4, errands=2, minibatches=2, embed=4, width=8, eval_every=32, cut=12)


def errand(phrase: str, world: str = "letters") -> Errand:
    task = errands.load(world)
    return Errand(Task("errand", task.world, parse_phrase(phrase)))


def roles(**named: tuple[int, ...]) -> np.ndarray:
    array = np.zeros((1, 1, 6, len(ROLES)), bool)
    for role, slots in named.items():
        array[0, 0, list(slots), ROLES.index(role)] = True
    return array


@pytest.mark.parametrize(
    ("before", "holds", "after", "done", "failed"),
    [
        ({"open": (0, 1)}, (1,), {"open": (0,)}, False, False),
        ({"open": (0, 1), "then": (2,), "later": (3,)}, (0, 1), {"open": (2,), "then": (3,)}, False, False),
        ({"open": (0,), "then": (1,)}, (1,), {"open": (0,), "then": (1,)}, False, False),
        ({"open": (0,), "avoid": (4,)}, (0,), {"avoid": (4,)}, True, False),
        ({"open": (0,), "avoid": (4,)}, (0, 4), {"avoid": (4,)}, False, True),
    ],
)
def test_an_errand_goes_on_when_all_that_is_open_has_become_true(before, holds, after, done, failed) -> None:  # type: ignore[no-untyped-def]
    features = np.isin(np.arange(6), holds)[None]
    now, ended, dead = progress(ErrandArrays(roles(**before), np.arange(6)[None, None]), features)
    assert (bool(ended[0, 0]), bool(dead[0, 0])) == (done, failed)
    assert np.array_equal(now.roles, roles(**after))


@pytest.mark.parametrize(
    ("phrase", "aim"),
    [
        ("any_order(a, b, c)", Aim((0, 1, 2))),
        ("sequence(c, a, b, d)", Aim((2,), (0,), (1,))),
        ("avoid(e, f, any_order(a, b))", Aim((0, 1), avoid=(4, 5))),
        ("sequence(any_order(a, b), c)", Aim((0, 1), (2,))),
        ("any_order(sequence(a, b), sequence(c, d))", None),
        ("any_order(a, b, c, choose=2)", None),
        ("any_order(a, b, c, d)", None),
    ],
)
def test_a_state_of_a_machine_is_read_as_roles_or_planned(phrase: str, aim: Aim | None) -> None:
    """No more than three are asked for at once here; of `choose` not all are wanted, and of two sequences not in any order."""
    asked = errand(phrase)
    assert asked.direct(asked.stepper.start, 3) == aim


def test_what_makes_a_formula_longer_is_avoided() -> None:
    """Who touches a, b, c or d before h owes e, f and g as well."""
    task = errands.load("letters")
    machine = errands.from_ltlf("((a | b | c | d) => F (e & (F (f & F g)))) U (h & F i)")
    asked = Errand(Task("formula", task.world, machine))
    assert asked.direct(asked.stepper.start, 3) == Aim((7,), (8,), avoid=(0, 1, 2, 3))


@pytest.mark.parametrize("names", ["abcd", "abcdefghij"])
def test_orders_are_planned_over_steps(names: str) -> None:
    """Places on a line at 0, 1, 4, 9, 16 ... and the start at 3.5: by hand 2 (at 4), 1, 0 and back costs least of four, then on."""
    asked, places = errand(f"any_order({', '.join(names)})"), np.arange(len(names)) ** 2.0
    between = abs(places[:, None] - places[None])
    order = asked.planned(asked.stepper.start, range(len(names)), abs(places - 3.5), between)
    costs = abs(places[order[0]] - 3.5) + sum(abs(places[i] - places[j]) for i, j in pairwise(order))
    assert sorted(order) == list(range(len(names)))
    assert costs == 3.5 + places[-1]  # to 0 first, then to the other end


def test_neither_features_nor_their_things_have_an_order() -> None:
    family = errands.load("water").world.family
    net = RoleValues.of(family, SMALL)
    layers, random = net.init(jax.random.PRNGKey(0)), np.random.default_rng(0)
    rows = random.normal(size=(3, family.world.inputs)).astype(np.float32)
    asked = np.zeros((3, 1, 6, 4), bool)
    asked[:, :, 0, 0], asked[:, :, 1, 0], asked[:, :, 4, 1], asked[:, :, 5, 3] = True, True, True, True
    scene, order = family.scene(rows), np.array([3, 1, 0, 5, 4, 2])
    turned = scene._replace(things=scene.things[:, order][:, :, ::-1])
    values = jax.jit(net.values)
    one, other = values(layers, scene, asked), values(layers, turned, asked[:, :, order])
    assert np.allclose(one, other, atol=1e-5)
    picks = np.broadcast_to(order, (3, 1, 6))
    assert np.allclose(one, values(layers, scene, asked[:, :, order], picks), atol=1e-5)


@pytest.fixture(scope="module")
def run() -> Run:
    return errands.train("letters-3", "skills", steps=76_800, settings=QUICK)


def test_maps_and_errands_that_were_never_trained_are_done_nearly_as_fast_as_possible(run: Run) -> None:
    """Sixteen other maps and two phrases, beside the exact optimum."""
    taken, best, done = 0.0, 0.0, 0
    for phrase in ("any_order(a, b, c, d)", "avoid(e, f, sequence(g, h))"):
        for seed in range(8):
            other = run.on(Task(phrase, errands.load("letters", seed).world, parse_phrase(phrase)))
            if other.certificate.success:
                taken, best, done = taken + other.certificate.length, best + other.certificate.optimum, done + 1
    assert done >= 12
    assert taken <= 1.4 * best
    assert run.on("any_order(k, l)").start.endswith("its steps to go to 2 features, in an order that is planned by them")


def test_imagined_episodes_shorten_ways_and_never_lengthen_them(run: Run) -> None:
    """Eight other maps, beside the exact optimum; where nothing is planned the network's own way is among those imagined."""
    assert isinstance(run.trained, SkillsLearner)
    alone, imagined, best = list[int](), list[int](), list[int]()
    for seed in range(8):
        task = Task("four", errands.load("letters", seed).world, parse_phrase("any_order(a, b, c, d)"))
        for count, lengths in ((0, alone), (512, imagined)):
            config = SkillsConfig(**(QUICK | {"most": 4, "imagined": count}))  # type: ignore[arg-type]
            evaluation = run.trained.carry(task, config, 0).learner.evaluate()
            lengths.append(evaluation.episode_length if evaluation.success else 1_000)
        best.append(errands.optimum(task, orders=False).length or 0)
    assert all(few <= many for few, many in zip(imagined, alone, strict=True))
    assert all(few >= least for few, least in zip(imagined, best, strict=True))
    assert sum(imagined) <= 1.15 * sum(best)


def test_imagined_episodes_that_touch_what_is_avoided_count_as_failed() -> None:
    """By hand: two steps to the right lead over what is avoided, around it there are four; a way that is known stays known."""
    family = errands.load("letters").world.family
    net = RoleValues.of(family, SMALL)
    layers = net.init(jax.random.PRNGKey(0))
    # On the torus `a` lies two cells to the right and `b` between.
    cells = np.array([[2, 2], [1, 1], *[[40 + k // 2, 40 + k // 2] for k in range(10)]])
    row = np.asarray(cells.ravel(), np.float32)
    roles = np.zeros((1, 2, len(ROLES)), bool)
    roles[0, 0, ROLES.index("open")], roles[0, 1, ROLES.index("avoid")] = True, True
    seen = jax.tree.map(lambda part: part[None], family.state(row))
    held = Way(np.zeros((1, 40), np.int32), np.zeros(1, np.int32))
    way = imagine(family.world, net, 64, layers, seen, roles, np.array([[0, 1]]), held)
    assert int(way.length[0]) >= 4
    actions = np.zeros((1, 40), np.int32)
    actions[0, :4] = 2, 1, 1, 0  # down, right, right, up
    known = Way(actions, np.array([4], np.int32))
    assert int(imagine(family.world, net, 2, layers, seen, roles, np.array([[0, 1]]), known).length[0]) == 4


def test_a_policy_file_cannot_imagine(run: Run, tmp_path: Path) -> None:
    assert isinstance(run.trained, SkillsLearner)
    config = SkillsConfig(**(QUICK | {"imagined": 64}))  # type: ignore[arg-type]
    learner = run.trained.carry(run.on("sequence(a, b)").task, config, 0).learner
    with pytest.raises(TaskError, match="train with imagined=0"):
        learner.policy.exported()


def test_a_run_is_stored_exported_and_goes_on(run: Run, tmp_path: Path) -> None:
    stored = errands.open(run.save(tmp_path / "run"))
    for phrase in ("sequence(a, b)", "any_order(c, d, e)"):
        assert stored.on(phrase).certificate.length == run.on(phrase).certificate.length
    one = run.on("sequence(a, b)")
    policy = errands.read_policy(one.export(tmp_path / "p.safetensors"))
    env, ours = one.task.world.env(), one.agent()
    seen, info = env.reset(seed=0)
    for agent in (policy, ours):
        agent.reset(seen, info)
    over = False
    while not (ours.done or over):
        action = policy.act(seen)
        assert action == ours.act(seen)
        seen, _, _, over, info = env.step(action)
        for agent in (policy, ours):
            agent.see(seen, info)
    with pytest.raises(TaskError, match="an order that is planned"):
        run.export(tmp_path / "q.safetensors")
    warm = errands.train(one.task, start=run, steps=512)
    assert warm.start == one.start


def test_a_checkpoint_goes_on_to_the_same_bytes() -> None:
    task = errands.load("zones-4")
    whole, torn, resumed = (SkillsLearner(task, SMALL, 3) for _ in range(3))
    whole.advance(64)
    torn.advance(32)
    saved = torn.save()
    resumed.restore(saved)
    resumed.advance(32)
    for name, array in whole.save().items():
        assert array.tobytes() == resumed.save()[name].tobytes(), name
    with pytest.raises(StoreError, match=r"lanes\.errands\.picks"):
        resumed.restore({**saved, "lanes.errands.picks": saved["lanes.errands.picks"] + 99})


def test_zones_are_planned_from_place_to_place_and_their_number_is_free() -> None:
    learner = SkillsLearner(errands.load("zones-4"), SMALL, 0)
    task = errands.load("zones-12", 5)
    assert learner.fits(task.world)
    assert not learner.fits(errands.load("zones-4-walls").world)
    assert not learner.fits(errands.load("water").world)
    other = learner.carry(task, SMALL, 0).learner
    row, state = other.family.row(task.world.env().reset()[0]), other.errand.stepper.start
    aim = other.policy.aim(row, state)
    assert [len(part) for part in aim] == [1, 1, 1, 0]


def test_what_skills_cannot_do_is_said() -> None:
    with pytest.raises(TaskError, match="comes in many maps"):
        family_of(errands.load("figure-1").world, "figure-1")
    with pytest.raises(TaskError, match="counts steps"):
        errand("within(20, any_order(a, b))")
    with pytest.raises(ConfigError, match="minibatches is 7"):
        SkillsConfig(minibatches=7)
    with pytest.raises(ConfigError, match="eval_every is 100"):
        SkillsConfig(eval_every=100)
