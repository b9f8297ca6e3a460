# `make demo` and `make test` need only Python 3.11 or newer, git and make: each builds .venv by itself, the demo with the
# few packages of requirements-demo.lock, everything else with those of requirements.lock, which has them all.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-full test-deep check bench docs lock clean

demo: .venv/.demo
	$(BIN)/dalenius demo

# What costs little, with the ten slowest. docs/testing.md says what runs where.
test: .venv/.ready
	$(BIN)/python -m pytest --durations=10

test-full: .venv/.ready
	DALENIUS_TESTS=full $(BIN)/python -m pytest tests

test-deep: .venv/.ready
	DALENIUS_TESTS=deep $(BIN)/python -m pytest tests

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.ready
	$(BIN)/python -m benchmarks

docs: .venv/.ready
	$(BIN)/python docs/generate.py

# The versions that all of this was tested with, for every platform, with their hashes; the demo has the same ones.
COMPILE := build/lock/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --group build \
	--custom-compile-command "make lock"

lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(COMPILE) --upgrade --extra dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --upgrade --extra demo --constraint requirements.lock --output-file requirements-demo.lock pyproject.toml

# $(call install,LOCK,WHAT IS SAID): in place, whatever .venv has already; bytecode is compiled now, not at the first start.
# WHAT IS SAID has no comma: make would end the argument there.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Dalenius needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
@echo $(2)
$(PYTHON) -m venv .venv
$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --requirement $(1)
$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
$(BIN)/python -m compileall -q src
endef

.venv/.demo: pyproject.toml requirements-demo.lock
	$(call install,requirements-demo.lock,"Making .venv for the demo: 110 MB to download and 400 MB on disk. It takes half a minute and the download.")
	@touch $@

.venv/.ready: pyproject.toml requirements.lock requirements-demo.lock
	$(call install,requirements.lock,"Making .venv for tests and tools (Spark among them): 730 MB to download and 1.7 GB on disk. It takes some minutes.")
	@touch $@ .venv/.demo

clean:
	rm -rf .venv .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
