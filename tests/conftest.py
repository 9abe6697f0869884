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
    METHODS = ("engines.batched", "qcorm.deep", "hrm.deep", "qcorm_plus.deep", "qcorm_plus.contexts")
    traced = [*(f"engines.deep.{name}" for name in ENGINE), *METHODS]
    install_import_hook([f"errands.learners.{name}" for name in traced], "beartype.beartype")


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
