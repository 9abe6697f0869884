"""What every world promises, asked of every world in the catalogue."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import errands.worlds
from errands.errors import SpecError, UnknownName
from errands.ids import WORLDS, register_all
from errands.tables import WorldTable
from errands.tasks import load
from errands.worlds import Delivery, GymnasiumWorld, make_world
from errands.worlds.base import KINDS, FiniteWorld, Observed, World, world_class

NAMES = ["figure-1", "delivery-2", "office-3", "visit-4", "letters-3", "water-2", "cheetah-bcd"]


def chain(outcomes: int = 1, starts: int = 1) -> FiniteWorld:
    """Three states and two actions; every move leads to state 0."""
    shape = (3, 2, outcomes)
    table = WorldTable(
        np.zeros(starts, np.int32), np.linspace(0, 1, starts + 1)[1:], np.zeros(starts, np.int32), np.zeros(shape, np.int32),
        np.ones(shape), np.zeros(shape, np.int32), np.zeros(shape, np.bool_), np.zeros((0, *shape)),
    )  # fmt: skip
    return FiniteWorld(table, (frozenset(),))


def test_states_and_actions_are_counted_from_the_table() -> None:
    assert (chain().states, chain().actions) == (3, 2)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("next", np.full((3, 2, 1), 3, np.int32), "has next outside of 0 to 2"),
        ("next", np.full((3, 2, 1), -1, np.int32), "has next outside of 0 to 2"),
        ("next", np.zeros((3, 0, 1), np.int32), r"has moves of the shape \(3, 0, 1\)"),
        ("label", np.ones((3, 2, 1), np.int32), "has label outside of 0 to 0"),
        ("starts", np.array([100_000], np.int32), "has starts outside of 0 to 2"),
        ("starts", np.array([], np.int32), r"has start_cumulative of the shape \(1,\); it must be \(0,\)"),
        ("cumulative", np.full((3, 2, 1), 5.0), "has cumulative probabilities that do not rise from 0 to 1"),
        ("cumulative", np.full((3, 2, 1), np.nan), "has cumulative probabilities that do not rise"),
        ("signal", np.zeros((1, 3, 2, 1)), r"has signal of the shape \(1, 3, 2, 1\); it must be \(0, 3, 2, 1\)"),
    ],
)
def test_a_table_that_would_lead_compiled_loops_astray_is_refused_where_it_is_made(
    field: str, value: Any, sentence: str
) -> None:
    with pytest.raises(SpecError, match=f"the table of a world {sentence}"):
        FiniteWorld(chain().table._replace(**{field: value}), (frozenset(),))


@pytest.mark.parametrize(("outcomes", "starts", "certain"), [(1, 1, True), (2, 1, False), (1, 2, False)])
def test_a_world_is_certain_with_one_outcome_and_one_start(outcomes: int, starts: int, certain: bool) -> None:
    assert chain(outcomes, starts).certain is certain


@pytest.mark.parametrize("name", NAMES)
def test_a_world_keeps_its_promises(name: str) -> None:
    world = load(name).world
    assert isinstance(world, World)
    assert len(set(world.features)) == len(world.features) > 0
    assert world.limit > 0
    assert name.split("-")[0] == ("figure" if world.kind == "grid" else world.kind)


@pytest.mark.parametrize("name", ["figure-1", "delivery-2", "office-3", "visit-4", "letters-3"])
def test_the_tables_and_the_environment_tell_of_the_same_steps(name: str) -> None:
    """A random walk: the features that the environment reports are those of the table's label, start included."""
    task = load(name)
    finite = task.world.finite()
    assert finite is not None
    assert finite.certain
    env = task.world.env()
    _, info = env.reset(seed=0)
    table, state = finite.table, int(finite.table.starts[0])
    assert info["features"] == finite.labels[table.start_label[0]]
    rng = np.random.default_rng(0)
    gone: set[str] = set()
    for action in rng.integers(finite.actions, size=300).tolist():
        *_, terminated, truncated, info = env.step(action)
        named = finite.labels[table.label[state, action, 0]]
        gone |= named - info["features"]  # a box that was taken: the table keeps positions only
        assert info["features"] <= named
        assert terminated == bool(table.ends[state, action, 0])
        state = int(table.next[state, action, 0])
        if terminated or truncated:
            break
    env.close()
    assert gone <= (set(task.machine.subtasks) if name == "delivery-2" else set())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("errands/Grid-v0", {}),
        ("errands/Grid-v0", {"slip": 0.2}),
        ("errands/Delivery-v0", {"boxes": 5}),
        ("errands/Office-v0", {"slip": 0.1}),
        ("errands/Visit-v0", {"places": 3}),
        ("errands/Water-v0", {"map_seed": 2}),
        ("errands/HalfCheetah-v0", {}),
    ],
)
def test_every_registered_world_passes_the_checker_without_warnings(name: str, settings: dict[str, Any]) -> None:
    if "Cheetah" in name:
        pytest.importorskip("mujoco")
    env = gym.make(name, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if "Cheetah" in name:  # joints and velocities of the robot have no bounds
            warnings.filterwarnings("ignore", message=".*A Box observation space m(in|ax)imum value is -?infinity")
        check_env(env.unwrapped)
    env.close()


def test_a_foreign_world_passes_the_checker() -> None:
    world = GymnasiumWorld("FrozenLake-v1", {"goal": [15]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It is a wrapper by design, and its spec is that of the base environment.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")
        check_env(world.env(), skip_render_check=True)


def test_registering_twice_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_all()
    assert set(WORLDS) <= set(gym.registry)


def test_make_takes_the_settings_of_the_world() -> None:
    env: Any = gym.make("errands/Delivery-v0", boxes=7, map_seed=3).unwrapped
    assert env.layout == Delivery(7, map_seed=3).layout


def test_a_table_of_a_task_file_becomes_a_world() -> None:
    assert make_world("delivery", {"boxes": 3}) == Delivery(3)
    assert make_world("grid", {"rows": ["A."]}).features == ()
    with pytest.raises(UnknownName, match="no kind of world is called 'ofice'; did you mean 'office'"):
        make_world("ofice", {})
    with pytest.raises(UnknownName, match="no setting of the world 'delivery' is called 'box'; did you mean 'boxes'"):
        make_world("delivery", {"box": 3})
    with pytest.raises(SpecError, match="the world 'grid' lacks rows"):
        make_world("grid", {"legend": {}})
    with pytest.raises(SpecError, match="the world 'gymnasium' lacks id and features"):
        make_world("gymnasium", {})


OWN = {
    "GridWorld": {"letters"}, "Office": set(), "Visit": {"settle"}, "Pickup": {"settle"}, "Taxi": set(), "Letters": set(),
    "Water": {"start"}, "Delivery": {"settle"}, "HalfCheetah": set(), "Zones": {"start"},
    "GymnasiumWorld": {"state_of", "numbers_of", "number_of", "numbered", "features_of", "signals_of"},
    "JaxWorld": {"host", "packed", "unpacked", "bytes_of", "counted"},
}  # fmt: skip
"""What a class of worlds has besides its settings and what the protocols name."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_of_a_world_is_named_by_a_protocol(kind: str) -> None:
    """A misspelt member would be nobody's: `layuot`, `continuos_actions`."""
    cls = world_class(kind)
    named = {name for protocol in (World, Observed) for name in (*dir(protocol), *protocol.__annotations__)}
    settings = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    assert {name for name in dir(cls) if not name.startswith("_")} - settings - named == OWN[cls.__name__]


def test_importing_worlds_loads_nothing_heavy() -> None:
    code = (
        "import sys, errands.worlds as w; w.Delivery(2).env(); w.Water().env(); "
        "print({'jax', 'mujoco', 'PIL'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_every_lazy_name_is_there_and_no_other() -> None:
    for name in errands.worlds.__all__:
        assert getattr(errands.worlds, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nowhere'"):
        _ = errands.worlds.Nowhere
