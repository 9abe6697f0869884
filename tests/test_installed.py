"""What is installed is what was promised: types that a checker sees, extras that fit together, hints that work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import errands
from errands.errors import install

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the backend that is installed here; nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, ROOT]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_a_type_checker_sees_the_types_of_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site.stdout.strip())
    script = tmp_path / "script.py"
    script.write_text("import errands\nreveal_type(errands.train)\nreveal_type(errands.load)\nerrands.train(1, steps='many')\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    words = [sys.executable, "-m", "mypy", "--python-executable", python, "--ignore-missing-imports", "--config-file=", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    train, load, *rest = done.stdout.splitlines()
    assert re.search(r'Revealed type is "(Overload\()?def \(task: ', train), done.stdout
    assert 'Revealed type is "Any"' not in done.stdout
    assert 'Revealed type is "def (name: ' in load
    assert any("[call-overload]" in line or "[arg-type]" in line for line in rest), done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "errands/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"errands"}
    assert not [name for name in names if name.endswith((".pyc", ".jsonl")) or "/tests/" in name]


def test_every_package_of_an_extra_is_pinned_by_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    wanted = [*project["dependencies"], *(name for names in project["optional-dependencies"].values() for name in names)]
    names = {word.split(">")[0].split("<")[0].split("=")[0].split("[")[0].strip().lower() for word in wanted}
    assert names - pinned == set()


def test_hints_work_from_an_index_and_from_a_checkout() -> None:
    assert install("viewer") == "pip install 'errands[viewer]' (in a checkout of errands: pip install -e '.[viewer]')"
    assert install() == "pip install 'errands' (in a checkout of errands: pip install -e '.')"


def test_no_hint_is_true_on_an_index_only() -> None:
    said = "pip install 'errands["
    alone = [str(path) for path in (ROOT / "src").rglob("*.py") if said in path.read_text() and path.name != "errors.py"]
    assert alone == []


def test_the_version_is_said_once_and_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert errands.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def pages_blocks(page: Path) -> list[tuple[str, str]]:
    """The python blocks of a page, each with what a text block after it says that it prints."""
    found = re.findall(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", page.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page.name} has no python block"
    return found


@pytest.mark.slow
def test_wheel_and_source_archive_pass_twine_and_run_readme_and_demo_in_an_empty_environment(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "-d", os.environ.get("DIST", tmp_path)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    archives = sorted(Path(words[-1]).glob(f"errands-{errands.__version__}*"))
    assert {path.suffix for path in archives} == {".whl", ".gz"}
    assert len(archives) == 2
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *archives], check=True, capture_output=True)
    for archive in archives:
        folder = tmp_path / archive.suffix[1:]
        folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        pip = [folder / "env" / "bin" / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", archive]
        fetched = subprocess.run(pip, capture_output=True, text=True, check=False)
        if "No matching distribution" in fetched.stderr or "Temporary failure" in fetched.stderr:
            pytest.skip("no package index is within reach")
        assert fetched.returncode == 0, fetched.stderr
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for code, said in pages_blocks(ROOT / "README.md"):
            block = [folder / "env" / "bin" / "python", "-c", code]
            done = subprocess.run(block, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (0, said or done.stdout), f"{code}\n{done.stderr}"
        done = subprocess.run(
            [folder / "env" / "bin" / "errands", "demo"], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "10 steps, 0 more than the optimum" in done.stdout
        assert (folder / "errands-demo.html").stat().st_size > 10_000
        shutil.rmtree(folder)
