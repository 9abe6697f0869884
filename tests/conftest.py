"""What every test shares: a hypothesis profile that repeats itself exactly, figures without a screen, quick compilers, shapes."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
# Networks in tests are small and trained briefly: compiling them is most of the time. XLA is asked for plain code, which does the
# same in half the time, and what took it long is kept for the other worker and the next run (JAX_DISABLE_MOST_OPTIMIZATIONS=0
# tests what users run).
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if importlib.util.find_spec("jax") is not None:
    from jaxtyping import install_import_hook

    # Every annotated shape is checked while these modules are traced; nothing may import them before.
    ENGINE = ("agent", "batch", "ddqn", "device", "host", "network", "standardised", "td3")
    COPIES = ("engines.batched", "engines.copies", "engines.host_copies", "pqn.team", "ppo.team")
    METHODS = ("qcorm.deep", "hrm.deep", "qcorm_plus.deep", "qcorm_plus.contexts")
    traced = [*(f"engines.deep.{name}" for name in ENGINE), *COPIES, *METHODS]
    install_import_hook([f"errands.learners.{name}" for name in traced], "beartype.beartype")


EXTRAS = {
    "anyio": "viewer", "axe_playwright_python": "dev", "beartype": "dev", "Box2D": "dev", "click": "viewer", "imageio": "mujoco",
    "imageio_ffmpeg": "video", "jax": "deep", "jaxtyping": "deep", "mkdocs": "docs", "mujoco": "mujoco", "optax": "dev",
    "playwright": "dev", "ray": "ray", "scipy": "dev", "stable_baselines3": "sb3", "starlette": "viewer",
    "tensorboardX": "tensorboard", "uvicorn": "viewer", "wandb": "wandb", "yaml": "dev",
}  # fmt: skip
"""By module, the extra that brings it."""


def lacking(fault: BaseException | None) -> str | None:
    """Why a test cannot run here: what it, or something on its way, tried to import comes with an extra that is not installed."""
    while fault is not None:
        name = (fault.name or "").partition(".")[0] if isinstance(fault, ModuleNotFoundError) else ""
        if name in EXTRAS and importlib.util.find_spec(name) is None:
            return f"Skipped: {name}, of the extra [{EXTRAS[name]}], is not installed"
        fault = getattr(fault, "cause", None) or fault.__cause__ or fault.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    call = getattr(report, "call", None)
    if report.failed and call is not None and (why := lacking(call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, why)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed and call.excinfo is not None and (why := lacking(call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, why)
    return report


@pytest.fixture(autouse=True, scope="module")
def _programs_of_one_module_leave_room_for_the_next() -> Iterator[None]:
    """Each compiled program holds four maps of memory, Linux gives a process 65,530, and XLA crashes without one."""
    yield
    maps = Path("/proc/self/maps")
    if (jax := sys.modules.get("jax")) and maps.exists() and maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def _what_one_test_lets_in_is_not_let_into_the_next() -> Iterator[None]:
    """Modules allowed with --import, and environments and methods that they register, are known to a whole process."""
    gym = sys.modules.get("gymnasium")
    before = set(gym.registry) if gym else set()
    yield
    if learners := sys.modules.get("errands.learners"):
        for name in set(learners._registered) - {method.name for method in learners._shipped()}:
            del learners._registered[name]
    imports, gym = sys.modules.get("errands.worlds.imports"), sys.modules.get("gymnasium")
    strangers = {*imports.allowed()} if imports else set()
    for name in set(gym.registry) - before if gym else ():
        entry = gym.registry[name].entry_point
        module = entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", ""))
        place = vars(sys.modules[module]).get("__file__") or "" if module in sys.modules else ""
        if "pytest-of-" in place:
            strangers.add(module)
            del gym.registry[name]
    for module in strangers:
        place = vars(sys.modules[module]).get("__file__") or "" if module in sys.modules else ""
        if "site-packages" not in place:
            sys.modules.pop(module, None)
    if imports:
        imports._allowed.clear()
