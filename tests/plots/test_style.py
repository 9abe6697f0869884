import json
from xml.etree import ElementTree

import pytest

from errands.errors import ConfigError
from errands.plots.style import LOOKS, as_svg, blank, looks, save, styled


def drawn():
    with styled():
        figure = blank(2, 2)
        figure.add_subplot().plot([1, 2], [3, 4], label="word")
        figure.axes[0].set_title("a title")
    return figure


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_figure_is_kept_with_its_data_and_command_beside_it(tmp_path, ending):
    path = tmp_path / f"figure.{ending}"
    beside = save(drawn(), path, {"kind": "test", "numbers": [1, None]}, "errands plot test")
    kept = json.loads(beside.read_text())
    assert beside.name == f"figure.{ending}.json"
    assert kept["command"] == "errands plot test"
    assert kept["data"] == {"kind": "test", "numbers": [1, None]}
    assert "numpy" in kept["versions"]
    assert {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending] in path.read_bytes()[:8]
    assert b"errands plot test" in path.read_bytes() or ending == "pdf"


def test_the_same_figure_gives_the_same_svg_and_its_words_stay_text():
    first, second = as_svg(drawn()), as_svg(drawn())
    assert first == second
    assert ">a title</text>" in first


def test_names_of_strangers_are_drawn_as_they_are(tmp_path):
    figure = drawn()
    figure.axes[0].set_title("a\x1b[31mred\n$\\frac$ & <b>")
    save(figure, tmp_path / "figure.svg", {}, "errands plot '\x1b'")
    words = "".join(ElementTree.parse(tmp_path / "figure.svg").getroot().itertext())  # noqa: S314 (our own file)
    assert "a\ufffd[31mred" in words
    assert "$\\frac$ & <b>" in words


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"\.svg, \.pdf or \.png"):
        save(drawn(), tmp_path / "figure.bmp", {}, "")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot be written"):
        save(drawn(), tmp_path / "no" / "figure.svg", {}, "")


def test_no_two_methods_look_alike():
    assert len(set(LOOKS.values())) == len(LOOKS)
    named = looks(["qcorm", "mine", "yours", "crm agenda"])
    assert len(set(named.values())) == 4
    assert named["qcorm"] == LOOKS["qcorm"]


def test_methods_of_one_chart_have_different_colours():
    """Two machines of one learner share its colour and differ by their dashes; nothing else does, while there are colours."""
    learners = {name: name.removesuffix(" agenda").removesuffix(" boolean") for name in LOOKS}
    assert len({look.colour for look in LOOKS.values()}) == len(set(learners.values()))
    named = looks(["qcorm", "qcorm-0", "qcorm delta=gated", "qcorm shortest=mean", "crm agenda"])
    assert len({look.colour for look in named.values()}) == 5


def test_drawing_leaves_no_rule_behind():
    import matplotlib

    before = dict(matplotlib.rcParams)
    drawn()
    assert dict(matplotlib.rcParams) == before
