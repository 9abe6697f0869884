"""notebooks/first-errand.ipynb: a kernel runs it in an empty folder, and what comes out is what is stored in it.

After a change of its cells write it anew: cd notebooks && jupyter execute --inplace first-errand.ipynb
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parent.parent / "notebooks" / "first-errand.ipynb"


def outputs(notebook: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first line of each cell of code and what came out of it, pictures under their kind."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            said = "".join(out.text for out in cell.outputs if out.output_type == "stream")
            shown = [out.data for out in cell.outputs if out.output_type in ("execute_result", "display_data")]
            yield cell.source.split("\n", 1)[0], {"said": said, **{kind: what for data in shown for kind, what in data.items()}}


def drawn(svg: str) -> list[str]:
    """What another matplotlib draws alike: the words and numbers of a picture."""
    return re.findall(r">([^<>]*[^<>\s][^<>]*)</t", svg) if "matplotlib" in svg else [svg]


@pytest.mark.filterwarnings("ignore")  # what Jupyter's packages say of their own age
def test_the_notebook_holds_what_comes_out_when_it_is_run(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    kept = nbformat.read(PATH, as_version=4)
    nbformat.validate(kept)
    again = nbclient.NotebookClient(
        nbformat.read(PATH, as_version=4), timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    pictures = 0
    for (cell, stored), (_, fresh) in zip(outputs(kept), outputs(again), strict=True):
        assert stored.keys() == fresh.keys(), cell
        pictures += "image/svg+xml" in stored
        for kind, what in stored.items():
            assert drawn(what) == drawn(fresh[kind]), f"{cell}: {kind} differs; write the notebook anew"
    assert pictures == 4
    assert PATH.stat().st_size < 300_000
    assert (tmp_path / "runs" / "first-crm").is_dir()
