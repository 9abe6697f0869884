"""DiRL (Section 5's compositional baseline): an abstract graph whose edges are learnt one by one."""

from errands.learners.dirl.config import DiRLConfig, SearchConfig
from errands.learners.dirl.graph import AbstractGraph, abstract_graph, picture
from errands.learners.dirl.learner import CompositionalLearner, DiRL, predicted_steps

__all__ = [
    "AbstractGraph",
    "CompositionalLearner",
    "DiRL",
    "DiRLConfig",
    "SearchConfig",
    "abstract_graph",
    "picture",
    "predicted_steps",
]
