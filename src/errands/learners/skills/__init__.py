"""Skills: one network for every map and every errand of a family of worlds, which acts on what the machine's state asks for."""

import math

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.skills.settings"
_FORM = Form(
    "errands.learners.skills.learner:SkillsLearner",
    f"{_SETTINGS}:SkillsConfig",
    f"{_SETTINGS}:PRESETS",
    most_states=math.inf,
    networks=True,
)
METHODS = (
    Method(
        "skills", "one network for every map and every errand of a family of worlds", "", _FORM, _FORM,
        default_steps=4_194_304, default_for="families", looks=(("", "indigo", "-", "P"),), order=9,
    ),
)  # fmt: skip
