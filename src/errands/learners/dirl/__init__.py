"""DiRL (Section 5's compositional baseline): an abstract graph whose edges are learnt one by one."""

from errands.learners.method import Form, Method

_SETTINGS = "errands.learners.dirl.settings"
METHODS = (
    Method(
        "dirl",
        "edges of an abstract graph learnt one by one",
        "Section 5, baselines",
        Form("errands.learners.dirl.tabular:DiRL", f"{_SETTINGS}:DiRLConfig", f"{_SETTINGS}:TABULAR", most_states=10_000),
        Form("errands.learners.dirl.deep:DeepDiRL", f"{_SETTINGS}:DeepDiRLConfig", f"{_SETTINGS}:DEEP", most_states=1_024),
        machine="agenda",
        evaluated_at_end=True,
        looks=(("", "yellow", "-.", "h"),),
        order=7,
    ),
)
