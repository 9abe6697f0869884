"""PPO in many copies of a world at once: one network tells policy and value of an observation in an agenda state."""

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.ppo.settings"
_FORM = Form(
    "errands.learners.engines.deep.learner:DeepLearner",
    f"{_SETTINGS}:PPOConfig",
    f"{_SETTINGS}:PRESETS",
    teams="errands.learners.ppo.team:team",
    most_states=1_024,
)
METHODS = (
    Method(
        "ppo", "many copies of a world at once, no replay; a policy that is told the agenda state", "", _FORM, _FORM,
        machine="agenda", looks=(("", "lime", "--", "v"),), order=9,
    ),
)  # fmt: skip
