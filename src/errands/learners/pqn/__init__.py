"""PQN: Q-learning in many copies of a world at once, without replay; every step teaches every agenda state."""

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.pqn.settings"
_FORM = Form(
    "errands.learners.engines.deep.learner:DeepLearner",
    f"{_SETTINGS}:PQNConfig",
    f"{_SETTINGS}:PRESETS",
    teams="errands.learners.pqn.team:team",
    most_states=1_024,
)
METHODS = (
    Method(
        "pqn", "many copies of a world at once, no replay; each step teaches every agenda state", "", _FORM, _FORM,
        machine="agenda", default_for="batched", looks=(("", "brown", "-", "X"),), order=8,
    ),
)  # fmt: skip
