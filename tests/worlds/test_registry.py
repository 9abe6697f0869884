"""Worlds by name: ids, settings, Gymnasium's own checker, and lazy imports."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import errands.worlds
from errands.errors import SpecError, UnknownName
from errands.worlds import Delivery, GymnasiumWorld, make_world
from errands.worlds.registry import IDS, register_all


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
    assert set(IDS) <= set(gym.registry)


def test_make_takes_the_settings_of_the_world() -> None:
    env: Any = gym.make("errands/Delivery-v0", boxes=7, map_seed=3).unwrapped
    assert env.delivery == Delivery(7, map_seed=3)


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
