"""QCoRM, the paper's method, on the coupled machine; QCoRM-0: the same without joint optimisation."""

from errands.learners.method import Form, Method

_DEEP, _DEEP_0 = (
    Form(
        "errands.learners.engines.deep.learner:DeepLearner",
        f"errands.learners.qcorm.settings:{config}",
        "errands.learners.qcorm.settings:DEEP",
        "errands.learners.qcorm.deep:agent",
        most_states=70_000,
    )
    for config in ("DeepQCoRMConfig", "DeepQCoRM0Config")
)
_TABULAR = Form(
    "errands.learners.qcorm.tabular:QCoRM", "errands.learners.qcorm.settings:QCoRMConfig", "errands.learners.qcorm.settings:TABULAR"
)
METHODS = (
    Method(
        "qcorm", "the paper's method on the coupled machine", "Section 4", _TABULAR, _DEEP, machine="coupled",
        looks=(("", "vermilion", "-", "o"), (" printed", "wine", "-.", "p")), order=4,
    ),
    Method(
        "qcorm-0", "QCoRM without joint optimisation", "Section 4", _TABULAR, _DEEP_0, machine="coupled",
        looks=(("", "orange", "--", "s"),), order=5,
    ),
)  # fmt: skip
