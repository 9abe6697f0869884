"""Settings come as words, are read by their field's type, and survive the way through JSON."""

from __future__ import annotations

import json

import pytest

from errands.errors import ConfigError, UnknownName
from errands.learners.presets import as_document, with_settings
from errands.learners.qcorm.settings import QCoRMConfig


def test_words_are_read_as_the_type_of_their_field() -> None:
    words = ["alpha=0.25", "eval-every=50", "joint=false", "delta=gated", "epsilon=0.3..0@10,20"]
    config = with_settings(QCoRMConfig(), words, "qcorm")
    assert config == QCoRMConfig(alpha=0.25, eval_every=50, joint=False, delta="gated", epsilon="0.3..0.0@10,20")


def test_a_config_survives_json() -> None:
    config = QCoRMConfig(alpha=0.1 + 0.2, xi="0.5..0@1,2 steps", delta="gated")
    assert with_settings(QCoRMConfig(), json.loads(json.dumps(as_document(config))), "qcorm") == config


def test_a_misspelt_setting_is_answered_with_the_right_one() -> None:
    with pytest.raises(UnknownName, match="no setting of qcorm is called 'alpa'; did you mean 'alpha'"):
        with_settings(QCoRMConfig(), ["alpa=1"], "qcorm")


WRONG = ["alpha", "alpha=x", "eval_every=1.5", "joint=perhaps", "delta=none", "alpha=2", "epsilon=0.3..0@1"]


@pytest.mark.parametrize("word", WRONG)
def test_what_cannot_be_set_is_refused_by_name(word: str) -> None:
    with pytest.raises(ConfigError, match=word.split("=")[0]):
        with_settings(QCoRMConfig(), [word], "qcorm")
