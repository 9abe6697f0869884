"""Scout (errands' own): learn the world once, plan on it, stop when the plan is proved; see docs/methods/scout.md."""

import math

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.scout.settings"
METHODS = (
    Method(
        "scout",
        "ours: learn the world once, plan, stop with a certificate",
        tabular=Form(
            "errands.learners.scout.tabular:Scout", f"{_SETTINGS}:ScoutConfig", f"{_SETTINGS}:TABULAR", success_alone=True,
            most_states=math.inf,
        ),
        default_steps=20_000,
        steps_per_pair=2,
        stops_when_proved=True,
        default_for="tables",
        looks=(("", "black", "-", "*"),),
        order=8,
    ),
)
