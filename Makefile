# `make demo` and `make test` need only Python 3.11 or newer, git and make: each builds .venv by itself.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-deep check bench docs lock clean

demo: .venv/.ready
	$(BIN)/dalenius demo

test: .venv/.ready
	$(BIN)/python -m pytest

test-deep: .venv/.ready
	DALENIUS_TESTS=deep $(BIN)/python -m pytest -m "deep or not deep"

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.ready
	$(BIN)/python -m benchmarks

docs: .venv/.ready
	$(BIN)/python docs/generate.py

# The versions that all of this was tested with, for every platform, with their hashes.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lock/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 --extra dev \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

.venv/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Dalenius needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making .venv and installing what Dalenius needs from the package index (about half a minute) ..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf .venv .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
