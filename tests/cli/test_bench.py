import json

from errands.cli import main


def test_speeds_are_printed_as_one_document(capsys):
    assert main(["bench", "--seconds", "0.002", "--sizes", "2", "--no-compile", "--quiet", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"method", "subtasks", "nanoseconds", "megabytes", "reference", "reason"} == set(document["steps"][0])
    assert document["peak_megabytes"] > 10
    assert document["compile"] == []


def test_people_see_the_reference_in_brackets(capsys):
    assert main(["bench", "--seconds", "0.002", "--sizes", "2", "--no-compile", "--quiet"]) == 0
    assert "(42)" in capsys.readouterr().out


def test_impossible_sizes_are_refused(capsys):
    assert main(["bench", "--sizes", "0"]) == 2
    assert "between 1 and 60" in capsys.readouterr().err
