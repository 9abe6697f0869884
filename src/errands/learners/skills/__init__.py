"""Skills: one network for every map and every errand of a family of worlds, which acts on what the machine's state asks for."""

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.skills.settings"
_FORM = Form("errands.learners.skills.learner:SkillsLearner", f"{_SETTINGS}:SkillsConfig", f"{_SETTINGS}:PRESETS", networks=True)
METHODS = (
    Method(
        "skills", "one network for every map and every errand of a family of worlds", "", _FORM, _FORM,
        default_steps=4_194_304, looks=(("", "indigo", "-", "P"),), order=9,
    ),
)  # fmt: skip
