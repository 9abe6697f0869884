"""The ids that errands has in Gymnasium: `gymnasium.make("errands/office-6")`, known after `import errands` alone.

Gymnasium takes a while to load and a command such as `errands --help` does without it, so nothing is loaded here: the ids
are registered at once where Gymnasium is there already, and otherwise as soon as somebody imports it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

WORLDS: Mapping[str, Mapping[str, Any]] = {
    "errands/Grid-v0": {
        "kind": "grid",
        "rows": ("1s.", "..A", "...", "2.."),
        "legend": {"1": "b1", "2": "b2", "s": "s"},
    },
    "errands/Delivery-v0": {"kind": "delivery"},
    "errands/Office-v0": {"kind": "office"},
    "errands/Visit-v0": {"kind": "visit"},
    "errands/Pickup-v0": {"kind": "pickup"},
    "errands/Taxi-v0": {"kind": "taxi"},
    "errands/Letters-v0": {"kind": "letters"},
    "errands/Water-v0": {"kind": "water"},
    "errands/Zones-v0": {"kind": "zones", "zones": 5},
    "errands/HalfCheetah-v0": {"kind": "cheetah"},
}
"""Worlds without a machine: the settings behind each id; `gymnasium.make(id, boxes=8)` replaces some of them."""

TASKS: tuple[str, ...] = (
    *("letters", "water", "zones"),
    *("figure-1", "corridor", "cheetah-b", "cheetah-bc", "cheetah-bcd", "cheetah-bcde"),
    *(f"delivery-{n}" for n in range(1, 501)),
    *("office-map0-exp0", "office-map4-exp6", *(f"office-map{m}-exp{n}" for m in (1, 2, 3) for n in range(1, 7))),
    *(f"office-{n}{reading}" for n in range(1, 7) for reading in ("", "-one-coffee")),
    *(f"visit-{n}" for n in range(1, 1001)),
    *(f"pickup-{n}{rule}" for n in range(1, 31) for rule in ("", "-one-at-a-time")),
    *(f"taxi-{n}" for n in range(1, 13)),
    *(f"letters-{n}" for n in range(1, 13)),
    *(f"water-{n}" for n in range(1, 7)),
    *(f"zones-{n}{walls}" for n in range(1, 101) for walls in ("", "-walls")),
)
"""Every name of the catalogue: `gymnasium.make("errands/office-6")` is the product with the agenda machine."""

_REGISTRY = "gymnasium.envs.registration"


def register_all() -> None:
    """Put every id into Gymnasium's registry; what is behind them is loaded when one is made."""
    from gymnasium.envs.registration import EnvSpec, registry

    # Not by gymnasium.register, which goes through the whole registry for each of the 1,800 ids.
    for task in TASKS:
        name = f"errands/{task}"
        registry.setdefault(name, EnvSpec(name, "errands.tasks.product:registered_task", kwargs={"task": task}))
    for name, settings in WORLDS.items():
        registry.setdefault(name, EnvSpec(name, "errands.worlds.base:make_env", kwargs=dict(settings)))


def register_with_gymnasium() -> None:
    """Register the ids now if Gymnasium is loaded, else right after its registry is."""
    if hasattr(sys.modules.get(_REGISTRY), "register"):
        register_all()
    else:
        sys.meta_path.insert(0, _AtRegistry())


class _AtRegistry:
    """An import hook that waits for one module, has it loaded as ever, then fills it; it looks for nothing itself."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Nothing but for Gymnasium's registry, whose loader is followed by the registration."""
        if name != _REGISTRY:
            return None
        sys.meta_path.remove(self)  # first of all: the search below goes through all hooks again
        spec = importlib.util.find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            load = loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                register_all()

            loader.exec_module = load_and_register
        return spec
