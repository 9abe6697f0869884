from pathlib import Path

from errands.cli.plot import Arguments as Plot
from errands.cli.reproduce import Arguments as Reproduce
from errands.cli.typed import typed


def test_only_what_differs_from_its_default_is_written():
    assert typed("reproduce", Reproduce()) == "errands reproduce"
    given = Reproduce(("office-3", "office-6"), "full", boolean_large=True, seeds=5)
    assert typed("reproduce", given) == "errands reproduce office-3 office-6 --profile full --boolean-large --seeds 5"


def test_words_with_spaces_are_quoted():
    given = Plot("curves", ("my run",), Path("a b.svg"))
    assert typed("plot", given) == "errands plot curves 'my run' --output 'a b.svg'"
