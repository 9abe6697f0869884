"""Compiled kernels are kept where the user wants them, compiled anew after any edit, and never needed on disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import errands
from errands import kernels
from errands.kernels.stepping import advance, lowest_bit, start
from errands.learners import make_learner
from errands.learners.qcorm import kernel as qcorm
from errands.learners.scout.kernel import memory
from errands.tables import RandomGenerator
from errands.tasks import load

WORLD = load("figure-1").finite.table
HERE = Path(kernels.__file__).parent
PROGRAM = """
import os, numpy as np
before = os.environ.get("NUMBA_CACHE_DIR")
from errands.kernels import when_compiling
from errands.kernels.stepping import lowest_bit
told = []
with when_compiling(told.append):
    assert lowest_bit(np.uint64(40)) == 3
assert os.environ.get("NUMBA_CACHE_DIR") == before
print(*told)
"""


CALLER_FIRST = """
import numpy as np
from errands.kernels.local_search import nearest, tour
tour(np.ones(1), np.zeros((1, 1)), np.ones(1), 5, np.random.default_rng(0))
print(*nearest(np.array([[0, 5, 1, 9], [9, 0, 9, 3], [9, 2, 0, 8], [0, 0, 0, 0]], float)))
"""


def run(program: str = PROGRAM, **variables: str) -> str:
    """What the program prints: the first kernel that had to be compiled, if any had."""
    ours = ("ERRANDS_CACHE", "NUMBA_BOUNDSCHECK", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    clean = {k: v for k, v in os.environ.items() if k not in ours}
    done = subprocess.run(
        [sys.executable, "-c", program], env=clean | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_users_numba_folder_is_respected_and_compiling_is_told_once(tmp_path: Path) -> None:
    assert run(NUMBA_CACHE_DIR=str(tmp_path)) == "lowest_bit"
    stored = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert {p.parent.name for p in stored} == {kernels.digest(HERE / "stepping.py")}
    assert run(NUMBA_CACHE_DIR=str(tmp_path)) == ""
    assert run(NUMBA_CACHE_DIR=str(tmp_path), NUMBA_BOUNDSCHECK="1") == "lowest_bit"
    for file in stored:
        file.write_bytes(file.read_bytes()[:100])
    assert run(NUMBA_CACHE_DIR=str(tmp_path)) == "lowest_bit"


def test_a_kernel_read_from_disk_after_one_that_calls_it_still_returns_arrays() -> None:
    """From the root to 2 (cost 1), from there to 1; twice, so that the second time nothing has to be compiled."""
    assert [run(CALLER_FIRST) for _ in range(2)] == ["0 2 1 3"] * 2


def test_a_cache_that_cannot_be_written_only_means_compiling_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert run(ERRANDS_CACHE=str(tmp_path / "file")) == "lowest_bit"


def test_a_kernel_is_made_of_its_file_and_of_all_that_it_imports() -> None:
    top = Path(errands.__file__).parent
    made_of = {str(p.relative_to(top)) for p in kernels.sources_of(top / "learners" / "hrm" / "kernel.py")}
    assert {"kernels/__init__.py", "learners/hrm/kernel.py", "kernels/stepping.py", "tables.py"} <= made_of
    assert not any("scout" in name or "plus" in name for name in made_of)


def test_an_edit_anywhere_in_what_a_kernel_is_made_of_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels").mkdir()
    first, second, third = (tmp_path / "kernels" / f"{name}.py" for name in ("first", "second", "third"))
    first.write_text("def f():\n    from errands.kernels.second import g\n")
    second.write_text("from errands.kernels import (\n    third,\n)\n")
    third.write_text("X = 1\n")
    (tmp_path / "kernels" / "__init__.py").write_text("")
    monkeypatch.setattr(kernels, "_SOURCES", tmp_path)
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "kernels" / "__init__.py"))

    def now() -> str:
        for function in (kernels.sources_of, kernels._imports, kernels.digest):
            function.cache_clear()
        return kernels.digest(first)

    names = [now()]
    for file in (first, second, third, tmp_path / "kernels" / "__init__.py"):
        file.write_text(file.read_text() + "# edited\n")
        names.append(now())
    kernels.sources_of.cache_clear(), kernels._imports.cache_clear(), kernels.digest.cache_clear()
    assert len(set(names)) == 5


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="plain Python frees what it made")
def test_calls_leave_no_memory_behind() -> None:
    """An array given to an inner kernel is freed afterwards: its memory is counted by nobody else."""
    from errands.kernels.stepping import best_value

    values = np.ones((2, 3, 4))
    assert lowest_bit(np.uint64(0)) == -1
    assert best_value(values, 1, 2) == 1.0
    assert sys.getrefcount(values) == 2


def test_compiled_code_draws_the_numbers_that_numpy_draws_and_goes_on_where_it_was() -> None:
    ours, theirs = RandomGenerator(3, 4), np.random.Generator(np.random.PCG64([3, 4]))
    several = WORLD._replace(starts=np.arange(1000, dtype=np.int32), start_cumulative=np.linspace(0.001, 1, 1000))
    drawn = [start(several, ours) for _ in range(50)]
    assert drawn == [int(np.searchsorted(several.start_cumulative[:-1], theirs.random(), "right")) for _ in range(50)]
    assert ours.random() == theirs.random()


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="numba does not compile at all")
def test_whole_numbers_of_all_widths_share_one_compiled_kernel() -> None:
    """Numbers of tables are int32, those of positions int64, and a literal is neither."""
    learner = make_learner(load("figure-1"), "qcorm")
    learner.advance(10)
    learner.evaluate()
    for kernel in (advance, qcorm.enlist, qcorm.enlist_bits):
        assert all(not str(kind).startswith(("int32", "Literal")) for kinds in kernel.overloads for kind in kinds)


@pytest.mark.skipif(kernels.PLAIN or os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="reads intermediate code")
def test_only_inner_code_is_inlined_whoever_calls_it() -> None:
    """Numba takes what a kernel does not say over from the one that calls it; the caller is inlined here."""
    scout = make_learner(load("figure-1"), "scout")
    mask = scout.agent.mask
    memory.advance.compile(tuple(map(numba.typeof, (scout.lowering.machine, 0, mask, 0, mask))))
    for kernel, inlined in ((memory.advance, True), (memory.advance_ruled, False)):
        (code,) = (compiled.library.get_llvm_str() for compiled in kernel.overloads.values())
        (head,) = (line for line in code.splitlines() if line.startswith("define") and f"{kernel.__name__}B" in line)
        attributes = dict(re.findall(r"attributes (#\d+) = (.*)", code))
        assert any("alwaysinline" in attributes[group] for group in re.findall(r"#\d+", head)) == inlined


def entry_in(cache: Path) -> Path:
    """The file of what Python calls; where numba compiles by itself, the kernel has one beside it."""
    files = sorted(p for p in cache.rglob("*") if p.is_file())
    assert len(files) == 1 + kernels.PLAIN
    return max(files, key=lambda path: "-entry-" in path.name)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files as Unix has them")
def test_compiled_code_is_read_only_where_nobody_else_can_have_written_it(tmp_path: Path) -> None:
    """A file of the cache is unpickled: whoever may write it, its folder or one above would run code as the user."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    assert run(ERRANDS_CACHE=str(home)) == "lowest_bit"
    stored = entry_in(home)
    assert [p.stat().st_mode & 0o777 for p in (stored.parent, stored.parent.parent, stored)] == [0o700, 0o700, 0o600]
    assert (kernels.stranger(stored), run(ERRANDS_CACHE=str(home))) == (None, "")
    for part in (stored, stored.parent, home):
        before = part.stat().st_mode & 0o777
        for mode in (0o020, 0o002):
            part.chmod(before | mode)
            assert (kernels.stranger(stored), run(ERRANDS_CACHE=str(home))) == (part, "lowest_bit")
            part.chmod(before)
    assert run(ERRANDS_CACHE=str(home)) == ""
    link = tmp_path / "link"
    link.symlink_to(home)
    assert run(ERRANDS_CACHE=str(link)) == ""
    home.chmod(0o777)
    assert run(ERRANDS_CACHE=str(link)) == "lowest_bit"
    home.chmod(0o1777)  # as /tmp: others may add files, and rename none of the user's
    assert run(ERRANDS_CACHE=str(home)) == ""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user")
def test_compiled_code_of_another_user_is_not_read(tmp_path: Path) -> None:
    assert run(ERRANDS_CACHE=str(tmp_path)) == "lowest_bit"
    stored = entry_in(tmp_path)
    os.chown(stored, 65534, -1)
    assert (kernels.stranger(stored), run(ERRANDS_CACHE=str(tmp_path))) == (stored, "lowest_bit")
