"""Errors: one sentence each; a name that is not known brings the nearest one that is."""

from __future__ import annotations

import pytest

from errands.errors import (
    MAX_NAMES,
    SOME_NAMES,
    ConfigError,
    ErrandsError,
    SpecError,
    StoreError,
    TaskError,
    UnknownName,
)


@pytest.mark.parametrize("kind", [SpecError, TaskError, ConfigError, StoreError])
def test_every_kind_is_caught_as_one(kind: type[ErrandsError]) -> None:
    with pytest.raises(ErrandsError, match="what came"):
        raise kind("what came, what was wanted, what to do")


def test_problems_are_all_faults_or_the_sentence_itself() -> None:
    assert SpecError("both", ["one", "two"]).problems == ("one", "two")
    assert SpecError("alone").problems == ("alone",)
    assert SpecError("none found", iter(())).problems == ("none found",)


def test_the_nearest_name_is_proposed() -> None:
    assert str(UnknownName("learner", "qcrom", ["qrm", "qcorm", "crm"])) == (
        "no learner is called 'qcrom'; did you mean 'qcorm'?"
    )


def test_where_no_name_is_near_all_are_listed_in_order() -> None:
    assert str(UnknownName("shell", "xyz", ["zsh2", "bash", "fish"])).endswith("choose from bash, fish, zsh2")


def test_capital_letters_are_no_other_name() -> None:
    assert str(UnknownName("learner", "QCoRM", ["crm", "qcorm"])).endswith("did you mean 'qcorm'?")


def test_a_long_list_is_cut_and_counted() -> None:
    said = str(UnknownName("number", "?", (f"{i:03}" for i in range(MAX_NAMES + 6))))
    assert said.endswith(f"{SOME_NAMES - 1:03}, and {MAX_NAMES + 6 - SOME_NAMES} more")
    assert f"{SOME_NAMES:03}" not in said
    assert "more" not in str(UnknownName("number", "?", (f"{i:03}" for i in range(MAX_NAMES))))
