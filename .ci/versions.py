"""For which versions of Python errands and its extra deep can be had as binary packages: make versions.

Prints a line per version and what is missing; ends with 1 where a classifier of pyproject.toml promises a version whose core is
missing. pip reads wheels and metadata for the version asked for, and markers ("; python_version < ...") by the Python that runs it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SETS = {"core": PROJECT["dependencies"], "deep": PROJECT["dependencies"] + PROJECT["optional-dependencies"]["deep"]}


def missing(version: str, wanted: list[str]) -> str:
    """What pip misses for a version of Python; empty where everything is there."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
        words += ["--disable-pip-version-check", "--target", folder, "--only-binary=:all:", "--python-version", version, *wanted]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    names = re.findall(r"No matching distribution found for (\S+)", done.stderr)
    return ", ".join(names) or done.stderr.strip().splitlines()[-1]


def main() -> int:
    """Print a line per version and set; the exit code."""
    promised = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: \d+\.\d+$", c)}
    if missing(f"{sys.version_info[0]}.{sys.version_info[1]}", ["iniconfig"]):
        print("versions: skipped, no package index is within reach")
        return 0
    broken = []
    for version in VERSIONS:
        for name, wanted in SETS.items():
            gap = missing(version, wanted)
            print(f"Python {version}, {name}: {'missing ' + gap if gap else 'all there'}", flush=True)
            if gap and name == "core" and version in promised:
                broken.append(version)
    print(f"classifiers: {', '.join(sorted(promised))}" + (f"; not true of {', '.join(broken)}" if broken else ""))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
