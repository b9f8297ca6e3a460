# `make demo` and `make test` need only Python 3.11 or newer, git and make: each builds .venv by itself.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-deep check bench docs clean

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

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Dalenius needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making .venv and installing what Dalenius needs from the package index (about half a minute) ..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

clean:
	rm -rf .venv .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
