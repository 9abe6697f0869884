"""Scout (ours): learn the world once, plan on it, stop when the plan is proved; see docs/methods/scout.md."""

from errands.learners.scout.learner import Scout, ScoutConfig

__all__ = ["Scout", "ScoutConfig"]
