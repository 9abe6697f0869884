"""QCoRM+ (errands' own): exact orders from learnt values."""

from errands.learners.method import Form, Method

_DEEP = Form(
    "errands.learners.engines.deep.learner:DeepLearner",
    "errands.learners.qcorm_plus.settings:DeepPlusConfig",
    "errands.learners.qcorm_plus.settings:DEEP",
    "errands.learners.qcorm_plus.deep:agent",
    most_states=70_000,
)
_TABULAR = Form(
    "errands.learners.qcorm_plus.tabular:QCoRMPlus",
    "errands.learners.qcorm_plus.settings:QCoRMPlusConfig",
    "errands.learners.qcorm_plus.settings:TABULAR",
    success_alone=True,
    most_states=1 << 19,
)
METHODS = (
    Method(
        "qcorm-plus", "ours: exact orders from learnt values", "", _TABULAR, _DEEP,
        machine="coupled", default_for="networks", looks=(("", "purple", "-", "D"),), order=6,
    ),
)  # fmt: skip
