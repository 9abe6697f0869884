"""QRM: Q-learning over world state x machine state; CRM: the same with counterfactual steps in every machine state."""

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.qrm.settings"
_DEEP = Form(
    "errands.learners.engines.deep.learner:DeepLearner",
    "errands.learners.engines.deep.config:NStepConfig",
    f"{_SETTINGS}:DEEP",
    "errands.learners.qrm.deep:agent",
    most_states=1_024,
)
METHODS = tuple(
    Method(
        name,
        about,
        "Section 5, baselines",
        Form(f"errands.learners.qrm.tabular:{learner}", f"{_SETTINGS}:QRMConfig", f"{_SETTINGS}:TABULAR", most_states=most),
        _DEEP,
        machines=("agenda", "boolean"),
        default_for="rewards" if per_state else None,
        per_state=per_state,
        looks=((" agenda", colour, "-", marks[0]), (" boolean", colour, ":", marks[1])),
        order=order,
    )
    for name, about, learner, per_state, most, colour, marks, order in (
        ("qrm", "Q-learning over world x machine", "QRM", None, 2**64, "sky", "<>", 1),
        ("crm", "QRM with counterfactual steps in every machine state", "CRM", (0.2, 1), 10_000, "blue", "^v", 2),
    )
)
