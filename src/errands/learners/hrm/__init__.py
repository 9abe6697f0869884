"""HRM: options for machine transitions, all learnt at once, and a controller that chooses among them."""

from errands.learners.method import Form, Method

_DEEP = Form(
    "errands.learners.engines.deep.learner:DeepLearner",
    "errands.learners.hrm.settings:DeepHRMConfig",
    "errands.learners.hrm.settings:DEEP",
    "errands.learners.hrm.deep:agent",
    most_states=1_024,
)
_TABULAR = Form(
    "errands.learners.hrm.tabular:HRM",
    "errands.learners.hrm.settings:HRMConfig",
    "errands.learners.hrm.settings:TABULAR",
    most_states=10_000,
)
METHODS = (
    Method(
        "hrm", "options for machine transitions under a controller", "Section 5, baselines", _TABULAR, _DEEP,
        machines=("agenda", "boolean"), per_state=(0.3, 3), order=3,
        looks=((" agenda", "green", "-", "P"), (" boolean", "green", ":", "X")),
    ),
)  # fmt: skip
