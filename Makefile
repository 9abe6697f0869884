# Each target creates .venv when it is missing, installs what it needs once, and runs; python3 and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
EXTRAS := deep,mujoco,viewer,ray,tensorboard,wandb,video,docs,dev
EVERY := $(EXTRAS),sb3
WORKERS ?= 2

.PHONY: help demo test bounds plain check docs extras release versions bench clean

help:
	@echo "make demo   install the core and run the demo"
	@echo "make test   install all extras but sb3 and run the tests"
	@echo "make bounds run the tests of compiled code with every index checked"
	@echo "make plain  run the tests of tabular learners on kernels compiled as numba does by itself"
	@echo "make check  ruff, mypy --strict, import-linter"
	@echo "make docs   build the documentation site into site/"
	@echo "make extras resolve every extra under constraints.txt, installing none"
	@echo "make release build wheel and sdist into dist/, check them, run README and the demo from each in an empty environment"
	@echo "make versions say for which Python versions errands and its extra deep can be had as binary packages"
	@echo "make bench  run the measurements of benchmarks/ that need no arguments"
	@echo "make clean  remove .venv and everything that was generated"

demo: $(VENV)/.core
	$(BIN)/errands demo

test: $(VENV)/.full
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# An index outside its array is an error here and silence elsewhere; kernels so compiled have a cache of their own.
bounds: $(VENV)/.full
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/kernels tests/learners/tabular tests/learners/test_saved.py $(ARGS)

# What a numba does whose compiler is not known (kernels/__init__.py, KNOWN): the same bytes.
plain: $(VENV)/.full
	ERRANDS_COMPILER=plain $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/kernels/test_compiling.py tests/kernels/test_q_learning.py tests/learners/tabular/test_bytes.py $(ARGS)

check: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.full
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build # never --quiet: with it warnings are not counted and are no errors
	@echo "open site/index.html; for its search: $(BIN)/python -m http.server -d site 8000"

# pip looks for every package as if none were installed and downloads what it must read; torch is resolved, not installed.
extras: $(VENV)/.full
	@if $(BIN)/python -m pip download --quiet --no-deps --disable-pip-version-check -d $(VENV)/.index -c constraints.txt iniconfig >/dev/null 2>&1; \
	then $(PIP) --dry-run --ignore-installed '.[$(EVERY)]' && echo "every extra resolves: $(EVERY)"; \
	else echo "extras: skipped, no package index is within reach"; fi

release: $(VENV)/.full
	rm -rf dist
	DIST=$(CURDIR)/dist $(BIN)/python -m pytest -m slow tests/test_installed.py $(ARGS)
	@ls -l dist

# pip looks for binary packages of each version of Python, installing none; exit code 1 where a classifier promises too much.
versions: $(VENV)/.full
	$(BIN)/python .ci/versions.py

ASKING := deep deep_cpu deep_envs gpu marl peers skills strangers # want arguments, a GPU or another library

bench: $(VENV)/.full
	@set -e; for script in $(filter-out $(ASKING:%=benchmarks/%.py),$(sort $(wildcard benchmarks/*.py))); do echo "== $$script"; $(BIN)/python "$$script"; done

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("errands needs Python 3.11 or later, this is " + sys.version.split()[0] + "; say make PYTHON=/path/to/python3")'
	$(PYTHON) -m venv $(VENV)

# The stamps ask for the python as an order-only prerequisite: its own date says nothing about what is installed.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.full: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.core
