"""What every test shares: one hypothesis profile that repeats itself exactly, figures drawn without a screen, shapes enforced."""

from __future__ import annotations

import importlib.util
import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if importlib.util.find_spec("jax") is not None:
    from jaxtyping import install_import_hook

    # Every annotated shape is checked while these modules are traced; nothing may import them before.
    ARRAYS = ("agent", "bandit", "batch", "contexts", "controller", "ddqn", "device", "factored", "host", "network", "td3")
    install_import_hook([f"errands.learners.deep.{name}" for name in ARRAYS], "beartype.beartype")
